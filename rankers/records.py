"""Ranking records: one JSON object a claim, as JSON Lines.

A result knows positions only; the record adds the claim's id and what made the result.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rankers.base import Method
from rankers.errors import BadInput
from rankers.formats.lines import parse_json, read_lines
from rankers.formats.rows import opened
from rankers.values import FALLBACK, ORIGINS, Ranking, Selection, Usage

COMPLETE = "complete"
FAILED = "failed"
STATUSES = (COMPLETE, FALLBACK, FAILED)
#: A record may be longer than a claim: a long score and an origin for each candidate.
MAX_RECORD_BYTES = 50_000_000
FIELDS = (
    "id",
    "method",
    "model",
    "prompt_version",
    "order",
    "selected",
    "scores",
    "origins",
    "status",
    "fallback_from",
    "usage",
    "seconds",
    "params",
)


def to_record(
    claim_id: str, method: Method, result: Ranking | Selection, seconds: float
) -> dict[str, Any]:
    """Return the record of a result; ``seconds`` is what it took.

    Raises ValueError for scores that JSON cannot hold.
    """
    record = _frame(claim_id, method, seconds)
    if isinstance(result, Ranking):
        if not all(map(math.isfinite, result.scores or ())):
            raise ValueError("a score is not a finite number")
        record["order"] = list(result.order)
        record["scores"] = None if result.scores is None else list(result.scores)
        record["origins"] = list(result.origins)
        record["fallback_from"] = result.fallback_from
    else:
        record["selected"] = list(result.selected)
    record["status"] = result.status
    record["usage"] = asdict(result.usage)
    return record


def failed_record(
    claim_id: str, method: Method, error: Exception, seconds: float
) -> dict[str, Any]:
    """Return the record of a claim whose method failed; it will be asked again.

    Besides the fields of every record it has ``error``, and ``raw``, the model's last reply, where
    the error keeps one.
    """
    record = _frame(claim_id, method, seconds)
    record["error"] = _storable(f"{type(error).__name__}: {error}")
    if isinstance(raw := getattr(error, "raw", None), str) and raw:
        record["raw"] = _storable(raw)
    return record


def _storable(text: str) -> str:
    """Text that UTF-8 can hold: half characters are written out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def from_record(record: Mapping[str, Any], n_candidates: int) -> Ranking | Selection | None:
    """Return the value that a record holds for a claim of n candidates; None for a failed one.

    Raises ValueError where the record does not fit: the order is no permutation of the candidates,
    the selection is outside them.
    """
    if record["status"] == FAILED:
        return None
    usage = Usage(**record["usage"])
    if record["order"] is None:
        is_fallback = record["status"] == FALLBACK
        return Selection(tuple(record["selected"]), n_candidates, is_fallback, usage)
    if len(record["order"]) != n_candidates:
        raise ValueError(f"{len(record['order'])} positions for {n_candidates} candidates")
    scores = record["scores"]
    return Ranking(
        tuple(record["order"]),
        tuple(record["origins"]),
        None if scores is None else tuple(scores),
        usage,
    )


def record_line(record: Mapping[str, Any]) -> str:
    """Return the record's line, line end included."""
    return json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"


def read_records(
    path: str | Path, *, may_be_cut: bool = False
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield ``(line number, record)`` of a file of ranking records; unknown keys are kept.

    Raises BadInput naming file, line and field at the first line that is no ranking record; with
    ``may_be_cut`` a last line that a crash cut off is passed over instead.
    """
    with opened(path) as stream:
        for line in read_lines(stream, MAX_RECORD_BYTES):
            if line.problem is None and not line.text.strip():
                continue
            try:
                if line.problem is not None:
                    raise ValueError(line.problem)
                record = parse_json(line.text)
                check_record(record)
            except ValueError as error:
                if may_be_cut and not line.has_end:
                    return
                raise BadInput(f"{path}: line {line.number}: {error}") from error
            yield line.number, record


def check_record(record: Any) -> None:
    """Raise ValueError, naming the field, unless ``record`` has the shape of a ranking record."""
    if not isinstance(record, dict):
        raise ValueError("must be a JSON object")
    missing = [name for name in FIELDS if name not in record]
    if missing:
        raise ValueError(f"no ranking record: {', '.join(missing)} missing")
    for name in ("id", "method"):
        if not isinstance(record[name], str) or not record[name]:
            raise ValueError(f"{name}: must be text")
    for name in ("model", "prompt_version"):
        if not isinstance(record[name], str | None):
            raise ValueError(f"{name}: must be text or null")
    if record["status"] not in STATUSES:
        raise ValueError(f"status: {record['status']!r} is none of {', '.join(STATUSES)}")
    for name in ("params", "usage"):
        if not isinstance(record[name], dict):
            raise ValueError(f"{name}: must be an object")
    _check_usage(record["usage"])
    if type(record["seconds"]) not in (int, float):
        raise ValueError("seconds: must be a number")
    if record["status"] != FAILED:
        _check_result(record)


def _frame(claim_id: str, method: Method, seconds: float) -> dict[str, Any]:
    """A record without a result, its keys in the order of ``FIELDS``."""
    return {
        "id": claim_id,
        "method": method.name,
        "model": method.model,
        "prompt_version": method.prompt_version,
        "order": None,
        "selected": None,
        "scores": None,
        "origins": None,
        "status": FAILED,
        "fallback_from": None,
        "usage": asdict(Usage()),
        "seconds": round(seconds, 6),
        "params": dict(method.params),
    }


def _check_usage(usage: dict[str, Any]) -> None:
    known = asdict(Usage())
    if set(usage) != set(known):
        raise ValueError(f"usage: its keys must be {', '.join(known)}")
    for name, value in usage.items():
        if type(value) is not int and not (name == "cached_prompt_tokens" and value is None):
            raise ValueError(f"usage.{name}: must be a whole number")


def _check_result(record: dict[str, Any]) -> None:
    order, selected = record["order"], record["selected"]
    if (order is None) == (selected is None):
        raise ValueError("order, selected: exactly one of them must be a list")
    if order is None:
        if not _is_positions(selected) or not selected or selected != sorted(set(selected)):
            raise ValueError("selected: must be ascending positions, at least one")
        return
    if not _is_positions(order) or sorted(order) != list(range(len(order))):
        raise ValueError(f"order: must hold each of 0 to n-1 once, not {_shown(order)}")
    origins = record["origins"]
    if (
        not isinstance(origins, list)
        or len(origins) != len(order)
        or not all(origin in ORIGINS for origin in origins)
    ):
        raise ValueError(f"origins: must name one of {', '.join(ORIGINS)} for each position")
    scores = record["scores"]
    if scores is not None and (
        not isinstance(scores, list)
        or len(scores) != len(order)
        or not all(type(one) in (int, float) for one in scores)
    ):
        raise ValueError("scores: must be null or one number for each position")
    first = next((rank for rank, one in enumerate(origins, start=1) if one == FALLBACK), None)
    if record["fallback_from"] != first:
        raise ValueError(f"fallback_from: must be {json.dumps(first)}, as origins say")
    if record["status"] != (COMPLETE if first is None else FALLBACK):
        raise ValueError("status: does not agree with origins")


def _is_positions(value: Any) -> bool:
    return isinstance(value, list) and all(type(one) is int and one >= 0 for one in value)


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "…"
