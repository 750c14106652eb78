"""Formats whose sentences are in a Wikipedia dump apart from the claims, and loading its pages.

Two passes: the claims say which pages are needed, then the dump is streamed once for all files and
only those pages are kept, so that memory grows with the pages needed and not with the dump.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from rankers.errors import BadInput
from rankers.formats.fever import fever_pages, load_fever_pages, read_fever
from rankers.formats.hover import hover_pages, load_hover_pages, read_hover
from rankers.formats.pages import Page, Pages, Progress
from rankers.formats.rows import Row, SeenIds, opened


@dataclass(frozen=True)
class WikiFormat:
    """A reader by name that takes pages as well, with what names and what loads them."""

    name: str
    summary: str
    read: Callable[[BinaryIO, SeenIds, Pages], Iterator[Row]]
    pages_named: Callable[[BinaryIO], Iterator[str]]
    load: Callable[[Sequence[str | Path], set[str], Progress | None], dict[str, Page]]


WIKI_FORMATS: dict[str, WikiFormat] = {
    one.name: one
    for one in (
        WikiFormat("fever", "FEVER, needs --wiki", read_fever, fever_pages, load_fever_pages),
        WikiFormat("hover", "HoVer, needs --wiki", read_hover, hover_pages, load_hover_pages),
    )
}


def load_pages(
    sources: Sequence[str | Path],
    format_name: str,
    wiki: Sequence[str | Path],
    progress: Progress | None = None,
) -> dict[str, Page]:
    """Return the pages that the claims of ``sources`` name and the dump at ``wiki`` has.

    ``wiki`` holds folders or files. Raises BadInput for a format without pages, for no ``wiki``,
    and for a dump that cannot be read.
    """
    if format_name not in WIKI_FORMATS:
        raise BadInput(f"--wiki is for the formats {', '.join(WIKI_FORMATS)}, not {format_name}")
    if not wiki:
        raise BadInput(f"format {format_name} needs --wiki: the folder or files of its Wikipedia")
    one = WIKI_FORMATS[format_name]
    wanted: set[str] = set()
    for source in sources:
        with opened(source) as stream:
            wanted.update(one.pages_named(stream))
    return one.load(wiki, wanted, progress)
