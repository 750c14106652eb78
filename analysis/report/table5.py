"""The paper's Table 5 for any study: a row a measure, a column a condition, cells as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from analysis.definitions import BY_NAME, SCORABLE
from analysis.measures import wilson
from analysis.readers import opening_lines
from analysis.report.table import Table, make_table
from analysis.report.words import number

CAPTION = (
    "Rates: count/denominator, per cent, Wilson 95 % interval, which ignores that the trials of "
    "one person or claim are alike. All-at-once conditions show every sentence, so their counts "
    "say what was shown, not what was read."
)


_AT_ONCE = "not defined, because all sentences were shown at once"


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row: the measure's key, its label, one text a condition, its definition.

    ``is_part`` marks a row that is a part of the row above it.
    """

    key: str
    label: str
    cells: tuple[str, ...]
    definition: str
    denominator: str
    is_part: bool = False


#: Key, label, kind of cell, whether it is a part of the row above.
_ROWS: tuple[tuple[str, str, str, bool], ...] = (
    ("n_trials", "Trials", "count", False),
    ("n_scorable", "Scorable trials", "count", True),
    ("success_rate", "Success", "rate", False),
    ("wrong_rate", "Wrong", "rate", False),
    ("undecided_rate", "Undecided", "rate", False),
    ("n_gave_up", "gave up with sentences left", "gave_up", True),
    ("mean_read", "Sentences read or shown", "read", False),
    ("mean_required", "Required (smallest gold set)", "mean", False),
    ("mean_surplus", "Surplus", "mean", False),
    ("mean_ranker_excess", "ranker excess", "mean_sufficient", True),
    ("mean_reader_excess", "reader excess", "mean_sufficient", True),
    ("over_read_msr_rate", "Over-read (over_read_msr)", "rate", False),
    ("over_read_min_rate", "Over-read (over_read_min)", "rate", False),
    (
        "over_read_msr_rate_if_sufficient_available",
        "Over-read (over_read_msr) where a gold set was available",
        "rate_sufficient",
        False,
    ),
    ("exact_stop_rate", "Exact stop", "rate", False),
    ("shown_insufficient_rate", "Insufficient at the end of the trial", "rate", False),
    ("system_insufficient_rate", "no gold set available at all", "rate", True),
    ("decided_insufficient_rate", "a label chosen nevertheless", "rate", True),
    ("under_read_rate", "and sentences were left (under-read)", "rate", True),
    ("lucky_rate", "Lucky: right while insufficient", "rate", False),
    ("missed_rate", "Missed: undecided although sufficient", "rate", False),
    ("median_active_s", "Active time, median", "seconds", False),
    ("geomean_active_s", "geometric mean", "seconds", True),
    ("mean_active_s", "mean", "seconds", True),
    ("median_time_per_sentence_s", "Time a sentence, median of trials", "seconds", False),
    ("pooled_time_per_sentence_s", "pooled: all time over all sentences", "seconds_pooled", True),
    (
        "sensitivity_success_partial_as_supported",
        "Success, partial read as supported",
        "rate",
        False,
    ),
    ("sensitivity_success_partial_as_refuted", "Success, partial read as refuted", "rate", False),
)


#: Labels that say by themselves what they are, without the row above.
LABELS: dict[str, str] = {key: label for key, label, _, _ in _ROWS} | {
    "n_gave_up": "Gave up with sentences left",
    "mean_ranker_excess": "Ranker excess",
    "mean_reader_excess": "Reader excess",
    "system_insufficient_rate": "No gold set available at all",
    "decided_insufficient_rate": "A label chosen while insufficient",
    "under_read_rate": "A label chosen while insufficient, sentences left (under-read)",
    "lucky_share_of_successes": "Lucky, share of the successes",
    "geomean_active_s": "Active time, geometric mean",
    "mean_active_s": "Active time, mean",
    "pooled_time_per_sentence_s": "Time a sentence, pooled: all time over all sentences",
}


def table5(document: Mapping[str, Any], block: str = "design_set") -> list[TableRow]:
    """Rows of the table for ``design_set`` or ``available_set`` of a measure document.

    Cells stand in the order of ``document["conditions"]``; a cell that is not defined says why.
    Raises ValueError for another block.
    """
    if block not in ("design_set", "available_set"):
        raise ValueError(f"no set {block!r}; use design_set or available_set")
    measured = document[block]
    rows = []
    for key, label, kind, is_part in _ROWS:
        if not all(key in measured[condition] for condition in document["conditions"]):
            continue
        cells = tuple(
            _cell(document, block, condition, key, kind) for condition in document["conditions"]
        )
        meaning = BY_NAME[key]
        rows.append(TableRow(key, label, cells, meaning.definition, meaning.denominator, is_part))
    return rows


def table5_headings(document: Mapping[str, Any]) -> list[str]:
    """Column headings: the condition, and whether its sentences were read or shown."""
    words = {"incremental": "sentences read", "all_at_once": "sentences shown"}
    return [
        f"{condition} ({words.get(document['interfaces'][condition] or '', 'no trial yet')})"
        for condition in document["conditions"]
    ]


def rate_text(count: int, n: int) -> str:
    """``94/100, 94.0 % [87.5, 97.2]`` with Wilson 95 % limits; n must be above 0."""
    low, high = wilson(np.array([float(count)]), np.array([float(n)]))
    return f"{count}/{n}, {100 * count / n:.1f} % [{100 * low[0]:.1f}, {100 * high[0]:.1f}]"


def _cell(document: Mapping[str, Any], block: str, condition: str, key: str, kind: str) -> str:
    """One cell as text."""
    values = document[block][condition]
    value = values[key]
    if value is None:
        return document["not_defined"][f"{block}.{condition}.{key}"]
    n = values["n_trials"]
    if kind == "count":
        return str(value)
    if kind == "gave_up":
        at_once = document["interfaces"][condition] == "all_at_once"
        return _AT_ONCE if at_once else f"{value}/{values['n_undecided']}"
    if kind == "rate":
        total = values["n_scorable"] if BY_NAME[key].denominator == SCORABLE else n
        return rate_text(round(value * total), total)
    if kind == "rate_sufficient":
        return rate_text(values["n_over_read_msr"], values["n_sufficient_available"])
    if kind == "read":
        at_once = document["interfaces"][condition] == "all_at_once"
        spread = "" if values["sd_read"] is None else f"SD {values['sd_read']:.2f}, "
        word = "shown" if at_once else "read"
        return f"{value:.2f} {word} ({spread}median {values['median_read']:g}, n = {n})"
    if kind == "mean_sufficient":
        return f"{number(value)} (n = {values['n_sufficient_available']})"
    if kind == "mean":
        return f"{number(value)} (n = {n})"
    if kind == "seconds_pooled":
        return f"{value:.1f} s ({round(n * values['mean_read'])} sentences)"
    return f"{value:.1f} s (n = {n})"


def table5_table(document: Mapping[str, Any], block: str = "design_set") -> Table:
    """The table as one of the report's, a column a condition, and what each row means behind."""
    rows = table5(document, block)
    headings = ["Measure", *table5_headings(document)]
    names = {"design_set": "design set", "available_set": "available set"}
    name = "table5" if block == "design_set" else f"table5_{block}"
    table = make_table(
        name,
        f"Measures by condition, {names[block]}",
        headings,
        [[row.label, *row.cells] for row in rows],
        " ".join([*opening_lines(document), CAPTION]),
    )
    return replace(table, parts=frozenset(n for n, row in enumerate(rows) if row.is_part))
