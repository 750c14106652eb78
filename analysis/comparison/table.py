"""The comparison as a table: a row a measure and method, cells as text (statistics.md 9)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from analysis.comparison.compared import BY_KEY, FAMILY, Compared

CAPTION = (
    "Differences are the first condition minus the second: percentage points (pp) for rates, "
    "sentences for reading, natural logarithms for time, whose conditions show the geometric mean. "
    "Intervals are of 95 %. The first row of a measure is the primary comparison; Holm's p "
    "corrects it over the pre-registered family. Rows below it are exploratory and unadjusted."
)


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One method for one measure; a cell that does not apply is empty.

    ``first`` and ``second`` are the values of the two conditions. A difference that is not
    defined says why. ``is_part`` marks the rows below the primary comparison.
    """

    key: str
    label: str
    first: str
    second: str
    difference: str
    interval: str
    p: str
    holm_p: str
    method: str
    n: str
    is_part: bool = False

    @property
    def cells(self) -> tuple[str, ...]:
        """The row in the order of ``comparison_headings``."""
        values = (self.first, self.second, self.difference, self.interval, self.p, self.holm_p)
        return (self.label, *values, self.method, self.n)


@dataclass(frozen=True, slots=True)
class _Companion:
    """A row below the primary one: its block (measure and suffix), and the keys of its cells."""

    suffix: str
    method: str
    difference: str
    interval: str
    p: str
    n: str
    unit: str


_MCNEMAR = "exact McNemar, Bonett-Price interval"
_CLAIMS = ("n_claims", "claims")
_PEOPLE = ("n_participants", "participants")
#: In printing order; an empty key is a cell that the method does not have.
_COMPANIONS = (
    _Companion(
        "", _MCNEMAR, "risk_difference", "bonett_price95", "mcnemar_exact_p", "n_pairs", "pairs"
    ),
    _Companion("_by_claim", "t over claims", "mean_difference", "ci95", "p", *_CLAIMS),
    _Companion("_by_claim", "Wilcoxon (Pratt) over claims", "", "", "wilcoxon_pratt_p", *_CLAIMS),
    _Companion("_by_participant", "t over participants", "mean_difference", "ci95", "p", *_PEOPLE),
    _Companion("_by_participant", "exact sign flips", "", "", "sign_flip_exact_p", *_PEOPLE),
    _Companion("_by_participant", "drawn sign flips", "", "", "sign_flip_p", *_PEOPLE),
)


def comparison_table(
    document: Mapping[str, Any], block: str = "inference_design_set"
) -> list[ComparisonRow]:
    """Rows of the main contrast; none where the study has no two conditions.

    ``block`` may be ``inference_available_set``, which has the primary comparison only.
    """
    inference = document[block]
    if "left_out" in inference:
        return []
    rows: list[ComparisonRow | None] = []
    for measure in FAMILY:
        rows.append(_primary(document, block, measure))
        rows += [_part(document, block, measure, companion) for companion in _COMPANIONS]
        rows.append(_bootstrap(document, block, measure))
    return [row for row in rows if row is not None]


def comparison_headings(document: Mapping[str, Any]) -> list[str]:
    """Column headings, the conditions of the main contrast by name; [] without a contrast."""
    plan = document["comparison_plan"]
    if plan["contrast"] is None:
        return []
    conditions = [plan["first_condition"], plan["second_condition"]]
    return ["", *conditions, "Difference", "95 % interval", "p", "Holm p", "Method", "n"]


def comparison_notes(document: Mapping[str, Any]) -> list[str]:
    """What the report must say beside the table: the verdict on harm, and what five people bear."""
    inference = document["inference_design_set"]
    if "left_out" in inference:
        return []
    notes = [_verdict(document)]
    notes += [
        block["sign_flip_note"]
        for block in inference.values()
        if isinstance(block, Mapping) and "sign_flip_note" in block
    ]
    return list(dict.fromkeys(notes))


def p_text(p: float | None) -> str:
    """Three decimals, or ``< 0.001``; empty for None. A half is rounded up: 0.0625 is 0.063."""
    if p is None:
        return ""
    rounded = Decimal(repr(float(p))).quantize(Decimal("0.001"), ROUND_HALF_UP)
    return "< 0.001" if p < 0.001 else f"{rounded:f}"


def signed(value: float, digits: int) -> str:
    """A number with its sign, plus too."""
    return minus(f"{value:+.{digits}f}")


def minus(text: str) -> str:
    """The text of a number with a real minus sign, as everywhere else."""
    return text.replace("-", "−")


def difference_text(measure: Compared, value: float) -> str:
    """A difference in the unit of its measure, with its sign."""
    if measure.is_binary:
        return f"{signed(100 * value, 1)} pp"
    if measure.is_log:
        return f"{signed(value, 3)} (ratio {math.exp(value):.2f})"
    return signed(value, 2)


def interval_text(measure: Compared, limits: Sequence[float | None] | None) -> str:
    """Limits in the unit of their measure; empty for None."""
    if limits is None or None in limits:
        return ""
    scale, digits = (100, 1) if measure.is_binary else (1, 3 if measure.is_log else 2)
    low, high = (minus(f"{scale * float(limit or 0.0):.{digits}f}") for limit in limits)
    return f"[{low}, {high}]"


def _primary(document: Mapping[str, Any], block: str, measure: Compared) -> ComparisonRow:
    """The row of the primary comparison."""
    values = document[block]["two_way"][measure.key]
    adjusted = document[block].get("holm", {"adjusted": {}})["adjusted"].get(measure.key)
    plan = document["comparison_plan"]
    measured = document["design_set" if block == "inference_design_set" else "available_set"]
    return ComparisonRow(
        key=measure.key,
        label=measure.label,
        first=_condition_text(measure, measured[plan["first_condition"]]),
        second=_condition_text(measure, measured[plan["second_condition"]]),
        difference=_difference_or_why(document, f"{block}.two_way.{measure.key}", values, measure),
        interval=interval_text(measure, values["ci95"]),
        p=p_text(values["p"]),
        holm_p=p_text(adjusted),
        method="two-way clustered, t" + (f"({values['df']})" if values["df"] else ""),
        n=(
            f"{_counted(values['n_trials'], 'trials')}, "
            f"{_counted(values['n_participants'], 'participants')}, "
            f"{_counted(values['n_claims'], 'claims')}"
        ),
    )


def _counted(n: int, many: str) -> str:
    """``1 trial``, ``2 trials``."""
    return f"{n} {many.removesuffix('s') if n == 1 else many}"


def _part(
    document: Mapping[str, Any], block: str, measure: Compared, companion: _Companion
) -> ComparisonRow | None:
    """A row below; None where the document has no such test."""
    name = f"{measure.key}{companion.suffix}"
    values = document[block].get(name)
    if values is None:
        return None
    if "left_out" in values:
        return _below(measure, companion.method, difference=values["left_out"])
    if companion.p not in values:
        return None
    difference = document["not_defined"].get(f"{block}.{name}.{companion.p}", "")
    if companion.difference and values[companion.difference] is not None:
        difference = difference_text(measure, values[companion.difference])
    n = values[companion.n]
    return _below(
        measure,
        companion.method,
        difference=difference,
        interval=interval_text(measure, values.get(companion.interval)),
        p=p_text(values[companion.p]),
        n="" if n is None else _counted(n, companion.unit),
    )


def _bootstrap(document: Mapping[str, Any], block: str, measure: Compared) -> ComparisonRow | None:
    """The crossed bootstrap's row; None where the document has none of this measure."""
    values = document[block].get("crossed_bootstrap", {}).get(measure.key)
    if values is None or values.get("estimate") is None:
        return None
    return _below(
        measure,
        "crossed bootstrap, percentile",
        difference=difference_text(measure, values["estimate"]),
        interval=interval_text(measure, values["percentile95"]),
        n=f"{values['B']} draws",
    )


def _below(
    measure: Compared,
    method: str,
    difference: str = "",
    interval: str = "",
    p: str = "",
    n: str = "",
) -> ComparisonRow:
    return ComparisonRow(
        key=measure.key,
        label=measure.label,
        first="",
        second="",
        difference=difference,
        interval=interval,
        p=p,
        holm_p="",
        method=method,
        n=n,
        is_part=True,
    )


def _difference_or_why(
    document: Mapping[str, Any], path: str, values: Mapping[str, Any], measure: Compared
) -> str:
    """The difference; without an interval, why there is none."""
    why = document["not_defined"].get(f"{path}.p", "")
    if values["difference"] is None:
        return why
    text = difference_text(measure, values["difference"])
    return f"{text}; interval and p {why}" if why else text


def _condition_text(measure: Compared, measured: Mapping[str, Any]) -> str:
    """One condition's value: count and rate, mean, or geometric mean."""
    if measure.is_binary:
        n = measured["n_scorable" if measure.scorable_only else "n_trials"]
        count = measured[f"n_{measure.key}"]
        return f"{count}/{n}, {100 * count / n:.1f} %" if n else ""
    value = measured["geomean_active_s" if measure.is_log else "mean_read"]
    if value is None:
        return ""
    return f"{value:.1f} s" if measure.is_log else f"{value:.2f}"


def _verdict(document: Mapping[str, Any]) -> str:
    """The claim of efficiency without harm, in words."""
    block = document["non_inferiority"]
    plan = document["comparison_plan"]
    first, second = plan["first_condition"], plan["second_condition"]
    margin = f"{100 * block['margin']:g} percentage points"
    success = BY_KEY["success"].label.lower()
    shown = {True: "shown", False: "not shown", None: "cannot be judged"}
    text = (
        f"{first} against {second}, margin {margin} of {success}. Non-inferiority: "
        f"{shown[block['non_inferior']]}; fewer sentences: {shown[block['fewer_read']]}; "
        f"efficiency without harm: {shown[block['efficient_without_harm']]}."
    )
    if block["non_inferior"] is False:
        text += " That is no proof of harm, nor of its absence."
    return text
