"""Who may see and change which study: the one place where a researcher's role is checked.

A view for researchers wears ``researcher_only``. It finds the study of the address and asks for
viewers to read and for editors to change, unless the view says otherwise. A study of which a
researcher is no member looks like one that does not exist. Participants have no login at all: their
run token opens participant pages only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db.models import CharField, F, QuerySet, Value
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, resolve_url

from studyapp.domain.access import at_least
from studyapp.enums import Role
from studyapp.models import Study

View = Callable[..., HttpResponse]
READING = ("GET", "HEAD", "OPTIONS")


def studies_for(user: AbstractBaseUser | AnonymousUser, role: str = Role.VIEWER) -> QuerySet[Study]:
    """The studies in which ``user`` has at least ``role``; superusers are owners everywhere.

    Each comes with the user's ``role``.
    """
    if getattr(user, "is_superuser", False):
        owner = Value(Role.OWNER.value, output_field=CharField())
        return Study.objects.annotate(role=owner)
    if not user.is_authenticated:
        return Study.objects.none()
    mine = Study.objects.filter(memberships__user_id=user.pk, memberships__role__in=at_least(role))
    return mine.annotate(role=F("memberships__role"))


def study_or_404(
    user: AbstractBaseUser | AnonymousUser, slug: str, role: str = Role.VIEWER
) -> Study:
    """The study of that slug with the user's ``role`` in it.

    Raises Http404 for who is no member, PermissionDenied for a member whose role is too small.
    """
    study = studies_for(user).filter(slug=slug).first()
    if study is None:
        raise Http404("There is no such study among yours.")
    if study.role not in at_least(role):
        article = "a" if study.role == Role.VIEWER else "an"
        raise PermissionDenied(
            f"You are {article} {Role(study.role).label.lower()} of this study; this takes "
            f"{Role(role).label.lower()}s. An owner can change your role on the members page."
        )
    return study


def rights(study: Study) -> dict[str, bool]:
    """What a page may offer to the researcher that ``study`` was found for."""
    role = getattr(study, "role", Role.VIEWER)
    return {
        "may_edit": role in at_least(Role.EDITOR),
        "may_own": role == Role.OWNER,
    }


def researcher_only(
    view: View | None = None, *, read: str = Role.VIEWER, write: str = Role.EDITOR
) -> Any:
    """Let a view be reached by logged-in researchers whose role in the study suffices.

    With a ``slug`` in the address, ``request.study`` is the study, found with role ``read`` for
    requests that only read and ``write`` for all others.
    """
    if view is None:
        return lambda each: researcher_only(each, read=read, write=write)

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.is_authenticated:
            return _to_login(request, kwargs.get("slug"))
        if lacks_second_factor(request):
            return _elsewhere(request, resolve_url("two_factor:setup"))
        if "slug" in kwargs:
            role = read if request.method in READING else write
            request.study = study_or_404(request.user, kwargs["slug"], role)
        return view(request, *args, **kwargs)

    return guarded


def lacks_second_factor(request: HttpRequest) -> bool:
    """Whether this server asks for a second factor and the login came without one."""
    return settings.REQUIRE_2FA and not request.user.is_verified()


def _to_login(request: HttpRequest, slug: str | None) -> HttpResponse:
    """To the login page, and from there back to the page, or to that of the form that was sent."""
    if request.headers.get("HX-Request") == "true":
        return _elsewhere(request, resolve_url(settings.LOGIN_URL))
    if request.method in READING:
        return redirect_to_login(request.get_full_path())
    return redirect_to_login(resolve_url("study", slug) if slug else resolve_url("study-list"))


def _elsewhere(request: HttpRequest, url: str) -> HttpResponse:
    """Send the browser to ``url``.

    A fragment asked for by htmx is not redirected, or that page would appear inside the card: it is
    answered with 401 and the address that the whole page goes to.
    """
    if request.headers.get("HX-Request") == "true":
        response = HttpResponse(status=401)
        response.headers["HX-Redirect"] = url
        return response
    return redirect(url)
