"""Bootstrap draws of items, and the interval that they give."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

DRAWS = 2_000

#: So many numbers are held at once: some 16 MB a table.
_CELLS = 2_000_000


def item_draws(
    n_items: int, draws: int, seed: int | tuple[int, ...], width: int | None = None
) -> Iterator[np.ndarray]:
    """How often every item is drawn, a block of draws at a time; shape (draws, items), floats.

    ``width`` is the number of cells that the caller needs for one draw, at least the items.
    """
    generator = np.random.default_rng(seed)
    step = max(1, _CELLS // max(width or 0, n_items))
    for start in range(0, draws, step):
        rows = min(step, draws - start)
        chosen = generator.integers(0, n_items, size=(rows, n_items))
        chosen += n_items * np.arange(rows)[:, None]
        drawn = np.bincount(chosen.ravel(), minlength=rows * n_items)
        yield drawn.reshape(rows, n_items).astype(float)


def percentile95(drawn: np.ndarray) -> tuple[list[float] | None, str | None]:
    """The percentile 95 % interval of draws, or None and the reason; undefined draws are NaN."""
    defined = drawn[~np.isnan(drawn)]
    if 2 * len(defined) < len(drawn):
        return None, "not defined, because in most draws every rating has the same label"
    if np.ptp(defined) == 0:
        return None, "not defined, because every draw gives the same value"
    return [float(limit) for limit in np.quantile(defined, [0.025, 0.975])], None
