"""What the searches for the best variances of the crossed models share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

#: A standard deviation whose loss changes the deviance by less is 0.
NO_LOSS = 1e-6


def stops_beyond(limit: float) -> Callable[[np.ndarray], None]:
    """A callback that ends a search which only follows a rising likelihood towards infinity."""

    def stop(parameters: np.ndarray) -> None:
        if np.abs(parameters).max() > limit:
            raise StopIteration

    return stop


def without_needless(deviance: Callable[[np.ndarray], float], parameters: np.ndarray) -> np.ndarray:
    """``parameters`` whose first two, standard deviations, are 0 where that costs nothing.

    A variance estimated as 0 is an exact 0 then.
    """
    for place in (0, 1):
        without = parameters.copy()
        without[place] = 0
        if deviance(without) <= deviance(parameters) + NO_LOSS:
            parameters = without
    return parameters
