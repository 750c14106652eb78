"""Exports as jobs: ask for one, look how far it is, fetch its file."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponseBase
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from studyapp.api import answers, serializers
from studyapp.api.base import ApiView, checked_body, checked_query
from studyapp.api.errors import NoFile, error_body
from studyapp.api.pages import page_of
from studyapp.api.permissions import study_to_see
from studyapp.domain import export_files, export_jobs
from studyapp.domain.export_times import utc_text
from studyapp.domain.progress import worker_answers
from studyapp.models import ExportJob, Study
from studyapp.views.ranged import ranged_file

LARGEST_ID = 2**63 - 1


class Exports(ApiView):
    @extend_schema(
        operation_id="list_exports",
        parameters=[serializers.PageQuery],
        responses={200: answers.page(answers.Export)},
    )
    def get(self, request: Request, slug: str) -> Response:
        """The exports of the study, the newest first."""
        study = study_to_see(request, slug)
        query = checked_query(request, serializers.PageQuery)
        export_jobs.go_on(study)

        def show(keys: list[int]) -> list[dict[str, Any]]:
            answered = worker_answers()
            jobs = export_jobs.exports_of(study).filter(pk__in=keys)
            return [_export(request, study, job, answered) for job in jobs]

        return Response(page_of(request, study.exports, query, newest_first=True, show=show))

    @extend_schema(
        operation_id="create_export",
        request=serializers.ExportBody,
        responses={202: answers.Export},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Ask for an export; look at it again until its state is done."""
        study = study_to_see(request, slug)
        body = checked_body(request, serializers.ExportBody)
        job = export_jobs.ask(study, export_jobs.Wanted(**body), request.user)
        return Response(_export(request, study, job, worker_answers()), 202)


class OneExport(ApiView):
    @extend_schema(operation_id="get_export_job", responses={200: answers.Export})
    def get(self, request: Request, slug: str, export_id: int) -> Response:
        """How far an export is, and what its file holds."""
        study = study_to_see(request, slug)
        checked_query(request, serializers.NoQuery)
        export_jobs.go_on(study)
        return Response(_export(request, study, _job(study, export_id), worker_answers()))


class ExportFile(ApiView):
    @extend_schema(
        operation_id="get_export_file",
        parameters=[
            OpenApiParameter(
                "Range", str, OpenApiParameter.HEADER, description="one range: bytes=1000-"
            ),
            OpenApiParameter(
                "If-Range", str, OpenApiParameter.HEADER, description="the ETag of the first part"
            ),
        ],
        responses={
            (200, "application/zip"): OpenApiTypes.BINARY,
            (206, "application/zip"): OpenApiTypes.BINARY,
            (416, "application/json"): {"$ref": "#/components/schemas/Error"},
        },
    )
    def get(self, request: Request, slug: str, export_id: int) -> HttpResponseBase:
        """The file of an export, or with Range the part of it that is missing."""
        study = study_to_see(request, slug)
        checked_query(request, serializers.NoQuery)
        job = _job(study, export_id)
        path = export_files.sound_file(job)
        if path is None:
            raise NoFile(job.state)
        name = export_jobs.download_name(job)
        response = ranged_file(request._request, path, name=name, sha256=job.sha256)
        if response.status_code == 416:
            told = f"The range begins behind the end: the file has {job.n_bytes} bytes."
            headers = {"Content-Range": response.headers["Content-Range"]}
            return Response(error_body("no_such_range", told), 416, headers=headers)
        if request.method == "GET" and response.status_code in (200, 206):
            export_jobs.note_download(job)
        return response


def _job(study: Study, export_id: int) -> ExportJob:
    job = None
    if export_id <= LARGEST_ID:
        job = export_jobs.exports_of(study).filter(pk=export_id).first()
    if job is None:
        raise Http404("There is no such export in this study.")
    job.study = study
    return job


def _export(request: Request, study: Study, job: ExportJob, answered: bool) -> dict[str, Any]:
    job.study = study
    address = reverse("api-export-file", args=[study.slug, job.pk])
    has_file = export_files.sound_file(job) is not None
    return {
        "id": job.pk,
        "state": job.state,
        "variant": job.variant,
        "simulated": job.with_simulated,
        "jsonl": job.with_jsonl,
        "spreadsheet": job.spreadsheet,
        "asked_at": utc_text(job.asked_at),
        "made_at": utc_text(job.made_at),
        "rows": job.rows,
        "n_bytes": job.n_bytes,
        "sha256": job.sha256 or None,
        "file": request.build_absolute_uri(address) if has_file else None,
        "error": job.error or None,
        "worker_answers": answered,
    }
