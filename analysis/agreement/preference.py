"""Preferences between two systems: shares, and sign tests by annotation and by claim.

statistics.md 6. Annotations by one person or on one claim are not independent: the test with one
vote a claim is the primary one, that over annotations describes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis.errors import BadTable
from analysis.plain import plain
from analysis.text_table import faults, require_columns, text_cells

#: The two systems of the community study, compared where no others are named.
DEFAULT_PAIR = ("suggested", "current")
#: Choices of that study that prefer neither system.
NO_PREFERENCE = ("neither", "unsure")

#: Keys of a block that a choice's own name must not take.
_RESERVED = ("n", "one_tail", "two_tail", "tied_or_none", "not_defined", "method", "role")

_NO_VOTE = "not defined, because nobody preferred one of the two"
_EXACT = "exact binomial test of 1/2"

_ABOUT = {
    "method": "Wilson 95 % interval of each share; simultaneous 95 % intervals of Goodman; "
    "sign tests, ties left out",
    "assumptions": "claims are independent; the intervals of shares ignore that annotations "
    "of one person or claim are alike; the direction was fixed beforehand",
    "library": "statsmodels proportion_confint and multinomial_proportions_confint; scipy "
    "binomtest",
}


def preferences(
    table: pd.DataFrame,
    first: str | None = None,
    second: str | None = None,
    *,
    source: str = "preferences",
) -> dict[str, Any]:
    """Shares of every choice, and whether ``first`` is preferred to ``second``.

    ``table`` has ``claim_id``, ``participant_id`` and ``choice``, one row an annotation, and may
    have ``annotation`` (unique). Every other choice than the two stays in the denominator of the
    shares and out of the tests; ``notes`` names those that are none of ``NO_PREFERENCE``.
    One-tailed tests ask whether ``first`` wins more often; the direction is to be fixed
    beforehand. Keys as in ``counts``, ``shares``, ``wilson95``,
    ``goodman95`` (simultaneous), ``sign_test_annotations``, ``claim_majority``. Raises BadTable;
    also where the two are not named and the choices are not those of ``DEFAULT_PAIR``.
    """
    cells = _checked(text_cells(table), source)
    first, second = _pair(cells["choice"], first, second, source)
    names = [first, second, *sorted(set(cells["choice"]) - {first, second})]
    counts = np.array([int((cells["choice"] == name).sum()) for name in names])
    votes = _votes_by_claim(cells, first, second)
    wins, losses = int((votes > 0).sum()), int((votes < 0).sum())
    n_claims = int(cells["claim_id"].nunique())
    return plain(
        {
            "kind": "preference",
            "first": first,
            "second": second,
            "n": len(cells),
            "n_claims": n_claims,
            "n_participants": int(cells["participant_id"].nunique()),
            "counts": dict(zip(names, counts, strict=True)),
            "shares": dict(zip(names, counts / counts.sum(), strict=True)),
            "wilson95": dict(zip(names, _wilson(counts), strict=True)),
            "goodman95": dict(zip(names, _goodman(counts), strict=True)),
            "sign_test_annotations": {
                **_without_counts(sign_test(int(counts[0]), int(counts[1]))),
                "role": "descriptive: annotations of one person or claim are not independent",
            },
            "claim_majority": {
                first: wins,
                second: losses,
                "tied_or_none": n_claims - wins - losses,
                **_without_counts(sign_test(wins, losses)),
                "role": "primary: one vote a claim, the sign of its net preference",
            },
            "notes": _notes(names, counts),
            **_ABOUT,
        }
    )


def sign_test(wins: int, losses: int) -> dict[str, Any]:
    """The exact sign test, ties left out: ``wins``, ``losses``, ``n``, ``one_tail``, ``two_tail``.

    ``one_tail`` asks whether wins are more frequent. Without wins and losses both are None.
    """
    from scipy.stats import binomtest

    n = wins + losses
    block: dict[str, Any] = {"wins": wins, "losses": losses, "n": n, "method": _EXACT}
    if not n:
        reasons = {"one_tail": _NO_VOTE, "two_tail": _NO_VOTE}
        return block | {"one_tail": None, "two_tail": None, "not_defined": reasons}
    return block | {
        "one_tail": float(binomtest(wins, n, alternative="greater").pvalue),
        "two_tail": float(binomtest(wins, n).pvalue),
        "not_defined": {},
    }


def _checked(cells: pd.DataFrame, source: str) -> pd.DataFrame:
    require_columns(cells, ["claim_id", "participant_id", "choice"], source)
    problems = []
    for column in ("claim_id", "participant_id", "choice"):
        problems += faults(cells, cells[column] == "", source, column, "may not be empty")
    if "annotation" in cells.columns:
        twice = cells.duplicated("annotation")
        problems += faults(cells, twice, source, "annotation", "occurs twice")
    if problems or cells.empty:
        raise BadTable(problems or f"{source}: no annotation")
    return cells


def _pair(
    choices: pd.Series, first: str | None, second: str | None, source: str
) -> tuple[str, str]:
    """The two choices that are compared."""
    found = sorted(set(choices))
    if (first is None) != (second is None) or (first is not None and first == second):
        raise BadTable(f"{source}: name two different choices to compare: --first and --second")
    if first is None or second is None:
        first, second = DEFAULT_PAIR
        if not {first, second} & set(found) and set(found) - set(NO_PREFERENCE):
            raise BadTable(
                f"{source}: say which two choices are compared, --first and --second; there are "
                f"{', '.join(found)}"
            )
    taken = [name for name in (first, second) if name in _RESERVED]
    if taken:
        raise BadTable(f"{source}: a choice cannot be called {taken[0]}; rename it in the table")
    return first, second


def _notes(names: list[str], counts: np.ndarray) -> list[str]:
    """A choice of the pair that nobody made, and every choice that may be a slip of the pen."""
    absent = [
        f"no annotation chose {name}"
        for name, count in zip(names[:2], counts, strict=False)
        if not count
    ]
    others = [
        f"{count} {'annotation' if count == 1 else 'annotations'} chose {name!r}, which is none of "
        f"{', '.join((*names[:2], *NO_PREFERENCE))}: counted in the shares, not in the tests; "
        "correct the table if it is misspelt"
        for name, count in zip(names[2:], counts[2:], strict=True)
        if name not in NO_PREFERENCE
    ]
    return absent + others


def _votes_by_claim(cells: pd.DataFrame, first: str, second: str) -> pd.Series:
    """Annotations for the first minus those for the second, of every claim."""
    for_first, for_second = cells["choice"] == first, cells["choice"] == second
    return (for_first.astype(int) - for_second.astype(int)).groupby(cells["claim_id"]).sum()


def _wilson(counts: np.ndarray) -> list[list[float]]:
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(counts, counts.sum(), method="wilson")
    return [[float(a), float(b)] for a, b in zip(low, high, strict=True)]


def _goodman(counts: np.ndarray) -> list[list[float]]:
    from statsmodels.stats.proportion import multinomial_proportions_confint

    limits = multinomial_proportions_confint(counts, method="goodman")
    return [[float(a), float(b)] for a, b in limits]


def _without_counts(block: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key not in ("wins", "losses")}
