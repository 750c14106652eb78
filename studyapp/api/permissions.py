"""Which studies a token opens. All of the API asks here, and here alone asks ``access``."""

from __future__ import annotations

from django.db.models import QuerySet
from rest_framework.request import Request

from studyapp.access import studies_for, study_or_404
from studyapp.models import Study


def visible_studies(request: Request) -> QuerySet[Study]:
    """The studies that the token's user may see."""
    return studies_for(request.user)


def study_to_see(request: Request, slug: str) -> Study:
    """A study that the token's user may see. Raises Http404 for every other one."""
    return study_or_404(request.user, slug)


def study_to_edit(request: Request, slug: str) -> Study:
    """A study that the token's user may prepare. Raises Http404 for every other one."""
    return study_or_404(request.user, slug)


def study_to_run(request: Request, slug: str) -> Study:
    """A study that the token's user may open, pause and close. Raises Http404 otherwise."""
    return study_or_404(request.user, slug)
