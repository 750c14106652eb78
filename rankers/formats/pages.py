"""Claims whose evidence is named as sentences of Wikipedia pages, with texts from a dump.

A gold set with a page or sentence that the dump lacks can never be completed, so it is dropped
whole; a claim that keeps none is left out.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rankers.formats.assemble import NO_GOLD_SET, Parts, assemble
from rankers.formats.rows import UNREACHABLE_SETS, Row

PAGE_MISSING = "page_missing"
SENTENCE_MISSING = "sentence_missing"


@dataclass(frozen=True, slots=True)
class Page:
    """A page's title as readers see it, and its non-empty sentences by their number."""

    title: str
    sentences: Mapping[int, str]


#: Pages by key: what a claims file and a dump call a page, made comparable.
Pages = Mapping[str, Page]
#: A sentence as evidence names it: page key and sentence number.
Fact = tuple[str, int]
#: Called with the number of pages read so far.
Progress = Callable[[int], None]


def normal(text: str) -> str:
    """Return ``text`` in NFC, the form in which pages are compared and shown."""
    return unicodedata.normalize("NFC", text)


def still_wanted(wanted: set[str], pages: Pages) -> set[str]:
    """Return the keys of ``wanted`` without a page that has sentences."""
    return {key for key in wanted if key not in pages or not pages[key].sentences}


def page_row(parts: Parts, groups: Sequence[Sequence[Fact]], pages: Pages) -> Row:
    """Return the row of a claim with the sentences of the pages named in ``groups``.

    Candidates are all non-empty sentences of those pages that the dump has, pages in the order of
    their titles (by code point, after NFC), sentences in that of their numbers.
    """
    if not groups:
        return Row(parts.line, left_out=NO_GOLD_SET)
    facts = _facts_of({key for group in groups for key, _ in group}, pages)
    position = {fact: i for i, fact in enumerate(facts)}
    whole = [group for group in groups if all(fact in position for fact in group)]
    if not whole:
        return Row(parts.line, left_out=_what_is_missing(groups, pages))
    if len(whole) < len(groups):
        message = f"{len(groups) - len(whole)} gold sets name sentences that the dump lacks"
        parts.notice("evidence", message, UNREACHABLE_SETS)
    parts.candidates = [pages[key].sentences[number] for key, number in facts]
    parts.titles = [pages[key].title for key, _ in facts]
    parts.gold_sets = [[position[fact] for fact in group] for group in whole]
    return assemble(parts)


def _facts_of(keys: set[str], pages: Pages) -> list[Fact]:
    found = sorted((key for key in keys if key in pages), key=lambda key: (pages[key].title, key))
    return [(key, number) for key in found for number in sorted(pages[key].sentences)]


def _what_is_missing(groups: Sequence[Sequence[Fact]], pages: Pages) -> str:
    named = {key for group in groups for key, _ in group}
    return SENTENCE_MISSING if all(key in pages for key in named) else PAGE_MISSING
