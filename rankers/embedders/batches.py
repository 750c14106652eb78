"""Cutting texts into batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def batches(texts: Sequence[str], *, most: int, characters: int) -> Iterator[list[int]]:
    """Yield positions, at most ``most`` a batch and in order.

    A batch may be padded to its longest text; padded so, it has at most ``characters``, except
    that a longer text goes alone.
    """
    batch: list[int] = []
    longest = 0
    for i, text in enumerate(texts):
        longest = max(longest, len(text))
        if batch and (len(batch) == most or longest * (len(batch) + 1) > characters):
            yield batch
            batch, longest = [], len(text)
        batch.append(i)
    if batch:
        yield batch
