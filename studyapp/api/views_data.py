"""What people did: participants, trials, events, measures, and the whole export."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from django.http import FileResponse, Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from studyapp.api import answers, serializers
from studyapp.api.base import ApiView, checked_body, checked_query
from studyapp.api.errors import Contradiction
from studyapp.api.pages import page_of
from studyapp.api.permissions import study_to_edit, study_to_see
from studyapp.api.schema import ANY_OBJECT
from studyapp.domain import audit, run_actions
from studyapp.domain.export import export_study
from studyapp.domain.export_rows import (
    EVENT_FIELDS,
    PARTICIPANT_FIELDS,
    event_row,
    participant_row,
    trial_rows,
)
from studyapp.domain.export_settings import study_versions
from studyapp.domain.export_snapshot import read_snapshot
from studyapp.domain.filtered import matching_events, matching_runs, matching_trials
from studyapp.domain.results import live_document
from studyapp.enums import AuditAction
from studyapp.models import Study

PAGING = ("cursor", "limit")
#: The columns of rows that hold a truth value, as words.
MARKS = ("simulated", "pilot")


class Participants(ApiView):
    """People by pseudonym. Who recruited them under which name is nowhere here."""

    @extend_schema(
        operation_id="list_participants",
        parameters=[serializers.ParticipantQuery],
        responses={200: answers.page_of_component("ParticipantRow")},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Rows of participants.csv, with the state of the run."""
        study = study_to_see(request, slug)
        query = checked_query(request, serializers.ParticipantQuery)
        runs = matching_runs(study, **_filters(query))

        def show(keys: list[int]) -> list[dict[str, Any]]:
            return _participants(study, runs.filter(pk__in=keys).order_by("pk"))

        return Response(page_of(request, runs, query, show=show))


class OneParticipant(ApiView):
    @extend_schema(
        operation_id="get_participant",
        parameters=[serializers.SimulatedQuery],
        responses={200: {"$ref": "#/components/schemas/ParticipantRow"}},
    )
    def get(self, request: Request, slug: str, participant: str) -> Response:
        """One participant, by participant_id."""
        study = study_to_see(request, slug)
        query = checked_query(request, serializers.SimulatedQuery)
        runs = matching_runs(study, participant=participant, **_filters(query))
        found = _participants(study, runs.order_by("-pk")[:1])
        if not found:
            raise Http404("There is no such participant in this study.")
        return Response(found[0])


class ParticipantAction(ApiView):
    @extend_schema(
        operation_id="act_on_participant",
        request=serializers.RunActionBody,
        responses={200: {"$ref": "#/components/schemas/ParticipantRow"}},
        parameters=[
            OpenApiParameter("action", str, OpenApiParameter.PATH, enum=list(run_actions.ACTIONS))
        ],
    )
    def post(self, request: Request, slug: str, participant: str, action: str) -> Response:
        """Act on a participant's last run; sent again, it changes nothing. Answers with the run."""
        study = study_to_edit(request, slug)
        given = checked_body(request, serializers.RunActionBody)
        wanted = run_actions.ACTIONS.get(action)
        if wanted is None or run_actions.last_run(study, participant) is None:
            raise Http404("There is no such participant or action in this study.")
        acted = run_actions.act(
            study,
            participant,
            wanted,
            note=given["note"],
            minutes=given.get("minutes", 0),
            run_id=given.get("run"),
        )
        runs = matching_runs(study, simulated=True).filter(pk=acted.run.pk)
        return Response(_participants(study, runs)[0])


class Trials(ApiView):
    @extend_schema(
        operation_id="list_trials",
        parameters=[serializers.TrialQuery],
        responses={200: answers.page_of_component("TrialRow")},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Rows of trials.csv, in the order in which the trials began."""
        study = study_to_see(request, slug)
        query = checked_query(request, serializers.TrialQuery)

        def show(keys: list[int]) -> list[dict[str, Any]]:
            rows = trial_rows(study, query["simulated"], study_versions(study), keys)
            return [_typed(row) for row in rows]

        with read_snapshot():
            trials = matching_trials(study, **_filters(query))
            return Response(page_of(request, trials, query, show=show))


class Events(ApiView):
    @extend_schema(
        operation_id="list_events",
        parameters=[serializers.EventQuery],
        responses={200: answers.page_of_component("EventRow")},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Rows of events.csv, in the order in which they were stored."""
        study = study_to_see(request, slug)
        query = checked_query(request, serializers.EventQuery)
        events = matching_events(study, **_filters(query))

        def show(keys: list[int]) -> list[dict[str, Any]]:
            chosen = events.filter(pk__in=keys).order_by("pk")
            return [event_row(event) for event in chosen.values(*EVENT_FIELDS)]

        return Response(page_of(request, events, query, show=show))


class Measures(ApiView):
    @extend_schema(
        operation_id="get_measures",
        parameters=[serializers.MeasuresQuery],
        responses={200: ANY_OBJECT},
    )
    def get(self, request: Request, slug: str) -> Response:
        """The measures so far: the document of python -m analysis measures --json."""
        study = study_to_see(request, slug)
        query = checked_query(request, serializers.MeasuresQuery)
        try:
            document = live_document(study, query["simulated"], query["with_comparison"])
        except ValueError as error:
            from analysis.errors import BadTable  # loaded by now; before, it would take seconds

            if not isinstance(error, BadTable):
                raise
            raise Contradiction(error.problems) from error
        return Response({"includes_simulated": query["simulated"], **document})


class Export(ApiView):
    @extend_schema(
        operation_id="get_export",
        parameters=[serializers.SimulatedQuery],
        responses={(200, "application/zip"): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, slug: str) -> FileResponse:
        """The study as one zip, for the report and for replication."""
        study = study_to_see(request, slug)
        query = checked_query(request, serializers.SimulatedQuery)
        name = f"{study.slug}.zip"
        with tempfile.TemporaryDirectory(prefix="suffice-export-") as folder:
            path = Path(folder) / name
            simulated = query["simulated"]
            made = export_study(study, path, include_simulated=simulated)
            audit.record(AuditAction.STUDY_EXPORTED, study, simulated=simulated, hash=made.sha256)
            # The open file outlives its name: nothing is left behind however the download ends.
            return FileResponse(path.open("rb"), as_attachment=True, filename=name)


def _typed(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a table as JSON has it: true and false as such."""
    return row | {mark: row[mark] == "true" for mark in MARKS}


def _filters(query: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in query.items() if name not in PAGING}


def _participants(study: Study, runs: Any) -> list[dict[str, Any]]:
    return [
        _typed(participant_row(study, run)) | {"state": run["state"], "run": run["pk"]}
        for run in runs.values("pk", *PARTICIPANT_FIELDS)
    ]
