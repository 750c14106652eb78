"""Values that JSON can hold, the same on every machine."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

#: Digits that are kept: enough for any reader, few enough to be the same on every machine.
SIGNIFICANT_DIGITS = 12


def plain(value: Any) -> Any:
    """Plain values only: rounded floats, None for what is not finite, Python's own ints.

    Goes through mappings and sequences; keys become text.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(item) for item in value]
    if isinstance(value, float | np.floating):
        return float(f"{value:.{SIGNIFICANT_DIGITS}g}") if math.isfinite(value) else None
    return int(value) if isinstance(value, np.integer) else value
