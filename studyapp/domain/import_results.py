"""Ranking records of an export become stored results, their jobs done."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from django.utils import timezone

from rankers.values import FALLBACK, ORIGINS
from studyapp.enums import JobState
from studyapp.errors import BadUpload
from studyapp.models import Claim, Condition, PrecomputeJob, Ranking, Selection, Study

#: Records written at once.
BATCH = 500
#: Problems listed before reading stops.
MAX_LISTED = 200
#: The longest line that is read, in characters.
MAX_LINE = 5_000_000

FILE = "rankings.jsonl"


class _Claim(NamedTuple):
    pk: int
    n_candidates: int


def store_results(study: Study, path: Path) -> int:
    """Check every record of ``path`` against the study's claims and conditions and store it.

    Returns how many were stored. Raises BadUpload with line and field of every problem.
    """
    conditions = {condition.name: condition for condition in study.conditions.all()}
    claims = {
        claim_id: _Claim(pk, n)
        for pk, claim_id, n in Claim.objects.filter(study=study).values_list(
            "pk", "claim_id", "n_candidates"
        )
    }
    problems: list[str] = []
    batch: list[Ranking | Selection] = []
    seen: set[tuple[int, int]] = set()
    n_stored = 0
    for line, record in _records(path, problems):
        if len(problems) >= MAX_LISTED:
            break
        result = _result(line, record, conditions, claims, problems)
        if result is None:
            continue
        key = (result.condition.pk, result.claim_id)
        if key in seen:
            problems.append(
                f"{FILE}, line {line}, field id: {record['id']!r} has a result for condition "
                f"{record['condition']} already"
            )
            continue
        seen.add(key)
        batch.append(result)
        if len(batch) == BATCH and not problems:
            n_stored += _write(batch)
            batch = []
    if problems:
        raise BadUpload(problems)
    return n_stored + _write(batch)


def _write(batch: list[Ranking | Selection]) -> int:
    Ranking.objects.bulk_create(row for row in batch if isinstance(row, Ranking))
    Selection.objects.bulk_create(row for row in batch if isinstance(row, Selection))
    now = timezone.now()
    PrecomputeJob.objects.bulk_create(
        PrecomputeJob(
            condition=row.condition, claim_id=row.claim_id, state=JobState.DONE, finished_at=now
        )
        for row in batch
    )
    return len(batch)


def _records(path: Path, problems: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON Lines file with their line numbers; blank lines are passed over."""
    try:
        with path.open(encoding="utf-8-sig", newline="\n") as lines:
            for number, text in enumerate(_limited(lines), start=1):
                if not text.strip():
                    continue
                try:
                    record = json.loads(text)
                except (ValueError, RecursionError) as error:
                    problems.append(f"{FILE}, line {number}: not JSON ({error})")
                    continue
                if isinstance(record, dict):
                    yield number, record
                else:
                    problems.append(f"{FILE}, line {number}: must hold one object")
    except UnicodeDecodeError as error:
        raise BadUpload(f"{FILE}: not UTF-8 ({error.reason})") from None


def _limited(lines: Any) -> Iterator[str]:
    number = 0
    while text := lines.readline(MAX_LINE + 1):
        number += 1
        if len(text) > MAX_LINE:
            raise BadUpload(f"{FILE}, line {number}: longer than {MAX_LINE} characters")
        yield text


def _result(
    line: int,
    record: dict[str, Any],
    conditions: dict[str, Condition],
    claims: dict[str, _Claim],
    problems: list[str],
) -> Ranking | Selection | None:
    """The unsaved row of a record; None, and problems noted, where it does not fit the study."""
    found: list[tuple[str, str]] = []
    condition = conditions.get(_text(record.get("condition")))
    claim = claims.get(_text(record.get("id")))
    if condition is None:
        found.append(("condition", f"{record.get('condition')!r} is none of the study's"))
    if claim is None:
        found.append(("id", f"{record.get('id')!r} is no claim of claims.jsonl"))
    if record.get("status") not in ("complete", "fallback"):
        found.append(("status", "must be complete or fallback"))
    common = _cost(record, found)
    own: dict[str, Any] = {}
    if condition is not None and claim is not None:
        if condition.is_incremental:
            own = _ranking_fields(record, claim.n_candidates, found)
        else:
            own = _selection_fields(record, claim.n_candidates, found)
    if found or condition is None or claim is None:
        problems += [f"{FILE}, line {line}, field {name}: {what}" for name, what in found]
        return None
    table = Ranking if condition.is_incremental else Selection
    return table(condition=condition, claim_id=claim.pk, status=record["status"], **common, **own)


def _ranking_fields(record: dict[str, Any], n: int, found: list[tuple[str, str]]) -> dict[str, Any]:
    order, origins, scores = (record.get(name) for name in ("order", "origins", "scores"))
    if not _is_positions(order) or sorted(order) != list(range(n)):
        found.append(("order", f"must hold every position from 0 to {n - 1} once"))
    if (
        not isinstance(origins, list)
        or len(origins) != n
        or not set(map(str, origins)) <= set(ORIGINS)
    ):
        found.append(("origins", f"must hold {n} of {', '.join(ORIGINS)}"))
        origins = []
    if scores is not None and not (
        isinstance(scores, list) and len(scores) == n and all(map(_is_number, scores))
    ):
        found.append(("scores", f"must be null or hold {n} numbers"))
    first = origins.index(FALLBACK) + 1 if FALLBACK in origins else None
    if record.get("fallback_from") != first:
        found.append(("fallback_from", f"must be {first}, the first rank of origin {FALLBACK}"))
    return {"order": order, "origins": origins, "scores": scores, "fallback_from": first}


def _selection_fields(
    record: dict[str, Any], n: int, found: list[tuple[str, str]]
) -> dict[str, Any]:
    selected = record.get("selected")
    if (
        not _is_positions(selected)
        or not selected
        or selected != sorted(set(selected))
        or not 0 <= selected[0] <= selected[-1] < n
    ):
        found.append(("selected", f"must hold ascending positions from 0 to {n - 1}, at least one"))
    return {"selected": selected}


def _cost(record: dict[str, Any], found: list[tuple[str, str]]) -> dict[str, Any]:
    """What made the result and what it cost, as columns."""
    for name in ("method", "model", "prompt_version"):
        value = record.get(name)
        if not (isinstance(value, str) or (value is None and name != "method")):
            found.append((name, "must be a text"))
    params = record.get("params") or {}
    if not isinstance(params, dict):
        found.append(("params", "must be an object"))
    usage = record.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    for name in ("calls", "prompt_tokens", "cached_prompt_tokens", "completion_tokens"):
        value = usage.get(name)
        if not (_is_count(value) or (value is None and name == "cached_prompt_tokens")):
            found.append((f"usage.{name}", "must be a whole number of at least 0"))
    seconds = record.get("seconds")
    if not _is_number(seconds) or seconds < 0:
        found.append(("seconds", "must be a number of at least 0"))
    return {
        "method": record.get("method"),
        "model": record.get("model") or "",
        "prompt_version": record.get("prompt_version") or "",
        "params": params,
        "n_calls": usage.get("calls"),
        "prompt_tokens": usage.get("prompt_tokens"),
        "cached_prompt_tokens": usage.get("cached_prompt_tokens"),
        "completion_tokens": usage.get("completion_tokens"),
        "seconds": seconds,
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def _is_number(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int):
        return abs(value) < 2**63
    return isinstance(value, float) and math.isfinite(value)


def _is_positions(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, int) and not isinstance(item, bool) for item in value
    )
