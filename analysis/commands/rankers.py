"""``python -m analysis rankers``: rankers compared over claims."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analysis.commands.numbers import NOTHING, interval, number, p_value
from analysis.commands.options import add_json, whole_number
from analysis.commands.text import aligned
from analysis.document import to_json
from analysis.rankers_table import compare_rankers
from analysis.text_table import read_text_table

LEGEND = (
    "RR: 1 / (MSR - IMSR + 1); SR: share with MSR = IMSR; NDCG: how early the sentences of the "
    "gold set come; ±: standard error of the mean. Differences are second minus first, above 0 "
    "where the second is better; gained and lost: claims on which only the second, only the "
    "first, has MSR = IMSR. p of RR: Wilcoxon over claims, Holm over all pairs, the one for a "
    "paper; python -m rankers evaluate --compare A B gives A minus B with a bootstrap instead."
)


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the parser of ``python -m analysis``."""
    parser = commands.add_parser("rankers", help="rankers compared over claims")
    parser.add_argument(
        "scores", type=Path, metavar="F.csv", help="written by python -m rankers evaluate --csv"
    )
    parser.add_argument(
        "--seed", type=whole_number, default=0, help="of the bootstrap (default: 0)"
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Print the comparison; raises BadTable."""
    table = read_text_table(parsed.scores)
    document = compare_rankers(table, seed=parsed.seed, source=str(parsed.scores))
    sys.stdout.write(to_json(document) if parsed.json else rankers_text(document))
    return 0


def rankers_text(document: Mapping[str, Any]) -> str:
    """The document for a terminal: all claims, then by size of the smallest gold set."""
    lines = [*_section("All claims", document, adjusted=True)]
    for size, own in document["by_imsr"].items():
        lines += _section(f"Claims with a smallest gold set of {size}", own, adjusted=False)
    lines += [f"Note: {note}" for note in document["notes"]]
    lines += [LEGEND, f"Method: {document['method']}.", f"Assumptions: {document['assumptions']}."]
    return "\n".join([*lines, f"Library: {document['library']}."]) + "\n"


def _section(title: str, found: Mapping[str, Any], *, adjusted: bool) -> list[str]:
    rows = [["ranker", "n", "RR", "SR %", "NDCG", "mean MSR"]]
    for name, own in found["table"].items():
        measures = [_mean(own["rr"]), _mean(own["sr"], 100, 1), _mean(own["ndcg"])]
        rows.append([name, str(own["n"]), *measures, f"{own['mean_msr']:.2f}"])
    lines = [f"{title}, n = {found['n_claims']}", "", *aligned(rows), ""]
    if found["pairs"]:
        lines += [*aligned(_pair_rows(found["pairs"], adjusted)), ""]
    reasons = {
        f"{' and '.join(pair['pair'])}: {why}"
        for pair in found["pairs"]
        for why in pair["not_defined"].values()
    }
    return lines + ([*sorted(reasons), ""] if reasons else [])


def _pair_rows(pairs: list[Mapping[str, Any]], adjusted: bool) -> list[list[str]]:
    """One row a pair; Holm's column only where all pairs were adjusted."""
    adjusted_heading = ["p, Holm"] if adjusted else []
    others = ["SR gained : lost", "p", "NDCG", "95 %", "p"]
    rows = [["second - first", "n", "RR", "95 %", "p", *adjusted_heading, *others]]
    for pair in pairs:
        first, second = pair["pair"]
        rows.append(
            [
                f"{second} - {first}",
                str(pair["n"]),
                _signed(pair["mean_difference_rr"]),
                interval(pair["rr_ci95"]),
                p_value(pair["wilcoxon_pratt_p"]),
                *([p_value(pair["holm_p"])] if adjusted else []),
                f"{pair['sr_gain']} : {pair['sr_loss']}",
                p_value(pair["sr_mcnemar_exact_p"]),
                _signed(pair["mean_difference_ndcg"]),
                interval(pair["ndcg_ci95"]),
                p_value(pair["ndcg_wilcoxon_pratt_p"]),
            ]
        )
    return rows


def _mean(cell: Mapping[str, float | None], factor: int = 1, digits: int = 3) -> str:
    """``0.584 ± 0.024``, without the error where it is not defined."""
    mean, error = cell["mean"], cell["sem"]
    assert mean is not None
    shown = number(factor * mean, digits)
    return shown if error is None else f"{shown} ± {number(factor * error, digits)}"


def _signed(value: float | None) -> str:
    return NOTHING if value is None else f"{value:+.3f}"
