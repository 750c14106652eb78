"""Claims and stored results as JSON objects: the interchange format and the ranking record."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db.models import Q

import rankers
from rankers import formats
from studyapp.domain.export_rows import CHUNK
from studyapp.models import Candidate, Claim, GoldSet, Ranking, Selection, Study

Record = dict[str, Any]

_RESULT_FIELDS = (
    "condition__position",
    "claim__position",
    "condition__name",
    "claim__claim_id",
    "method",
    "model",
    "prompt_version",
    "status",
    "n_calls",
    "prompt_tokens",
    "cached_prompt_tokens",
    "completion_tokens",
    "seconds",
    "params",
)


def claim_records(study: Study, only: Collection[int] | None = None) -> Iterator[Record]:
    """Every claim as an interchange object, in the study's order: three queries.

    Importing the objects gives the same claims again, digest included. ``only`` keeps the claims
    with these primary keys.
    """
    chosen, of_chosen = Q(study=study), Q(claim__study=study)
    if only is not None:
        chosen, of_chosen = Q(pk__in=only), Q(claim_id__in=only)
    claims = Claim.objects.filter(chosen).order_by("position").iterator(CHUNK)
    candidates = (
        Candidate.objects.filter(of_chosen)
        .order_by("claim__position", "position")
        .values_list("claim_id", "text", "title")
        .iterator(CHUNK)
    )
    gold_sets = (
        GoldSet.objects.filter(of_chosen)
        .order_by("claim__position", "position")
        .values_list("claim_id", "members")
        .iterator(CHUNK)
    )
    sentences_of = groupby(candidates, key=itemgetter(0))
    sets_of = groupby(gold_sets, key=itemgetter(0))
    # Every claim has candidates and a gold set (the database holds it to both), so the three
    # streams, in one order, stay side by side.
    for claim, (_, sentences), (_, sets) in zip(claims, sentences_of, sets_of, strict=True):
        rows = list(sentences)
        yield _claim_record(
            claim,
            [text for _, text, _ in rows],
            [title for _, _, title in rows],
            [members for _, members in sets],
        )


def _claim_record(
    claim: Claim, texts: list[str], titles: list[str | None], gold_sets: list[list[int]]
) -> Record:
    untitled = rankers.Claim(
        id=claim.claim_id,
        claim=claim.text,
        label=claim.label,
        candidates=tuple(texts),
        gold_sets=tuple(map(tuple, gold_sets)),
        source=claim.source,
        license=claim.license,
        lang=claim.lang,
        meta=claim.meta,
    )
    titled = replace(untitled, titles=tuple(titles))
    # Whether a file gave titles that are all null or none at all, only the digest still knows.
    is_titled = (
        any(title is not None for title in titles) or formats.claim_digest(titled) == claim.digest
    )
    return formats.to_interchange(titled if is_titled else untitled)


def result_records(study: Study) -> Iterator[Record]:
    """Every stored ranking and selection as a ranking record with ``condition``: two queries.

    Sorted by condition, then claim, in the study's order. ``order``, ``origins`` and
    ``fallback_from`` are null for a selection, ``selected`` for a ranking.
    """
    rankings = _in_order(Ranking, study, "order", "origins", "scores", "fallback_from")
    selections = _in_order(Selection, study, "selected")
    place = itemgetter("condition__position", "claim__position")
    for row in heapq.merge(rankings, selections, key=place):
        yield {
            "id": row["claim__claim_id"],
            "condition": row["condition__name"],
            "method": row["method"],
            "model": row["model"] or None,
            "prompt_version": row["prompt_version"] or None,
            "order": row.get("order"),
            "selected": row.get("selected"),
            "scores": row.get("scores"),
            "origins": row.get("origins"),
            "status": row["status"],
            "fallback_from": row.get("fallback_from"),
            "usage": {
                "calls": row["n_calls"],
                "prompt_tokens": row["prompt_tokens"],
                "cached_prompt_tokens": row["cached_prompt_tokens"],
                "completion_tokens": row["completion_tokens"],
            },
            "seconds": row["seconds"],
            "params": row["params"],
        }


def _in_order(
    table: type[Ranking] | type[Selection], study: Study, *own: str
) -> Iterator[dict[str, Any]]:
    rows = table.objects.filter(condition__study=study)
    rows = rows.order_by("condition__position", "claim__position")
    return rows.values(*_RESULT_FIELDS, *own).iterator(CHUNK)
