"""Studies, their settings and states, and their conditions."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Q
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

import rankers
from studyapp.api import answers, serializers
from studyapp.api.base import ApiView, checked_body, checked_query
from studyapp.api.errors import NotRepeated
from studyapp.api.pages import page_of
from studyapp.api.permissions import study_to_close, study_to_edit, study_to_see, visible_studies
from studyapp.api.schema import ANY_OBJECT
from studyapp.domain import changing, lifecycle
from studyapp.domain.configuration import check_configuration, create_study
from studyapp.domain.export_settings import study_settings
from studyapp.domain.export_times import utc_text
from studyapp.domain.recruiting import study_link
from studyapp.domain.study_facts import StudyFacts
from studyapp.enums import Interface, TrialKind
from studyapp.models import Condition, Study

CONFIG = ANY_OBJECT | {
    "description": "The schema of study.json, as of create_study --config.",
    "properties": {"title": {"type": "string"}, "conditions": {"type": "array"}},
}
NEW_STUDY = CONFIG | {
    "required": ["slug"],
    "properties": {
        "slug": {"type": "string", "pattern": "^[-a-zA-Z0-9_]{1,60}$"},
        **CONFIG["properties"],
    },
}
NEW_CONDITION = {
    "type": "object",
    "required": ["name", "interface", "method"],
    "properties": {
        "name": {"type": "string", "pattern": "^[-a-zA-Z0-9_]{1,40}$"},
        "interface": {"type": "string", "enum": Interface.values},
        "method": {"type": "string", "enum": sorted(rankers.METHODS)},
        "model": {"type": "string", "nullable": True},
        "embedder": {"type": "string", "nullable": True},
        "params": ANY_OBJECT,
    },
    "additionalProperties": False,
}


class Studies(ApiView):
    """The studies of the token's user."""

    @extend_schema(
        operation_id="list_studies",
        parameters=[serializers.PageQuery],
        responses={200: answers.page(answers.Study)},
    )
    def get(self, request: Request) -> Response:
        """Your studies, the newest first."""
        query = checked_query(request, serializers.PageQuery)
        studies = visible_studies(request)
        return Response(page_of(request, studies, query, newest_first=True, show=_summaries))

    @extend_schema(
        operation_id="create_study",
        request={"application/json": NEW_STUDY},
        responses={201: answers.StudyDetail},
    )
    def post(self, request: Request) -> Response:
        """Create a draft: its slug, and any setting of study.json."""
        slug = request.data.get("slug")
        if not isinstance(slug, str):
            raise ValidationError({"slug": ["Must be there, and be a text."]})
        name = request.user.get_username()
        study = create_study(slug, configuration=dict(request.data), owner_name=name)
        return Response(_detail(study), 201)


class OneStudy(ApiView):
    """One study."""

    @extend_schema(operation_id="get_study", responses={200: answers.StudyDetail})
    def get(self, request: Request, slug: str) -> Response:
        """State, settings, and what a draft still lacks."""
        study = study_to_see(request, slug)
        checked_query(request, serializers.NoQuery)
        return Response(_detail(study))

    @extend_schema(
        operation_id="change_study",
        request={"application/json": CONFIG},
        responses={200: answers.StudyDetail},
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Change settings of a draft, all or none; an object such as sitting is merged."""
        study = study_to_edit(request, slug)
        changing.change_draft(study, dict(request.data))
        return Response(_detail(study))


class _Move(ApiView):
    """A change of state."""

    def move(self, request: Request, slug: str, change: Any) -> Response:
        study = study_to_edit(request, slug)
        checked_body(request, serializers.NoQuery)
        change(study)
        study.refresh_from_db()
        return Response(_detail(study))


class OpenStudy(_Move):
    @extend_schema(operation_id="open_study", request=None, responses={200: answers.StudyDetail})
    def post(self, request: Request, slug: str) -> Response:
        """Freeze a draft and let participants in; refused with all that is missing."""
        return self.move(request, slug, lifecycle.open_study)


class PauseStudy(_Move):
    @extend_schema(operation_id="pause_study", request=None, responses={200: answers.StudyDetail})
    def post(self, request: Request, slug: str) -> Response:
        """Let nobody in and start no further trial, until it is resumed."""
        return self.move(request, slug, changing.pause_study)


class ResumeStudy(_Move):
    @extend_schema(operation_id="resume_study", request=None, responses={200: answers.StudyDetail})
    def post(self, request: Request, slug: str) -> Response:
        """Open a paused study again."""
        return self.move(request, slug, changing.resume_study)


class CloseStudy(ApiView):
    @extend_schema(
        operation_id="close_study",
        request=serializers.CloseBody,
        responses={200: answers.StudyDetail},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Close for good. The body repeats the slug."""
        study = study_to_close(request, slug)
        if checked_body(request, serializers.CloseBody)["slug"] != study.slug:
            raise NotRepeated(study.slug)
        changing.close_study(study)
        study.refresh_from_db()
        return Response(_detail(study))


class Conditions(ApiView):
    """The conditions that a study compares."""

    @extend_schema(
        operation_id="list_conditions",
        parameters=[serializers.PageQuery],
        responses={200: answers.page(answers.Condition)},
    )
    def get(self, request: Request, slug: str) -> Response:
        """In the order in which they were added: the contrast is the first minus the second."""
        study = study_to_see(request, slug)
        query = checked_query(request, serializers.PageQuery)

        def show(positions: list[int]) -> list[dict[str, Any]]:
            rows = study.conditions.filter(position__in=positions).order_by("position")
            return [_condition(row) for row in rows]

        return Response(page_of(request, study.conditions, query, key="position", show=show))

    @extend_schema(
        operation_id="add_condition",
        request={"application/json": NEW_CONDITION},
        responses={201: answers.Condition},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Add one to a draft; python -m rankers methods lists methods."""
        study = study_to_edit(request, slug)
        _, [wanted] = check_configuration({"conditions": [dict(request.data)]})
        return Response(_condition(lifecycle.add_condition(study, **wanted)), 201)


def _summaries(keys: list[int]) -> list[dict[str, Any]]:
    is_main = Q(claims__role=TrialKind.MAIN)
    studies = Study.objects.filter(pk__in=keys).annotate(
        n_claims=Count("claims", filter=is_main, distinct=True),
        n_conditions=Count("conditions", distinct=True),
    )
    return [
        _summary(study, study.n_claims, study.n_conditions) for study in studies.order_by("-pk")
    ]


def _summary(study: Study, n_claims: int, n_conditions: int) -> dict[str, Any]:
    return {
        "slug": study.slug,
        "title": study.title,
        "state": study.state,
        "link": study_link(study),
        "created_at": utc_text(study.created_at),
        "opened_at": utc_text(study.opened_at),
        "closed_at": utc_text(study.closed_at),
        "n_claims": n_claims,
        "n_conditions": n_conditions,
    }


def _detail(study: Study) -> dict[str, Any]:
    told = study_settings(study)
    facts = StudyFacts(study)
    return {
        **_summary(study, told["n_claims"], len(told["conditions"])),
        "missing": lifecycle.opening_problems(study, facts) if study.is_draft else [],
        "warnings": lifecycle.opening_warnings(study, facts) if study.is_draft else [],
        "settings": told,
    }


def _condition(condition: Condition) -> dict[str, Any]:
    return {
        "name": condition.name,
        "interface": condition.interface,
        "method": condition.method,
        "model": condition.model or None,
        "embedder": condition.embedder or None,
        "params": condition.params,
    }
