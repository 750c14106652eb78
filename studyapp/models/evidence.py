"""Stored results of rankers: a ranking or a selection for each claim and condition."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from studyapp.models.claim import Claim
from studyapp.models.study import Condition


class Result(models.Model):
    """What made a result and what it cost. ``cached_prompt_tokens`` is null where unknown."""

    condition = models.ForeignKey(Condition, on_delete=models.CASCADE, related_name="%(class)ss")
    claim = models.ForeignKey(Claim, on_delete=models.CASCADE, related_name="%(class)ss")
    method = models.CharField(max_length=40)
    model = models.CharField(max_length=200, blank=True)
    prompt_version = models.CharField(max_length=60, blank=True)
    params = models.JSONField(default=dict, blank=True)
    status = models.CharField(max_length=10)
    n_calls = models.PositiveIntegerField(default=0)
    prompt_tokens = models.PositiveBigIntegerField(default=0)
    cached_prompt_tokens = models.PositiveBigIntegerField(null=True, blank=True)
    completion_tokens = models.PositiveBigIntegerField(default=0)
    seconds = models.FloatField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True


class Ranking(Result):
    """A full order of a claim's candidates (a trigger refuses anything but a permutation)."""

    order = models.JSONField()
    origins = models.JSONField()
    scores = models.JSONField(null=True, blank=True)
    fallback_from = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["condition", "claim"], name="ranking_once"),
            models.CheckConstraint(
                name="ranking_status_known", condition=Q(status__in=["complete", "fallback"])
            ),
        ]


class Selection(Result):
    """Ascending positions shown together (a trigger refuses anything else)."""

    selected = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["condition", "claim"], name="selection_once"),
            models.CheckConstraint(
                name="selection_status_known", condition=Q(status__in=["complete", "fallback"])
            ),
        ]
