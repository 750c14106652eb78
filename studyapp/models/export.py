"""Exports of a study that were asked for, and the files that were made of them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from studyapp.enums import ExportVariant, JobState, SpreadsheetCopies
from studyapp.models.job import RUNNING_HAS_LEASE, LeasedJob
from studyapp.models.study import Study


class ExportJob(LeasedJob):
    """One export: how it is wanted, and once it is done what its file holds.

    A done row without its file offers nothing; a file without its row is nobody's.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="exports")
    variant = models.CharField(max_length=12, choices=ExportVariant, default=ExportVariant.RAW)
    with_simulated = models.BooleanField(default=False)
    with_jsonl = models.BooleanField(default=False)
    spreadsheet = models.CharField(
        max_length=8, choices=SpreadsheetCopies, default=SpreadsheetCopies.NONE
    )
    #: Null for a command, and for an account that is gone.
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    asked_at = models.DateTimeField()
    #: The file's name in the study's folder of exports, with rows by member of the zip.
    file = models.CharField(max_length=60, blank=True)
    rows = models.JSONField(default=dict, blank=True)
    n_bytes = models.PositiveBigIntegerField(null=True, blank=True)
    sha256 = models.CharField(max_length=64, blank=True)
    made_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(name="export_job_leased_has_lease", condition=RUNNING_HAS_LEASE),
            models.CheckConstraint(
                name="export_done_has_file",
                condition=~Q(state=JobState.DONE)
                | (
                    ~Q(file="")
                    & ~Q(sha256="")
                    & Q(n_bytes__isnull=False)
                    & Q(made_at__isnull=False)
                ),
            ),
        ]
        indexes = [models.Index(fields=["state", "lease_until"], name="export_job_by_state")]

    def __str__(self) -> str:
        return f"{self.study_id} {self.variant}: {self.state}"
