"""Links of single people: their names, apart from everything they answer."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from studyapp.codes import link_token
from studyapp.enums import RunKind
from studyapp.models.assignment import Participant
from studyapp.models.study import Study

#: The longest name that is kept.
MAX_NAME = 200


class PersonalLink(models.Model):
    """A link for one person, which leads to one participant. In no export of the study; the name
    is on the pages of links and in payments.csv alone.

    When its person withdraws, the name and the token are gone; a hash of the token stays, so that
    the link starts no new run and can say why.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="personal_links")
    name = models.CharField(max_length=MAX_NAME, blank=True)
    run_kind = models.CharField(max_length=10, choices=RunKind, default=RunKind.REAL)
    token = models.CharField(max_length=40, blank=True, default=link_token)
    #: SHA-256 of the token.
    digest = models.CharField(max_length=64, unique=True)
    participant = models.OneToOneField(
        Participant, null=True, blank=True, on_delete=models.CASCADE, related_name="personal_link"
    )
    created_at = models.DateTimeField()
    first_seen = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    has_withdrawn = models.BooleanField(default=False)

    class Meta:
        ordering = ["study", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "name"],
                condition=Q(has_withdrawn=False),
                name="personal_link_once_a_name",
            ),
            models.CheckConstraint(
                name="personal_link_forgotten_after_withdrawal",
                condition=Q(has_withdrawn=False) | Q(name="", token="", participant__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return self.digest[:8]
