"""The comparison of two conditions as tables: differences, companions, models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.comparison.compared import BY_KEY, FAMILY, Compared
from analysis.comparison.contrast import Contrast
from analysis.report.table import Table, make_table
from analysis.report.words import (
    UNITS,
    difference_text,
    interval_text,
    number,
    p_text,
    reason_of,
)

BLOCK = "inference_design_set"

#: Of the document's measures, the one that stands for a condition in the comparison.
_VALUES = {
    "success": "success_rate",
    "undecided": "undecided_rate",
    "over_read_msr": "over_read_msr_rate",
    "read": "mean_read",
    "log_active": "geomean_active_s",
}

_NOTE = (
    "Design set; differences of rates are in percentage points, that of time is the ratio of the "
    "geometric means. The standard error is the largest of those clustered by participant and "
    "claim, by participant, and by claim; t with the smaller number of clusters less one as "
    "degrees of freedom. p (Holm) is adjusted over the family; every other p in the report is "
    "exploratory and unadjusted. n: trials of both conditions; participants; claims."
)


_SETS_NOTE = (
    "The design set has one participant a place of the schedule and is primary. The available set "
    "has the trials of others who held the same place as well (superseded in the design set)."
)


def inference_of(document: Mapping[str, Any], block: str = BLOCK) -> Mapping[str, Any]:
    """The comparison of a set; empty where the study has nothing to compare."""
    found = document.get(block) or {}
    return {} if "left_out" in found else found


def comparison_table(document: Mapping[str, Any], contrast: Contrast) -> Table:
    """A row a measure of the family: both conditions, difference, interval, p, adjusted p."""
    block = inference_of(document)
    found = block.get("two_way") or {}
    adjusted = (block.get("holm") or {}).get("adjusted") or {}
    rows = [
        _row(document, contrast, measure, found.get(measure.key), adjusted.get(measure.key))
        for measure in FAMILY
    ]
    headings = [
        "Measure",
        contrast.first,
        contrast.second,
        "Difference",
        "95 % interval",
        "p",
        f"p (Holm, {len(adjusted)} tests)",
        "SE",
        "df",
        "n",
    ]
    return make_table("comparison", f"Comparison: {contrast.name}", headings, rows, _NOTE)


def _row(
    document: Mapping[str, Any],
    contrast: Contrast,
    measure: Compared,
    found: Mapping[str, Any] | None,
    adjusted: float | None,
) -> list[str]:
    """One measure; why it has no difference stands where the difference would."""
    label = UNITS[measure.key]
    values = [_value(document, side, measure.key) for side in (contrast.first, contrast.second)]
    if not found or found.get("difference") is None:
        reason = reason_of(document, f"{BLOCK}.two_way.{measure.key}", found)
        return [label, *values, reason, "", "", "", "", "", _n(document, contrast, measure, found)]
    key = measure.key
    spread = found.get("se_used")
    limits = found.get("ci95")
    return [
        label,
        *values,
        difference_text(key, found["difference"]),
        interval_text(key, limits) or reason_of(document, f"{BLOCK}.two_way.{key}.ci95", found),
        p_text(found.get("p")),
        p_text(adjusted),
        "" if spread is None else _spread(key, spread),
        "" if found.get("df") is None else str(found["df"]),
        _n(document, contrast, measure, found),
    ]


def _n(
    document: Mapping[str, Any],
    contrast: Contrast,
    measure: Compared,
    found: Mapping[str, Any] | None,
) -> str:
    """What a difference rests on: ``100 + 100; 5; 100``, trials by condition, people, claims."""
    if not found or found.get("n_claims") is None:
        return ""
    name = "n_scorable" if measure.scorable_only else "n_trials"
    sides = [document["design_set"][side][name] for side in (contrast.first, contrast.second)]
    return f"{sides[0]} + {sides[1]}; {found['n_participants']}; {found['n_claims']}"


def _spread(key: str, se: float) -> str:
    """A standard error in the unit of the difference; that of a ratio is one of its logarithm."""
    if key == "log_active":
        return f"{number(se, 3)} (log)"
    return number(se) if key == "read" else number(100 * se, 1)


def _value(document: Mapping[str, Any], condition: str, key: str) -> str:
    """The measure of one condition as the comparison sees it."""
    values = document["design_set"][condition]
    name = _VALUES[key]
    value = values[name]
    if value is None:
        return document["not_defined"].get(f"design_set.{condition}.{name}", "not defined")
    if key == "log_active":
        return f"{value:.1f} s"
    return number(value) if key == "read" else f"{100 * value:.1f} %"


def set_table(document: Mapping[str, Any], contrast: Contrast) -> Table | None:
    """The same differences in the design set and in the available set; None without the latter."""
    other = inference_of(document, "inference_available_set").get("two_way")
    found = inference_of(document).get("two_way")
    if not other or not found:
        return None
    rows = [
        [UNITS[measure.key], name, *_short(measure.key, block.get(measure.key))]
        for measure in FAMILY
        for name, block in (("design set", found), ("available set", other))
    ]
    headings = ["Measure", "Set", "Difference", "95 % interval", "p"]
    title = f"{contrast.name} in both sets"
    return make_table("comparison_sets", title, headings, rows, _SETS_NOTE, texts=(1,))


def contrasts_table(document: Mapping[str, Any]) -> Table | None:
    """Every further contrast of a study with more than two conditions; None without one."""
    rows = []
    for name, block in sorted((document.get("other_contrasts") or {}).items()):
        if not isinstance(block, Mapping):
            continue
        found = block.get("two_way") or {}
        adjusted = (block.get("holm") or {}).get("adjusted") or {}
        rows += [
            [name, UNITS[m.key], *_short(m.key, found.get(m.key)), p_text(adjusted.get(m.key))]
            for m in FAMILY
        ]
    headings = ["Contrast", "Measure", "Difference", "95 % interval", "p", "p (Holm)"]
    note = "Same method as the comparison above."
    title = "Other contrasts"
    return make_table("other_contrasts", title, headings, rows, note, (1,)) if rows else None


def exports_table(documents: Mapping[str, Mapping[str, Any]], contrast: Contrast) -> Table | None:
    """The comparison of every export by itself; None when no document has one."""
    rows = [
        [
            label,
            UNITS[m.key],
            *_short(m.key, (inference_of(d).get("two_way") or {}).get(m.key)),
        ]
        for label, d in documents.items()
        if inference_of(d)
        for m in FAMILY
    ]
    headings = ["Export", "Measure", "Difference", "95 % interval", "p"]
    title = f"{contrast.name} by export"
    return make_table("comparison_by_export", title, headings, rows, texts=(1,)) if rows else None


def _short(key: str, found: Mapping[str, Any] | None) -> Sequence[str]:
    if not found or found.get("difference") is None:
        return reason_of({"not_defined": {}}, "", found), "", ""
    limits = found.get("ci95")
    return (
        difference_text(key, found["difference"]),
        interval_text(key, limits) or reason_of({"not_defined": {}}, "", found),
        p_text(found.get("p")),
    )


def omnibus_table(document: Mapping[str, Any]) -> Table | None:
    """Cochran's Q and Friedman over claims for more than two conditions; None without them."""
    tests = {"cochran_q": ("Cochran's Q", "q"), "friedman": ("Friedman", "chi2")}
    omnibus = document.get("omnibus") or {}
    rows = []
    for name, (title, statistic) in tests.items():
        for key, found in (omnibus.get(name) or {}).items():
            label = BY_KEY[key].label if key in BY_KEY else key
            if found.get("p") is None:
                reason = reason_of(document, f"omnibus.{name}.{key}.p", found)
                rows.append([label, title, "", "", reason, found.get("n_claims")])
                continue
            shown = [number(found[statistic], 3), found["df"], p_text(found["p"])]
            rows.append([label, title, *shown, found["n_claims"]])
    headings = ["Measure", "Test over claims", "Statistic", "df", "p", "Claims"]
    note = (
        "Exploratory, unadjusted; over the claims that have every condition, for Cochran's Q "
        "exactly once."
    )
    title = "All conditions at once"
    return make_table("omnibus", title, headings, rows, note, (1,)) if rows else None
