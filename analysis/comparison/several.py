"""The further contrasts of three and more conditions and their omnibus tests, as rows of text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.comparison.compared import BY_KEY, FAMILY
from analysis.comparison.table import difference_text, interval_text, p_text


def several_rows(document: Mapping[str, Any]) -> list[list[str]]:
    """Headings and rows: every further contrast by measure, then the omnibus tests.

    Empty with fewer than three conditions. Holm's p is that over the families of all contrasts.
    """
    if "left_out" in document["other_contrasts"]:
        return []
    rows = [["Further contrasts", "Measure", "Difference", "95 % interval", "p", "Holm p (all)"]]
    for name, blocks in document["other_contrasts"].items():
        adjusted = document["holm_all_contrasts"]["adjusted"][name]
        for measure in FAMILY:
            values = blocks["two_way"][measure.key]
            why = document["not_defined"].get(f"other_contrasts.{name}.two_way.{measure.key}.p", "")
            known = values["difference"] is not None
            difference = difference_text(measure, values["difference"]) if known else why
            interval = interval_text(measure, values["ci95"])
            corrected = p_text(adjusted.get(measure.key))
            cells = [measure.label, difference, interval or (why if known else "")]
            rows.append([name, *cells, p_text(values["p"]), corrected])
    return rows + _omnibus_rows(document["omnibus"])


def _omnibus_rows(block: Mapping[str, Any]) -> list[list[str]]:
    rows = []
    for test, title, statistic in (
        ("cochran_q", "Cochran's Q", "q"),
        ("friedman", "Friedman", "chi2"),
    ):
        for key, values in block[test].items():
            value = values[statistic]
            text = values["reason"] if value is None else f"{value:.2f}, df {values['df']}"
            n = "" if values["n_claims"] is None else _claims(values)
            rows.append(
                [f"All conditions: {title}", BY_KEY[key].label, text, n, p_text(values["p"]), ""]
            )
    return rows


def _claims(values: Mapping[str, Any]) -> str:
    """How many claims a test rests on, and how many a condition with several trials cost it."""
    repeated = values.get("n_repeated")
    out = f", {repeated} with several trials a condition left out" if repeated else ""
    return f"{values['n_claims']} claims{out}"
