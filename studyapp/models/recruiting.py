"""How people are sent to a study by a recruiter: their ids, apart from everything they answer."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from studyapp.enums import RefusedIdKind
from studyapp.models.assignment import Participant
from studyapp.models.study import Study

#: The longest id that is taken; those of Prolific have 24 characters, those of MTurk up to 21.
MAX_ID = 100


class RecruiterId(models.Model):
    """One recruiter id seen by a study. In no export, and shown to nobody but its recruiter.

    Before consent there is only a keyed hash and the time. The id itself is kept from consent on,
    and gone when its person withdraws; the hash stays, so that the id starts no new run.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="recruiter_ids")
    #: HMAC-SHA-256 of the id under the server's secret key and the study's code.
    digest = models.CharField(max_length=64)
    value = models.CharField(max_length=MAX_ID, blank=True)
    #: What the link carried beside the id, by the names of the parameters.
    others = models.JSONField(default=dict, blank=True)
    participant = models.OneToOneField(
        Participant, null=True, blank=True, on_delete=models.CASCADE, related_name="recruiter_id"
    )
    has_withdrawn = models.BooleanField(default=False)
    first_seen = models.DateTimeField()

    class Meta:
        ordering = ["study", "id"]
        constraints = [
            models.UniqueConstraint(fields=["study", "digest"], name="recruiter_id_once_a_study"),
            models.CheckConstraint(
                name="recruiter_id_kept_with_its_person_only",
                condition=Q(participant__isnull=False) | Q(value=""),
            ),
        ]

    def __str__(self) -> str:
        return self.digest[:8]


class RefusedId(models.Model):
    """How many links came without an id that can be used, by what was wrong with it."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="refused_ids")
    kind = models.CharField(max_length=12, choices=RefusedIdKind)
    n = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["study", "kind"]
        constraints = [
            models.UniqueConstraint(fields=["study", "kind"], name="refused_id_kind_once"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.n}"
