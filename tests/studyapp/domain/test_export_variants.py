"""The forms an export can have: de-identified, with spreadsheet copies, with JSON Lines."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from django.core.management import call_command

from analysis import columns
from analysis.document import build_document
from analysis.load import read_export
from studyapp.domain import deidentify, questionnaire
from studyapp.domain.export import RAW, Shape, export_study
from studyapp.domain.export_settings import study_settings
from studyapp.domain.import_archive import import_study
from studyapp.domain.spreadsheet import safe_text
from studyapp.domain.trials import record_decision, start_next_trial
from studyapp.domain.versions import publish
from studyapp.enums import EnrolmentState
from studyapp.models import Enrolment, Slot, Study, Trial
from tests import factories
from tests.studyapp.domain import exported
from tests.studyapp.domain.exported import member, members_of, table, zipped
from tests.studyapp.domain.test_results_jobs import finish

pytestmark = pytest.mark.django_db

DEIDENTIFIED = Shape(deidentified=True)
TABLES = ("participants", "questionnaire", "trials", "events")
QUESTIONS: list[dict[str, Any]] = [
    {"name": "open", "text": "What did you think?", "kind": "text"},
    {"name": "ease", "text": "How easy?", "kind": "scale", "min": -3, "max": 3},
    {"name": "use", "text": "How often?", "kind": "choice", "options": ["=daily", "never"]},
    {"name": "age", "text": "Your age?", "kind": "number", "min": 18, "max": 120},
    {"name": "number", "text": "Your student number?", "kind": "number"},
]
ANSWERS = {"open": "I am Jo", "ease": "-2", "use": "=daily", "age": "33", "number": "7654321"}
SITTING = {
    "questionnaire": QUESTIONS,
    "reason": "optional",
    "return_url": "https://app.prolific.com/done?cc={code}",
    "declined_code": "DECLINED-CODE",
}


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    """A study in which everything happened, two people finished in one slot among it."""
    exported.TickingClock(monkeypatch)
    study = exported.open_study(tmp_path, sitting=SITTING)
    Slot.objects.filter(study=study).update(target=2)
    exported.play(study)
    run = factories.joined(study)
    trial = start_next_trial(run.token)
    while trial is not None:
        answer = {"decision": "refuted", "reason": "Jo says =no"}
        trial = record_decision(run.token, trial.code, answer)
    questionnaire.submit_questionnaire(run.token, ANSWERS)
    Study.objects.filter(pk=study.pk).update(
        texts=study.texts | {"completion": "Your code is SECRET-CODE."}
    )
    return Study.objects.get(pk=study.pk)


@pytest.fixture
def raw(played: Study, tmp_path: Path) -> Path:
    return export_study(played, tmp_path / "raw.zip", True).path


@pytest.fixture
def hidden(played: Study, tmp_path: Path) -> Path:
    return export_study(played, tmp_path / "hidden.zip", True, shape=DEIDENTIFIED).path


# ---- de-identified -------------------------------------------------------------------------------


def same(found: Any, expected: Any) -> bool:
    """Whether two documents are the same, but for the last digits of sums in another order."""
    if isinstance(expected, dict):
        return set(found) == set(expected) and all(same(found[k], expected[k]) for k in expected)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, float):
        return found == pytest.approx(expected, rel=1e-12)
    return bool(found == expected)


def measures(path: Path, renamed: Study | None = None) -> Any:
    """The measures document; of ``renamed``, under the names of the de-identified export.

    Without the comparison of the conditions, which draws people by their names.
    """
    text = json.dumps(build_document(read_export(path), True, with_comparison=False))
    if renamed is not None:
        names = deidentify.Deidentified(renamed, True)
        for code in Enrolment.objects.values_list("participant__code", flat=True):
            text = text.replace(code, names.new_name("p", code))
    return json.loads(text)


def test_the_measures_of_a_deidentified_export_are_those_of_the_raw_one(
    raw: Path, hidden: Path, played: Study
) -> None:
    assert read_export(hidden).trials.shape[0] == read_export(raw).trials.shape[0]
    assert same(measures(hidden), measures(raw, played))


def test_who_holds_a_slot_stays_though_the_times_are_moved(tmp_path: Path) -> None:
    """Two people finish every slot, so that only who came first tells whose trials count."""
    study = factories.open_study(8)
    Slot.objects.filter(study=study).update(target=2)
    for decision in ("supported", "refuted", "cant_decide", "supported"):
        run = factories.joined(study)
        trial = start_next_trial(run.token)
        while trial is not None:
            trial = record_decision(run.token, trial.code, {"decision": decision})
    raw = export_study(study, tmp_path / "raw.zip").path
    hidden = export_study(study, tmp_path / "hidden.zip", shape=DEIDENTIFIED).path
    assert measures(raw)["excluded"]["superseded"] == 16
    assert same(measures(hidden), measures(raw, study))
    orders = {(row["slot"], row["slot_order"]) for row in table(hidden, "trials.csv")}
    assert orders == {("1", "1"), ("1", "2"), ("2", "1"), ("2", "2")}


def test_everybody_begins_at_the_same_moment_and_every_difference_stays(
    raw: Path, hidden: Path, played: Study
) -> None:
    names = deidentify.Deidentified(played, True)
    begun = {}
    for name in ("participants", "trials", "events"):
        key = {"participants": "participant_id", "trials": "trial_id", "events": "event_id"}[name]
        before = {names.new_name(key[0], row[key]): row for row in table(raw, f"{name}.csv")}
        after = {row[key]: row for row in table(hidden, f"{name}.csv")}
        assert set(before) == set(after)
        if name == "events":
            owners = {row["trial_id"]: row["participant_id"] for row in table(hidden, "trials.csv")}
        for each, row in after.items():
            person = owners[row["trial_id"]] if name == "events" else row["participant_id"]
            moved = {
                datetime.fromisoformat(before[each][column]) - datetime.fromisoformat(value)
                for column, value in row.items()
                if column in deidentify.TIMES and value
            }
            assert len(moved) == 1
            assert begun.setdefault(person, moved) == moved
    consents = {row["consented_at"] for row in table(hidden, "participants.csv")}
    assert consents == {"2000-01-01T00:00:00.000Z"}
    assert len({str(moved) for moved in begun.values()}) == len(begun)


def test_what_people_wrote_and_what_leads_to_them_is_gone(
    raw: Path, hidden: Path, played: Study
) -> None:
    secrets = [
        "Jo says", "I am Jo", "7654321", "x@example.org", "SECRET-CODE", "DECLINED-CODE",
        "prolific", "2026-",
    ]  # fmt: skip
    secrets += Enrolment.objects.values_list("participant__code", flat=True)
    secrets += Trial.objects.values_list("code", flat=True)
    for name, content in members_of(hidden).items():
        assert [one for one in secrets if one.encode() in content] == [], name
    told = b"".join(members_of(raw).values()).decode()
    assert [one for one in secrets if one not in told] == ["DECLINED-CODE"]
    answers = {row["name"]: row["value"] for row in table(hidden, "questionnaire.csv")}
    assert answers == {"ease": "-2", "use": "=daily", "age": "33"}
    assert {row["reason"] for row in table(hidden, "trials.csv")} == {""}
    text = exported.records(hidden, "study.json")[0]["texts"]["completion"]
    assert text == "Your code is [left out]."


@pytest.mark.parametrize(
    "now",
    [
        {"kind": "choice", "options": ["a", "b"]},
        {"kind": "number", "min": 0, "max": 100},
        {"kind": "scale", "min": 0, "max": 10},
        None,
    ],
    ids=["choice", "number", "scale", "gone"],
)
def test_what_was_typed_stays_out_whatever_the_question_became(
    now: dict[str, Any] | None, tmp_path: Path
) -> None:
    asked = {"name": "job", "text": "Job?"}
    ease = {"name": "ease", "text": "Easy?", "kind": "choice", "options": ["yes", "no"]}
    study = factories.open_study(sitting={"questionnaire": [asked | {"kind": "text"}, ease]})
    run = finish(study)
    questionnaire.submit_questionnaire(run.token, {"job": "7", "ease": "yes"})
    study.refresh_from_db()
    questions = [asked | now, ease] if now else [ease]
    publish(study, {"sitting": {"questionnaire": questions}}, "the question was too open")
    shape = Shape(deidentified=True, spreadsheet=True, jsonl=True)
    path = export_study(study, tmp_path / "hidden.zip", shape=shape).path
    answers = {row["name"]: row["value"] for row in table(path, "questionnaire.csv")}
    assert answers == {"ease": "yes"}


def test_answers_stay_text_in_a_spreadsheet_where_a_version_asked_for_text(tmp_path: Path) -> None:
    asked = {"name": "job", "text": "Job?"}
    study = factories.open_study(sitting={"questionnaire": [asked | {"kind": "text"}]})
    questionnaire.submit_questionnaire(finish(study).token, {"job": "-3"})
    study.refresh_from_db()
    scale = asked | {"kind": "scale", "min": -3, "max": 3}
    publish(study, {"sitting": {"questionnaire": [scale]}}, "a scale is quicker")
    path = export_study(study, tmp_path / "safe.zip", shape=Shape(spreadsheet=True)).path
    assert [row["value"] for row in table(path, "spreadsheet/questionnaire.csv")] == ["'-3"]


def test_codes_of_earlier_versions_are_left_out_of_every_text(tmp_path: Path) -> None:
    study = factories.open_study(
        completion_code="OLDCODE",
        sitting={
            "declined_code": "OLDCODE-NO",
            "screened_out_url": "https://x.example.org/grant?t=77",
            "questionnaire": [{"name": "q", "text": "Kept OLDCODE?", "kind": "text"}],
        },
        texts={
            "completion": "OLDCODE or NEWCODE",
            "declined": "take OLDCODE-NO",
            "screened_out": "go to https://x.example.org/grant?t=77",
        },
    )
    changes = {
        "completion_code": "NEWCODE",
        "sitting": study.sitting
        | {"declined_code": "NEWCODE-NO", "screened_out_url": "", "questionnaire": [
            {"name": "q", "text": "Kept OLDCODE?", "kind": "text"}]},
    }  # fmt: skip
    publish(study, changes, "other codes for the second batch")
    hidden = export_study(study, tmp_path / "hidden.zip", shape=DEIDENTIFIED).path
    told = exported.records(hidden, "study.json")[0]
    found = {name: told["texts"][name] for name in ("completion", "declined", "screened_out")}
    assert found == {
        "completion": "[left out] or [left out]",
        "declined": "take [left out]",
        "screened_out": "go to [left out]",
    }
    assert told["sitting"]["questionnaire"][0]["text"] == "Kept [left out]?"
    for name, content in members_of(hidden).items():
        for code in (b"OLDCODE", b"NEWCODE", b"t=77"):
            assert code not in content, name
    raw = exported.records(export_study(study, tmp_path / "raw.zip").path, "study.json")[0]
    assert raw["texts"]["completion"] == "OLDCODE or NEWCODE", "as participants saw it"
    for settings in (raw, *(version["settings"] for version in raw["versions"])):
        assert "completion_code" not in settings
        assert "declined_code" not in settings["sitting"]


def test_the_reason_of_a_void_trial_is_left_out_and_the_trial_stays_void(
    played: Study, tmp_path: Path
) -> None:
    trial = Trial.objects.filter(state="completed").earliest("pk")
    Trial.objects.filter(pk=trial.pk).update(state="void", void_reason="Jo's phone broke")
    path = export_study(played, tmp_path / "void.zip", shape=DEIDENTIFIED).path
    reasons = {row["void_reason"] for row in table(path, "trials.csv")}
    assert reasons == {"", "left out"}
    assert read_export(path)


def test_new_names_begin_with_their_letter_stay_and_differ_between_studies(
    played: Study, hidden: Path, tmp_path: Path
) -> None:
    again = export_study(played, tmp_path / "again.zip", True, shape=DEIDENTIFIED).path
    assert again.read_bytes() == hidden.read_bytes()
    for row in table(hidden, "trials.csv"):
        assert re.fullmatch(r"p[0-9a-f]{20}", row["participant_id"])
        assert re.fullmatch(r"t[0-9a-f]{20}", row["trial_id"])
    exported.sit(played)
    later = export_study(played, tmp_path / "later.zip", True, shape=DEIDENTIFIED).path
    before = {row["event_id"] for row in table(hidden, "events.csv")}
    assert before < {row["event_id"] for row in table(later, "events.csv")}
    other = deidentify.Deidentified(factories.draft_study(), False)
    mine = deidentify.Deidentified(played, False)
    assert other.new_name("p", "p1") != mine.new_name("p", "p1") == mine.new_name("p", "p1")


def test_rows_are_in_the_order_of_the_places_and_say_nothing_of_time(hidden: Path) -> None:
    places = [(row["replication"], row["slot"]) for row in table(hidden, "trials.csv")]
    assert places == sorted(places)
    trials = [row["trial_id"] for row in table(hidden, "trials.csv")]
    of_events = list(dict.fromkeys(row["trial_id"] for row in table(hidden, "events.csv")))
    assert of_events == trials


def test_every_setting_and_every_column_is_kept_or_left_out_on_purpose(study: Study) -> None:
    left_out = {"created_at", "opened_at", "closed_at", "recruiting"}
    # Their dates are the study's own, and the texts of versions may hold what was taken out.
    left_out |= {"versions", "unblinded", "origin"}
    assert set(study_settings(study)) == deidentify.KEPT_SETTINGS | left_out
    times = {c.name for t in TABLES for c in columns.columns_of(t) if c.kind == "time"}
    assert times == deidentify.TIMES
    texts = {c.name for t in TABLES for c in columns.columns_of(t) if c.kind == "string"}
    assert texts - set(deidentify.NAMES) - set(deidentify.FREE_TEXT) == {
        "study_id", "claim_id", "study_version", "sentence_id", "end_reason", "consent_version",
        "name", "value",
    }  # fmt: skip


def test_the_readme_and_the_codebook_say_what_was_done(hidden: Path, raw: Path) -> None:
    assert "de-identified" in member(hidden, "README.txt")
    assert "de-identified" not in member(raw, "README.txt")
    extra = {row["name"] for row in table(hidden, "codebook.csv")} - {
        row["name"] for row in table(raw, "codebook.csv")
    }
    assert extra == {"slot_order"}
    assert list(table(hidden, "trials.csv")[0])[-1] == "slot_order"


def test_the_report_is_built_from_a_deidentified_export(hidden: Path, tmp_path: Path) -> None:
    from analysis.report import build_report

    build_report([hidden], tmp_path / "report", include_simulated=True)
    assert (tmp_path / "report" / "index.html").is_file() or list(tmp_path.glob("report/*.html"))


# ---- copies of the tables ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@x", "'@x"),
        ("\t=1", "'\t=1"),
        ("\rx", "'\rx"),
        ("  =1", "'  =1"),
        ("\u00a0@x", "'\u00a0@x"),
        ("\ufeff=1", "'\ufeff=1"),
        ("＝1+1", "'＝1+1"),
        ("\u200b \u3000＋1", "'\u200b \u3000＋1"),
        ("\u2060=1", "'\u2060=1"),
        ("-3", "'-3"),
        ("001", "'001"),
        ("12345678901234567", "'12345678901234567"),
        ("1e5", "'1e5"),
        ("12", "12"),
        ("0", "0"),
        ("c-1", "c-1"),
        ("a = b", "a = b"),
        ("s1|s0;s2", "s1|s0;s2"),
        ("2026-03-01T09:00:00.123Z", "2026-03-01T09:00:00.123Z"),
        ("中文 العربية 🌍", "中文 العربية 🌍"),
        ("", ""),
        ("  ", "  "),
    ],
)
def test_a_cell_that_would_run_or_change_becomes_text(text: str, safe: str) -> None:
    assert safe_text(text) == safe


def test_spreadsheet_copies_hold_the_same_rows_made_safe(played: Study, tmp_path: Path) -> None:
    raw = export_study(played, tmp_path / "raw.zip", True).path
    safe = export_study(played, tmp_path / "safe.zip", True, shape=Shape(spreadsheet=True)).path
    plain, copied = members_of(raw), members_of(safe)
    copies = {name for name in copied if name.startswith("spreadsheet/")}
    assert {name: copied[name] for name in plain if name != "README.txt"} == {
        name: content for name, content in plain.items() if name != "README.txt"
    }
    assert copies == {f"spreadsheet/{name}" for name in plain if name.endswith(".csv")}
    for name in copies:
        assert copied[name].startswith(b"\xef\xbb\xbf")
        exact = table(safe, name.removeprefix("spreadsheet/"))
        told = list(csv.DictReader(io.StringIO(copied[name].decode("utf-8-sig"), newline="")))
        kinds = {c.name: c.kind for t in columns.TABLES for c in columns.columns_of(t)}
        for row, copy in zip(exact, told, strict=True):
            for column, cell in row.items():
                is_answer = column == "value" and row["name"] in ("ease", "age", "number")
                is_numeric = "codebook" not in name and kinds[column] in ("int", "bool")
                assert copy[column] == (cell if is_answer or is_numeric else safe_text(cell))


def test_the_mark_for_excel_can_be_left_out(played: Study, tmp_path: Path) -> None:
    shape = Shape(spreadsheet=True, has_bom=False)
    path = export_study(played, tmp_path / "plain.zip", shape=shape).path
    for name, content in members_of(path).items():
        assert not content.startswith(b"\xef\xbb\xbf"), name


def test_json_tables_hold_the_rows_with_their_types(played: Study, tmp_path: Path) -> None:
    path = export_study(played, tmp_path / "json.zip", True, shape=Shape(jsonl=True)).path
    for name in (*TABLES, "claims"):
        kinds = {column.name: column.kind for column in columns.columns_of(name)}
        expected = [
            {column: _typed(cell, kinds[column]) for column, cell in row.items()}
            for row in table(path, f"{name}.csv")
        ]
        assert exported.records(path, f"tables/{name}.jsonl") == expected


def _typed(cell: str, kind: str) -> Any:
    if cell == "":
        return None
    return {"int": int, "bool": lambda text: text == "true"}.get(kind, str)(cell)


# ---- back again ----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [RAW, Shape(True, True, True)])
def test_every_form_can_be_imported_again(played: Study, tmp_path: Path, shape: Shape) -> None:
    path = export_study(played, tmp_path / "form.zip", shape=shape).path
    made = import_study(path, "again")
    assert (made.n_claims, made.n_results, made.n_slots) == (6, 12, 6)
    texts = [note for note in made.notes if note.startswith("texts")]
    assert len(texts) == 1, "the text of the completion page was changed after the opening"
    assert made.study.claims.count() == played.claims.count()


def test_further_members_are_ignored_and_names_that_climb_are_refused(
    raw: Path, tmp_path: Path
) -> None:
    members = members_of(raw)
    more = {"notes/": b"", "notes/mine.txt": b"x", "tables/trials.jsonl": b"not read"}
    assert import_study(zipped(tmp_path / "more.zip", members | more), "more").n_claims == 6
    for name in ("../x", "/x", "a/../x", "a\\x", ".hidden", "a/.hidden", "a//x"):
        with pytest.raises(Exception, match="names in an export"):
            import_study(zipped(tmp_path / "odd.zip", members | {name: b"x"}), "odd")


# ---- commands ------------------------------------------------------------------------------------


def test_the_command_writes_every_form(
    played: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "form.zip"
    options = ["--deidentified", "--spreadsheet", "--no-bom", "--jsonl", "--simulated"]
    call_command("export_study", played.slug, "-o", str(path), *options)
    other = export_study(played, tmp_path / "o.zip", True, shape=Shape(True, True, True, False))
    assert path.read_bytes() == other.path.read_bytes()
    told = capsys.readouterr().out
    assert f"sha256 {other.sha256}" in told
    assert f"spreadsheet/trials.csv: {other.rows['trials.csv']} rows" in told


def test_pandas_reads_the_exact_table_as_it_was_stored(raw: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(io.BytesIO(members_of(raw)["claims.csv"]), dtype=str, keep_default_na=False)
    assert list(frame["claim"]) == [claim["claim"] for claim in exported.CLAIMS]


def test_a_timed_out_person_keeps_the_status_without_a_date(played: Study, tmp_path: Path) -> None:
    run = exported.sit(played, n_trials=1)
    Enrolment.objects.filter(pk=run.pk).update(
        state=EnrolmentState.TIMED_OUT, end_reason="timed_out"
    )
    path = export_study(played, tmp_path / "x.zip", shape=DEIDENTIFIED).path
    assert "dropped_out" in {r["participant_status"] for r in table(path, "participants.csv")}
