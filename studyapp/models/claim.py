"""Claims, their candidate sentences and their gold sets."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from studyapp.enums import Label, TrialKind
from studyapp.models.study import Study


class ClaimsImport(models.Model):
    """A claims file on its way into a study; its claims belong to no study until it is over.

    ``alive_at`` is renewed while it runs: what is left behind by a process that ended is deleted.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="claims_imports")
    alive_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"import {self.pk} into study {self.study_id}"


class Claim(models.Model):
    """A statement to check, with the label that is the right decision."""

    #: Null while the file it comes from is being imported, and only then.
    study = models.ForeignKey(Study, null=True, on_delete=models.CASCADE, related_name="claims")
    arriving = models.ForeignKey(
        ClaimsImport, null=True, blank=True, on_delete=models.CASCADE, related_name="claims"
    )
    subset = models.ForeignKey(
        "studyapp.Subset", null=True, blank=True, on_delete=models.SET_NULL, related_name="claims"
    )
    position = models.PositiveIntegerField()
    #: The kind of trial it is kept for. Only main claims are ranked and scheduled.
    role = models.CharField(max_length=10, choices=TrialKind, default=TrialKind.MAIN)
    #: The id in the researcher's file.
    claim_id = models.CharField(max_length=200)
    text = models.TextField()
    label = models.CharField(max_length=20, choices=Label)
    lang = models.CharField(max_length=20, default="en")
    source = models.TextField(null=True, blank=True)  # noqa: DJ001  (absent differs from empty)
    license = models.TextField(null=True, blank=True)  # noqa: DJ001
    meta = models.JSONField(default=dict, blank=True)
    n_candidates = models.PositiveIntegerField()
    gold_min_size = models.PositiveIntegerField()
    #: SHA-256 of everything in the file's row; tells a repeated row from a changed one.
    digest = models.CharField(max_length=64)

    class Meta:
        ordering = ["study", "position"]
        constraints = [
            models.UniqueConstraint(fields=["study", "claim_id"], name="claim_id_once"),
            models.UniqueConstraint(fields=["study", "position"], name="claim_position_once"),
            models.CheckConstraint(
                name="claim_in_study_or_arriving",
                condition=Q(study__isnull=False, arriving__isnull=True)
                | Q(study__isnull=True, arriving__isnull=False),
            ),
            models.CheckConstraint(
                name="claim_has_candidates_and_gold",
                condition=Q(n_candidates__gte=1, gold_min_size__gte=1)
                & Q(gold_min_size__lte=models.F("n_candidates")),
            ),
        ]

    def __str__(self) -> str:
        return self.claim_id


class Candidate(models.Model):
    """One candidate sentence, known by its position; equal texts stay separate."""

    claim = models.ForeignKey(Claim, on_delete=models.CASCADE, related_name="candidates")
    position = models.PositiveIntegerField()
    text = models.TextField()
    title = models.TextField(null=True, blank=True)  # noqa: DJ001

    class Meta:
        ordering = ["claim", "position"]
        constraints = [
            models.UniqueConstraint(fields=["claim", "position"], name="candidate_position_once")
        ]

    def __str__(self) -> str:
        return f"s{self.position}"


class GoldSet(models.Model):
    """Positions of candidates that together suffice; no member can be spared."""

    claim = models.ForeignKey(Claim, on_delete=models.CASCADE, related_name="gold_sets")
    position = models.PositiveIntegerField()
    members = models.JSONField()

    class Meta:
        ordering = ["claim", "position"]
        constraints = [
            models.UniqueConstraint(fields=["claim", "position"], name="gold_set_position_once")
        ]

    def __str__(self) -> str:
        return "|".join(f"s{member}" for member in self.members)
