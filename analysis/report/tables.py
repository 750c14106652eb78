"""The report's descriptive tables: which trials count, sensitivity, balance, groups, exports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from analysis.definitions import BY_NAME, MEASURES
from analysis.document import measures_of
from analysis.inclusion import REASON_TEXTS
from analysis.intervals import METHOD
from analysis.report.table import Table, make_table
from analysis.report.table5 import LABELS, rate_text, table5, table5_headings
from analysis.report.words import interval, number

_NOT_SCORED = "not defined, because none can be scored"
_COUNTED = {
    "real": "trials of participants that count",
    "pilot": "trials of the study's own team that count",
    "simulated": "trials of simulated readers that count, as was asked for",
}
_HEADLINES = (
    "n_trials",
    "success_rate",
    "undecided_rate",
    "mean_read",
    "over_read_msr_rate",
    "over_read_min_rate",
    "geomean_active_s",
)


def table5_csv(document: Mapping[str, Any], block: str = "design_set") -> Table:
    """Table 5 with key, denominator and definition of every row: what its CSV holds."""
    headings = [
        "measure",
        "label",
        *table5_headings(document),
        "denominator",
        "definition",
    ]
    rows = [
        [r.key, r.label, *r.cells, r.denominator, r.definition] for r in table5(document, block)
    ]
    name = "table5" if block == "design_set" else f"table5_{block}"
    return make_table(name, "Measures by condition", headings, rows)


def excluded_table(document: Mapping[str, Any]) -> Table:
    """How many rows do not count, by reason."""
    total = sum(document["excluded"].values())
    rows = [[reason, str(n), REASON_TEXTS[reason]] for reason, n in document["excluded"].items()]
    rows += counted_rows(document)
    note = (
        f"{total} of {document['rows']} rows are not in the design set. One reason a row, the "
        "first that applies, in this order. The rows 'counted' are in the available set."
    )
    headings = ["Reason", "Rows", "Meaning"]
    return make_table("excluded", "Rows that do not count", headings, rows, note, (2,))


def counted_rows(document: Mapping[str, Any]) -> list[list[str]]:
    """Rows for below the reasons: the trials that count, by kind of run."""
    return [
        [f"counted, {kind}", str(counts["counted"]), _COUNTED[kind]]
        for kind, counts in document["run_kinds"].items()
        if counts["counted"] or kind == "real"
    ]


def holders_table(document: Mapping[str, Any]) -> Table:
    """The participant whose trials stand for each place."""
    rows = list(document["slot_holders"].items())
    title = "Holders of the places"
    return make_table("holders", title, ["Replication and slot", "Participant"], rows, texts=(1,))


def attention_table(document: Mapping[str, Any]) -> Table:
    """The share of attention checks that each participant passed."""
    rates = sorted(document["attention_pass_rates"].items())
    rows = [[person, f"{100 * rate:.0f} %"] for person, rate in rates]
    return make_table("attention", "Attention checks", ["Participant", "Passed"], rows)


def sensitivity_table(document: Mapping[str, Any]) -> Table:
    """Success with incomplete trials as not success, and capped time where a cap was set."""
    success, capped = ["Success, incomplete trials as not success"], ["Mean active time, capped"]
    for condition in document["conditions"]:
        measured = document["design_set"][condition]
        other = document["sensitivity"]["design_set"][condition]
        n = measured["n_scorable"] + other["n_incomplete"]
        success.append(rate_text(measured["n_success"], n) if n else _NOT_SCORED)
        seconds = other["mean_active_s_capped"]
        path = f"sensitivity.design_set.{condition}.mean_active_s_capped"
        capped.append(
            document["not_defined"][path]
            if seconds is None
            else f"{seconds:.1f} s (n = {measured['n_trials']})"
        )
    headings = ["Sensitivity", *document["conditions"]]
    note = "Design set: what other rules would have given."
    return make_table("sensitivity", "Sensitivity", headings, [success, capped], note)


def balance_table(document: Mapping[str, Any]) -> Table:
    """Counts that show whether the design is balanced."""
    balance = document["balance"]
    rows: list[list[object]] = [
        ["Claims met, a replication", balance["claim_replications_seen"]],
        ["Cells of claim and condition with one trial", balance["cells_with_one_trial"]],
        ["Cells of claims met without a trial", balance["cells_empty"]],
        ["Cells with more than one trial", balance["cells_with_more"]],
        ["Claims a participant met twice", balance["claims_seen_twice_by_a_participant"]],
    ]
    for condition, n in balance["participants_by_first_condition"].items():
        rows.append([f"Participants who began with {condition}", n])
    for condition, position in balance["mean_position"].items():
        path = f"balance.mean_position.{condition}"
        shown = document["not_defined"][path] if position is None else number(position, 1)
        rows.append([f"Mean position of {condition}", shown])
    return make_table("balance", "Balance of the design set", ["Design set", "Count"], rows)


def empty_cells_table(document: Mapping[str, Any]) -> Table:
    """The cells of claim and condition without a trial."""
    rows = [
        [cell["claim_id"], cell["replication"], cell["condition"], cell["study_id"]]
        for cell in document["empty_cells"]
    ]
    headings = ["Claim", "Replication", "Condition", "Study"]
    note = (
        f"Of the claims met so far; {len(rows)} of {document['balance']['cells_empty']} are listed."
    )
    return make_table("empty_cells", "Cells without a trial", headings, rows, note, (2, 3))


def group_table(name: str, title: str, heading: str, groups: pd.DataFrame, note: str) -> Table:
    """Headline measures of every group of a breakdown (index: group, condition)."""
    rows = [
        [value, condition, *_group_cells(measures_of(row))]
        for (value, condition), (_, row) in zip(groups.index, groups.iterrows(), strict=True)
    ]
    headings = [
        heading,
        "Condition",
        "Trials",
        "Success",
        "Mean read or shown",
        "Over-read (over_read_msr)",
        "Over-read (over_read_min)",
        "Active time, geometric mean (s)",
    ]
    return make_table(name, title, headings, rows, note, (1,))


def _group_cells(m: Mapping[str, Any]) -> list[str]:
    n, seconds = m["n_trials"], m["geomean_active_s"]
    return [
        str(n),
        rate_text(m["n_success"], m["n_scorable"]) if m["n_scorable"] else _NOT_SCORED,
        number(m["mean_read"]),
        rate_text(m["n_over_read_msr"], n),
        rate_text(m["n_over_read_min"], n),
        "not defined, because a trial has no active time"
        if np.isnan(seconds)
        else f"{seconds:.1f}",
    ]


def exports_table(singles: Mapping[str, Mapping[str, Any]], pooled: Mapping[str, Any]) -> Table:
    """The headline measures of every export, and pooled: the export as a factor."""
    rows = [
        [label, LABELS[row.key], *row.cells]
        for label, single in [*singles.items(), ("pooled", pooled)]
        for row in table5(single)
        if row.key in _HEADLINES
    ]
    note = (
        "The pooled measures treat the trials of all exports alike; where exports differ much from "
        "one another, read them and not the pooled ones."
    )
    headings = ["Export", "Measure", *pooled["conditions"]]
    return make_table("by_export", "Measures by export", headings, rows, note, (1,))


def definitions_table() -> Table:
    """What every measure means."""
    rows = [[m.name, m.definition, m.denominator, m.formula] for m in MEASURES]
    note = (
        "n = sentences read or shown, N = sentences available, q = size of the smallest gold set, "
        "M = rank of the first sufficient prefix (infinite if there is none)."
    )
    headings = ["Name", "Definition", "Denominator", "Formula"]
    return make_table("definitions", "All measures", headings, rows, note, (1, 2, 3))


def frame_table(
    name: str, title: str, frame: pd.DataFrame, note: str = "", texts: tuple[str, ...] = ()
) -> Table:
    """Any data frame as a table, column names with spaces; NaN is an empty cell.

    ``texts`` names the columns that hold words.
    """
    rows = [[_frame_cell(v) for v in row] for row in frame.itertuples(index=False, name=None)]
    headings = [str(column).replace("_", " ") for column in frame.columns]
    table = make_table(name, title, headings, rows, note)
    places = {place for place, column in enumerate(frame.columns) if column in texts}
    return replace(table, texts=frozenset(places))


def _frame_cell(value: object) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    return number(value, 3) if isinstance(value, float) else str(value)


def crossed_table(document: Mapping[str, Any]) -> Table | None:
    """Intervals that resample participants and claims, beside Wilson's; None without them."""
    found = document.get("crossed_intervals") or {}
    intervals = found.get("intervals") or {}
    conditions = [c for c in document["conditions"] if c in intervals]
    names = [name for name in BY_NAME if any(name in intervals[c] for c in conditions)]
    rows = [
        [LABELS.get(name, name), *[_crossed_cell(document, found, c, name) for c in conditions]]
        for name in names
    ]
    note = (
        "Design set. Rates in per cent, times in seconds, the rest in sentences. "
        f"{METHOD[0].upper()}{METHOD[1:]}; {found['B']:,} draws."
    )
    title = "Intervals that allow for people and claims"
    headings = ["Measure", *conditions]
    return make_table("crossed_intervals", title, headings, rows, note) if rows else None


def _crossed_cell(
    document: Mapping[str, Any], found: Mapping[str, Any], condition: str, name: str
) -> str:
    """Value and interval, or why there is none."""
    limits = found["intervals"][condition].get(name)
    value = document["design_set"][condition].get(name)
    if limits is None or value is None:
        return found.get("not_defined", {}).get(f"{condition}.{name}", "not defined")
    is_share = name.endswith("_rate") or "_share_" in name or name.startswith("sensitivity")
    if is_share:
        return f"{number(100 * value, 1)} % {interval(limits, 100, 1)}"
    if name.endswith("_s"):
        return f"{number(value, 1)} s {interval(limits, digits=1)}"
    return f"{number(value)} {interval(limits)}"
