"""Order and learning as tables: the models with position, and which condition came first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from analysis.report.comparison import inference_of
from analysis.report.table import Table, make_table
from analysis.report.words import UNITS, difference_text, interval, interval_text, number, p_text

_MODELS = {
    "glm_success": "Success, log odds: GEE over claims",
    "lpm_success": "Success, share: GEE over claims",
    "lmer_read": "Sentences: linear mixed model",
    "lmer_log_active": "Log active time: linear mixed model",
    "glmer_success": "Success, log odds: logistic mixed model",
}
_TERMS = {
    "cond": "condition, at the mean position",
    "pos10": "position, ten trials",
    "cond:pos10": "condition × position",
}


def learning_of(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The document's block on learning; empty without one."""
    found = document.get("learning") or inference_of(document).get("learning") or {}
    return {} if "left_out" in found else found


def learning_table(document: Mapping[str, Any]) -> Table | None:
    """A row a model and effect of position, or why a model is left out; None without the block."""
    found = learning_of(document)
    rows = [
        row
        for key, name in _MODELS.items()
        if key in (found.get("models") or {})
        for row in _rows(name, found["models"][key])
    ]
    headings = ["Model", "Effect", "Estimate", "SE", "95 % interval", "p"]
    note = f"Design set; exploratory, unadjusted. {found.get('statement', '')}".strip()
    title = "Position in the run"
    return make_table("learning_models", title, headings, rows, note, (1,)) if rows else None


def _rows(name: str, model: Mapping[str, Any]) -> Iterator[list[str]]:
    fixed = model.get("fixed")
    if not fixed:
        yield [name, str(model.get("left_out", model.get("note", "left out"))), "", "", "", ""]
        return
    for term, label in _TERMS.items():
        if term not in fixed:
            continue
        values = fixed[term]
        se = values.get("se", values.get("se_CR3"))
        yield [
            name,
            label,
            number(values["estimate"], 3),
            "" if se is None else number(se, 3),
            interval(values.get("ci95"), digits=3),
            p_text(values.get("p")),
        ]


def order_table(document: Mapping[str, Any]) -> Table | None:
    """Means and differences by the condition that a participant met first; None without them."""
    orders = learning_of(document).get("block_order") or {}
    rows = [row for key, found in orders.items() for row in _order_rows(key, found)]
    headings = ["Measure", "Met first", "Participants", "Mean", "Difference", "95 % interval", "p"]
    note = (
        "Between participants. The last row of a measure holds the difference between the two "
        "orders: carry-over and what a second block gains by practice cannot be told apart."
    )
    few = [str(f["described_only"]) for f in orders.values() if f.get("described_only")]
    note += f" {few[0].capitalize()}." if few else ""
    title = "Which condition came first"
    return make_table("learning_order", title, headings, rows, note, (1,)) if rows else None


def _order_rows(key: str, found: Mapping[str, Any]) -> Iterator[list[str]]:
    label = UNITS.get(key, key)
    if not found.get("groups"):
        yield [label, str(found.get("left_out", "left out")), "", "", "", "", ""]
        return
    for condition, group in found["groups"].items():
        n = group["n_participants"]
        mean, change = group.get("mean"), group.get("mean_difference")
        shown = "" if change is None else difference_text(key, change)
        yield [label, condition, str(n), _mean(key, mean), shown, "", ""]
    crossed = found.get("order_by_condition") or {}
    if crossed.get("estimate") is not None:
        shown = difference_text(key, crossed["estimate"])
        limits = interval_text(key, crossed.get("ci95"))
        yield [label, "first order − second", "", "", shown, limits, p_text(crossed.get("p"))]


def _mean(key: str, mean: float | None) -> str:
    if mean is None:
        return ""
    if key == "log_active":
        return f"{np.exp(mean):.1f} s"
    return number(mean) if key == "read" else f"{100 * mean:.1f} %"
