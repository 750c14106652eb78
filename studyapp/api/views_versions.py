"""The versions of an opened study."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from studyapp.api import answers, serializers
from studyapp.api.base import ApiView, checked_body, checked_query
from studyapp.api.pages import page_of
from studyapp.api.permissions import study_to_edit, study_to_see
from studyapp.domain.export_settings import exported_versions
from studyapp.domain.versions import publish, version_rows
from studyapp.models import Study


class Versions(ApiView):
    """What an opened study was from when on; version 1 is the opening."""

    @extend_schema(
        operation_id="list_versions",
        parameters=[serializers.PageQuery],
        responses={200: answers.page(answers.Version)},
    )
    def get(self, request: Request, slug: str) -> Response:
        """In the order of their numbers, as study.json has them, with the runs of each."""
        study = study_to_see(request, slug)
        query = checked_query(request, serializers.PageQuery)

        def show(numbers: list[int]) -> list[dict[str, Any]]:
            return [version for version in _told(study) if version["number"] in numbers]

        return Response(page_of(request, study.versions, query, key="number", show=show))

    @extend_schema(
        operation_id="publish_version",
        request=serializers.VersionBody,
        responses={201: answers.Version},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Change an open or paused study for those who join from now on."""
        study = study_to_edit(request, slug)
        body = checked_body(request, serializers.VersionBody)
        publish(study, dict(request.data["changes"]), body["reason"], base=body.get("base"))
        return Response(_told(study)[-1], 201)


def _told(study: Study) -> list[dict[str, Any]]:
    n_runs = {row.version.number: row.n_runs for row in version_rows(study)}
    return [
        version | {"n_runs": n_runs.get(version["number"], 0)}
        for version in exported_versions(study)
    ]
