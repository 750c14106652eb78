"""Recruiter ids: read from a link, remembered as a keyed hash, and led to one run each."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlencode

from django.conf import settings
from django.db.models import F
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.datastructures import MultiValueDict

from studyapp.domain.mturk import submit_origin
from studyapp.domain.recruiting_settings import MTURK_NEEDS
from studyapp.enums import EnrolmentState, RecruitingSource, RefusedIdKind
from studyapp.errors import AlreadyWithdrawn, BadRecruiterId
from studyapp.models import Enrolment, Participant, PlannedTrial, RecruiterId, RefusedId, Study
from studyapp.models.recruiting import MAX_ID

DIGEST_SALT = "suffice.recruiter-id"
#: Most ids of a study that were seen and never joined: made-up ones fill no disk.
MAX_SEEN = 20_000

#: What Prolific fills in, written as it wants it.
PROLIFIC = {name: f"{{{{%{name}%}}}}" for name in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")}
#: What is written into a link for its recruiter to fill in, by the parameter.
FILLED_IN = PROLIFIC | {"survey_code": "%SURVEY_CODE%"}
#: What a recruiter's page leaves in a link where it should have put an id. No id has these signs.
_PLACEHOLDER = re.compile(r"[{}<>\[\]$]|%[^%]+%|(ASSIGNMENT_)?ID_NOT_AVAILABLE")
_NO_VALUES = frozenset({"undefined", "null", "none"})
#: What came in for bytes that are no text.
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True)
class Recruited:
    """Who a link says that comes: the id, and what else the recruiter wants to be kept."""

    value: str
    others: dict[str, str] = field(default_factory=dict)


def recruits_by_id(study: Study) -> bool:
    """Whether the study's links carry ids."""
    return bool(study.recruiting_setting("id_parameter"))


def read_recruited(study: Study, query: MultiValueDict[str, str]) -> Recruited:
    """What the parameters of a link say. Raises BadRecruiterId.

    Further parameters that are missing or cannot be used are left out, unless the recruiting site
    needs them to end a run.
    """
    name = study.recruiting_setting("id_parameter")
    value = _read_id(name, query)
    others = {}
    for other in study.recruiting_setting("other_parameters"):
        try:
            others[other] = _read_id(other, query)
        except BadRecruiterId:
            continue
    if is_mturk(study) and not _can_be_sent_back(others):
        raise BadRecruiterId(RefusedIdKind.INCOMPLETE)
    return Recruited(value, others)


def is_mturk(study: Study) -> bool:
    """Whether people come from Mechanical Turk."""
    return bool(study.recruiting_setting("source") == RecruitingSource.MTURK)


def _can_be_sent_back(others: Mapping[str, str]) -> bool:
    """Whether finished work can be sent to Mechanical Turk, and nowhere else."""
    return all(others.get(name) for name in MTURK_NEEDS) and bool(
        submit_origin(others["turkSubmitTo"])
    )


def _read_id(name: str, query: MultiValueDict[str, str]) -> str:
    values = {given.strip() for given in query.getlist(name)} or {""}
    value = values.pop()
    if values or len(value) > MAX_ID:
        raise BadRecruiterId(RefusedIdKind.UNREADABLE if values else RefusedIdKind.TOO_LONG)
    if not value:
        raise BadRecruiterId(RefusedIdKind.MISSING)
    if any(unicodedata.category(sign)[0] == "C" or sign == _REPLACEMENT for sign in value):
        raise BadRecruiterId(RefusedIdKind.UNREADABLE)
    if _PLACEHOLDER.search(value) or value == name or value.lower() in _NO_VALUES:
        raise BadRecruiterId(RefusedIdKind.PLACEHOLDER)
    return value


def link_query(study: Study, recruited: Recruited) -> str:
    """What a link of the study must end with to come from the same person."""
    id_parameter = study.recruiting_setting("id_parameter")
    return "?" + urlencode({id_parameter: recruited.value, **recruited.others})


def study_link(study: Study) -> str:
    """The link to give out; with ids, each parameter holds a place for the recruiter to fill in.

    A link in which it was left is refused and counted, whatever the recruiter.
    """
    link = f"{settings.PUBLIC_URL}/p/{study.code}/"
    # Mechanical Turk adds its parameters to any address by itself.
    if not recruits_by_id(study) or is_mturk(study):
        return link
    others = study.recruiting_setting("other_parameters")
    names = [study.recruiting_setting("id_parameter"), *others]
    return f"{link}?" + "&".join(f"{name}={FILLED_IN.get(name, f'<{name}>')}" for name in names)


def digest_of(study: Study, value: str) -> str:
    """What is remembered of an id for good.

    Keyed by the server's secret key: who has a copy of the database alone cannot try out ids on
    it. The study's code is in it, so that nothing links the same person in two studies.
    """
    return salted_hmac(f"{DIGEST_SALT}:{study.code}", value, algorithm="sha256").hexdigest()


def find_id(study: Study, value: str) -> RecruiterId | None:
    """The row of an id that was seen before: one query."""
    digest = digest_of(study, value)
    return RecruiterId.objects.filter(study=study, digest=digest).first()


def standing_run(study: Study, known: RecruiterId) -> Enrolment | None:
    """The run that an id leads to, or None where it may start one: at most two queries.

    It is the last run, unless that is completed and the study gives an id another one. Raises
    AlreadyWithdrawn.
    """
    if known.has_withdrawn:
        raise AlreadyWithdrawn("The person behind this id has withdrawn.")
    if known.participant_id is None:
        return None
    runs = list(Enrolment.objects.filter(participant_id=known.participant_id).order_by("pk"))
    last = runs[-1] if runs else None
    if last is None or last.state != EnrolmentState.COMPLETED:
        return last
    return None if len(runs) < study.recruiting_setting("repeats") else last


def note_seen(study: Study, value: str) -> None:
    """Remember when an id came first: a keyed hash and the time, nothing else."""
    unused = RecruiterId.objects.filter(study=study, participant=None, has_withdrawn=False)
    if unused.count() < MAX_SEEN:
        _insert(study, value, timezone.now())


def note_assignment(known: RecruiterId, recruited: Recruited) -> None:
    """Remember with which assignment a worker came last: finished work is sent back with it.

    A task given back and accepted again has another one, and leads to the same run.
    """
    if recruited.others != known.others:
        RecruiterId.objects.filter(pk=known.pk, participant__isnull=False).update(
            others=recruited.others
        )


def others_of(participant_id: int) -> dict[str, str]:
    """What the recruiter told of a participant beside the id, and the id by its parameter's name.

    One query. Empty for who came without an id.
    """
    known = (
        RecruiterId.objects.select_related("study").filter(participant_id=participant_id).first()
    )
    if known is None:
        return {}
    return {**known.others, known.study.recruiting_setting("id_parameter"): known.value}


def count_refused(study: Study, kind: str) -> None:
    """Count a link without an id that can be used."""
    if not RefusedId.objects.filter(study=study, kind=kind).update(n=F("n") + 1):
        RefusedId.objects.bulk_create([RefusedId(study=study, kind=kind)], ignore_conflicts=True)
        RefusedId.objects.filter(study=study, kind=kind).update(n=F("n") + 1)


def known_id(study: Study, recruited: Recruited, now: datetime) -> RecruiterId:
    """The row of an id, made if it is new. The caller holds the lock of the study."""
    known = find_id(study, recruited.value)
    if known is None:
        # A look at the consent form may be writing the same row at this moment.
        _insert(study, recruited.value, now)
        known = find_id(study, recruited.value)
        assert known is not None
    return known


def give_person(known: RecruiterId, recruited: Recruited, study: Study) -> Participant:
    """The participant of an id, made at the first consent; from then on the id itself is kept."""
    participant = known.participant or Participant.objects.create(study=study)
    known.participant, known.value, known.others = participant, recruited.value, recruited.others
    known.save(update_fields=["participant", "value", "others"])
    return participant


def claims_met(participant_id: int, *, besides: int | None = None) -> set[int]:
    """The claims of a person's runs, whether or not they came to them; ``besides`` one run."""
    runs = Enrolment.objects.filter(participant_id=participant_id).exclude(pk=besides)
    planned = PlannedTrial.objects.filter(slot__enrolments__in=runs)
    return set(planned.values_list("claim_id", flat=True))


def forget_id(participant: Participant) -> None:
    """After a withdrawal: the id itself is gone, and its hash starts no new run."""
    known = RecruiterId.objects.filter(participant=participant)
    known.update(has_withdrawn=True, participant=None, value="", others={})


def _insert(study: Study, value: str, now: datetime) -> None:
    row = RecruiterId(study=study, digest=digest_of(study, value), first_seen=now)
    RecruiterId.objects.bulk_create([row], ignore_conflicts=True)


@dataclass(frozen=True)
class Arrivals:
    """What became of the links of a study: for the researcher, without any id.

    ``n_stopped`` ids were seen and have not joined, the last of them at ``last_stopped``;
    ``refused`` counts links by what was wrong with their id.
    """

    n_stopped: int
    last_stopped: datetime | None
    refused: Mapping[str, int]


def arrivals_of(study: Study) -> Arrivals:
    """Read what became of the links: two queries."""
    stopped = RecruiterId.objects.filter(study=study, participant=None, has_withdrawn=False)
    times = list(stopped.order_by("first_seen").values_list("first_seen", flat=True))
    refused = dict(RefusedId.objects.filter(study=study).values_list("kind", "n"))
    return Arrivals(len(times), times[-1] if times else None, refused)
