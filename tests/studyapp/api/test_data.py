"""Participants, trials, events, measures and the export over the API."""

from __future__ import annotations

import io
import zipfile
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from analysis.columns import columns_of, names_of
from analysis.errors import BadTable
from studyapp.domain.assignment import withdraw
from studyapp.domain.export import export_study
from studyapp.domain.export_rows import event_rows, participant_rows, trial_rows
from studyapp.domain.export_settings import study_versions
from studyapp.domain.results import live_document
from studyapp.domain.trials import record_decision, reveal_next
from studyapp.enums import RunKind
from studyapp.models import AuditEntry, Enrolment, Event, Study, Trial
from tests import factories
from tests.studyapp.api.asking import Api, error_of
from tests.studyapp.views.console import finished, played

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(ann: Any) -> Study:
    """An open study: one participant in the second trial, one in the first, one simulated."""
    study = factories.open_study(owner=ann, n_replications=2)
    enrolment, trial = factories.started_in(study, "incremental")
    reveal_next(enrolment.token, trial.code, 2)
    record_decision(enrolment.token, trial.code, {"decision": "supported"})
    factories.started(study)
    simulated, first = factories.started(study, RunKind.SIMULATED)
    record_decision(simulated.token, first.code, {"decision": "refuted"})
    return study


def address(study: Study, part: str) -> str:
    return f"studies/{study.slug}/{part}"


def typed(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the tables as JSON has it: by the codebook, truth values are no text."""
    kinds = {
        column.name: column.kind for column in columns_of("trials") + columns_of("participants")
    }
    return {
        name: value == "true" if kinds[name] == "bool" else value for name, value in row.items()
    }


@pytest.mark.parametrize("simulated", [False, True])
def test_rows_are_those_of_the_export_column_by_column(
    api: Api, study: Study, simulated: bool
) -> None:
    query = f"?limit=2&simulated={str(simulated).lower()}"
    trials = api.rows(address(study, f"trials/{query}"))
    events = api.rows(address(study, f"events/{query}"))
    people = api.rows(address(study, f"participants/{query}"))
    assert trials == list(map(typed, trial_rows(study, simulated, study_versions(study))))
    assert [list(row) for row in trials] == [names_of("trials")] * len(trials)
    key = lambda row: row["event_id"]  # noqa: E731
    assert sorted(events, key=key) == sorted(event_rows(study, simulated), key=key)
    assert list(events[0]) == names_of("events")
    stateless = [{name: row[name] for name in names_of("participants")} for row in people]
    by_code = lambda row: row["participant_id"]  # noqa: E731
    told = map(typed, participant_rows(study, simulated))
    assert sorted(stateless, key=by_code) == sorted(told, key=by_code)
    assert {row["state"] for row in people} == {"active"}
    n_simulated = sum(row["simulated"] is True for row in people)
    assert n_simulated == simulated
    assert all(row["simulated"] is False for row in trials) is not simulated


def test_one_participant_is_found_by_pseudonym_in_this_study_only(api: Api, study: Study) -> None:
    [first, *_] = api.rows(address(study, "participants/"))
    found = api.get(address(study, f"participants/{first['participant_id']}/"))
    assert found.json() == first
    other = factories.started(factories.open_study())[0].participant.code
    for code in (other, "nobody"):
        answer = api.get(address(study, f"participants/{code}/"))
        assert (answer.status_code, error_of(answer)["code"]) == (404, "not_found")


def test_R117_people_are_told_by_pseudonym_alone(api: Api, study: Study) -> None:
    [row, *_] = api.rows(address(study, "participants/"))
    assert set(row) == {*names_of("participants"), "state", "run"}
    text = api.get(address(study, "participants/")).content.decode()
    for trial in Trial.objects.select_related("enrolment"):
        assert trial.enrolment.token not in text
        assert trial.enrolment.join_nonce not in text


def test_people_are_filtered_by_state(api: Api, study: Study) -> None:
    assert len(api.rows(address(study, "participants/?state=active"))) > 0
    assert api.rows(address(study, "participants/?state=completed")) == []
    answer = api.get(address(study, "participants/?state=lost"))
    assert error_of(answer)["problems"][0]["field"] == "state"


def test_people_are_filtered_as_in_the_list_of_the_pages(api: Api, study: Study) -> None:
    people = api.rows(address(study, "participants/"))
    one = people[0]
    where = f"{one['replication']}.{one['slot']}"
    assert api.rows(address(study, f"participants/?slot={where}&kind=real")) == [one]
    part = one["participant_id"][3:10].upper()
    assert api.rows(address(study, f"participants/?pseudonym={part}")) == [one]
    assert api.rows(address(study, "participants/?kind=pilot")) == []
    [simulated] = api.rows(address(study, "participants/?kind=simulated"))
    assert (simulated["simulated"], simulated["pilot"]) == (True, False)
    for query in ("kind=odd", "slot=1", "pseudonym=" + "x" * 21):
        answer = api.get(address(study, f"participants/?{query}"))
        assert answer.status_code == 400
        assert error_of(answer)["problems"][0]["field"] == query.split("=")[0]


ENDS = {
    "release": ("timed_out", {}),
    "return": ("returned", {}),
    "pay-partial": ("paid_partial", {"note": "half of it"}),
    "reject": ("rejected", {"note": "answers within a second"}),
}


@pytest.mark.parametrize("action", ENDS)
def test_a_run_is_ended_once_however_often_it_is_asked(api: Api, study: Study, action: str) -> None:
    state, body = ENDS[action]
    code = api.rows(address(study, "participants/"))[0]["participant_id"]
    before = AuditEntry.objects.count()
    for _ in range(2):
        answer = api.post(address(study, f"participants/{code}/{action}/"), body)
        assert answer.status_code == 200
        assert answer.json()["state"] == state
        assert answer.json() == api.get(address(study, f"participants/{code}/")).json()
    assert AuditEntry.objects.count() == before + 1
    run = Enrolment.objects.get(participant__code=code)
    assert (run.state, run.end_note) == (state, body.get("note", ""))


def test_a_place_is_held_longer(api: Api, study: Study) -> None:
    code = api.rows(address(study, "participants/"))[0]["participant_id"]
    answer = api.post(address(study, f"participants/{code}/extend/"), {"minutes": 600})
    assert (answer.status_code, answer.json()["state"]) == (200, "active")
    left = Enrolment.objects.get(participant__code=code).lease_until - timezone.now()
    assert timedelta(minutes=599) < left <= timedelta(minutes=600)


@pytest.mark.parametrize(
    ("action", "body", "status", "says"),
    [
        ("reject", {}, 400, "needs a reason"),
        ("extend", {}, 400, "minutes"),
        ("extend", {"minutes": 0}, 400, "greater than or equal to 1"),
        ("release", {"notes": "x"}, 400, "Not known"),
        ("delete", {}, 404, "no such participant or action"),
        ("release", None, 409, "holds no place"),
    ],
)
def test_what_cannot_be_done_to_a_run_is_refused_in_the_one_shape(
    api: Api, study: Study, action: str, body: Any, status: int, says: str
) -> None:
    code = api.rows(address(study, "participants/"))[0]["participant_id"]
    if body is None:
        api.post(address(study, f"participants/{code}/return/"))
    before = list(Enrolment.objects.order_by("pk").values("state", "lease_until"))
    answer = api.post(address(study, f"participants/{code}/{action}/"), body or {})
    assert answer.status_code == status
    error = error_of(answer)
    assert says in str([error["message"], *error["problems"]])
    assert list(Enrolment.objects.order_by("pk").values("state", "lease_until")) == before


def test_an_action_on_nobody_is_not_found(api: Api, study: Study) -> None:
    other = factories.started(factories.open_study())[0].participant.code
    for code in (other, "nobody"):
        answer = api.post(address(study, f"participants/{code}/release/"))
        assert (answer.status_code, error_of(answer)["code"]) == (404, "not_found")


def test_trials_and_events_are_filtered(api: Api, study: Study) -> None:
    trials = api.rows(address(study, "trials/"))
    events = api.rows(address(study, "events/"))
    one = trials[0]
    by_trial = {row["trial_id"]: row for row in trials}
    for name, column in (
        ("participant", "participant_id"),
        ("claim", "claim_id"),
        ("condition", "condition"),
    ):
        query = f"?{name}={one[column]}"
        wanted = [row for row in trials if row[column] == one[column]]
        assert api.rows(address(study, f"trials/{query}")) == wanted
        assert api.rows(address(study, f"events/{query}")) == [
            row for row in events if by_trial[row["trial_id"]][column] == one[column]
        ]
    assert api.rows(address(study, f"events/?trial={one['trial_id']}")) == [
        row for row in events if row["trial_id"] == one["trial_id"]
    ]
    assert api.rows(address(study, "trials/?claim=none-such")) == []


def test_since_keeps_what_came_later(api: Api, study: Study) -> None:
    events = api.rows(address(study, "events/"))
    early = (timezone.now() - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    late = (timezone.now() + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%S")
    assert api.rows(address(study, f"events/?since={early}")) == events
    assert api.rows(address(study, f"events/?since={late}")) == []
    assert api.rows(address(study, f"trials/?since={late}")) == []
    for strange in ("yesterday", "0001-01-01T00:00:00%2B14:00", "9999-12-31T23:59:59-14:00"):
        answer = api.get(address(study, f"events/?since={strange}"))
        assert answer.status_code == 400
        assert error_of(answer)["problems"][0]["field"] == "since"


def test_pages_of_events_stay_the_same_while_events_are_stored(api: Api, study: Study) -> None:
    before = api.rows(address(study, "events/"))
    page = api.get(address(study, "events/?limit=2")).json()
    factories.started(study)
    after = page["results"] + api.rows(page["next"])
    assert after[: len(before)] == before
    new = [row["event_type"] for row in after[len(before) :]]
    assert new[0] == "trial_started"
    assert set(new[1:]) == {"reveal"}


def test_the_next_page_keeps_the_filters(api: Api, study: Study) -> None:
    page = api.get(address(study, "events/?limit=1&condition=ranking&simulated=true")).json()
    assert "condition=ranking" in page["next"]
    assert "simulated=true" in page["next"]
    assert page["next"].startswith("http://testserver/api/v1/studies/")


@pytest.mark.parametrize(
    ("part", "n_queries"), [("participants/", 4), ("trials/", 8), ("events/", 4)]
)
@pytest.mark.parametrize("n_people", [1, 3])
def test_a_page_needs_the_same_queries_for_any_number(
    api: Api, ann: Any, part: str, n_queries: int, n_people: int, django_assert_num_queries: Any
) -> None:
    study = factories.open_study(owner=ann, n_replications=2)
    for _ in range(n_people):
        factories.started(study)
    with django_assert_num_queries(n_queries):
        answer = api.get(address(study, part))
    n_rows = Event.objects.count() if part == "events/" else n_people
    assert len(answer.json()["results"]) == n_rows


def test_nothing_is_told_of_who_withdrew(api: Api, study: Study) -> None:
    enrolment, trial = factories.started(study)
    code = enrolment.participant.code
    withdraw(enrolment.token)
    for part in ("participants/", "trials/", "events/"):
        text = api.get(address(study, f"{part}?simulated=true")).content.decode()
        assert code not in text
        assert trial.code not in text


# ---- measures and export -------------------------------------------------------------------------


def test_measures_are_the_document_of_the_command(api: Api, study: Study) -> None:
    answer = api.get(address(study, "measures/"))
    told = answer.json()
    assert told.pop("includes_simulated") is False
    assert told == live_document(study, with_comparison=False)
    assert told["n_design_set"] == 1
    assert "crossed_intervals" not in told


def test_simulated_runs_and_the_comparison_come_when_asked(api: Api, study: Study) -> None:
    answer = api.get(address(study, "measures/?simulated=true&with_comparison=true"))
    told = answer.json()
    assert told["includes_simulated"] is True
    assert told["n_design_set"] == 2
    assert "crossed_intervals" in told


def test_R107_measures_of_nothing_say_so(api: Api, ann: Any) -> None:
    empty = factories.ready_study(owner=ann)
    assert api.get(address(empty, "measures/")).json() == {
        "includes_simulated": False,
        "study_id": empty.slug,
        "rows": 0,
        "message": "No completed trials yet.",
    }


def test_data_that_contradict_themselves_are_told_line_by_line(
    api: Api, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise BadTable(["trials.csv, line 2: no", "trials.csv, line 3: no"])

    monkeypatch.setattr("studyapp.api.views_data.live_document", refuse)
    answer = api.get(address(study, "measures/"))
    assert (answer.status_code, error_of(answer)["code"]) == (409, "contradiction")
    assert [problem["line"] for problem in error_of(answer)["problems"]] == [2, 3]


def test_a_fault_of_the_analysis_is_not_told_as_one_of_the_data(
    api: Api, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ValueError("Singular matrix")

    monkeypatch.setattr("studyapp.api.views_data.live_document", fail)
    answer = api.get(address(study, "measures/"))
    assert (answer.status_code, error_of(answer)["code"]) == (500, "server_error")


@pytest.mark.parametrize("simulated", [False, True])
def test_the_export_is_the_zip_of_the_command(
    api: Api, study: Study, simulated: bool, tmp_path: Any
) -> None:
    answer = api.get(address(study, f"export.zip?simulated={str(simulated).lower()}"))
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/zip"
    assert f'filename="{study.slug}.zip"' in answer.headers["Content-Disposition"]
    content = b"".join(answer.streaming_content)
    assert int(answer.headers["Content-Length"]) == len(content)
    export_study(study, tmp_path / "other.zip", include_simulated=simulated)
    assert content == (tmp_path / "other.zip").read_bytes()
    assert "trials.csv" in zipfile.ZipFile(io.BytesIO(content)).namelist()


def test_an_export_that_cannot_be_written_is_told_in_json(
    api: Api, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "studyapp.domain.export_archive.zipfile.ZipFile",
        lambda *_: (_ for _ in ()).throw(OSError("full")),
    )
    answer = api.get(address(study, "export.zip"), headers={"Accept": "application/zip"})
    assert answer.status_code == 400
    assert error_of(answer)["code"] == "refused"


def test_an_action_that_names_an_earlier_run_leaves_the_one_begun_since_alone(api, study):
    earlier, last = finished(study), played(study, 1)
    code = earlier.participant.code
    [listed] = [
        row for row in api.rows(address(study, "participants/")) if row["participant_id"] == code
    ]
    assert listed["run"] == earlier.pk
    Enrolment.objects.filter(pk=last.pk).update(participant=earlier.participant)
    path = address(study, f"participants/{code}/reject/")
    answer = api.post(path, {"note": "copied", "run": earlier.pk})
    assert answer.status_code == 409
    assert "which is in the trials" in answer.json()["error"]["message"]
    assert Enrolment.objects.get(pk=last.pk).state == "active"
    assert api.post(path, {"note": "copied", "run": last.pk}).json()["run"] == last.pk
    assert Enrolment.objects.get(pk=last.pk).state == "rejected"
