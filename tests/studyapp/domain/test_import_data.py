"""Importing an export with its data: the same study elsewhere, with the same numbers."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from pathlib import Path

import pytest
from django.core.management import call_command

import analysis
from studyapp.domain import run_ends
from studyapp.domain.assignment import withdraw
from studyapp.domain.export import Shape, export_study
from studyapp.domain.import_archive import import_study
from studyapp.domain.imported_runs import imported_under_way
from studyapp.domain.results import read_data, results_content
from studyapp.enums import EnrolmentState, RunKind, StudyState
from studyapp.errors import BadUpload, NoFreeSlot
from studyapp.models import Enrolment, Event, Participant, Study, Trial
from tests import factories
from tests.studyapp.domain import exported
from tests.studyapp.domain.exported import members_of, zipped

DATA = ("trials.csv", "events.csv", "participants.csv", "questionnaire.csv")


@pytest.fixture
def original(db: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Study:
    exported.TickingClock(monkeypatch)
    study = exported.open_study(tmp_path)
    exported.play(study)
    run_ends.reject_run(study, exported.sit(study).participant.code, "answers within a second")
    return study


@pytest.fixture
def archive(original: Study, tmp_path: Path) -> Path:
    path = tmp_path / "export.zip"
    export_study(original, path, include_simulated=True)
    return path


def forget_everything(study: Study) -> None:
    """As on another server: nothing of the original is there."""
    while run := Enrolment.objects.filter(slot__study=study).first():
        withdraw(run.token)
    study.withdrawals.all().delete()
    study.delete()


def test_elsewhere_an_import_with_data_exports_the_same_files_byte_for_byte(
    original, archive, tmp_path
):
    before = members_of(archive)
    forget_everything(original)
    made = import_study(archive, with_data=True)
    again = tmp_path / "again.zip"
    export_study(made.study, again, include_simulated=True)
    after = members_of(again)
    assert {name: after[name] for name in DATA} == {name: before[name] for name in DATA}
    assert (made.n_participants, made.n_trials) == (6, 23)


def test_the_measures_are_the_same_also_beside_the_original(original, archive):
    made = import_study(archive, "copy", with_data=True)
    mine, theirs = (
        results_content(study, read_data(study, True), True) for study in (made.study, original)
    )
    for shown in ("headings", "rows", "left_out", "n_trials"):
        assert mine[shown] == theirs[shown]
    assert mine["rows"]
    assert Participant.objects.count() == 12


def test_codes_are_new_where_this_server_has_the_original(original, archive):
    made = import_study(archive, "copy", with_data=True)
    theirs = set(Trial.objects.filter(enrolment__slot__study=original).values_list("code", flat=1))
    ours = set(Trial.objects.filter(enrolment__slot__study=made.study).values_list("code", flat=1))
    assert len(ours) == len(theirs) == 23
    assert not ours & theirs


def test_an_open_study_comes_back_paused_and_a_closed_one_closed(original, archive, tmp_path):
    assert import_study(archive, "copy", with_data=True).study.state == StudyState.PAUSED
    Study.objects.filter(pk=original.pk).update(
        state=StudyState.CLOSED, closed_at=original.opened_at
    )
    path = tmp_path / "closed.zip"
    export_study(original, path)
    closed = import_study(path, "closed", with_data=True).study
    assert (closed.state, closed.opened_at) == (StudyState.CLOSED, _cut(original.opened_at))


def _cut(moment):
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def test_states_places_and_withdrawn_counts_come_along(original, archive):
    made = import_study(archive, "copy", with_data=True).study

    def states(study):
        rows = Enrolment.objects.filter(slot__study=study).order_by("pk")
        return sorted(rows.values_list("run_kind", "state", "slot__number", "end_reason"))

    assert states(made) == states(original)
    assert EnrolmentState.REJECTED in {state for _, state, _, _ in states(made)}
    assert list(made.withdrawals.values_list("run_kind", "n_trials")) == list(
        original.withdrawals.values_list("run_kind", "n_trials")
    )
    assert made.frozen == original.frozen


def test_the_command_says_what_came_along(original, archive, capsys):
    call_command("import_study", str(archive), "--slug", "copy", "--with-data")
    assert capsys.readouterr().out == (
        "study copy, paused: 6 claims, 12 rankings and selections, 6 slots, "
        "6 participants, 23 trials\n"
    )


def test_a_resumed_copy_gives_out_the_places_that_are_free(original, archive):
    made = import_study(archive, "copy", with_data=True).study
    Study.objects.filter(pk=made.pk).update(state=StudyState.OPEN)
    held = Enrolment.objects.filter(slot__study=made, run_kind="real", state="completed").count()
    for _ in range(6 - held):
        factories.joined(made)
    with pytest.raises(NoFreeSlot):
        factories.joined(made)


def cells(archive: Path, name: str, change) -> Path:
    """A copy of the export with the rows of one table changed."""
    members = members_of(archive)
    rows = list(csv.DictReader(io.StringIO(members[name].decode(), newline="")))
    header = list(rows[0])
    for row in rows:
        change(row)
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, header)
    writer.writeheader()
    writer.writerows(rows)
    members[name] = text.getvalue().encode()
    return zipped(archive.with_name("changed.zip"), members)


@pytest.mark.parametrize(
    ("name", "column", "value", "said"),
    [
        ("trials.csv", "decision", "perhaps", "column decision: 'perhaps' is not one of"),
        ("trials.csv", "replication", "9", "its participant is not in the export"),
        ("participants.csv", "slot", "77", "is not in study.json"),
        ("participants.csv", "joined_at", "yesterday", "column joined_at: 'yesterday' is not"),
        ("participants.csv", "participant_status", "withdrawn", "has withdrawn"),
        ("events.csv", "server_ts", "", "column server_ts"),
    ],
)
def test_bad_data_import_nothing(archive, name, column, value, said):
    changed = cells(archive, name, lambda row: row.__setitem__(column, value))
    n_trials, n_events = Trial.objects.count(), Event.objects.count()
    with pytest.raises(BadUpload, match=re.escape(said)):
        import_study(changed, "copy", with_data=True)
    assert not Study.objects.filter(slug="copy").exists()
    assert (Trial.objects.count(), Event.objects.count()) == (n_trials, n_events)


def test_a_trial_that_the_schedule_does_not_hold_is_refused(archive):
    def swap(row):
        row["condition"] = "other" if row["condition"] != "other" else row["condition"]

    with pytest.raises(BadUpload):
        import_study(cells(archive, "trials.csv", swap), "copy", with_data=True)
    assert not Study.objects.filter(slug="copy").exists()


def test_a_draft_has_no_data_to_import(db, tmp_path):
    study = exported.ready_study(tmp_path)
    path = tmp_path / "draft.zip"
    export_study(study, path)
    with pytest.raises(BadUpload, match="had not opened"):
        import_study(path, "copy", with_data=True)
    assert not Study.objects.filter(slug="copy").exists()


def test_a_deidentified_export_comes_back_as_a_draft_only(original, tmp_path):
    path = tmp_path / "passed-on.zip"
    export_study(original, path, shape=Shape(deidentified=True))
    with pytest.raises(BadUpload, match="a de-identified export comes back as a draft only"):
        import_study(path, "copy", with_data=True)
    assert not Study.objects.filter(slug="copy").exists()
    # As of a study with a return address, which is not in its de-identified export.
    left_out = exported.changed(
        path, "study.json", lambda rows: rows[0]["frozen"].update(sitting="0")
    )
    made = import_study(left_out, "copy")
    assert made.study.is_draft
    said = (
        "not as frozen when the original opened: the export is de-identified, so contact, return "
        "addresses or codes were left out of it; set them again"
    )
    assert made.notes == [f"texts: {said}", f"sitting: {said}"]


def test_other_parts_of_a_deidentified_export_are_held_to_what_was_frozen(original, tmp_path):
    path = tmp_path / "passed-on.zip"
    export_study(original, path, shape=Shape(deidentified=True))
    odd = exported.changed(path, "study.json", lambda rows: rows[0]["frozen"].update(claims="0"))
    changed = "claims: not as frozen when the original opened (a changed file)"
    assert changed in import_study(odd, "copy").notes


def test_runs_under_way_are_told_apart_from_those_that_can_go_on(original, archive):
    made = import_study(archive, "copy", with_data=True).study
    assert (imported_under_way(made), imported_under_way(made, RunKind.PILOT)) == (1, 0)
    Study.objects.filter(pk=made.pk).update(state=StudyState.OPEN)
    factories.joined(made)
    assert imported_under_way(made) == 1
    assert imported_under_way(original) == 0


def test_elsewhere_the_analysis_gives_the_same_document(original, archive, tmp_path):
    forget_everything(original)
    made = import_study(archive, with_data=True).study
    again = tmp_path / "again.zip"
    export_study(made, again, include_simulated=True)
    first, second = (
        json.loads(analysis.to_json(analysis.build_document(analysis.read_export(path), True)))
        for path in (archive, again)
    )
    assert first == second


def test_a_deidentified_export_makes_a_draft_and_its_data_are_refused_with_the_reason(
    original, tmp_path
):
    path = tmp_path / "passed-on.zip"
    export_study(original, path, shape=Shape(deidentified=True))
    with pytest.raises(BadUpload, match="comes back as a draft only"):
        import_study(path, "copy", with_data=True)
    assert not Study.objects.filter(slug="copy").exists()
    made = import_study(path, "copy")
    assert (made.study.state, made.n_trials) == (StudyState.DRAFT, 0)
    assert made.n_slots == original.slots.count()


@pytest.mark.parametrize("name", DATA)
def test_a_table_that_unpacks_to_far_more_is_refused_before_anything_is_read(
    archive, monkeypatch, name
):
    members = members_of(archive)
    members[name] += b" " * 20 * 1024**2
    bomb = zipped(archive.with_name("bomb.zip"), members)
    monkeypatch.setattr("studyapp.domain.import_archive._make_study", None)
    monkeypatch.setattr("studyapp.domain.import_archive._unpack_one", None)
    with pytest.raises(BadUpload, match=f"{name} unpacks to .* at most 100 times its packed size"):
        import_study(bomb, "copy", with_data=True)


def test_a_data_table_twice_in_the_zip_is_refused(archive):
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(archive, "a") as twice:
        twice.writestr("participants.csv", "participant_id\n")
    with pytest.raises(BadUpload, match=r"participants\.csv is in the zip more than once"):
        import_study(archive, "copy", with_data=True)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        *(
            ("withdrawn", {"real": {"participants": n}}, "field withdrawn.real.participants: must")
            for n in ("x", 1.5, -3, True, None, 100_001)
        ),
        *(
            ("withdrawn", {"pilot": {"trials": n}}, "field withdrawn.pilot.trials: must be a whole")
            for n in ("many", 10**30, -5, [])
        ),
        ("withdrawn", [1], "field withdrawn: must hold counts"),
        ("withdrawn", {"odd": {}}, "field withdrawn: must hold counts"),
        ("withdrawn", {"real": 3}, "field withdrawn.real: must hold participants and trials"),
        ("opened_at", "0001-01-01T00:00:00+14:00", "field opened_at:"),
        ("opened_at", "9999-12-31T23:59:59-14:00", "field opened_at:"),
        ("state", "zzz", "field state: must be one of open, paused, closed"),
        ("state", ["open"], "field state: must be one of open, paused, closed"),
        ("state", "draft", "field state: must be one of open, paused, closed"),
    ],
)
def test_what_study_json_tells_of_people_is_checked(archive, field, value, said):
    changed = exported.changed(archive, "study.json", lambda told: told[0].update({field: value}))
    with pytest.raises(BadUpload, match=re.escape(said)):
        import_study(changed, "copy", with_data=True)
    assert not Study.objects.filter(slug="copy").exists()


def test_a_version_that_is_not_listed_is_refused(archive):
    odd = cells(archive, "participants.csv", lambda row: row.__setitem__("version", "99999"))
    with pytest.raises(BadUpload, match="column version: 99999 is not among the versions"):
        import_study(odd, "copy", with_data=True)


def test_more_people_in_a_slot_than_it_has_seats_are_refused(archive):
    members = members_of(archive)
    rows = list(csv.DictReader(io.StringIO(members["participants.csv"].decode(), newline="")))
    [done, *_] = [row for row in rows if row["participant_status"] == "completed"]
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(done))
    writer.writeheader()
    writer.writerows([*rows, *(done | {"participant_id": f"more{n}"} for n in range(3))])
    members["participants.csv"] = text.getvalue().encode()
    changed = zipped(archive.with_name("changed.zip"), members)
    with pytest.raises(BadUpload, match=r"participants\.csv: slot .* real runs hold a place, but"):
        import_study(changed, "copy", with_data=True)
