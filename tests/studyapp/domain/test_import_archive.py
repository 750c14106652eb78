"""Importing an export: the same study again, all or nothing, whatever the file holds."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import call_command

from studyapp.domain import import_archive, lifecycle, schedule
from studyapp.domain.balance import balance_of
from studyapp.domain.closing import close_slots, close_subset
from studyapp.domain.export import export_study
from studyapp.domain.import_archive import import_study
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
    Slot,
    Study,
    Trial,
)
from tests import factories
from tests.studyapp.domain import exported
from tests.studyapp.domain.exported import members_of, zipped


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
    changed = {"study_id", "state", "created_at", "opened_at", "frozen", "versions", "origin"}
    assert differing == changed
    assert after["origin"]["versions"] == before["versions"]
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


def test_later_cycles_are_held_to_the_record_of_their_addition(original: Study, tmp_path: Path):
    for n_replications in (3, 5):
        schedule.lay_out(original, 3, n_replications, 11)
    path = tmp_path / "longer.zip"
    export_study(original, path)
    made = import_study(path, "longer")
    assert (made.n_slots, made.notes) == (15, [])
    assert lifecycle.open_study(made.study).frozen.keys() == original.frozen.keys() - {
        "cycles_added"
    }


@pytest.mark.parametrize(
    ("change", "said"),
    [
        # As exports were before additions were recorded.
        (lambda frozen: frozen.pop("cycles_added"), "not as frozen when the original opened"),
        (lambda frozen: frozen["cycles_added"].pop(), "no record says when replication 4"),
        (lambda frozen: frozen["cycles_added"].pop(0), "not as frozen when the original opened"),
        (lambda frozen: frozen["cycles_added"].reverse(), "replications 4 to 4 are not as they"),
        (
            lambda frozen: frozen["cycles_added"][1].update(schedule="0" * 64),
            "replications 4 to 4 are not as they",
        ),
        (lambda frozen: frozen.update(cycles_added=3), "not a record of added cycles"),
        (lambda frozen: frozen.update(cycles_added=[{"at": "x"}]), "not a record of added"),
        (
            lambda frozen: frozen["cycles_added"][0].update(first_replication=2**63),
            "not a record of added",
        ),
        (lambda frozen: frozen.update(schedule="0" * 64), "not as frozen when the original"),
    ],
)
def test_cycles_that_are_not_as_recorded_are_noted(
    original: Study, tmp_path: Path, change: Callable[[dict], object], said: str
):
    for n_replications in (3, 4):
        schedule.lay_out(original, 3, n_replications, 11)
    path = tmp_path / "longer.zip"
    export_study(original, path)

    def edit(content: list[dict]) -> None:
        change(content[0]["frozen"])

    [note] = import_study(exported.changed(path, "study.json", edit), "longer").notes
    assert note.startswith("schedule: ")
    assert said in note


def test_closed_slots_and_subsets_stay_closed(original: Study, tmp_path: Path):
    close_slots(original, 2, 1)
    close_subset(original, 3)
    path = tmp_path / "closed.zip"
    export_study(original, path)
    made = import_study(path, "copy")
    assert made.notes == ["schedule: closed as in the export, given to nobody: slot 2.1, subset 3"]
    copy = made.study
    assert [str(slot) for slot in copy.slots.exclude(closed_at=None)] == ["2.1"]
    assert [subset.number for subset in copy.subsets.exclude(closed_at=None)] == [3]
    rows = [(row["replication"], row["slot"], row["closed"]) for row in balance_of(copy).rows]
    assert rows == [
        (row["replication"], row["slot"], row["closed"]) for row in balance_of(original).rows
    ]
    assert {row[2] for row in rows} == {True, False}


def test_an_export_that_says_nothing_of_closing_is_read_as_open(archive: Path):
    def as_before(content: list[dict]) -> None:
        for part in ("slots", "subsets"):
            for item in content[0]["schedule"][part]:
                assert item.pop("closed") is False

    copy = import_study(exported.changed(archive, "study.json", as_before), "copy").study
    assert not copy.slots.exclude(closed_at=None).exists()
    assert not copy.subsets.exclude(closed_at=None).exists()


@pytest.mark.parametrize("part", ["slots", "subsets"])
def test_closed_must_be_true_or_false(archive: Path, part: str):
    def change(content: list[dict]) -> None:
        content[0]["schedule"][part][1]["closed"] = "no"

    with pytest.raises(BadUpload, match=rf"schedule\.{part}, number 2: closed must be true or"):
        import_study(exported.changed(archive, "study.json", change), "copy")
    assert nothing_was_left()


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
