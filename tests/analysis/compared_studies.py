"""Small studies whose conditions are compared: rows by what matters, the rest sound."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from analysis import measure_document, to_json
from tests.analysis.builders import study, trial, trials

#: The comparison's blocks of the document.
BLOCKS = (
    "inference_design_set",
    "inference_available_set",
    "non_inferiority",
    "equivalence",
    "other_contrasts",
    "holm_all_contrasts",
    "omnibus",
)


def answer(
    person: int,
    claim: int,
    condition: str = "ranking",
    decision: str = "supported",
    n_read: int = 3,
    seconds: int = 15,
    replication: int = 1,
    **changes: Any,
) -> dict[str, str]:
    """One incremental main trial of four sentences; the gold label is ``supported``."""
    row = {
        "trial_id": f"t-{replication}-{person}-{claim}-{condition}",
        "participant_id": f"P{person}",
        "replication": replication,
        "slot": person,
        "claim_id": f"c{claim}",
        "condition": condition,
        "decision": decision,
        "n_read": n_read,
        "position": claim,
        "decided_at": f"2026-03-02T09:00:{seconds:02d}.000Z",
        "hidden_ms": 0,
        "active_ms": 1000 * seconds,
    }
    return trial(**(row | changes))


def square(
    people: int, claims: int, conditions: tuple[str, ...] = ("ranking", "selection"), seed: int = 1
) -> list[dict[str, str]]:
    """A balanced study with varied answers: claims shift through the conditions by participant."""
    draw = np.random.default_rng(seed)
    rows = []
    for claim in range(1, claims + 1):
        for place, condition in enumerate(conditions):
            person = (claim + place) % people + 1
            decision = draw.choice(["supported", "supported", "refuted", "cant_decide"])
            n_read, seconds = int(draw.integers(2, 5)), int(draw.integers(5, 50))
            rows.append(answer(person, claim, condition, str(decision), n_read, seconds))
    return rows


def compared(rows: list[dict[str, str]] | pd.DataFrame, **settings: Any) -> dict[str, Any]:
    """The document, made without a warning and read back from its JSON."""
    table = rows if isinstance(rows, pd.DataFrame) else trials(*rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        document = measure_document(table, None, study(**settings))
    assert json.loads(to_json(document)) == document
    return document


def undefined(document: Mapping[str, Any]) -> set[str]:
    """Paths of every None in the comparison."""
    return {path for name in BLOCKS for path in _nones(document[name], name)}


def _nones(value: Any, path: str) -> Iterator[str]:
    if value is None or (isinstance(value, list) and None in value):
        yield path
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _nones(item, f"{path}.{key}")
