"""A study with everything an export must carry, played to a known end by a ticking clock."""

from __future__ import annotations

import copy
import csv
import io
import json
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from studyapp.domain import importing, lifecycle, schedule
from studyapp.domain.assignment import withdraw
from studyapp.domain.trials import (
    open_trial_of,
    record_decision,
    record_visibility,
    reveal_next,
    start_next_trial,
)
from studyapp.enums import RunKind
from studyapp.models import Enrolment, Study
from tests import factories

Files = dict[str, bytes]

START = datetime(2026, 3, 1, 9, 0, 0, 123456, tzinfo=UTC)

#: Texts that break careless writers: separators, quotes, line ends, formulas, other scripts.
CLAIMS: list[dict[str, Any]] = [
    {
        "id": "001",
        "claim": 'A claim, with a comma and a "quote".',
        "titles": [None, None, None, None, None],
        "source": "Somewhere",
        "license": "CC BY 4.0",
        "meta": {"b": [1, {"c": None}], "a": "x"},
    },
    {"id": "NA", "claim": "First line\nsecond line", "titles": ["T", None, "T", None, ""]},
    {"id": "-3", "claim": "=1+1", "label": "refuted", "source": "File; with | marks"},
    {"id": "café 中文", "claim": "الأرض كروية 🌍", "label": "refuted", "lang": "ar"},
    {"id": "c5", "claim": "Carriage\rreturn and\r\nboth", "gold_sets": [[1], [4]]},
    {"id": "c6", "claim": "A plain one.", "label": "refuted", "gold_sets": [[0, 1, 2]]},
]


class TickingClock:
    """Stands in for the server's clock: ``seconds`` and a few microseconds a call."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float = 1.0):
        self.now = START
        self.seconds = seconds
        monkeypatch.setattr(timezone, "now", self)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=self.seconds, microseconds=777)
        return self.now


def claims_file(folder: Path, claims: list[dict[str, Any]] | None = None) -> Path:
    """An interchange file of ``claims``, five candidates each."""
    path = folder / "claims-to-import.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for claim in claims or CLAIMS:
            candidates = [f"Sentence {n} of {claim['id']}" for n in range(4)] + ["Sentence 0"]
            defaults = {
                "label": "supported",
                "candidates": candidates,
                "gold_sets": [[1], [0, 2]],
            }
            file.write(json.dumps(defaults | claim, ensure_ascii=False) + "\n")
    return path


def ready_study(folder: Path, slug: str = "original", **fields: Any) -> Study:
    """A draft of the claims above with both conditions, evidence and a schedule."""
    study = factories.draft_study(
        slug,
        texts={"welcome": "Hello,\nyou.", "contact": "x@example.org"},
        preregistered={"time_cap_s": 300, "reference_condition": "selection"},
        completion_code="SECRET-CODE",
        **fields,
    )
    importing.import_claims(study, claims_file(folder))
    factories.add_conditions(study)
    factories.add_evidence(study)
    schedule.lay_out(study, 3, 2, 11)
    return Study.objects.get(pk=study.pk)


def open_study(folder: Path, slug: str = "original", **fields: Any) -> Study:
    return lifecycle.open_study(ready_study(folder, slug, **fields))


def sit(study: Study, run_kind: str = RunKind.REAL, *, n_trials: int = 99) -> Enrolment:
    """One person's run: reads on by one more sentence each trial, and looks away now and then."""
    enrolment = factories.joined(study, run_kind)
    trial = start_next_trial(enrolment.token)
    answers = ["supported", "refuted", "cant_decide"]
    done = 0
    while trial is not None and done < n_trials:
        code = trial.code
        if trial.condition.is_incremental:
            for rank in range(2, 2 + done % 4):
                reveal_next(enrolment.token, code, rank, client_ms=rank * 1000)
        if done % 2:
            for kind in ("page_visible", "page_hidden", "page_hidden", "page_visible"):
                record_visibility(enrolment.token, code, kind, client_ms=None)
        if done % 3 == 2:
            record_visibility(enrolment.token, code, "page_hidden")
        trial = record_decision(enrolment.token, code, {"decision": answers[done % 3]})
        done += 1
    if trial is not None:
        assert open_trial_of(enrolment) is not None
    return Enrolment.objects.get(pk=enrolment.pk)


def member(path: Path, name: str) -> str:
    """The text of one file of an export."""
    with zipfile.ZipFile(path) as archive:
        return archive.read(name).decode("utf-8")


def records(path: Path, name: str) -> list[dict[str, Any]]:
    """The objects of a JSON Lines file of an export (or the one of study.json)."""
    text = member(path, name)
    if name.endswith(".jsonl"):
        return [json.loads(line) for line in text.split("\n") if line]
    return [json.loads(text)]


def table(path: Path, name: str) -> list[dict[str, str]]:
    """Rows of a CSV file of an export, read by Python's own reader."""
    return list(csv.DictReader(io.StringIO(member(path, name), newline="")))


def play(study: Study) -> Study:
    """Two finished people, one in mid-trial, one who withdrew, a pilot and a simulated reader."""
    sit(study)
    sit(study)
    sit(study, n_trials=2)
    withdraw(sit(study, n_trials=1).token)
    sit(study, RunKind.PILOT)
    sit(study, RunKind.SIMULATED)
    return study


def members_of(path: Path) -> Files:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(path: Path, members: Files) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def changed(archive: Path, name: str, change: Callable[[Any], Any]) -> Path:
    """A copy of ``archive`` with the objects of one file changed by ``change``."""
    members = members_of(archive)
    content = copy.deepcopy(records(archive, name))
    content = change(content) or content
    members[name] = "\n".join(json.dumps(record) for record in content).encode()
    return zipped(archive.with_name("changed.zip"), members)
