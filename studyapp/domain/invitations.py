"""Invitations to a study: a signed link for one person, kept as a digest only. No mail is sent."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core import signing
from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone

from studyapp.codes import random_code
from studyapp.domain import access, accounts, audit
from studyapp.enums import AuditAction, Role
from studyapp.errors import BadLink, NotEditable, StudyError
from studyapp.models import Invitation, Membership, Study

SALT = "suffice.member-invitation"
VALID_FOR = timedelta(days=7)
GONE = "This invitation does not work any more: it was used, revoked, or is older than 7 days."


def invite(study: Study, role: str, by: Any = None) -> str:
    """Make an invitation and return its link, which is shown once and stored nowhere."""
    if role not in Role.values:
        raise StudyError(f"role {role!r}: use {', '.join(Role.values)}.")
    secret = random_code(32)
    with transaction.atomic():
        Invitation.objects.create(
            study=study,
            role=role,
            digest=_digest(secret),
            created_by=by.get_username() if by else audit.COMMAND,
            expires_at=timezone.now() + VALID_FOR,
        )
        audit.record(AuditAction.MEMBER_INVITED, study, role=str(role))
    return settings.PUBLIC_URL + reverse("invitation", args=[_signer().sign(secret)])


def open_invitations(study: Study) -> QuerySet[Invitation]:
    """Those that still work, the newest first."""
    return _working().filter(study=study).order_by("-created_at", "-pk")


def revoke(study: Study, invitation_id: int) -> None:
    """Make a link worthless. Raises NotEditable when it was used, revoked or too old already."""
    with transaction.atomic():
        found = _working().filter(study=study, pk=invitation_id)
        role = found.values_list("role", flat=True).first()
        if not found.update(revoked_at=timezone.now()):
            raise NotEditable("This invitation was used, revoked or too old already.")
        audit.record(AuditAction.INVITATION_REVOKED, study, role=str(role))


def find(token: str) -> Invitation:
    """The working invitation of a link, with its study. Raises BadLink."""
    try:
        secret = _signer().unsign(token, max_age=VALID_FOR)
    except signing.BadSignature:
        raise BadLink(GONE) from None
    invitation = _working().select_related("study").filter(digest=_digest(secret)).first()
    if invitation is None:
        raise BadLink(GONE)
    return invitation


def accept(token: str, user: Any) -> Membership:
    """Let a user join by a link, once. Raises BadLink, or NotEditable for a member."""
    with transaction.atomic():
        return _join(find(token), user)


def accept_with_new_account(token: str, username: str, password: str) -> Membership:
    """Create the account and join, all or nothing. Raises BadLink, StudyError for a taken name."""
    with transaction.atomic():
        invitation = find(token)
        return _join(invitation, accounts.create_account(username, password))


def _join(invitation: Invitation, user: Any) -> Membership:
    """Use up the invitation by a guarded update: of two at once only one joins."""
    used = _working().filter(pk=invitation.pk)
    if not used.update(used_at=timezone.now(), used_by=user.get_username()):
        raise BadLink(GONE)
    membership = access.add_member(invitation.study, user, invitation.role)
    audit.record(
        AuditAction.MEMBER_JOINED,
        invitation.study,
        by=user,
        member=user.get_username(),
        role=str(invitation.role),
    )
    return membership


def _working() -> QuerySet[Invitation]:
    return Invitation.objects.filter(used_at=None, revoked_at=None, expires_at__gt=timezone.now())


def _signer() -> signing.TimestampSigner:
    return signing.TimestampSigner(salt=SALT)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
