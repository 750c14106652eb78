"""Importing an export: the same study again, all or nothing, whatever the file holds."""

from __future__ import annotations

import copy
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from studyapp.domain import import_archive, lifecycle, schedule
from studyapp.domain.export import export_study
from studyapp.domain.import_archive import import_study
from studyapp.domain.schedule import balance_of
from studyapp.enums import JobState, StudyState
from studyapp.errors import BadUpload, StudyError
from studyapp.models import (
    Claim,
    Enrolment,
    Event,
    Participant,
    PlannedTrial,
    PrecomputeJob,
    Ranking,
    Selection,
    Slot,
    Study,
    Trial,
)
from tests import factories
from tests.studyapp.domain import exported

Members = dict[str, bytes]


@pytest.fixture
def original(db: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Study:
    exported.TickingClock(monkeypatch)
    study = exported.open_study(tmp_path, shows_total=True, lease_minutes=45)
    Ranking.objects.filter(condition__study=study, claim__claim_id="NA").update(
        origins=["judged", "seed", "fallback", "fallback", "fallback"],
        status="fallback",
        fallback_from=3,
        scores=[3.5, 2, 0.1, 1e-9, -1],
        model="some/model",
        prompt_version="incremental-1",
        params={"depth": 6, "layout": "stable"},
        n_calls=3,
        prompt_tokens=1200,
        cached_prompt_tokens=None,
        completion_tokens=7,
        seconds=1.25,
    )
    exported.sit(study)
    return study


@pytest.fixture
def archive(original: Study, tmp_path: Path) -> Path:
    path = tmp_path / "export.zip"
    export_study(original, path)
    return path


def members_of(path: Path) -> Members:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(path: Path, members: Members) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def changed(archive: Path, name: str, change: Callable[[Any], Any]) -> Path:
    """A copy of ``archive`` with the objects of one file changed by ``change``."""
    members = members_of(archive)
    content = copy.deepcopy(exported.records(archive, name))
    content = change(content) or content
    members[name] = "\n".join(json.dumps(record) for record in content).encode()
    return zipped(archive.with_name("changed.zip"), members)


def nothing_was_left(n_studies: int = 1) -> bool:
    return (
        Study.objects.count() == n_studies
        and Claim.objects.count() == 6
        and Ranking.objects.count() == 6
        and Slot.objects.count() == 6
    )


# ---- the round trip ------------------------------------------------------------------------------


def test_an_export_imported_and_exported_again_is_the_same_study(archive: Path, tmp_path: Path):
    made = import_study(archive, "copy")
    assert (made.n_claims, made.n_results, made.n_slots, made.notes) == (6, 12, 6, [])
    again = tmp_path / "again.zip"
    export_study(made.study, again)
    for name in ("claims.jsonl", "rankings.jsonl", "codebook.csv", "README.txt"):
        assert exported.member(again, name) == exported.member(archive, name)
    before = exported.records(archive, "study.json")[0]
    after = exported.records(again, "study.json")[0]
    differing = {name for name in before if before[name] != after[name]}
    assert differing == {"study_id", "state", "created_at", "opened_at", "frozen"}
    assert after["schedule"] == before["schedule"]
    assert after["texts"] == before["texts"]


def test_the_copy_is_a_draft_without_participants_and_opens_with_the_same_hashes(
    original: Study, archive: Path
):
    people = Participant.objects.count(), Trial.objects.count(), Event.objects.count()
    study = import_study(archive, "copy").study
    assert (study.state, study.opened_at, study.frozen) == (StudyState.DRAFT, None, {})
    assert (Participant.objects.count(), Trial.objects.count(), Event.objects.count()) == people
    assert not Enrolment.objects.filter(slot__study=study).exists()
    assert study.completion_code == ""
    assert study.code != original.code
    jobs = PrecomputeJob.objects.filter(condition__study=study)
    assert set(jobs.values_list("state", flat=True)) == {JobState.DONE}
    assert jobs.count() == 12
    opened = lifecycle.open_study(study)
    assert opened.frozen == original.frozen
    assert balance_of(opened).is_balanced


def test_the_copy_can_be_replicated_with_participants_and_further_cycles(
    original: Study, archive: Path, tmp_path: Path
):
    study = lifecycle.open_study(import_study(archive, "copy").study)
    run = exported.sit(study)
    mine = list(Trial.objects.filter(enrolment=run).values_list("claim__claim_id", "stimulus"))
    first = Enrolment.objects.filter(slot__study=original).order_by("pk")[0]
    theirs = list(Trial.objects.filter(enrolment=first).values_list("claim__claim_id", "stimulus"))
    assert mine == theirs
    for which in (original, study):
        schedule.lay_out(which, 3, 3, 11)
    third = [
        list(
            PlannedTrial.objects.filter(slot__study=which, replication=3)
            .order_by("slot__number", "position")
            .values_list("slot__number", "position", "claim__claim_id", "condition__name")
        )
        for which in (original, study)
    ]
    assert third[0] == third[1]
    assert len(third[0]) == 12


def test_a_draft_without_schedule_or_results_comes_back_as_it_was(db: None, tmp_path: Path):
    study = factories.draft_study("bare")
    factories.add_conditions(study)
    path = tmp_path / "bare.zip"
    export_study(study, path)
    made = import_study(path, "bare-copy")
    assert (made.n_claims, made.n_results, made.n_slots) == (0, 0, 0)
    assert made.notes == ["The exported study had not opened: there are no hashes to compare with."]
    assert list(made.study.conditions.values_list("name", flat=True)) == ["ranking", "selection"]
    assert made.study.n_replications == 0


def test_results_that_are_missing_are_left_for_precompute(original: Study, tmp_path: Path):
    draft = exported.ready_study(tmp_path, "unfinished")
    Ranking.objects.filter(condition__study=draft, claim__claim_id="c5").delete()
    path = tmp_path / "unfinished.zip"
    export_study(draft, path)
    made = import_study(path, "unfinished-copy")
    assert made.n_results == 11
    assert PrecomputeJob.objects.filter(condition__study=made.study).count() == 11
    with pytest.raises(StudyError, match="1 of 6 claims have no ranking yet"):
        lifecycle.open_study(made.study)


def test_a_later_cycle_is_said_to_differ_from_what_was_frozen(original: Study, tmp_path: Path):
    schedule.lay_out(original, 3, 3, 11)
    path = tmp_path / "longer.zip"
    export_study(original, path)
    made = import_study(path, "longer")
    assert made.n_slots == 9
    assert [note.split(":")[0] for note in made.notes] == ["schedule"]


# ---- refusals ------------------------------------------------------------------------------------


def test_a_slug_that_is_taken_is_refused(archive: Path):
    with pytest.raises(StudyError, match="'original' exists already: give another one with --slug"):
        import_study(archive)
    with pytest.raises(StudyError, match="use letters, digits"):
        import_study(archive, "no slug")
    assert nothing_was_left()


def test_what_is_no_sound_zip_is_refused(archive: Path, tmp_path: Path):
    with pytest.raises(BadUpload, match=r"missing\.zip: cannot be read \(No such file"):
        import_study(tmp_path / "missing.zip")
    broken = tmp_path / "broken.zip"
    whole = archive.read_bytes()
    broken.write_bytes(b"not a zip")
    with pytest.raises(BadUpload, match="no zip file, or a damaged one"):
        import_study(broken, "x")
    broken.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadUpload, match="no zip file, or a damaged one"):
        import_study(broken, "x")
    with zipfile.ZipFile(archive) as zip_file:
        info = zip_file.getinfo("claims.jsonl")
    start = info.header_offset + 30 + len(info.filename) + 20
    flipped = bytearray(whole)
    flipped[start + 40 : start + 44] = b"\xff\x00\xff\x00"
    broken.write_bytes(bytes(flipped))
    with pytest.raises(BadUpload, match="no zip file, or a damaged one"):
        import_study(broken, "x")
    assert nothing_was_left()


@pytest.mark.parametrize("name", ["study.json", "claims.jsonl", "rankings.jsonl"])
def test_a_zip_without_a_file_it_needs_is_refused(archive: Path, tmp_path: Path, name: str):
    members = members_of(archive)
    del members[name]
    with pytest.raises(BadUpload, match=f"{name} is not in the zip"):
        import_study(zipped(tmp_path / "less.zip", members), "x")


@pytest.mark.parametrize("name", ["../evil.txt", "/etc/x", "folder/study.json", "a\\b", ".hidden"])
def test_a_zip_with_paths_in_it_is_refused(archive: Path, tmp_path: Path, name: str):
    members = members_of(archive) | {name: b"x"}
    with pytest.raises(BadUpload, match="plain file names"):
        import_study(zipped(tmp_path / "paths.zip", members), "x")
    assert not (tmp_path.parent / "evil.txt").exists()


def test_a_file_that_is_there_twice_is_refused(archive: Path, tmp_path: Path):
    path = zipped(tmp_path / "twice.zip", members_of(archive))
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as more:
        more.writestr("study.json", b"{}")
    with pytest.raises(BadUpload, match=r"study\.json is in the zip more than once"):
        import_study(path, "x")


def test_a_zip_that_unpacks_to_more_than_is_read_is_refused(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    bomb = zipped(tmp_path / "bomb.zip", members_of(archive) | {"rankings.jsonl": b" " * 10**7})
    assert bomb.stat().st_size < 100_000
    monkeypatch.setitem(import_archive.LIMITS, "rankings.jsonl", 10**6)
    with pytest.raises(BadUpload, match=r"rankings\.jsonl unpacks to 10000000 bytes; at most"):
        import_study(bomb, "x")


def test_a_zip_that_lies_about_its_size_never_unpacks_more_than_it_says(
    archive: Path, tmp_path: Path
):
    path = zipped(tmp_path / "liar.zip", members_of(archive) | {"rankings.jsonl": b" " * 10**6})
    content = path.read_bytes()
    lie = content.replace(struct.pack("<I", 10**6), struct.pack("<I", 10))
    assert lie != content
    path.write_bytes(lie)
    with pytest.raises(BadUpload, match="damaged"):
        import_study(path, "x")


def test_a_zip_of_very_many_files_is_refused(archive: Path, tmp_path: Path):
    members = members_of(archive) | {f"f{n}": b"" for n in range(200)}
    with pytest.raises(BadUpload, match="not a study export"):
        import_study(zipped(tmp_path / "many.zip", members), "x")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff\xfe", "not UTF-8"),
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "must hold one object"),
        (b"{}", "field format_version: missing; not a study export"),
        (b'{"format_version": "2"}', "'2' is not '1', the one read here"),
        (b'{"format_version": "1"}', "field study_id: must be a text"),
        (b'{"format_version": "1", "study_id": 5}', "field study_id: must be a text"),
        (b'{"format_version": "1", "study_id": "s"}', "field schedule: missing"),
        (b'{"format_version": "1", "study_id": "s", "seed": -1}', "study.json: field seed"),
        (b'{"format_version": "1", "study_id": "s", "odd": 1}', "study.json: field odd"),
    ],
)
def test_a_study_json_that_is_none_is_refused(
    archive: Path, tmp_path: Path, content: bytes, said: str
):
    members = members_of(archive) | {
        "study.json": content,
        "rankings.jsonl": b"",
        "claims.jsonl": b"",
    }
    with pytest.raises(BadUpload) as refused:
        import_study(zipped(tmp_path / "odd.zip", members), "x")
    assert said in str(refused.value)
    assert nothing_was_left()


RESULT_FAULTS: list[tuple[str, Any, str]] = [
    ("order", [3, 0, 2, 1], "origins: must name one of"),
    ("order", [3, 0, 2, 1, 1], "order: must hold each of 0 to n-1 once"),
    ("order", [3, 0, 2, True, 4], "order"),
    ("order", None, "order"),
    ("id", "unknown", "field id: 'unknown' is no claim of claims.jsonl"),
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
        "rankings.jsonl, line 2, field id: 'unknown' is no claim of claims.jsonl",
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


# ---- the command ---------------------------------------------------------------------------------


def test_the_command_makes_a_draft_and_says_what_it_holds(
    archive: Path, capsys: pytest.CaptureFixture[str]
):
    call_command("import_study", str(archive), "--slug", "second")
    printed = capsys.readouterr()
    assert printed.out == ("study second, a draft: 6 claims, 12 rankings and selections, 6 slots\n")
    assert printed.err == ""
    assert Study.objects.get(slug="second").is_draft


def test_the_command_refuses_with_status_1_and_a_line_a_problem(
    archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    members = members_of(archive)
    del members["claims.jsonl"], members["rankings.jsonl"]
    with pytest.raises(SystemExit) as ended:
        call_command("import_study", str(zipped(tmp_path / "less.zip", members)), "--slug", "x")
    assert ended.value.code == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert [line.split(": ")[1] for line in printed.err.splitlines()] == [
        "claims.jsonl is not in the zip.",
        "rankings.jsonl is not in the zip.",
    ]
