"""Who gets which slot: joining, expiry, withdrawal."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Set
from dataclasses import dataclass, replace
from datetime import timedelta

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from studyapp.domain import audit, export_jobs, results_jobs
from studyapp.domain.consent import consent_version
from studyapp.domain.join_forms import JoinForm
from studyapp.domain.personal_links import (
    forget_name,
    give_link_person,
    takes_personal_links_only,
    usable_link,
)
from studyapp.domain.recruiting import (
    Recruited,
    claims_met,
    forget_id,
    give_person,
    known_id,
    recruits_by_id,
    standing_run,
)
from studyapp.domain.seats import take_seat
from studyapp.domain.traces import forget_deleted_text
from studyapp.domain.version_rows import setting_of
from studyapp.enums import AuditAction, EnrolmentState, JobState, RefusedIdKind, RunKind
from studyapp.errors import (
    BadLink,
    BadRecruiterId,
    ConsentChanged,
    NoFreeSlot,
    NothingLeft,
    NotOpen,
    StalePage,
    StudyError,
)
from studyapp.models import Enrolment, Participant, Study, Trial, Withdrawal


def join(study_code: str, form: JoinForm) -> Enrolment:
    """Create a participant and take the next free slot, in one transaction.

    The same form joins once, however often it is sent, and so do all forms of one recruiter id: as
    long as it may start no further run, it gets the run it has. Raises NotOpen, NoFreeSlot, BadLink
    (an invitation that was used before), AlreadyWithdrawn, BadRecruiterId (a form without an id
    or an invitation in a study that recruits by id), ConsentChanged (the form was under another
    consent text than the study's present one; nothing is stored).
    """
    with transaction.atomic():
        # The study's row is the queue: arrivals take their slots one after another.
        # No key of it changes, so rows that refer to the study are not held up.
        study = Study.objects.select_for_update(no_key=True).get(code=study_code)
        existing = Enrolment.objects.filter(join_nonce=form.nonce).first()
        if existing is not None:
            return existing
        if form.link is not None:
            return _join_by_link(study, form, form.link)
        if form.recruited is not None:
            return _join_by_id(study, form, form.recruited)
        _refuse_strangers(study, form)
        if Withdrawal.objects.filter(join_nonce=form.nonce).exists():
            raise BadLink(_("The run that began here was withdrawn. Open the study's link again."))
        if form.invitation and _is_used(form.invitation):
            raise BadLink(_("This invitation was used before. Ask for a new link."))
        return _enrol(study, form, lambda: Participant.objects.create(study=study))


def _join_by_id(study: Study, form: JoinForm, recruited: Recruited) -> Enrolment:
    """The run of a recruiter id, or a new one. The caller holds the lock of the study."""
    known = known_id(study, recruited, timezone.now())
    standing = standing_run(study, known)
    if standing is not None:
        return standing
    met = claims_met(known.participant_id) if known.participant_id else set()
    try:
        return _enrol(study, form, lambda: give_person(known, recruited, study), avoid=met)
    except NoFreeSlot:
        if known.participant_id is None:
            raise
        raise NothingLeft(known.participant.enrolments.latest("pk").token) from None


def _join_by_link(study: Study, form: JoinForm, token: str) -> Enrolment:
    """The run of a personal link, or a new one. The caller holds the lock of the study."""
    link = usable_link(study, token)
    if link.participant is not None:
        return link.participant.enrolments.latest("pk")
    form = replace(form, run_kind=link.run_kind)
    return _enrol(study, form, lambda: give_link_person(link))


def _refuse_strangers(study: Study, form: JoinForm) -> None:
    """Turn away a form that names nobody where the study wants to know who comes."""
    if form.run_kind != RunKind.REAL or form.invitation:
        return
    if recruits_by_id(study):
        raise BadRecruiterId(RefusedIdKind.MISSING)
    if takes_personal_links_only(study):
        raise BadRecruiterId(RefusedIdKind.NO_LINK)


def _refuse_unless_open(study: Study) -> None:
    if not study.is_open:
        raise NotOpen(_("This study takes no participants now."))


def _refuse_old_consent(study: Study, form: JoinForm) -> None:
    """Nobody is taken to have agreed to a text that they were not shown.

    A form of before there were versions names no text; it was handed out under the first.
    """
    shown = form.consent_version
    if shown != consent_version(study) and (shown is not None or study.version > 1):
        raise ConsentChanged("The consent text was changed after this form was opened.")


def _enrol(
    study: Study,
    form: JoinForm,
    person: Callable[[], Participant],
    *,
    avoid: Set[int] = frozenset(),
) -> Enrolment:
    """A new run in the next free slot: the one way in, whoever comes and however.

    ``person`` makes or finds the participant, once nothing speaks against the run. Raises NotOpen,
    ConsentChanged, NoFreeSlot.
    """
    _refuse_unless_open(study)
    _refuse_old_consent(study, form)
    now = timezone.now()
    seat = take_seat(study, form.run_kind, now, avoid=avoid)
    return Enrolment.objects.create(
        participant=person(),
        slot_id=seat.slot_id,
        seat=seat.number,
        run_kind=form.run_kind,
        join_nonce=form.nonce,
        invitation=form.invitation,
        consent_version=consent_version(study),
        version=study.version,
        consented_at=now,
        lease_until=now + timedelta(minutes=study.lease_minutes),
    )


def move_to_free_slot(token: str) -> Enrolment:
    """Give a person whose place expired before the first trial another one.

    Raises NoFreeSlot when there is none, StalePage when trials were already done, NotOpen when the
    study is closed.
    """
    with transaction.atomic():
        study = _lock_study_of(token)
        enrolment = _lock_enrolment(token)
        if enrolment.state != EnrolmentState.TIMED_OUT:
            return enrolment
        if enrolment.started_at is not None:
            raise StalePage("Your place in this study has expired.")
        _refuse_unless_open(study)
        now = timezone.now()
        met = claims_met(enrolment.participant_id, besides=enrolment.pk)
        seat = take_seat(study, enrolment.run_kind, now, avoid=met)
        enrolment.slot_id, enrolment.seat = seat
        lease_minutes = setting_of(study, enrolment.version, "lease_minutes")
        enrolment.state = EnrolmentState.CONSENTED
        enrolment.lease_until = now + timedelta(minutes=lease_minutes)
        enrolment.end_reason = ""
        enrolment.ended_at = None
        enrolment.save(
            update_fields=["slot", "seat", "state", "lease_until", "end_reason", "ended_at"]
        )
        return enrolment


def withdraw(token: str) -> None:
    """Delete everything a person left in the study and free the slots; only counts stay.

    Consent is the person's, so all of the person's runs go, whichever of them the token is of.
    Results that were worked out with these data go too; the next look works them out anew. So do
    the files of exports, which hold them.
    """
    with transaction.atomic():
        # Nobody joins meanwhile, so no further run of the person is overlooked.
        study = _lock_study_of(token)
        _delete_person(study, _lock_enrolment(token).participant)


@dataclass(frozen=True)
class Deletion:
    """What goes with a participant: runs, their trials, and stored files of exports."""

    n_runs: int
    n_trials: int
    n_exports: int


def deletion_of(study: Study, participant_code: str) -> Deletion:
    """What ``delete_participant`` would delete: three queries. Raises StudyError for nobody."""
    participant = study.participants.filter(code=participant_code).first()
    if participant is None:
        raise StudyError(f"participant {participant_code!r}: is none of study {study.slug}.")
    return Deletion(
        participant.enrolments.count(),
        Trial.objects.filter(participant=participant).count(),
        study.exports.filter(state=JobState.DONE).count(),
    )


def delete_participant(study: Study, participant_code: str) -> Deletion:
    """Delete a participant on request, as ``withdraw`` does; the audit log says how much, not who.

    Returns what was deleted. Raises StudyError where the study has no such participant.
    """
    with transaction.atomic():
        study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        deletion = deletion_of(study, participant_code)
        _delete_person(study, study.participants.get(code=participant_code))
        audit.record(
            AuditAction.PARTICIPANT_DELETED,
            study,
            runs=deletion.n_runs,
            trials=deletion.n_trials,
            exports=deletion.n_exports,
        )
    return deletion


def _delete_person(study: Study, participant: Participant) -> None:
    """Delete a person with everything that holds the data. The caller holds the study's lock."""
    for enrolment in participant.enrolments.select_for_update().order_by("pk"):
        _delete_run(study, enrolment)
    forget_id(participant)
    forget_name(participant)
    participant.delete()
    results_jobs.forget(study)
    export_jobs.forget(study)
    transaction.on_commit(forget_deleted_text)


def _delete_run(study: Study, enrolment: Enrolment) -> None:
    """Delete a run with all its rows.

    The one deliberate way of deleting events: the withdrawal row is written first and opens the
    database's guard for this enrolment alone.
    """
    Withdrawal.objects.create(
        study=study,
        enrolment_number=enrolment.pk,
        token_digest=token_digest(enrolment.token),
        run_kind=enrolment.run_kind,
        join_nonce=enrolment.join_nonce,
        invitation=enrolment.invitation,
        n_trials=enrolment.trials.count(),
    )
    enrolment.delete()


def _lock_study_of(token: str) -> Study:
    """The study of a run, locked. Raises BadLink."""
    study = (
        Study.objects.select_for_update(no_key=True, of=("self",))
        .filter(slots__enrolments__token=token)
        .first()
    )
    if study is None:
        raise BadLink(_("This link belongs to no run of this study."))
    return study


def _lock_enrolment(token: str) -> Enrolment:
    """A run, locked by itself: a join would miss the row if its slot changed while we waited."""
    enrolment = Enrolment.objects.select_for_update().filter(token=token).first()
    if enrolment is None:
        raise BadLink(_("This link belongs to no run of this study."))
    return enrolment


def _is_used(invitation: str) -> bool:
    return (
        Enrolment.objects.filter(invitation=invitation).exists()
        or Withdrawal.objects.filter(invitation=invitation).exists()
    )


def has_withdrawn(token: str, study_code: str) -> bool:
    """Whether the run of the study behind this token was withdrawn and its data deleted."""
    return Withdrawal.objects.filter(
        token_digest=token_digest(token), study__code=study_code
    ).exists()


def token_digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
