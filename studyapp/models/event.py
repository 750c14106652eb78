"""The history: rows are inserted and never changed (kept so by database triggers)."""

from __future__ import annotations

from django.db import models

from studyapp.codes import event_code
from studyapp.models.trial import Trial


class Event(models.Model):
    """One thing that happened in a trial.

    ``seq`` numbers the trial's events from 0 in the server's order. ``step`` numbers from 1 what
    the protocol shows one after another; ``data`` says what. Server times are UTC; ``client_ms``
    is the browser's monotonic clock since the trial began, null where the browser said nothing.
    """

    code = models.CharField(max_length=20, default=event_code)
    trial = models.ForeignKey(Trial, on_delete=models.CASCADE, related_name="events")
    seq = models.PositiveIntegerField()
    kind = models.CharField(max_length=30)
    step = models.PositiveIntegerField(null=True, blank=True)
    data = models.JSONField(default=dict, blank=True)
    server_at = models.DateTimeField()
    client_ms = models.PositiveBigIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["trial", "seq"]
        constraints = [
            models.UniqueConstraint(fields=["trial", "seq"], name="event_seq_once"),
            models.UniqueConstraint(fields=["trial", "step"], name="event_step_once"),
        ]

    def __str__(self) -> str:
        return f"{self.trial_id}:{self.seq} {self.kind}"
