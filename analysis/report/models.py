"""The models beside the comparison, or why they are left out, and what learning they show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from analysis.report.comparison import BLOCK, inference_of
from analysis.report.table import Table, make_table
from analysis.report.words import interval, number, p_text, reason_of

_GEE = {
    "glm_participant_fixed_claim_clusters": (
        "Success: logit GEE, participants fixed, clusters are claims",
        "log_odds_ratio",
    ),
    "lpm_participant_fixed_claim_clusters": (
        "Success: linear GEE, participants fixed, clusters are claims",
        "risk_difference",
    ),
    "lm_read_participant_fixed_claim_clusters": (
        "Sentences: linear GEE, participants fixed, clusters are claims",
        "difference",
    ),
    "glm_participant_clusters": (
        "Success: logit GEE, clusters are participants",
        "log_odds_ratio",
    ),
}
_MIXED = {
    "lmer_read": "Sentences: linear mixed model, participants and claims crossed",
    "lmer_log_active": "Log active time: linear mixed model, participants and claims crossed",
    "glmer_success": "Success: logistic mixed model, participants and claims crossed",
}
_TERMS = {"cond": "condition", "pos10": "position, ten trials", "(Intercept)": "intercept"}
_NOTE = (
    "Design set; exploratory, unadjusted. Standard errors of the GEE are bias-reduced "
    "(Mancl–DeRouen). A variance estimated from few participants is a description, not a finding."
)


def models_table(document: Mapping[str, Any]) -> Table | None:
    """A row a model and term; a model that is left out says why. None without a comparison."""
    block = inference_of(document)
    if not block or not any(key in block for key in (*_GEE, *_MIXED)):
        return None
    rows = [*_gee_rows(document, block), *_mixed_rows(document, block)]
    headings = ["Model", "Term", "Estimate", "SE", "95 % interval", "p", "As odds ratio"]
    return make_table("models", "Models", headings, rows, _NOTE, (1,))


def _gee_rows(document: Mapping[str, Any], block: Mapping[str, Any]) -> Iterator[list[str]]:
    for key, (name, quantity) in _GEE.items():
        if key not in block:
            continue
        found = block[key]
        value = found.get(quantity) if isinstance(found, Mapping) else None
        if value is None:
            yield _left_out(name, reason_of(document, f"{BLOCK}.{key}", found))
            continue
        yield [
            name,
            {"log_odds_ratio": "condition, log odds"}.get(quantity, "condition"),
            *_estimate(value, found.get("se_CR3"), found),
            _odds_ratio(value, found) if quantity == "log_odds_ratio" else "",
        ]


def _mixed_rows(document: Mapping[str, Any], block: Mapping[str, Any]) -> Iterator[list[str]]:
    for key, name in _MIXED.items():
        if key not in block:
            continue
        found = block[key]
        fixed = found.get("fixed") if isinstance(found, Mapping) else None
        if not fixed:
            yield _left_out(name, reason_of(document, f"{BLOCK}.{key}", found))
            continue
        for term, values in fixed.items():
            if term == "(Intercept)":
                continue
            ratio = _odds_ratio(values["estimate"], values) if key == "glmer_success" else ""
            shown = _estimate(values["estimate"], values.get("se"), values)
            yield [name, _TERMS.get(term, term), *shown, ratio]
        for factor, variance in (found.get("variance") or {}).items():
            if variance is not None:
                yield [name, f"variance: {_factor(factor)}", number(variance, 3), "", "", "", ""]


def _factor(name: str) -> str:
    return {"claim_id": "claims", "participant_id": "participants", "Residual": "rest"}.get(
        name, name
    )


def _estimate(value: float, se: float | None, found: Mapping[str, Any]) -> list[str]:
    return [
        number(value, 3),
        "" if se is None else number(se, 3),
        interval(found.get("ci95"), digits=3),
        p_text(found.get("p")),
    ]


def _odds_ratio(value: float, found: Mapping[str, Any]) -> str:
    limits = found.get("ci95")
    around = "" if limits is None else f" {interval([float(np.exp(x)) for x in limits])}"
    return f"{np.exp(value):.2f}{around}"


def _left_out(name: str, reason: str) -> list[str]:
    said = reason if reason.startswith("left out") else f"left out: {reason}"
    return [name, said, "", "", "", "", ""]
