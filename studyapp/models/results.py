"""What is worked out from a study's trials, kept until the trials change."""

from __future__ import annotations

from django.db import models

from studyapp.enums import ResultsKind
from studyapp.models.job import RUNNING_HAS_LEASE, LeasedJob
from studyapp.models.study import Study


class ResultsJob(LeasedJob):
    """One kind of result of one study: the work to do, and beside it the last result.

    ``content`` is None until there is a result. It stays, with the version of the data that it was
    made from, while a newer one is being made or has failed.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="results_jobs")
    kind = models.CharField(max_length=10, choices=ResultsKind)
    with_simulated = models.BooleanField(default=False)
    #: Version of the data when the work was asked for, and since when it waits.
    asked_version = models.CharField(max_length=64, blank=True)
    asked_at = models.DateTimeField()
    #: The last result: what it holds, the data it was made from, and when.
    content = models.JSONField(null=True, blank=True)
    version = models.CharField(max_length=64, blank=True)
    n_trials = models.PositiveIntegerField(default=0)
    computed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "kind", "with_simulated"], name="results_job_once"
            ),
            models.CheckConstraint(
                name="results_job_leased_has_lease", condition=RUNNING_HAS_LEASE
            ),
        ]
        indexes = [models.Index(fields=["state", "lease_until"], name="results_job_by_state")]

    def __str__(self) -> str:
        return f"{self.study_id} {self.kind}: {self.state}"
