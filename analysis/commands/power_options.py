"""From the text of an option of ``power`` to its value; ValueError says what is wrong with it."""

from __future__ import annotations

import math


def whole(text: str) -> int:
    """``5``."""
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{text!r} is no whole number") from None


def wholes(text: str) -> tuple[int, ...]:
    """``5,10,20``, repeated numbers once."""
    return tuple(dict.fromkeys(whole(part.strip()) for part in text.split(",")))


def number(text: str) -> float:
    """``0.5``; neither infinite nor "nan"."""
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{text!r} is no number") from None
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is no number")
    return value


def two_numbers(text: str) -> tuple[float, float]:
    """``0.94,0.74``."""
    first, second = two_words(text)
    return number(first), number(second)


def two_words(text: str) -> tuple[str, str]:
    """``ranking,selection``."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(parts):
        raise ValueError(f"{text!r} is not two values with a comma between them")
    return parts[0], parts[1]


def shares(text: str) -> tuple[tuple[int, float], ...]:
    """``1:0.5,2:0.3,3:0.2``: size and share."""
    found = []
    for part in text.split(","):
        size, colon, share = part.partition(":")
        if not colon:
            raise ValueError(f"{part!r} is no size and share; write 1:0.5,2:0.5")
        found.append((whole(size.strip()), number(share.strip())))
    return tuple(found)


def word(text: str) -> str:
    """A name, checked elsewhere."""
    return text
