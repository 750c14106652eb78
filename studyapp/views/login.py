"""Logging in, with a code from an authenticator app where the account has one; accounts."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.auth.views import (
    PasswordChangeView,
    PasswordResetConfirmView,
    redirect_to_login,
)
from django.contrib.messages.views import SuccessMessageMixin
from django.core.exceptions import SuspiciousOperation
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from two_factor.forms import AuthenticationTokenForm, BackupTokenForm
from two_factor.utils import default_device
from two_factor.views import (
    BackupTokensView,
    DisableView,
    LoginView,
    ProfileView,
    SetupCompleteView,
    SetupView,
)

from studyapp.domain import audit
from studyapp.enums import AuditAction
from studyapp.forms import LoginForm
from studyapp.throttle import minutes_locked

View = Callable[..., HttpResponse]


def locked_out(
    request: HttpRequest, response: HttpResponse | None, credentials: dict[str, Any] | None
) -> HttpResponse:
    """The page in place of a login after too many wrong passwords, with the time to wait."""
    minutes = minutes_locked(request, (credentials or {}).get("username") or "")
    answer = render(request, "registration/locked.html", {"minutes": minutes}, status=429)
    answer.headers["Retry-After"] = str(60 * minutes)
    return answer


class Login(LoginView):
    """Name and password, then the code of the second factor for who has one.

    The session gets a new key when the login is complete; until then nobody is logged in.
    """

    template_name = "registration/login.html"
    form_list = (
        ("auth", LoginForm),
        ("token", AuthenticationTokenForm),
        ("backup", BackupTokenForm),
    )

    @property
    def redirect_authenticated_user(self) -> bool:
        """Whoever is logged in already goes on, unless the second factor is still missing."""
        user = self.request.user
        return user.is_authenticated and (user.is_verified() or not default_device(user))

    def post(self, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().post(*args, **kwargs)
        except SuspiciousOperation:
            # The form names no step: it is not ours, or cut. Begin anew.
            return self.get(*args, **kwargs)

    def get_context_data(self, form: Any, **kwargs: Any) -> dict[str, Any]:
        more = {"hours": settings.SESSION_HOURS, "next": self.get_redirect_url()}
        return super().get_context_data(form, **kwargs) | more


class _Named:
    """Prints the researcher's name at the head of the page."""

    request: HttpRequest

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)  # type: ignore[misc]
        return context | {
            "user_name": self.request.user.get_username(),
            "is_required": settings.REQUIRE_2FA,
        }


class PasswordSet(SuccessMessageMixin, PasswordResetConfirmView):
    """The page behind a one-time link that sets a password."""

    template_name = "registration/password_set.html"
    success_url = reverse_lazy("login")
    success_message = "Your password is set. Log in with it."


class PasswordChange(_Named, SuccessMessageMixin, PasswordChangeView):
    """Another password for who is logged in; logins elsewhere end."""

    template_name = "registration/password_change.html"
    success_url = reverse_lazy("two_factor:profile")
    success_message = "Your password is changed. Logins in other browsers have ended."


class Account(_Named, ProfileView):
    """The researcher's own account: password and second factor."""


class SecondFactorSetup(_Named, SetupView):
    """Set up an authenticator app: what it is, then a code to scan and one to type."""

    def done(self, form_list: Any, **kwargs: Any) -> HttpResponse:
        with transaction.atomic():
            answer = super().done(form_list, **kwargs)
            audit.record(AuditAction.SECOND_FACTOR_ON, member=self.request.user.get_username())
        return answer


class SecondFactorReady(_Named, SetupCompleteView):
    """Says that the second factor works, and asks for backup codes."""


class BackupCodes(_Named, BackupTokensView):
    """Codes to print, each good for one login without the phone."""


class SecondFactorOff(_Named, DisableView):
    """Take the second factor off."""

    success_url = reverse_lazy("two_factor:profile")

    def form_valid(self, form: Any) -> HttpResponse:
        with transaction.atomic():
            answer = super().form_valid(form)
            audit.record(AuditAction.SECOND_FACTOR_OFF, member=self.request.user.get_username())
        return answer


def second_factor_only(view: View) -> View:
    """Lets in who logged in with a second factor; sends others to where they can get there."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        user = request.user
        if user.is_authenticated and user.is_verified():
            return view(request, *args, **kwargs)
        if user.is_authenticated and not default_device(user):
            return redirect("two_factor:profile")
        return redirect_to_login(request.get_full_path())

    return guarded
