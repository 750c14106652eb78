"""Trials, and the answers of the verification protocol."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from studyapp.codes import trial_code
from studyapp.enums import Decision, Protocol, TrialKind, TrialState
from studyapp.models.assignment import Enrolment, Participant, PlannedTrial
from studyapp.models.claim import Claim
from studyapp.models.study import Condition


class Trial(models.Model):
    """One claim shown to one participant under one condition. Exists from its start.

    ``stimulus`` is what the protocol froze for this trial; ``n_steps`` counts the steps taken
    (sentences shown) and ``n_events`` numbers the history. Only main trials are planned and have a
    position; practice and attention trials stand at position 0, in the order of their start.
    """

    code = models.CharField(max_length=20, unique=True, default=trial_code)
    enrolment = models.ForeignKey(Enrolment, on_delete=models.CASCADE, related_name="trials")
    participant = models.ForeignKey(Participant, on_delete=models.CASCADE, related_name="trials")
    planned = models.ForeignKey(
        PlannedTrial, null=True, blank=True, on_delete=models.PROTECT, related_name="trials"
    )
    claim = models.ForeignKey(Claim, on_delete=models.PROTECT, related_name="trials")
    condition = models.ForeignKey(Condition, on_delete=models.PROTECT, related_name="trials")
    protocol = models.CharField(max_length=20, choices=Protocol)
    kind = models.CharField(max_length=10, choices=TrialKind, default=TrialKind.MAIN)
    state = models.CharField(max_length=12, choices=TrialState, default=TrialState.OPEN)
    block = models.PositiveSmallIntegerField()
    position = models.PositiveIntegerField()
    stimulus = models.JSONField()
    n_steps = models.PositiveIntegerField()
    n_events = models.PositiveIntegerField()
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    void_reason = models.TextField(blank=True)

    class Meta:
        ordering = ["enrolment", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["participant", "claim"],
                condition=Q(kind=TrialKind.MAIN),
                name="participant_meets_claim_once",
            ),
            # The same attention checks are in every run, and a person may have several.
            models.UniqueConstraint(
                fields=["enrolment", "claim"],
                condition=Q(kind=TrialKind.ATTENTION),
                name="run_meets_attention_claim_once",
            ),
            models.UniqueConstraint(
                fields=["enrolment", "position"],
                condition=Q(kind=TrialKind.MAIN),
                name="trial_position_once",
            ),
            models.CheckConstraint(
                name="trial_main_is_planned",
                condition=Q(kind=TrialKind.MAIN, planned__isnull=False, position__gte=1)
                | (~Q(kind=TrialKind.MAIN) & Q(planned__isnull=True, position=0, block=0)),
            ),
            models.UniqueConstraint(
                fields=["enrolment"],
                condition=Q(state=TrialState.OPEN),
                name="one_open_trial_a_run",
            ),
            models.CheckConstraint(
                name="trial_completed_has_end",
                condition=~Q(state=TrialState.COMPLETED) | Q(ended_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.code


class VerificationAnswer(models.Model):
    """The one decision of a verification trial. Never updated (a trigger refuses it)."""

    trial = models.OneToOneField(
        Trial, on_delete=models.CASCADE, primary_key=True, related_name="verification_answer"
    )
    decision = models.CharField(max_length=20, choices=Decision)
    #: Null where the claim's label is none of the study's options (not scorable).
    is_correct = models.BooleanField(null=True)
    n_shown = models.PositiveIntegerField()
    confidence = models.PositiveSmallIntegerField(null=True, blank=True)
    reason = models.TextField(blank=True)

    def __str__(self) -> str:
        return self.decision
