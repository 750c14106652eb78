"""Ratings as a table: who gave which label to which item (statistics.md 6)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import sparse

from analysis.errors import BadTable
from analysis.text_table import faults, number_of, require_columns, text_cells

#: Above so many whole numbers between the least and the largest, unused ones are left out.
MOST_STEPS = 100


@dataclass(frozen=True)
class Ratings:
    """Ratings that are there: three parallel arrays of positions, and what the positions mean.

    ``labels`` stand in their order; ``values`` are their numbers, None where labels are words.
    ``ordered`` says whether their order means anything: they are numbers, or an order was given.
    """

    items: tuple[str, ...]
    raters: tuple[str, ...]
    labels: tuple[str, ...]
    values: np.ndarray | None
    ordered: bool
    item: np.ndarray
    rater: np.ndarray
    label: np.ndarray

    @property
    def per_item(self) -> np.ndarray:
        """How many ratings every item has; shape (items,)."""
        return np.bincount(self.item, minlength=len(self.items))

    def counts(self) -> sparse.csr_array:
        """How often each item got each label; shape (items, labels)."""
        ones = np.ones(len(self.item))
        shape = (len(self.items), len(self.labels))
        return sparse.csr_array((ones, (self.item, self.label)), shape=shape)


def read_ratings(
    table: pd.DataFrame, order: Sequence[str] | None = None, source: str = "ratings"
) -> Ratings:
    """Ratings from a long or a wide table.

    Long: ``item``, ``rater`` and ``label`` (or ``score``), one row a rating. Wide: ``item`` and
    two or more columns whose names begin with ``rater``, one row an item. An empty cell is no
    rating; further columns are ignored. Labels that are all numbers stand in the order of their
    values, words in that of ``order``, or alphabetically. Raises BadTable.
    """
    long = _long(text_cells(table), source)
    given = long[long["label"] != ""]
    if given.empty:
        raise BadTable(f"{source}: no rating; every label is empty")
    numbers = _numbers(given["label"])
    if order is not None:
        labels, names = tuple(order), given["label"]
        values = np.array([number_of(one) for one in order]) if _all_numbers(order) else None
        _check_order(given, labels, source)
    elif numbers is not None:
        steps = _steps(numbers)
        labels, values = tuple(map(_text, steps)), np.array(steps)
        names = numbers.map(dict(zip(steps, labels, strict=True)))
    else:
        labels, values, names = tuple(sorted(set(given["label"]))), None, given["label"]
    items, raters = sorted(set(long["item"])), _in_turn(long["rater"])
    return Ratings(
        items=tuple(items),
        raters=raters,
        labels=labels,
        values=values,
        ordered=order is not None or values is not None,
        item=_positions(given["item"], items),
        rater=_positions(given["rater"], raters),
        label=_positions(names, labels),
    )


def _long(table: pd.DataFrame, source: str) -> pd.DataFrame:
    """Columns ``item``, ``rater``, ``label``; a rater never twice for one item."""
    require_columns(table, ["item"], source)
    column = "score" if "score" in table.columns and "label" not in table.columns else "label"
    if "rater" in table.columns:
        require_columns(table, [column], source)
        long = table[["item", "rater", column]].rename(columns={column: "label"})
        problems = faults(table, long["rater"] == "", source, "rater", "names no rater")
        twice = long.duplicated(["item", "rater"])
        problems += faults(table, twice, source, "item", "was rated by the same rater before")
    else:
        raters = [str(name) for name in table.columns if str(name).startswith("rater")]
        if len(raters) < 2:
            raise BadTable(
                f"{source}: no ratings; give the columns item, rater, label (one row a rating), or "
                "item, rater1, rater2, … (one row an item)"
            )
        long = table.melt("item", raters, "rater", "label", ignore_index=False)
        problems = faults(table, table.duplicated("item"), source, "item", "has a row already")
    problems += faults(table, table["item"] == "", source, "item", "names no item")
    if problems:
        raise BadTable(problems)
    return long


def _in_turn(raters: pd.Series) -> tuple[str, ...]:
    """Raters as sorted text, ``rater2`` before ``rater10``."""
    return tuple(sorted(set(raters), key=lambda name: (len(name), name)))


def _numbers(labels: pd.Series) -> pd.Series | None:
    """Labels as numbers, None unless every one is a finite number."""
    return labels.map(number_of) if _all_numbers(labels.unique()) else None


def _all_numbers(labels: Sequence[str] | np.ndarray) -> bool:
    return not any(math.isnan(number_of(label)) for label in labels)


def _text(value: float) -> str:
    """``2`` for 2.0, and every digit where fewer would name another number."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def _steps(numbers: pd.Series) -> list[float]:
    """The values that occur; among whole numbers also those between them that nobody gave.

    Weighted kappa counts steps: on a scale of 1 to 5 the labels 2 and 4 are two steps apart even
    where no 3 was given.
    """
    values = sorted(set(numbers))
    low, high = values[0], values[-1]
    if all(value == math.floor(value) for value in values) and high - low <= MOST_STEPS:
        return [float(value) for value in range(int(low), int(high) + 1)]
    return values


def _check_order(given: pd.DataFrame, order: tuple[str, ...], source: str) -> None:
    if len(set(order)) < len(order):
        raise BadTable(f"{source}: the order {', '.join(order)} names a label twice")
    absent = f"is not in the order {', '.join(order)}"
    problems = faults(given, ~given["label"].isin(order), source, "label", absent)
    if problems:
        raise BadTable(problems)


def _positions(values: pd.Series, among: Sequence[str]) -> np.ndarray:
    return pd.Index(among).get_indexer(pd.Index(values))
