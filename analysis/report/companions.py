"""The tests beside the primary comparison, each with the population it speaks of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.comparison.contrast import Contrast
from analysis.report.comparison import BLOCK, inference_of
from analysis.report.table import Table, make_table
from analysis.report.words import (
    UNITS,
    counted,
    difference_text,
    interval,
    interval_text,
    number,
    p_text,
    reason_of,
)

_NOTE = (
    "Design set; exploratory, unadjusted. Each method speaks of another population: over claims "
    "the people are taken as given, over participants the claims are; the crossed bootstrap "
    "speaks of other people and other claims, on the safe side."
)
_BY = {
    "claim": ("n_claims", "these people, other claims", "claim"),
    "participant": ("n_participants", "other people, these claims", "participant"),
}


def companions_table(document: Mapping[str, Any], contrast: Contrast) -> Table | None:
    """A row a test; None when the document has no comparison."""
    block = inference_of(document)
    if not block:
        return None
    rows = [*_mcnemar(document, block, contrast), *_paired(document, block), *_crossed(block)]
    headings = [
        "Measure",
        "Method",
        "Speaks of",
        "Units",
        "Difference",
        "95 % interval",
        "p",
        "Effect size, or why there is none",
    ]
    title = f"Companions of the comparison: {contrast.name}"
    return make_table("companions", title, headings, rows, _NOTE, (1, 2, 7))


def _mcnemar(
    document: Mapping[str, Any], block: Mapping[str, Any], contrast: Contrast
) -> Iterator[list[str]]:
    """Exact McNemar over claim pairs, or why it is left out."""
    for key in ("success", "undecided", "over_read_msr"):
        found = block.get(key)
        head = [UNITS[key], "exact McNemar; Bonett–Price interval", _BY["claim"][1]]
        if not isinstance(found, Mapping) or found.get("mcnemar_exact_p") is None:
            reason = reason_of(document, f"{BLOCK}.{key}", found)
            yield [*head, "", "", "", "", reason]
            continue
        only = [found[f"{side}_only"] for side in (contrast.first, contrast.second)]
        yield [
            *head,
            f"{found['n_pairs']} pairs, {only[0]} against {only[1]} discordant",
            difference_text(key, found["risk_difference"]),
            interval_text(key, found.get("bonett_price95")),
            p_text(found["mcnemar_exact_p"]),
            _odds(found),
        ]


def _odds(found: Mapping[str, Any]) -> str:
    """The conditional odds ratio with its exact limits."""
    ratio, limits = found.get("odds_ratio_conditional"), found.get("odds_ratio_exact95")
    if limits is None:
        return ""
    value = "not defined, because nothing points the other way" if ratio is None else number(ratio)
    return f"odds ratio {value} {interval(limits)}"


def _paired(document: Mapping[str, Any], block: Mapping[str, Any]) -> Iterator[list[str]]:
    """t and its exact or rank companion over claims and over participants."""
    for key in ("success", "read", "log_active"):
        for by, (count, population, unit) in _BY.items():
            path = f"{key}_by_{by}"
            found = block.get(path)
            if not isinstance(found, Mapping) or found.get("mean_difference") is None:
                reason = reason_of(document, f"{BLOCK}.{path}", found)
                yield [UNITS[key], f"paired t over {unit}s", population, "", "", "", "", reason]
                continue
            units = counted(found[count], unit)
            d_z = found.get("d_z")
            yield [
                UNITS[key],
                f"paired t over {unit}s",
                population,
                units,
                difference_text(key, found["mean_difference"]),
                interval_text(key, found.get("ci95")),
                p_text(found.get("p")),
                reason_of(document, f"{BLOCK}.{path}.d_z", found)
                if d_z is None
                else f"d_z {number(d_z)}",
            ]
            yield from _ranks(key, found, population, units)


def _ranks(key: str, found: Mapping[str, Any], population: str, units: str) -> Iterator[list[str]]:
    """Wilcoxon over claims, sign-flip over participants, where the document has them."""
    tests = (
        ("wilcoxon_pratt_p", "Wilcoxon signed-rank, Pratt"),
        ("wilcoxon_signed_rank_p_drop_zeros", "Wilcoxon signed-rank, zeros dropped"),
        ("sign_flip_exact_p", "exact sign-flip"),
        ("sign_flip_p", "sign-flip, random draws"),
    )
    for name, method in tests:
        if found.get(name) is None:
            continue
        rank = found.get("rank_biserial_drop_zeros") if "drop_zeros" in name else None
        effect = "" if rank is None else f"rank-biserial {number(rank)}"
        yield [UNITS[key], method, population, units, "", "", p_text(found[name]), effect]


def _crossed(block: Mapping[str, Any]) -> Iterator[list[str]]:
    """The crossed bootstrap of every measure it was drawn for."""
    for key, found in (block.get("crossed_bootstrap") or {}).items():
        if not isinstance(found, Mapping) or found.get("estimate") is None:
            continue
        draws = found.get("B", found.get("draws"))
        yield [
            UNITS.get(key, key),
            "crossed bootstrap, percentile",
            "other people, other claims",
            "" if draws is None else f"{draws} draws",
            difference_text(key, found["estimate"]),
            interval_text(key, found.get("percentile95")),
            "",
            "",
        ]
