"""What every embedder does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class Embedder(ABC):
    """Turns texts into vectors. ``name`` is what ranking records say."""

    name: str

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return one row a text, shape (len(texts), d), in the order given, not normalised.

        The texts are sentences or single words, any number of them, possibly empty or repeated.
        """
