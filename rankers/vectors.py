"""Small operations on embeddings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def unit_rows(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rows (n, d) with length 1; a row without length stays zero."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
