"""Subsets, slots, planned trials, and who holds what."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from studyapp.codes import participant_code, run_token
from studyapp.enums import EnrolmentState, RunKind
from studyapp.models.claim import Claim
from studyapp.models.study import Condition, Study

#: States in which an enrolment keeps its slot.
HOLDING = (EnrolmentState.CONSENTED, EnrolmentState.ACTIVE, EnrolmentState.COMPLETED)
#: States in which an enrolment may still act.
RUNNING = (EnrolmentState.CONSENTED, EnrolmentState.ACTIVE)


class Subset(models.Model):
    """One of k disjoint parts of the claims."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="subsets")
    number = models.PositiveIntegerField()
    #: Since when no slot with this subset is given out; null while they are.
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["study", "number"]
        constraints = [
            models.UniqueConstraint(fields=["study", "number"], name="subset_number_once")
        ]

    def __str__(self) -> str:
        return str(self.number)


class Slot(models.Model):
    """A planned place: one participant's work. ``target`` people may fill it."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="slots")
    replication = models.PositiveIntegerField()
    number = models.PositiveIntegerField()
    target = models.PositiveSmallIntegerField(default=1)
    n_trials = models.PositiveIntegerField(default=0)
    #: The cells that the slot fills: pairs of a subset's number and a condition's position.
    cells = models.JSONField(default=list, blank=True)
    #: Since when the slot is not given out; null while it is.
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["study", "replication", "number"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "replication", "number"], name="slot_number_once"
            ),
            models.CheckConstraint(
                name="slot_counts_from_1",
                condition=Q(replication__gte=1, number__gte=1, target__gte=1),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.replication}.{self.number}"


class PlannedTrial(models.Model):
    """One claim under one condition at one position of a slot."""

    slot = models.ForeignKey(Slot, on_delete=models.CASCADE, related_name="planned")
    #: Repeated from the slot so that the database can hold a cycle to its promise.
    replication = models.PositiveIntegerField()
    position = models.PositiveIntegerField()
    block = models.PositiveSmallIntegerField()
    claim = models.ForeignKey(Claim, on_delete=models.CASCADE, related_name="planned")
    condition = models.ForeignKey(Condition, on_delete=models.CASCADE, related_name="planned")

    class Meta:
        ordering = ["slot", "position"]
        constraints = [
            models.UniqueConstraint(fields=["slot", "position"], name="planned_position_once"),
            models.UniqueConstraint(fields=["slot", "claim"], name="planned_claim_once_a_slot"),
            models.UniqueConstraint(
                fields=["replication", "claim", "condition"], name="planned_once_a_cycle"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.slot_id}:{self.position}"


class Participant(models.Model):
    """A person, known by a random pseudonym only."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="participants")
    code = models.CharField(max_length=20, unique=True, default=participant_code)
    joined_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.code


class Enrolment(models.Model):
    """A participant's hold on one slot, from consent to end. The token is the key to the run."""

    participant = models.ForeignKey(
        Participant, on_delete=models.CASCADE, related_name="enrolments"
    )
    slot = models.ForeignKey(Slot, on_delete=models.PROTECT, related_name="enrolments")
    seat = models.PositiveSmallIntegerField(default=1)
    run_kind = models.CharField(max_length=10, choices=RunKind, default=RunKind.REAL)
    state = models.CharField(
        max_length=20, choices=EnrolmentState, default=EnrolmentState.CONSENTED
    )
    token = models.CharField(max_length=40, unique=True, default=run_token)
    #: From the consent form; a form posted twice joins once.
    join_nonce = models.CharField(max_length=40, unique=True)
    #: From a one-time link for simulated and pilot runs; null for open links.
    invitation = models.CharField(max_length=40, unique=True, null=True, blank=True)
    consent_version = models.CharField(max_length=64)
    #: The study's version at the join: the run is finished on it, whatever is published later.
    version = models.PositiveIntegerField(default=1)
    consented_at = models.DateTimeField()
    lease_until = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    end_reason = models.CharField(max_length=40, blank=True)
    #: The state before a researcher ended the run, so that the end can be undone.
    ended_from = models.CharField(max_length=20, choices=EnrolmentState, blank=True)
    #: What a researcher wrote about the end; for researchers alone, never exported.
    end_note = models.CharField(max_length=500, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["slot", "run_kind", "seat"],
                condition=Q(state__in=HOLDING),
                name="slot_seat_held_once",
            ),
            models.UniqueConstraint(
                fields=["participant"],
                condition=Q(state__in=RUNNING),
                name="one_run_at_a_time",
            ),
            models.CheckConstraint(name="seat_from_1", condition=Q(seat__gte=1)),
            models.CheckConstraint(
                name="enrolment_completed_has_end",
                condition=~Q(state=EnrolmentState.COMPLETED) | Q(ended_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.participant_id} on {self.slot_id}"


class Withdrawal(models.Model):
    """What stays of a run whose participant withdrew: a count, no data.

    While this row exists, the database lets the rows of that one enrolment be deleted.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="withdrawals")
    enrolment_number = models.BigIntegerField(unique=True)
    #: SHA-256 of the run token, so that the old address can say that all is deleted.
    token_digest = models.CharField(max_length=64, unique=True)
    run_kind = models.CharField(max_length=10, choices=RunKind)
    #: The one-time form and invitation of the run, so that neither starts another one.
    join_nonce = models.CharField(max_length=40, unique=True, null=True)  # noqa: DJ001
    invitation = models.CharField(max_length=40, unique=True, null=True)  # noqa: DJ001
    n_trials = models.PositiveIntegerField()
    withdrawn_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.n_trials} trials deleted"
