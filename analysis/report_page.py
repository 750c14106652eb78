"""The report's page, section by section, from values that are already worked out."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from analysis.definitions import MEASURES
from analysis.document import measures_of
from analysis.inclusion import REASON_TEXTS
from analysis.page import cell_text, details, figure, page, paragraph, section, table, table_of
from analysis.table5 import CAPTION, rate_text, table5, table5_headings

_BREAKDOWN_TITLES = {
    "participant_id": "Participant",
    "gold_label": "Label",
    "gold_min_size": "Required sentences",
}


def report_page(
    document: Mapping[str, Any],
    singles: Mapping[str, Mapping[str, Any]],
    registered: Mapping[str, Mapping[str, Any]],
    breakdowns: Mapping[str, pd.DataFrame],
    plot: str,
) -> str:
    """The whole page.

    ``document`` is the (pooled) measure document, ``singles`` the documents and ``registered`` the
    pre-registered settings by export, ``breakdowns`` the tables of ``measures_by`` with the index
    levels (breakdown, condition), ``plot`` the SVG of sentences read.
    """
    title = f"Report of study {document['study_id']}"
    body = [
        f"<h1>{escape(title)}</h1>",
        paragraph(
            f"{document['rows']} trials in {', '.join(singles)}; {document['n_design_set']} in the "
            f"design set (primary), {document['n_available_set']} in the available set.",
            "muted",
        ),
        *[paragraph(notice, "notice") for notice in document["notices"]],
        section(
            "Measures by condition",
            _table5(document, "design_set", f"Design set. {CAPTION}"),
            details("The same for the available set", _table5(document, "available_set", CAPTION)),
        ),
        section("Sentences read", _plot(document, plot), _plot_data(breakdowns)),
        *([_by_export(singles)] if len(singles) > 1 else []),
        _inclusion(document),
        _balance(document),
        _quarters(breakdowns),
        _breakdowns(breakdowns),
        _registered(registered),
        _definitions(),
    ]
    return page(title, "\n".join(body))


def _table5(document: Mapping[str, Any], block: str, caption: str) -> str:
    """Table 5; the definition of a row opens on demand."""
    headings = ["Measure", *table5_headings(document)]
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in headings)
    lines = []
    for row in table5(document, block):
        meaning = f"<p>{escape(row.definition)}. Denominator: {escape(row.denominator)}.</p>"
        label = details(row.label, meaning)
        cells = "".join(f"<td>{cell_text(cell)}</td>" for cell in row.cells)
        kind = ' class="part"' if row.is_part else ""
        lines.append(f'<tr{kind}><th scope="row">{label}</th>{cells}</tr>')
    return table_of(head, lines, caption)


def _plot(document: Mapping[str, Any], plot: str) -> str:
    parts = [
        f"{condition}: mean {values['mean_read']:.2f}, required {values['mean_required']:.2f}"
        for condition, values in document["design_set"].items()
        if values["mean_read"] is not None
    ]
    text = "Share of trials by number of sentences, bars; share by number required, dots. "
    title = "Sentences read or shown, and required, by condition (design set)"
    return figure(plot, title, text + "; ".join(parts))


def _plot_data(breakdowns: Mapping[str, pd.DataFrame]) -> str:
    """Mean sentences by what the claims require: the numbers that go with the figure."""
    rows = [
        [size, condition, int(row["n_trials"]), f"{row['mean_read']:.2f}", _spread(row["sd_read"])]
        for (size, condition), row in _rows(breakdowns["gold_min_size"])
    ]
    headings = ["Required", "Condition", "Trials", "Mean read or shown", "SD"]
    return details("The numbers by required sentences", table(headings, rows, texts=(1,)))


def _rows(table_by: pd.DataFrame) -> list[tuple[tuple[Any, Any], pd.Series]]:
    """Rows of a breakdown with the value and the condition they stand for."""
    return list(zip(table_by.index, (row for _, row in table_by.iterrows()), strict=True))


def _spread(value: float) -> str:
    return "not defined, because one trial has no spread" if np.isnan(value) else f"{value:.2f}"


def _by_export(singles: Mapping[str, Mapping[str, Any]]) -> str:
    """The headline measures of every export: the export as a factor."""
    wanted = ("n_trials", "success_rate", "undecided_rate", "mean_read", "over_read_msr_rate")
    rows = [
        [f"{label}: {row.label}", *row.cells]
        for label, single in singles.items()
        for row in table5(single)
        if row.key in wanted
    ]
    conditions = list(next(iter(singles.values()))["conditions"])
    note = (
        "The pooled table above treats the trials of all exports alike; where these rows differ "
        "much from one another, read them and not the pooled table."
    )
    return section("By export", paragraph(note), table(["Measure", *conditions], rows))


def _inclusion(document: Mapping[str, Any]) -> str:
    """How many rows do not count, by reason, and what other rules would have given."""
    rows = [[reason, count, REASON_TEXTS[reason]] for reason, count in document["excluded"].items()]
    total = sum(document["excluded"].values())
    caption = (
        f"{total} of {document['rows']} rows are not in the design set. One reason a row, the "
        "first that applies, in this order."
    )
    holders = [[slot, person] for slot, person in document["slot_holders"].items()]
    return section(
        "Which trials count",
        table(["Reason", "Rows", "Meaning"], rows, caption, texts=(2,)),
        details("Holders of the slots", table(["Slot", "Participant"], holders, texts=(1,))),
        _attention(document),
        table(["Sensitivity (design set)", *document["conditions"]], _sensitive(document)),
    )


def _attention(document: Mapping[str, Any]) -> str:
    """The share of attention checks that each participant passed; empty where there were none."""
    rates = document["attention_pass_rates"]
    if not rates:
        return ""
    rows = [[person, f"{100 * rate:.0f} %"] for person, rate in sorted(rates.items())]
    n_failed = sum(rate < 0.5 for rate in rates.values())
    heading = f"Attention checks: {n_failed} of {len(rates)} participants passed fewer than half"
    return details(heading, table(["Participant", "Passed"], rows))


def _sensitive(document: Mapping[str, Any]) -> list[list[str]]:
    """Success with incomplete trials as not success, and capped time where a cap was set."""
    success, capped = ["Success, incomplete trials as not success"], ["Mean active time, capped"]
    for condition in document["conditions"]:
        measured = document["design_set"][condition]
        other = document["sensitivity"]["design_set"][condition]
        n = measured["n_scorable"] + other["n_incomplete"]
        success.append(
            rate_text(measured["n_success"], n) if n else "not defined, because none can be scored"
        )
        seconds = other["mean_active_s_capped"]
        path = f"sensitivity.design_set.{condition}.mean_active_s_capped"
        capped.append(
            document["not_defined"][path]
            if seconds is None
            else f"{seconds:.1f} s (n = {measured['n_trials']})"
        )
    return [success, capped]


def _balance(document: Mapping[str, Any]) -> str:
    """Counts that show whether the design is balanced, and the empty cells."""
    balance = document["balance"]
    rows = [
        ["Claims met, a replication", balance["claim_replications_seen"]],
        ["Cells of claim and condition with one trial", balance["cells_with_one_trial"]],
        ["Cells without a trial", balance["cells_empty"]],
        ["Cells with more than one trial", balance["cells_with_more"]],
        ["Claims met twice by a participant", balance["claims_seen_twice_by_a_participant"]],
    ]
    for condition in document["conditions"]:
        first = balance["participants_by_first_condition"][condition]
        position = balance["mean_position"][condition]
        shown = "not defined, because it has no trial" if position is None else f"{position:.2f}"
        rows.append([f"Participants who began with {condition}", first])
        rows.append([f"Mean position of {condition}", shown])
    empty = [
        [cell["claim_id"], cell["replication"], cell["condition"], cell["study_id"]]
        for cell in document["empty_cells"]
    ]
    listed = details(
        f"Cells without a trial: {balance['cells_empty']}, {len(empty)} listed",
        table(["Claim", "Replication", "Condition", "Study"], empty, texts=(2, 3)),
    )
    return section("Balance", table(["Design set", "Count"], rows), listed if empty else "")


def _quarters(breakdowns: Mapping[str, pd.DataFrame]) -> str:
    """Order and learning, described only."""
    note = (
        "Design set. A learning effect does not bias a counterbalanced comparison, it makes it "
        "less sharp; nothing is corrected for it."
    )
    return section("Order and learning", _groups("Quarter", breakdowns["quarter"], note))


def _groups(heading: str, groups: pd.DataFrame, caption: str = "") -> str:
    """Headline measures of every group of a breakdown."""
    rows = []
    for (value, condition), row in _rows(groups):
        m = measures_of(row)
        seconds = m["geomean_active_s"]
        rows.append(
            [
                str(value),
                condition,
                m["n_trials"],
                rate_text(m["n_success"], m["n_scorable"])
                if m["n_scorable"]
                else "not defined, because none can be scored",
                f"{m['mean_read']:.2f}",
                rate_text(m["n_over_read_msr"], m["n_trials"]),
                "not defined, because a trial has no active time"
                if np.isnan(seconds)
                else f"{seconds:.1f}",
            ]
        )
    headings = [
        heading,
        "Condition",
        "Trials",
        "Success",
        "Mean read or shown",
        "over_read_msr",
        "Active time, geometric mean (s)",
    ]
    return table(headings, rows, caption, texts=(1,))


def _breakdowns(breakdowns: Mapping[str, pd.DataFrame]) -> str:
    """Headline measures by participant, label and required sentences."""
    parts = [
        details(f"By {title.lower()}", _groups(title, breakdowns[by]))
        for by, title in _BREAKDOWN_TITLES.items()
    ]
    note = "Design set, the same definitions, denominators counted inside each group."
    return section("Breakdowns", paragraph(note), *parts)


def _registered(registered: Mapping[str, Mapping[str, Any]]) -> str:
    """What was fixed before the data."""
    rows = [
        [label, key, ", ".join(map(str, value)) if isinstance(value, list) else value]
        for label, settings in registered.items()
        for key, value in sorted(settings.items())
    ]
    if not rows:
        return section("Pre-registered", paragraph("The settings name nothing as pre-registered."))
    return section("Pre-registered", table(["Export", "Setting", "Value"], rows, texts=(1, 2)))


def _definitions() -> str:
    rows = [[m.name, m.definition, m.denominator, m.formula] for m in MEASURES]
    symbols = (
        "n = sentences read or shown, N = sentences available, q = size of the smallest gold set, "
        "M = rank of the first sufficient prefix (infinite if there is none)."
    )
    body = table(["Name", "Definition", "Denominator", "Formula"], rows, symbols, texts=(1, 2, 3))
    return section("Definitions", details("All measures", body))
