"""Precompute jobs, worker presence and stored LLM answers."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from studyapp.enums import JobState
from studyapp.models.claim import Claim
from studyapp.models.study import Condition


class LeasedJob(models.Model):
    """Work that a worker takes for a while. The row is the truth; the broker's message a bell."""

    state = models.CharField(max_length=10, choices=JobState, default=JobState.QUEUED)
    lease_token = models.CharField(max_length=40, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    n_attempts = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True)
    #: When the bell last rang for this row.
    rung_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True


#: A job that runs has a lease; a condition of every table of jobs.
RUNNING_HAS_LEASE = ~Q(state=JobState.LEASED) | (Q(lease_until__isnull=False) & ~Q(lease_token=""))


class PrecomputeJob(LeasedJob):
    """One method on one claim."""

    condition = models.ForeignKey(Condition, on_delete=models.CASCADE, related_name="jobs")
    claim = models.ForeignKey(Claim, on_delete=models.CASCADE, related_name="jobs")
    raw_reply = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["condition", "claim"], name="job_once"),
            models.CheckConstraint(name="job_leased_has_lease", condition=RUNNING_HAS_LEASE),
        ]
        indexes = [models.Index(fields=["state", "lease_until"], name="job_by_state")]

    def __str__(self) -> str:
        return f"{self.condition_id}/{self.claim_id}: {self.state}"


class WorkerPresence(models.Model):
    """A worker that was alive at ``seen_at``."""

    name = models.CharField(max_length=200, unique=True)
    seen_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class LlmResponse(models.Model):
    """An LLM's answer under the hash of its request, kept before it is used."""

    key = models.CharField(max_length=64, primary_key=True)
    response = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.key
