"""A study and the conditions it compares."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from studyapp.codes import study_code
from studyapp.enums import (
    ConditionPolicy,
    Interface,
    OrderPolicy,
    Protocol,
    StudyState,
)

#: What a sitting holds beside its main trials, where the study does not say otherwise.
SITTING_DEFAULTS: dict[str, Any] = {
    "practice_tries": 2,
    "break_every": 0,
    "confidence": "off",
    "reason": "off",
    "questionnaire": [],
    "return_url": "",
    "declined_code": "",
    "allows_translation": False,
    "practice_must_pass": False,
    "attention_failures_allowed": None,
    "screened_out_code": "",
    "screened_out_url": "",
    "failed_checks_code": "",
    "failed_checks_url": "",
}

#: How people come, where the study does not say otherwise: by a link that does not say who they
#: are, and none beyond what the slots are planned for.
RECRUITING_DEFAULTS: dict[str, Any] = {
    "id_parameter": "",
    "other_parameters": [],
    "repeats": 1,
    "extra_places": 0,
    "return_after_minutes": 0,
    "source": "plain",
    "personal_links": "also",
}
#: What a recruiting site fills into the link, where the study does not say otherwise.
SOURCE_DEFAULTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "prolific": {
        "id_parameter": "PROLIFIC_PID",
        "other_parameters": ["STUDY_ID", "SESSION_ID"],
    },
    "mturk": {
        "id_parameter": "workerId",
        "other_parameters": ["assignmentId", "hitId", "turkSubmitTo"],
    },
    "sona": {"id_parameter": "survey_code"},
}


def recruiting_defaults(recruiting: dict[str, Any]) -> dict[str, Any]:
    """What holds where stored settings say nothing: the source's defaults over the general ones."""
    source = recruiting.get("source", RECRUITING_DEFAULTS["source"])
    return RECRUITING_DEFAULTS | SOURCE_DEFAULTS[source]


def recruiting_value(recruiting: dict[str, Any], name: str) -> Any:
    """One setting among stored ones: as stored, else the source's, else the default."""
    return recruiting.get(name, recruiting_defaults(recruiting)[name])


class Study(models.Model):
    """One experiment: its texts and settings. Frozen when it opens."""

    slug = models.SlugField(max_length=60, unique=True)
    #: Part of the participants' address; says nothing about the study.
    code = models.CharField(max_length=20, unique=True, default=study_code)
    title = models.CharField(max_length=200)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    state = models.CharField(max_length=10, choices=StudyState, default=StudyState.DRAFT)
    protocol = models.CharField(max_length=20, choices=Protocol, default=Protocol.VERIFICATION)
    lang = models.CharField(max_length=20, default="en")
    texts = models.JSONField(default=dict, blank=True)
    completion_code = models.CharField(max_length=60, blank=True)
    #: Buttons offered; empty until the study opens unless the researcher chose them.
    response_options = models.JSONField(default=list, blank=True)
    shows_total = models.BooleanField(default=False)
    confirms_decision = models.BooleanField(default=True)
    lease_minutes = models.PositiveIntegerField(default=120)
    #: Settings of the sitting that differ from SITTING_DEFAULTS (domain/sitting_settings.py).
    sitting = models.JSONField(default=dict, blank=True)
    #: Settings of recruiting that differ from RECRUITING_DEFAULTS (domain/recruiting_settings.py).
    recruiting = models.JSONField(default=dict, blank=True)
    #: Claims kept for practice and for attention checks, counted when the study opens.
    n_practice = models.PositiveIntegerField(default=0)
    n_attention = models.PositiveIntegerField(default=0)

    order_policy = models.CharField(max_length=20, choices=OrderPolicy, default=OrderPolicy.BLOCKED)
    condition_policy = models.CharField(
        max_length=20, choices=ConditionPolicy, default=ConditionPolicy.WITHIN
    )
    seed = models.PositiveBigIntegerField(default=0)
    n_subsets = models.PositiveIntegerField(default=0)
    n_replications = models.PositiveIntegerField(default=0)

    non_inferiority_margin = models.FloatField(default=0.10)
    preregistered = models.JSONField(default=dict, blank=True)
    #: Hashes of everything a participant can see, and the software version, from the opening.
    frozen = models.JSONField(default=dict, blank=True)
    #: The newest version (models/version.py), whose values this row holds; 0 before the opening.
    version = models.PositiveIntegerField(default=0)
    #: Where this study was made from an export: the versions that the original had.
    origin = models.JSONField(default=dict, blank=True)

    #: Whether nobody sees results by condition before the study is closed (domain/blinding.py).
    blind = models.BooleanField(default=False)
    unblinded_at = models.DateTimeField(null=True, blank=True)
    #: Who lifted it: a role, or a command.
    unblinded_by = models.CharField(max_length=20, blank=True)

    created_at = models.DateTimeField(auto_now_add=True)
    opened_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.CheckConstraint(
                name="study_margin_between_0_and_1",
                condition=Q(non_inferiority_margin__gt=0, non_inferiority_margin__lt=1),
            ),
            models.CheckConstraint(
                name="study_opened_has_time",
                condition=Q(state=StudyState.DRAFT) | Q(opened_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.title

    def sitting_setting(self, name: str) -> Any:
        """One setting of the sitting, by default that of ``SITTING_DEFAULTS``."""
        return self.sitting.get(name, SITTING_DEFAULTS[name])

    def recruiting_setting(self, name: str) -> Any:
        """One setting of recruiting, by default its source's or that of ``RECRUITING_DEFAULTS``."""
        return recruiting_value(self.recruiting, name)

    @property
    def is_draft(self) -> bool:
        return self.state == StudyState.DRAFT

    @property
    def is_open(self) -> bool:
        return self.state == StudyState.OPEN


class Condition(models.Model):
    """A named way to present evidence: an interface and the method behind it."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="conditions")
    name = models.SlugField(max_length=40)
    position = models.PositiveSmallIntegerField()
    interface = models.CharField(max_length=20, choices=Interface)
    method = models.CharField(max_length=40)
    model = models.CharField(max_length=200, blank=True)
    embedder = models.CharField(max_length=200, blank=True)
    params = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["study", "position"]
        constraints = [
            models.UniqueConstraint(fields=["study", "name"], name="condition_name_once"),
            models.UniqueConstraint(fields=["study", "position"], name="condition_position_once"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_incremental(self) -> bool:
        return self.interface == Interface.INCREMENTAL
