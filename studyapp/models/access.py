"""Who may do what in a study, who was invited, what researchers did, and what was consented to."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from studyapp.enums import AuditAction, Role
from studyapp.models.study import Study


class Membership(models.Model):
    """A researcher's role in a study: the one truth about who may see and change it."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    role = models.CharField(max_length=10, choices=Role)
    joined_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["study", "joined_at", "id"]
        constraints = [models.UniqueConstraint(fields=["study", "user"], name="member_once")]

    def __str__(self) -> str:
        return f"{self.user_id} {self.role} of {self.study_id}"


class Invitation(models.Model):
    """A link that lets one person join a study. Only a digest of it is stored."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=10, choices=Role)
    #: SHA-256 of the link's secret: the table alone opens nothing.
    digest = models.CharField(max_length=64, unique=True)
    created_by = models.CharField(max_length=150, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)
    used_by = models.CharField(max_length=150, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["study", "-created_at", "-id"]

    def __str__(self) -> str:
        return f"{self.role} of {self.study_id}"


class AuditEntry(models.Model):
    """One thing that a researcher or a command did. Rows are inserted and never changed.

    Numbers and names instead of references, so that an entry outlives its study and its user.
    ``user_number`` is null for a command.
    """

    at = models.DateTimeField()
    who = models.CharField(max_length=150)
    user_number = models.BigIntegerField(null=True, blank=True)
    study_number = models.BigIntegerField(null=True, blank=True)
    study_slug = models.CharField(max_length=60, blank=True)
    action = models.CharField(max_length=30, choices=AuditAction)
    details = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["study_number", "-id"], name="audit_of_study")]

    def __str__(self) -> str:
        return f"{self.who}: {self.action} {self.study_slug}"


class ConsentText(models.Model):
    """A consent text as participants saw it, under the hash that their enrolments name."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="consent_texts")
    version = models.CharField(max_length=64)
    text = models.TextField()
    kept_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["study", "id"]
        constraints = [
            models.UniqueConstraint(fields=["study", "version"], name="consent_version_once")
        ]

    def __str__(self) -> str:
        return self.version
