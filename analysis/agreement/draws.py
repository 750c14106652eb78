"""Bootstrap draws of items, and the interval that they give.

Items that got the same labels equally often are one and the same to every measure here, so that
what is drawn is how often each such kind of item occurs: the same draws as item by item, in far
fewer numbers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy import sparse

DRAWS = 2_000

#: So many numbers are held at once: some 16 MB a table.
_CELLS = 2_000_000


def kinds_of_items(counts: sparse.csr_array) -> tuple[sparse.csr_array, np.ndarray]:
    """The rows of ``counts`` that differ, shape (kinds, labels), and how often each occurs."""
    counts.sum_duplicates()
    ends = zip(counts.indptr[:-1], counts.indptr[1:], strict=True)
    keys = [counts.indices[a:b].tobytes() + counts.data[a:b].tobytes() for a, b in ends]
    codes = pd.factorize(np.array(keys, dtype=object))[0]
    _, first, frequency = np.unique(codes, return_index=True, return_counts=True)
    return counts[first], frequency


def drawn_counts(
    frequency: np.ndarray, draws: int, seed: int | tuple[int, ...], width: int | None = None
) -> Iterator[np.ndarray]:
    """How often each kind of item is drawn, as many items as there are; shape (draws, kinds).

    A block of draws at a time, as floats. ``width`` is the number of cells that the caller needs
    for one draw, at least the kinds.
    """
    generator = np.random.default_rng(seed)
    n_items = int(frequency.sum())
    step = max(1, _CELLS // max(width or 0, len(frequency)))
    for start in range(0, draws, step):
        rows = min(step, draws - start)
        yield generator.multinomial(n_items, frequency / n_items, size=rows).astype(float)


def percentile95(drawn: np.ndarray) -> tuple[list[float] | None, str | None]:
    """The percentile 95 % interval of draws, or None and the reason; undefined draws are NaN."""
    defined = drawn[~np.isnan(drawn)]
    if 2 * len(defined) < len(drawn):
        return None, "not defined, because in most draws every rating has the same label"
    if np.ptp(defined) == 0:
        return None, "not defined, because every draw gives the same value"
    return [float(limit) for limit in np.quantile(defined, [0.025, 0.975])], None
