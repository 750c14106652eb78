"""Who may see which study: superusers all, others their own.

A study that is not theirs looks to researchers like one that does not exist. Participants have no
login at all: their run token opens participant pages only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import resolve_url

from studyapp.models import Study

View = Callable[..., HttpResponse]


def studies_for(user: AbstractBaseUser | AnonymousUser) -> QuerySet[Study]:
    """The studies ``user`` may see. Studies without an owner are for superusers."""
    if getattr(user, "is_superuser", False):
        return Study.objects.all()
    if not user.is_authenticated:
        return Study.objects.none()
    return Study.objects.filter(owner_id=user.pk)


def study_or_404(user: AbstractBaseUser | AnonymousUser, slug: str) -> Study:
    """The study of that slug if ``user`` may see it. Raises Http404 otherwise."""
    study = studies_for(user).filter(slug=slug).first()
    if study is None:
        raise Http404("There is no such study among yours.")
    return study


def researcher_only(view: View) -> View:
    """Send anonymous visitors to the login page and back.

    A fragment asked for by htmx is not redirected, or the login page would appear inside the card:
    it is answered with 401 and the address that the whole page goes to.
    """

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.user.is_authenticated:
            return view(request, *args, **kwargs)
        if request.headers.get("HX-Request") == "true":
            response = HttpResponse(status=401)
            response.headers["HX-Redirect"] = resolve_url(settings.LOGIN_URL)
            return response
        return redirect_to_login(request.get_full_path())

    return guarded
