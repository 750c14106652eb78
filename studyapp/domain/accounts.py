"""Researchers' accounts: made by a command or by an invitation, never by signing up."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.tokens import default_token_generator
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django_otp import devices_for_user

from rankers.formats.lines import text_problem
from studyapp.domain import audit
from studyapp.enums import AuditAction
from studyapp.errors import StudyError


def create_account(username: str, password: str | None = None, *, by: Any = None) -> Any:
    """Create a researcher's account; without a password nobody can log in to it yet.

    Raises StudyError for a name that is taken or cannot be used.
    """
    users = get_user_model()
    user = users(username=username)
    _check_name(user)
    try:
        with transaction.atomic():
            if password is None:
                user.set_unusable_password()
            else:
                user.set_password(password)
            user.save()
            audit.record(
                AuditAction.ACCOUNT_CREATED, by=by or (user if password else None), member=username
            )
    except IntegrityError:
        raise StudyError(f"There is a user {username!r} already: choose another name.") from None
    return user


def create_researcher(username: str) -> str:
    """Create an account and return the one-time link that sets its password."""
    return password_link(create_account(username))


def renew_password(username: str, *, without_second_factor: bool = False) -> str:
    """A new one-time link for who forgot the password or lost the phone. Raises StudyError."""
    user = user_named(username)
    with transaction.atomic():
        if without_second_factor:
            for device in devices_for_user(user):
                device.delete()
        audit.record(AuditAction.PASSWORD_LINK_MADE, member=username)
    return password_link(user)


def user_named(username: str) -> Any:
    """The account of that name. Raises StudyError, saying how to make one."""
    is_name = text_problem(username) is None
    user = get_user_model().objects.filter(username=username).first() if is_name else None
    if user is None:
        raise StudyError(f"no user {username!r}: create one with create_researcher.")
    return user


def password_link(user: Any) -> str:
    """The address where ``user`` sets a password; worthless once one was set or it is too old."""
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    token = default_token_generator.make_token(user)
    return settings.PUBLIC_URL + reverse("password-set", args=[uid, token])


def _check_name(user: Any) -> None:
    name = user.username
    field = user._meta.get_field("username")
    if text_problem(name):
        raise StudyError("name: use letters, digits and @ . + - _ only.")
    try:
        field.clean(name, user)
    except ValidationError as error:
        raise StudyError([f"name: {message}" for message in error.messages]) from None
    if get_user_model().objects.filter(username__iexact=name).exists():
        raise StudyError(f"There is a user {name!r} already: choose another name.")
