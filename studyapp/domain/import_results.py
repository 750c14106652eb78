"""Ranking records of an export become stored results, their jobs done."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from django.utils import timezone

import rankers
from rankers.formats.lines import deep_text_problem
from studyapp.domain.queries import main_claims
from studyapp.enums import JobState
from studyapp.errors import BadUpload
from studyapp.models import Condition, PrecomputeJob, Ranking, Selection, Study

#: Records written at once.
BATCH = 500
#: Problems listed before reading stops.
MAX_LISTED = 200
#: A number of calls or tokens, or of seconds, that no real result reaches.
TOO_MANY = 2**31

FILE = "rankings.jsonl"


class _Claim(NamedTuple):
    pk: int
    n_candidates: int


def store_results(study: Study, path: Path) -> int:
    """Check every record of ``path`` against the study's claims and conditions and store it.

    Returns how many were stored. Raises BadUpload with line and field of every record that does
    not fit the study, or of the first line that is no ranking record at all.
    """
    conditions = {condition.name: condition for condition in study.conditions.all()}
    claims = {
        claim_id: _Claim(pk, n)
        for pk, claim_id, n in main_claims(study).values_list("pk", "claim_id", "n_candidates")
    }
    problems: list[str] = []
    batch: list[Ranking | Selection] = []
    seen: set[tuple[int, int]] = set()
    n_stored = 0
    for line, record in _records(path):
        try:
            result = _result(record, conditions, claims)
            key = (result.condition.pk, result.claim_id)
            if key in seen:
                raise ValueError(
                    f"id: {record['id']!r} has a result for condition {result.condition} already"
                )
        except ValueError as error:
            problems.append(f"{FILE}, line {line}, field {error}")
            if len(problems) == MAX_LISTED:
                break
            continue
        seen.add(key)
        batch.append(result)
        if len(batch) == BATCH and not problems:
            n_stored += _write(batch)
            batch = []
    if problems:
        raise BadUpload(problems)
    return n_stored + _write(batch)


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        yield from rankers.read_records(path)
    except rankers.RankerError as error:
        # The path is that of an unpacked copy, which means nothing to the reader.
        raise BadUpload(str(error).replace(str(path), FILE).splitlines()) from None


def _result(
    record: dict[str, Any], conditions: dict[str, Condition], claims: dict[str, _Claim]
) -> Ranking | Selection:
    """The unsaved row of a record. Raises ValueError, field first, where it does not fit."""
    name = record.get("condition")
    condition = conditions.get(name) if isinstance(name, str) else None
    claim = claims.get(record["id"])
    if condition is None:
        raise ValueError(f"condition: {name!r} is none of the study's")
    if claim is None:
        raise ValueError(f"id: {record['id']!r} is no main claim of claims.jsonl")
    if record["status"] == "failed":
        raise ValueError("status: failed; only results are exported")
    if condition.is_incremental == (record["order"] is None):
        wanted = "order" if condition.is_incremental else "selected"
        raise ValueError(f"{wanted}: missing, but {condition} is {condition.interface}")
    try:
        result = rankers.from_record(record, claim.n_candidates)
    except ValueError as error:
        raise ValueError(
            f"{'order' if condition.is_incremental else 'selected'}: {error}"
        ) from None
    common = {"condition": condition, "claim_id": claim.pk, **_made_by(record)}
    if isinstance(result, rankers.Ranking):
        return Ranking(
            **common,
            status=result.status,
            order=list(result.order),
            origins=list(result.origins),
            scores=None if result.scores is None else list(result.scores),
            fallback_from=result.fallback_from,
        )
    return Selection(**common, status=record["status"], selected=record["selected"])


def _made_by(record: dict[str, Any]) -> dict[str, Any]:
    """What made the result and what it cost, as columns that hold it. Raises ValueError."""
    for name in ("method", "model", "prompt_version"):
        longest = Ranking._meta.get_field(name).max_length
        if len(record[name] or "") > longest:
            raise ValueError(f"{name}: longer than {longest} characters")
    for name, count in record["usage"].items():
        if count is not None and not 0 <= count < TOO_MANY:
            raise ValueError(f"usage.{name}: must be a number of at least 0")
    if not 0 <= record["seconds"] < TOO_MANY:
        raise ValueError("seconds: must be a number of at least 0")
    if (problem := deep_text_problem(record)) is not None:
        raise ValueError(f"params: {problem}")
    usage = record["usage"]
    return {
        "method": record["method"],
        "model": record["model"] or "",
        "prompt_version": record["prompt_version"] or "",
        "params": record["params"],
        "n_calls": usage["calls"],
        "prompt_tokens": usage["prompt_tokens"],
        "cached_prompt_tokens": usage["cached_prompt_tokens"],
        "completion_tokens": usage["completion_tokens"],
        "seconds": record["seconds"],
    }


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
