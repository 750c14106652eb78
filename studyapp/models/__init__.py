"""The tables, by what they are about."""

from studyapp.models.access import AuditEntry, ConsentText, Invitation, Membership
from studyapp.models.assignment import (
    Enrolment,
    Participant,
    PlannedTrial,
    Slot,
    Subset,
    Withdrawal,
)
from studyapp.models.claim import Candidate, Claim, GoldSet
from studyapp.models.event import Event
from studyapp.models.evidence import Ranking, Selection
from studyapp.models.job import LlmResponse, PrecomputeJob, WorkerPresence
from studyapp.models.questionnaire import QuestionnaireAnswer
from studyapp.models.recruiting import RecruiterId, RefusedId
from studyapp.models.results import ResultsJob
from studyapp.models.study import Condition, Study
from studyapp.models.trial import Trial, VerificationAnswer
from studyapp.models.version import StudyVersion

__all__ = [
    "AuditEntry",
    "Candidate",
    "Claim",
    "Condition",
    "ConsentText",
    "Enrolment",
    "Event",
    "GoldSet",
    "Invitation",
    "LlmResponse",
    "Membership",
    "Participant",
    "PlannedTrial",
    "PrecomputeJob",
    "QuestionnaireAnswer",
    "Ranking",
    "RecruiterId",
    "RefusedId",
    "ResultsJob",
    "Selection",
    "Slot",
    "Study",
    "StudyVersion",
    "Subset",
    "Trial",
    "VerificationAnswer",
    "Withdrawal",
    "WorkerPresence",
]
