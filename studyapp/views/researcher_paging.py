"""Numbered pages of a long list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from studyapp.views.researcher_words import number


@dataclass(frozen=True)
class Pages:
    """A page of a list: rows ``first`` to ``last`` (from 0, without the last), and what to print.

    Addresses are empty where there is no such page.
    """

    first: int
    last: int
    says: str
    earlier: str
    later: str


def pages_of(n: int, page: int, size: int, address: Callable[[int], str]) -> Pages:
    """Page ``page`` (from 1) of ``n`` rows; beyond the last page, the last one."""
    n_pages = max(1, -(-n // size))
    page = min(page, n_pages)
    first, last = (page - 1) * size, min(page * size, n)
    return Pages(
        first=first,
        last=last,
        says=f"{number(first + 1)} to {number(last)} of {number(n)}" if n_pages > 1 else "",
        earlier=address(page - 1) if page > 1 else "",
        later=address(page + 1) if page < n_pages else "",
    )
