"""Tokens for the REST API: shown once, kept as a digest only."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from rest_framework.authtoken.models import Token

from studyapp.codes import random_code
from studyapp.domain import audit
from studyapp.domain.accounts import user_named
from studyapp.enums import AuditAction
from studyapp.errors import StudyError

#: About 190 bits: nothing to guess.
TOKEN_LENGTH = 40


def digest_of(token: str) -> str:
    """What is stored of a token: 160 bits of its SHA-256, in the 40 characters of the key."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def token_since(user: Any) -> datetime | None:
    """When the user's present token was made, or None where there is none."""
    made: datetime | None = (
        Token.objects.filter(user=user).values_list("created", flat=True).first()
    )
    return made


def end_token(user: Any) -> bool:
    """End the user's token; False where there was none."""
    with transaction.atomic():
        n_ended, _ = Token.objects.filter(user=user).delete()
        if n_ended:
            audit.record(AuditAction.API_TOKEN_ENDED, member=user.get_username())
    return bool(n_ended)


def issue_token(user_name: str, *, replaces: bool = False) -> str:
    """Make a token for a user and return it; it cannot be read again.

    A user has one. With ``replaces`` the present one ends at this moment. Raises StudyError for an
    unknown or switched-off user, and for one who has a token already.
    """
    user = user_named(user_name)
    if not user.is_active:
        raise StudyError(f"{user_name} is switched off: a token would open nothing.")
    token = random_code(TOKEN_LENGTH)
    with transaction.atomic():
        # One at a time for a user: the row of the user is what two callers wait for.
        get_user_model().objects.select_for_update().get(pk=user.pk)
        if replaces:
            Token.objects.filter(user=user).delete()
        elif Token.objects.filter(user=user).exists():
            raise StudyError(
                f"{user_name} has a token, which was shown when it was made and is not kept: "
                "--new makes another one and ends it."
            )
        Token.objects.create(user=user, key=digest_of(token))
        audit.record(AuditAction.API_TOKEN_MADE, member=user_name)
    return token
