"""Claims: read them, or upload a file of them."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any, BinaryIO

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from studyapp.api import answers, parsers, serializers
from studyapp.api.base import ApiView, checked_query
from studyapp.api.errors import listed_problems
from studyapp.api.pages import page_of
from studyapp.api.permissions import study_to_edit, study_to_see
from studyapp.domain.export_evidence import claim_records
from studyapp.domain.importing import MAX_LISTED, ImportReport, import_claims
from studyapp.models import Claim

_TEXT = {"type": "string", "format": "binary"}
_FORM = {"type": "object", "required": ["file"], "properties": {"file": _TEXT}}


class Claims(ApiView):
    """The claims of a study."""

    parser_classes = [
        parsers.JsonLinesFile,
        parsers.JsonlFile,
        parsers.JsonFile,
        parsers.CsvFile,
        parsers.OctetFile,
        MultiPartParser,
    ]

    @property
    def max_body(self) -> int:
        return settings.API_UPLOAD_BYTES

    @extend_schema(
        operation_id="list_claims",
        parameters=[serializers.PageQuery],
        responses={200: answers.page_of_component("Claim")},
    )
    def get(self, request: Request, slug: str) -> Response:
        """In the interchange format, with the kind of trial they are for and their subset."""
        study = study_to_see(request, slug)
        query = checked_query(request, serializers.PageQuery)
        claims = Claim.objects.filter(study=study)

        def show(positions: list[int]) -> list[dict[str, Any]]:
            rows = claims.filter(position__in=positions).order_by("position")
            places = list(rows.values_list("pk", "role", "subset__number"))
            records = claim_records(study, [pk for pk, *_ in places])
            return [
                record | {"role": role, "subset": subset}
                for record, (_, role, subset) in zip(records, places, strict=True)
            ]

        return Response(page_of(request, claims, query, key="position", show=show))

    @extend_schema(
        operation_id="upload_claims",
        parameters=[serializers.UploadQuery],
        request={
            "application/x-ndjson": _TEXT,
            "application/jsonl": _TEXT,
            "application/json": _TEXT,
            "text/csv": _TEXT,
            "application/octet-stream": _TEXT,
            "multipart/form-data": _FORM,
        },
        responses={201: answers.ImportReport},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Import a file into a draft, all or nothing: as the body, or as file in a form."""
        study = study_to_edit(request, slug)
        query = checked_query(request, serializers.UploadQuery)
        stream, ending = _sent_file(request)
        with tempfile.TemporaryDirectory(prefix="suffice-upload-") as folder:
            path = Path(folder) / f"claims.{ending}"
            with path.open("wb") as file:
                shutil.copyfileobj(stream, file)
            report = import_claims(
                study,
                path,
                query.get("format", "csv" if ending == "csv" else "interchange"),
                limit=query.get("limit"),
                skip_invalid=query["skip_invalid"],
                role=query["role"],
            )
        return Response(_told(report), 201)


def _sent_file(request: Request) -> tuple[BinaryIO, str]:
    """The file of the request and the ending of its name."""
    sent = request.data
    if request.content_type.startswith("multipart/"):
        if "file" not in request.FILES:
            raise ValidationError({"file": ["Must be there: the form's field with the file."]})
        file = request.FILES["file"]
        return file, "csv" if file.name.lower().endswith(".csv") else "jsonl"
    if not hasattr(sent, "read"):
        raise ValidationError({"file": ["The body is empty: send the file as it is."]})
    return sent, "csv" if request.content_type.startswith("text/csv") else "jsonl"


def _told(report: ImportReport) -> dict[str, Any]:
    skipped, n_skipped = listed_problems(report.skipped)
    notices, _ = listed_problems(report.notices[:MAX_LISTED])
    return {
        "imported": report.n_imported,
        "repeated": report.n_repeated,
        "n_skipped": n_skipped,
        "skipped": skipped,
        "n_notices": len(report.notices),
        "notices": notices,
        "left_out": dict(sorted(report.left_out.items())),
    }
