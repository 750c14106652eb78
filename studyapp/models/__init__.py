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
from studyapp.models.claim import Candidate, Claim, ClaimsImport, GoldSet
from studyapp.models.event import Event
from studyapp.models.evidence import Ranking, Selection
from studyapp.models.export import ExportJob
from studyapp.models.job import LlmResponse, PrecomputeJob, WorkerPresence
from studyapp.models.links import PersonalLink
from studyapp.models.prolific import ProlificLink, RecruiterCall, RecruiterSubmission
from studyapp.models.questionnaire import QuestionnaireAnswer
from studyapp.models.recruiting import RecruiterId, RefusedId
from studyapp.models.results import ResultsJob
from studyapp.models.spending import SpendingAccount
from studyapp.models.study import Condition, Study
from studyapp.models.trial import Trial, VerificationAnswer
from studyapp.models.version import StudyVersion

__all__ = [
    "AuditEntry",
    "Candidate",
    "Claim",
    "ClaimsImport",
    "Condition",
    "ConsentText",
    "Enrolment",
    "Event",
    "ExportJob",
    "GoldSet",
    "Invitation",
    "LlmResponse",
    "Membership",
    "Participant",
    "PersonalLink",
    "PlannedTrial",
    "PrecomputeJob",
    "ProlificLink",
    "QuestionnaireAnswer",
    "Ranking",
    "RecruiterCall",
    "RecruiterId",
    "RecruiterSubmission",
    "RefusedId",
    "ResultsJob",
    "Selection",
    "Slot",
    "SpendingAccount",
    "Study",
    "StudyVersion",
    "Subset",
    "Trial",
    "VerificationAnswer",
    "Withdrawal",
    "WorkerPresence",
]
