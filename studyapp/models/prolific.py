"""What is known of a study at Prolific, of its submissions there, and what is asked of it."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from studyapp.enums import CallKind, JobState
from studyapp.models.assignment import Enrolment
from studyapp.models.job import RUNNING_HAS_LEASE, LeasedJob
from studyapp.models.study import Study
from studyapp.recruiters.prolific_statuses import SubmissionStatus

#: Prolific's ids have 24 characters.
MAX_PROLIFIC_ID = 64


class ProlificLink(models.Model):
    """A study's tie to Prolific. No secret: tokens stand in the server's environment."""

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="prolific")
    #: Ids of the studies at Prolific that send people here.
    study_ids = models.JSONField(default=list, blank=True)
    #: The completion code that screens a submission out; never exported.
    screen_out_code = models.CharField(max_length=60, blank=True)

    #: When the bell for a sync rang last, when it succeeded last, and what the last one met.
    rung_at = models.DateTimeField(null=True, blank=True)
    synced_at = models.DateTimeField(null=True, blank=True)
    sync_error = models.TextField(blank=True)
    n_listed = models.PositiveIntegerField(default=0)
    n_unmatched = models.PositiveIntegerField(default=0)

    #: Messages of the webhook: taken, of submissions that are not ours, and refused.
    n_messages = models.PositiveIntegerField(default=0)
    n_messages_unmatched = models.PositiveIntegerField(default=0)
    n_messages_refused = models.PositiveIntegerField(default=0)
    last_message_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.study_id}: {', '.join(self.study_ids)}"


class RecruiterSubmission(models.Model):
    """One submission at Prolific that belongs to a run, with the last status told of it.

    It goes with its run when the person withdraws, and is in no export.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="submissions")
    #: Prolific's id of the submission, which links carry as SESSION_ID.
    submission_id = models.CharField(max_length=MAX_PROLIFIC_ID)
    enrolment = models.ForeignKey(Enrolment, on_delete=models.CASCADE, related_name="submissions")
    status = models.CharField(
        max_length=20, choices=SubmissionStatus, default=SubmissionStatus.UNKNOWN
    )
    #: The time for which the status was told; null until one was.
    status_at = models.DateTimeField(null=True, blank=True)
    seen_at = models.DateTimeField()

    class Meta:
        ordering = ["study", "id"]
        constraints = [
            models.UniqueConstraint(fields=["study", "submission_id"], name="submission_once"),
            models.CheckConstraint(
                name="submission_status_has_time",
                condition=Q(status=SubmissionStatus.UNKNOWN) | Q(status_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.enrolment_id}: {self.status}"


class RecruiterCall(LeasedJob):
    """Something asked of Prolific about one submission: at most one of each kind."""

    submission = models.ForeignKey(
        RecruiterSubmission, on_delete=models.CASCADE, related_name="calls"
    )
    kind = models.CharField(max_length=20, choices=CallKind)
    asked_at = models.DateTimeField()
    #: Not before this time; null means at once.
    due_at = models.DateTimeField(null=True, blank=True)
    answer = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["submission", "kind"], name="call_once_a_kind"),
            models.CheckConstraint(name="call_leased_has_lease", condition=RUNNING_HAS_LEASE),
        ]
        indexes = [models.Index(fields=["state", "due_at"], name="call_by_state")]

    def __str__(self) -> str:
        return f"{self.kind} of {self.submission_id}: {self.state}"

    @property
    def is_refused(self) -> bool:
        return self.state == JobState.FAILED
