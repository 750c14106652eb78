"""The numbered versions of a study: the opening, and every later change of what may change."""

from __future__ import annotations

import hashlib
import json

from django.db import models
from django.db.models import Q

from studyapp.models.study import Study


class StudyVersion(models.Model):
    """What a study's participants are shown from one moment on. Inserted, never changed.

    Version 1 is the opening. ``content`` holds the settings that may change, by the names of
    study.json (domain/version_rows.py); all else of the study is the same in every version.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    content = models.JSONField()
    #: The record of the freezing: hashes of everything that participants can see.
    hashes = models.JSONField()
    #: Why it was made; empty for the opening.
    reason = models.TextField(blank=True)
    who = models.CharField(max_length=150, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["study", "number"]
        constraints = [
            models.UniqueConstraint(fields=["study", "number"], name="version_number_once"),
            models.CheckConstraint(name="version_from_1", condition=Q(number__gte=1)),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """Its number and what was frozen: the same for the same content (``v2-1f0c…``)."""
        text = json.dumps(self.hashes, sort_keys=True, ensure_ascii=False)
        return f"v{self.number}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
