"""Which studies a token opens, and for what: the roles of its user, by the rule of ``access``.

All of the API asks here, and here alone asks ``access``. A study of which the user is no member
answers 404, one in which the role is too small 403.
"""

from __future__ import annotations

from django.db.models import QuerySet
from rest_framework.request import Request

from studyapp.access import studies_for, study_or_404
from studyapp.enums import Role
from studyapp.models import Study


def visible_studies(request: Request) -> QuerySet[Study]:
    """The studies that the token's user may see."""
    return studies_for(request.user)


def study_to_see(request: Request, slug: str) -> Study:
    """A study that the token's user may see, as a viewer or more."""
    return study_or_404(request.user, slug)


def study_to_edit(request: Request, slug: str) -> Study:
    """A study that the token's user may prepare, open and pause, as an editor or more."""
    return study_or_404(request.user, slug, Role.EDITOR)


def study_to_close(request: Request, slug: str) -> Study:
    """A study that the token's user may close for good, as an owner."""
    return study_or_404(request.user, slug, Role.OWNER)
