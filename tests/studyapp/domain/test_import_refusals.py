"""What an import of an export refuses: contradictions between its files, with line and field."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from studyapp.domain.export import export_study
from studyapp.domain.import_archive import import_study
from studyapp.errors import BadUpload, StudyError
from studyapp.models import (
    Claim,
    Ranking,
    Selection,
    Slot,
    Study,
)
from tests.studyapp.domain import exported
from tests.studyapp.domain.exported import changed, members_of, zipped


@pytest.fixture
def archive(db: None, tmp_path: Path) -> Path:
    path = tmp_path / "export.zip"
    export_study(exported.open_study(tmp_path), path)
    return path


def nothing_was_left(n_studies: int = 1) -> bool:
    return (
        Study.objects.count() == n_studies
        and Claim.objects.count() == 6
        and Ranking.objects.count() == 6
        and Slot.objects.count() == 6
    )


RESULT_FAULTS: list[tuple[str, Any, str]] = [
    ("order", [3, 0, 2, 1], "origins: must name one of"),
    ("order", [3, 0, 2, 1, 1], "order: must hold each of 0 to n-1 once"),
    ("order", [3, 0, 2, True, 4], "order"),
    ("order", None, "order"),
    ("id", "unknown", "field id: 'unknown' is no main claim of claims.jsonl"),
    ("id", ["001"], "id: must be text"),
    ("condition", "other", "field condition: 'other' is none of the study's"),
    ("condition", ["ranking"], "field condition: ['ranking'] is none of the study's"),
    ("condition", "selection", "field selected: missing, but selection is all_at_once"),
    ("status", "failed", "field status: failed; only results are exported"),
    ("status", "odd", "status"),
    ("origins", ["judged"], "origins"),
    ("origins", [["judged"]] * 5, "origins"),
    ("scores", [1, 2], "scores"),
    ("fallback_from", 2, "fallback_from: must be null"),
    ("method", None, "method: must be text"),
    ("method", "m" * 41, "field method: longer than 40 characters"),
    ("model", "m" * 201, "field model: longer than 200 characters"),
    ("prompt_version", "v" * 61, "field prompt_version: longer than 60 characters"),
    ("params", [1], "params: must be an object"),
    ("params", {"a": "U+0000: \0"}, "holds U+0000"),
    ("params", {"a": "\ud800"}, "half a character"),
    ("usage", {}, "usage"),
    ("usage", None, "usage"),
    ("seconds", -1, "field seconds: must be a number of at least 0"),
    ("seconds", 10**400, "field seconds"),
    ("seconds", "1", "seconds: must be a number"),
]


@pytest.mark.parametrize(("name", "value", "said"), RESULT_FAULTS)
def test_a_result_that_does_not_fit_is_refused_with_line_and_field(
    archive: Path, name: str, value: Any, said: str
):
    def spoil(results: list[dict[str, Any]]) -> None:
        results[2][name] = value

    with pytest.raises(BadUpload) as refused:
        import_study(changed(archive, "rankings.jsonl", spoil), "x")
    problem = refused.value.problems[0].replace(", line", ": line")
    assert problem.startswith("rankings.jsonl: line 3")
    assert said in problem
    assert nothing_was_left()


@pytest.mark.parametrize("selected", [[], [2, 0], [0, 0], [0, 5], [-1, 0], None, "012", [0.0]])
def test_a_selection_that_is_none_is_refused(archive: Path, selected: Any):
    def spoil(results: list[dict[str, Any]]) -> None:
        results[6]["selected"] = selected

    with pytest.raises(BadUpload, match=r"rankings\.jsonl.{1,2}line 7.*selected"):
        import_study(changed(archive, "rankings.jsonl", spoil), "x")
    assert Selection.objects.count() == 6


def test_a_ranking_of_fewer_candidates_than_the_claim_has_is_refused(archive: Path):
    def spoil(results: list[dict[str, Any]]) -> None:
        results[2] |= {"order": [3, 0, 2, 1], "origins": ["judged"] * 4}

    with pytest.raises(BadUpload, match="line 3, field order: 4 positions for 5 candidates"):
        import_study(changed(archive, "rankings.jsonl", spoil), "x")


def test_objects_nested_too_deeply_are_refused(archive: Path, tmp_path: Path):
    members = members_of(archive)
    deep = '{"a":' * 900 + "1" + "}" * 900
    for name in ("study.json", "rankings.jsonl"):
        content = members[name].decode()
        spoilt = content.replace('"params": {}', f'"params": {deep}', 1)
        assert spoilt != content
        with pytest.raises(BadUpload):
            import_study(zipped(tmp_path / "deep.zip", members | {name: spoilt.encode()}), "x")
    assert nothing_was_left()


def test_a_second_result_for_the_same_claim_is_refused(archive: Path):
    with pytest.raises(BadUpload, match="line 13, field id: '001' has a result for condition"):
        import_study(changed(archive, "rankings.jsonl", lambda rows: [*rows, rows[0]]), "x")


def test_every_record_that_does_not_fit_is_listed(archive: Path):
    def spoil(results: list[dict[str, Any]]) -> None:
        results[1]["id"] = results[4]["condition"] = "unknown"

    with pytest.raises(BadUpload) as refused:
        import_study(changed(archive, "rankings.jsonl", spoil), "x")
    assert refused.value.problems == [
        "rankings.jsonl, line 2, field id: 'unknown' is no main claim of claims.jsonl",
        "rankings.jsonl, line 5, field condition: 'unknown' is none of the study's",
    ]


@pytest.mark.parametrize("line", [b'{"id"', b"[1]", b"\xff\xfe", b'{"id": NaN}'])
def test_a_line_that_is_no_record_is_refused(archive: Path, tmp_path: Path, line: bytes):
    members = members_of(archive)
    members["rankings.jsonl"] = b"\n" + line + b"\n"
    with pytest.raises(BadUpload, match=r"^rankings\.jsonl: line 2: "):
        import_study(zipped(tmp_path / "odd.zip", members), "x")
    assert nothing_was_left()


def test_a_claim_that_is_none_is_refused_with_file_line_and_field(archive: Path):
    def spoil(claims: list[dict[str, Any]]) -> None:
        claims[3]["label"] = "maybe"

    with pytest.raises(BadUpload) as refused:
        import_study(changed(archive, "claims.jsonl", spoil), "x")
    assert "line 4" in str(refused.value)
    assert "label" in str(refused.value)
    assert "claims.jsonl" in str(refused.value)
    assert nothing_was_left()


def _first_trial(content: dict[str, Any]) -> dict[str, Any]:
    return content["schedule"]["slots"][0]["trials"][0]


def _drop_a_slot(content: dict[str, Any]) -> None:
    content["schedule"]["slots"].pop()


def _repeat_a_slot(content: dict[str, Any]) -> None:
    content["schedule"]["slots"].append(content["schedule"]["slots"][0])


def _swap_claim(content: dict[str, Any]) -> None:
    trials = content["schedule"]["slots"][0]["trials"]
    trials[0]["claim_id"] = trials[1]["claim_id"]


def _other_condition(content: dict[str, Any]) -> None:
    _first_trial(content)["condition"] = "other"


def _unknown_claim(content: dict[str, Any]) -> None:
    _first_trial(content)["claim_id"] = "unknown"


def _position_gap(content: dict[str, Any]) -> None:
    _first_trial(content)["position"] = 2


def _swap_condition(content: dict[str, Any]) -> None:
    trial = _first_trial(content)
    trial["condition"] = {"ranking": "selection", "selection": "ranking"}[trial["condition"]]


def _two_subsets(content: dict[str, Any]) -> None:
    subsets = content["schedule"]["subsets"]
    subsets[0]["claims"].append(subsets[1]["claims"][0])


def _no_subset(content: dict[str, Any]) -> None:
    content["schedule"]["subsets"][0]["claims"].pop()


def _replication_gap(content: dict[str, Any]) -> None:
    for slot in content["schedule"]["slots"]:
        slot["replication"] += 1


def _text_target(content: dict[str, Any]) -> None:
    content["schedule"]["slots"][0]["target"] = "1"


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_drop_a_slot, "replication 2, ranking: 2 of 6 claims are not seen exactly once"),
        (_repeat_a_slot, "slot 1.1 is there twice"),
        (_swap_claim, "slot 1.1 has a claim twice"),
        (_other_condition, "condition 'other' is not in the export"),
        (_unknown_claim, "claim 'unknown' is not in the export"),
        (_position_gap, "slot 1.1, trial 1: must have position 1"),
        (_swap_condition, "twice under"),
        (_two_subsets, "is in two subsets"),
        (_no_subset, "1 claims are in none"),
        (_replication_gap, "replications must count from 1"),
        (_text_target, "schedule.slots, number 1: target must be a whole number"),
    ],
)
def test_a_schedule_that_does_not_fit_is_refused(
    archive: Path, spoil: Callable[[dict[str, Any]], None], said: str
):
    with pytest.raises(BadUpload) as refused:
        import_study(changed(archive, "study.json", lambda content: spoil(content[0])), "x")
    assert said in str(refused.value)
    assert nothing_was_left()


def test_a_method_this_version_does_not_have_is_named(archive: Path):
    def spoil(content: list[dict[str, Any]]) -> None:
        content[0]["conditions"][0]["method"] = "oracle_of_delphi"

    with pytest.raises(StudyError, match="oracle_of_delphi"):
        import_study(changed(archive, "study.json", spoil), "x")
    assert nothing_was_left()


@pytest.mark.parametrize(
    ("text", "said"), [("half: \ud800", "half a character"), ("null: \0", "holds U+0000")]
)
def test_text_that_no_database_takes_is_refused(archive: Path, text: str, said: str):
    def spoil(content: list[dict[str, Any]]) -> None:
        content[0]["preregistered"] = {"note": [text]}

    with pytest.raises(BadUpload) as refused:
        import_study(changed(archive, "study.json", spoil), "x")
    assert "study.json: " in str(refused.value)
    assert said in str(refused.value)
    assert nothing_was_left()


def test_a_changed_text_is_noted(archive: Path):
    def edit(content: list[dict[str, Any]]) -> None:
        content[0]["texts"]["welcome"] = "Something else"

    made = import_study(changed(archive, "study.json", edit), "edited")
    assert [note.split(":")[0] for note in made.notes] == ["texts"]
