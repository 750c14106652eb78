"""The table of scores: one row a claim and ranker, checked (statistics.md 7)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.errors import BadTable, name_ids
from analysis.text_table import faults, require_columns, text_cells

COLUMNS = ("claim_id", "ranker", "imsr", "msr", "rr", "sr", "ndcg")
MEASURES = ("rr", "sr", "ndcg")

#: Files print rr and ndcg with ten digits or more.
_TOLERANCE = 1e-6


def read_scores(table: pd.DataFrame, source: str = "scores") -> pd.DataFrame:
    """The scores as typed columns ``COLUMNS``, others left out, in the table's row order.

    ``imsr`` and ``msr`` are whole numbers from 1 (msr at least imsr), ``rr`` is
    1 / (msr - imsr + 1), ``sr`` 1 where msr = imsr, else 0, ``ndcg`` above 0 and at most 1, and a
    claim has one imsr.
    Raises BadTable with a line for everything that is not so.
    """
    require_columns(table, COLUMNS, source)
    cells = text_cells(table[list(COLUMNS)])
    scores, problems = cells.copy(), []
    for name in ("claim_id", "ranker"):
        problems += faults(cells, cells[name] == "", source, name, "may not be empty")
    for name in COLUMNS[2:]:
        scores[name] = pd.to_numeric(cells[name], errors="coerce").astype(float)
        wrong = ~np.isfinite(scores[name])
        problems += faults(cells, wrong, source, name, "is not a number")
    twice = cells.duplicated(["claim_id", "ranker"])
    problems += faults(cells, twice, source, "claim_id", "was scored for the same ranker before")
    problems = problems or _disagreements(scores, cells, source)
    if problems or scores.empty:
        raise BadTable(problems or f"{source}: no score")
    return scores.astype({"imsr": int, "msr": int})


def size_bucket(imsr: pd.Series) -> np.ndarray:
    """``1``, ``2`` or ``3+``: the size of the smallest gold set, as the ranker table groups it."""
    return np.where(imsr >= 3, "3+", imsr.astype(str))


def _disagreements(scores: pd.DataFrame, cells: pd.DataFrame, source: str) -> list[str]:
    """What rows of numbers contradict."""
    imsr, msr = scores["imsr"], scores["msr"]
    problems = []
    for name in ("imsr", "msr"):
        wrong = (scores[name] < 1) | (scores[name] % 1 != 0)
        problems += faults(cells, wrong, source, name, "is not a whole number of at least 1")
    if problems:
        return problems
    problems += faults(cells, msr < imsr, source, "msr", "is less than imsr")
    off = (scores["rr"] - 1 / np.maximum(msr - imsr + 1, 1)).abs() > _TOLERANCE
    problems += faults(cells, off & (msr >= imsr), source, "rr", "is not 1 / (msr - imsr + 1)")
    wrong_sr = scores["sr"] != (msr == imsr)
    problems += faults(cells, wrong_sr, source, "sr", "is not 1 where msr = imsr, else 0")
    outside = (scores["ndcg"] <= 0) | (scores["ndcg"] > 1 + _TOLERANCE)
    problems += faults(cells, outside, source, "ndcg", "is not above 0 and at most 1")
    sizes = imsr.groupby(scores["claim_id"]).nunique()
    if (sizes > 1).any():
        claims = name_ids(sizes.index[sizes > 1])
        problems.append(f"{source}: column imsr: rankers disagree about it, in claim {claims}")
    return problems
