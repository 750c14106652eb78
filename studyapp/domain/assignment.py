"""Who gets which slot: joining, expiry, withdrawal."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.core import signing
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from studyapp.codes import random_code
from studyapp.domain import results_jobs
from studyapp.enums import EnrolmentState, RunKind, TrialKind, TrialState
from studyapp.errors import BadLink, NoFreeSlot, NotOpen, StalePage
from studyapp.models import Enrolment, Participant, Slot, Study, Trial, Withdrawal
from studyapp.models.assignment import HOLDING

JOIN_SALT = "suffice.join"
INVITATION_SALT = "suffice.invitation"


@dataclass(frozen=True)
class JoinForm:
    """What a consent form carries: which study, which run it may start, and a one-time nonce."""

    nonce: str
    run_kind: str = RunKind.REAL
    invitation: str | None = None


def invite(study: Study, run_kind: str) -> str:
    """A signed text that starts one run of ``run_kind``; it works once."""
    content = {"study": study.code, "kind": run_kind, "nonce": random_code(20)}
    return signing.dumps(content, salt=INVITATION_SALT, compress=False)


def issue_join_form(study: Study, invitation: str | None) -> str:
    """The hidden token of a consent form. Raises BadLink for an invitation that is not ours.

    Signed instead of a cookie pair, so that it works in frames and with cookies refused, and after
    a week; a link preview that fetches the page stores nothing.
    """
    form = {"study": study.code, "nonce": random_code(20), "kind": RunKind.REAL.value}
    if invitation:
        try:
            invited = signing.loads(invitation, salt=INVITATION_SALT)
        except signing.BadSignature:
            raise BadLink(_("This invitation is not valid. Ask for a new link.")) from None
        if invited["study"] != study.code:
            raise BadLink(_("This invitation belongs to another study."))
        form |= {"kind": invited["kind"], "invitation": invited["nonce"]}
    return signing.dumps(form, salt=JOIN_SALT, compress=False)


def read_join_form(study: Study, signed: str) -> JoinForm:
    """The content of a consent form that this study handed out. Raises BadLink."""
    try:
        form = signing.loads(signed, salt=JOIN_SALT)
    except signing.BadSignature:
        form = {}
    if form.get("study") != study.code:
        raise BadLink(_("This form is not from this study. Open the study's link again."))
    return JoinForm(form["nonce"], form["kind"], form.get("invitation"))


def consent_version(study: Study) -> str:
    """Names the exact consent text a participant agreed to."""
    return hashlib.sha256(study.texts.get("consent", "").encode()).hexdigest()


def join(study_code: str, form: JoinForm) -> Enrolment:
    """Create a participant and take the next free slot, in one transaction.

    The same form joins once, however often it is sent. Raises NotOpen, NoFreeSlot, BadLink (an
    invitation that was used before).
    """
    with transaction.atomic():
        # The study's row is the queue: arrivals take their slots one after another.
        # No key of it changes, so rows that refer to the study are not held up.
        study = Study.objects.select_for_update(no_key=True).get(code=study_code)
        existing = Enrolment.objects.filter(join_nonce=form.nonce).first()
        if existing is not None:
            return existing
        if Withdrawal.objects.filter(join_nonce=form.nonce).exists():
            raise BadLink(_("The run that began here was withdrawn. Open the study's link again."))
        if form.invitation and _is_used(form.invitation):
            raise BadLink(_("This invitation was used before. Ask for a new link."))
        if not study.is_open:
            raise NotOpen(_("This study takes no participants now."))
        now = timezone.now()
        slot, seat = _take_seat(study, form.run_kind, now)
        return Enrolment.objects.create(
            participant=Participant.objects.create(study=study),
            slot=slot,
            seat=seat,
            run_kind=form.run_kind,
            join_nonce=form.nonce,
            invitation=form.invitation,
            consent_version=consent_version(study),
            consented_at=now,
            lease_until=now + timedelta(minutes=study.lease_minutes),
        )


def move_to_free_slot(token: str) -> Enrolment:
    """Give a person whose place expired before the first trial another one.

    Raises NoFreeSlot when there is none, StalePage when trials were already done.
    """
    with transaction.atomic():
        study = (
            Study.objects.select_for_update(no_key=True, of=("self",))
            .filter(slots__enrolments__token=token)
            .first()
        )
        enrolment = Enrolment.objects.select_for_update().filter(token=token).first()
        if study is None or enrolment is None:
            raise BadLink(_("This link belongs to no run of this study."))
        if enrolment.state != EnrolmentState.TIMED_OUT:
            return enrolment
        if enrolment.started_at is not None:
            raise StalePage("Your place in this study has expired.")
        now = timezone.now()
        enrolment.slot, enrolment.seat = _take_seat(study, enrolment.run_kind, now)
        enrolment.state = EnrolmentState.CONSENTED
        enrolment.lease_until = now + timedelta(minutes=study.lease_minutes)
        enrolment.end_reason = ""
        enrolment.ended_at = None
        enrolment.save(
            update_fields=["slot", "seat", "state", "lease_until", "end_reason", "ended_at"]
        )
        return enrolment


def withdraw(token: str) -> None:
    """Delete everything a participant left and free the slot; only a count stays.

    Results that were worked out with these data go too; the next look works them out anew.

    The one deliberate way of deleting events: the withdrawal row is written first and opens the
    database's guard for this enrolment alone.
    """
    with transaction.atomic():
        # Locked by itself: a join would miss the row if its slot changed while we waited for it.
        enrolment = Enrolment.objects.select_for_update().filter(token=token).first()
        if enrolment is None:
            raise BadLink(_("This link belongs to no run of this study."))
        Withdrawal.objects.create(
            study=enrolment.slot.study,
            enrolment_number=enrolment.pk,
            token_digest=token_digest(token),
            run_kind=enrolment.run_kind,
            join_nonce=enrolment.join_nonce,
            invitation=enrolment.invitation,
            n_trials=enrolment.trials.count(),
        )
        participant = enrolment.participant
        enrolment.delete()
        if not participant.enrolments.exists():
            participant.delete()
        results_jobs.forget(enrolment.slot.study)


def _is_used(invitation: str) -> bool:
    return (
        Enrolment.objects.filter(invitation=invitation).exists()
        or Withdrawal.objects.filter(invitation=invitation).exists()
    )


def has_withdrawn(token: str) -> bool:
    """Whether the run behind this token was withdrawn and its data deleted."""
    return Withdrawal.objects.filter(token_digest=token_digest(token)).exists()


def token_digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _take_seat(study: Study, run_kind: str, now: datetime) -> tuple[Slot, int]:
    """The first slot with a free seat for this kind of run; expired holders make room last."""
    taken = _free_seat(study, run_kind) or _expired_seat(study, run_kind, now)
    if taken is None:
        raise NoFreeSlot("Every place in this study is taken. Thank you for your interest.")
    return taken


def _free_seat(study: Study, run_kind: str) -> tuple[Slot, int] | None:
    slots = list(Slot.objects.filter(study=study).order_by("replication", "number"))
    held: dict[int, set[int]] = {slot.pk: set() for slot in slots}
    holders = Enrolment.objects.filter(
        slot__study=study, run_kind=run_kind, state__in=HOLDING
    ).values_list("slot_id", "seat")
    for slot_id, seat in holders:
        held[slot_id].add(seat)
    for slot in slots:
        for seat in range(1, slot.target + 1):
            if seat not in held[slot.pk]:
                return slot, seat
    return None


def _expired_seat(study: Study, run_kind: str, now: datetime) -> tuple[Slot, int] | None:
    """A seat whose holder's lease ran out, or one whose holder withdrew while we looked."""
    for enrolment in _expired_holds(study, run_kind, now):
        if _release_expired(enrolment, now):
            return enrolment.slot, enrolment.seat
    return _free_seat(study, run_kind)


def _expired_holds(study: Study, run_kind: str, now: datetime) -> QuerySet[Enrolment]:
    """Holds that nobody renewed in time. Who has only the questionnaire left keeps the slot."""
    last_trial = Trial.objects.filter(
        enrolment=OuterRef("pk"),
        kind=TrialKind.MAIN,
        state=TrialState.COMPLETED,
        position=OuterRef("slot__n_trials"),
    )
    return (
        Enrolment.objects.select_related("slot")
        .filter(slot__study=study, run_kind=run_kind, lease_until__lt=now)
        .filter(~Exists(last_trial), state__in=(EnrolmentState.CONSENTED, EnrolmentState.ACTIVE))
        .order_by("lease_until", "pk")
    )


def _release_expired(enrolment: Enrolment, now: datetime) -> bool:
    """End an expired hold; its data stay, marked. False when the holder came back meanwhile."""
    released = (
        Enrolment.objects.filter(pk=enrolment.pk, lease_until__lt=now)
        .filter(Q(state=EnrolmentState.CONSENTED) | Q(state=EnrolmentState.ACTIVE))
        .update(state=EnrolmentState.TIMED_OUT, ended_at=now, end_reason="timed_out")
    )
    if released:
        Trial.objects.filter(enrolment=enrolment, state=TrialState.OPEN).update(
            state=TrialState.INCOMPLETE
        )
    return bool(released)
