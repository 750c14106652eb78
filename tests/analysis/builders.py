"""Small tables for tests: a sound study of two claims and two participants, to be spoilt."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd

from tests.shared_data import DATA

CASES = DATA / "statistics_cases"
TRIAL_CASES = ("table5", "dropouts_a", "partial_a", "thirty_a")


def expected(case: str) -> dict[str, Any]:
    """The independent values of a case (R 4.2.2)."""
    return json.loads((CASES / case / "expected.json").read_text())


def case_tables(case: str) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, Any]]:
    """Trials and events as text, and the settings of a case."""
    folder = CASES / case
    trials, events = (
        pd.read_csv(folder / name, dtype=str, keep_default_na=False)
        for name in ("trials.csv", "events.csv")
    )
    return trials, events, json.loads((folder / "study.json").read_text())


def case_zip(case: str, folder: Path, name: str | None = None) -> Path:
    """A case packed like an export."""
    path = folder / f"{name or case}.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for inside in ("trials.csv", "events.csv", "study.json"):
            archive.write(CASES / case / inside, inside)
    return path


def study(**changes: Any) -> dict[str, Any]:
    """Settings of the small study."""
    settings: dict[str, Any] = {
        "study_id": "small",
        "subsets": 2,
        "replications": 1,
        "conditions": ["ranking", "selection"],
        "trials_per_participant": 2,
        "response_options": ["supported", "refuted", "cant_decide"],
    }
    return settings | changes


def trial(**changes: Any) -> dict[str, str]:
    """One sound main trial: four sentences, gold set {s1, s3}, three read, 5 s hidden of 20 s."""
    row = {
        "study_id": "small",
        "trial_id": "t1",
        "participant_id": "P1",
        "participant_status": "completed",
        "replication": "1",
        "slot": "1",
        "subset": "1",
        "claim_id": "001",
        "condition": "ranking",
        "interface": "incremental",
        "trial_kind": "main",
        "trial_status": "completed",
        "block": "1",
        "position": "1",
        "gold_label": "supported",
        "decision": "supported",
        "n_available": "4",
        "shown_order": "s1|s2|s3|s0",
        "gold_sets": "s1|s3",
        "n_read": "3",
        "gold_min_size": "2",
        "msr": "3",
        "started_at": "2026-03-02T09:00:00.000Z",
        "decided_at": "2026-03-02T09:00:20.000Z",
        "hidden_ms": "5000",
        "active_ms": "15000",
    }
    return row | {key: str(value) for key, value in changes.items()}


def selection_trial(**changes: Any) -> dict[str, str]:
    """One sound all-at-once trial whose two sentences hold no gold set."""
    own = {
        "trial_id": "t2",
        "claim_id": "002",
        "subset": 2,
        "position": 2,
        "block": 2,
        "condition": "selection",
        "interface": "all_at_once",
        "n_available": 2,
        "shown_order": "s1|s2",
        "n_read": 2,
        "msr": "",
        "decision": "cant_decide",
    }
    return trial(**(own | changes))


def trials(*rows: dict[str, str]) -> pd.DataFrame:
    """Rows as a table of text; without rows the two of one participant."""
    return pd.DataFrame(list(rows or (trial(), selection_trial())))


def events(trial_id: str = "t1", *extra: tuple[str, int, str, str]) -> pd.DataFrame:
    """Events of the sound trial ``trial``: reveals at 0, 4 and 8 s, hidden 10 to 15 s."""
    steps = [
        ("trial_started", 0, "", ""),
        ("reveal", 0, "1", "s1"),
        ("reveal", 4000, "2", "s2"),
        ("reveal", 8000, "3", "s3"),
        ("page_hidden", 10000, "", ""),
        ("page_visible", 15000, "", ""),
        ("decision_submitted", 20000, "", ""),
        *extra,
    ]
    start = pd.Timestamp("2026-03-02T09:00:00Z")
    return pd.DataFrame(
        [
            {
                "event_id": f"{trial_id}-e{seq}",
                "trial_id": trial_id,
                "seq": str(seq),
                "event_type": kind,
                "rank": rank,
                "sentence_id": sentence,
                "server_ts": (start + pd.Timedelta(ms, "ms")).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
                + "Z",
                "client_ms": str(ms),
            }
            for seq, (kind, ms, rank, sentence) in enumerate(steps)
        ]
    )


def assert_agrees(actual: Any, wanted: Any, path: str = "") -> None:
    """Every wanted key is there and agrees: counts exactly, other numbers to 1e-6."""
    if isinstance(wanted, dict):
        missing = set(wanted) - set(actual)
        assert not missing, f"{path} lacks {sorted(missing)}"
        for key, value in wanted.items():
            assert_agrees(actual[key], value, f"{path}.{key}")
    elif isinstance(wanted, list):
        assert len(actual) == len(wanted), path
        for place, value in enumerate(wanted):
            assert_agrees(actual[place], value, f"{path}[{place}]")
    elif isinstance(wanted, float) or (isinstance(wanted, int) and isinstance(actual, float)):
        assert actual is not None, path
        assert abs(actual - wanted) <= 1e-6, f"{path}: {actual} is not {wanted}"
    else:
        assert actual == wanted, f"{path}: {actual!r} is not {wanted!r}"
