"""Pages out of large dumps in JSON Lines: streamed, and only the wanted ones kept."""

from __future__ import annotations

import bz2
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

from rankers.errors import BadInput
from rankers.formats.lines import parse_json, read_lines
from rankers.formats.pages import Page, Progress

#: A page may be longer than a claim: full texts come with their links.
MAX_PAGE_BYTES = 50_000_000
#: Progress is told after this many pages.
TOLD_EVERY = 10_000
#: Files that are opened through a decompressor.
_OPENERS: dict[str, Callable[[Path, str], Any]] = {".gz": gzip.open, ".bz2": bz2.open}


def dump_files(paths: Sequence[str | Path], patterns: Sequence[str]) -> list[Path]:
    """Return the files of a dump, those of a folder and its subfolders in the order of their names.

    In a folder only names that match one of ``patterns`` count. Raises BadInput for a path that
    does not exist and for a folder without such a file.
    """
    files: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            found = {file for pattern in patterns for file in path.rglob(pattern)}
            if not found:
                raise BadInput(f"{path}: no Wikipedia file in this folder: {' or '.join(patterns)}")
            files += sorted(found)
        elif path.exists():
            files.append(path)
        else:
            raise BadInput(f"{path}: cannot be read: no such file or folder")
    return files


def wanted_pages(
    files: Iterable[Path],
    name_field: str,
    key_of: Callable[[str], str],
    page_of: Callable[[dict[str, Any]], Page],
    wanted: set[str],
    progress: Progress | None = None,
) -> dict[str, Page]:
    """Return the pages whose key is wanted; of two with one key the first.

    Reading stops when all are found. ``page_of`` raises ValueError for a record of another shape.
    Raises BadInput, naming file and line, for a dump that cannot be read.
    """
    pages: dict[str, Page] = {}
    count = 0
    for file in files:
        for number, text in _lines(file):
            count += 1
            if progress is not None and count % TOLD_EVERY == 0:
                progress(count)
            try:
                key = key_of(_name(text, name_field))
                if key in wanted and key not in pages:
                    pages[key] = page_of(parse_json(text))
            except ValueError as error:
                raise _damaged(file, number, error) from error
            if len(pages) == len(wanted):
                return pages
    return pages


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    """Number and text of every line that is not blank."""
    try:
        with _opened(file) as stream:
            for line in read_lines(stream, MAX_PAGE_BYTES):
                if line.problem is not None:
                    raise _damaged(file, line.number, line.problem)
                if line.text.strip():
                    yield line.number, line.text
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(f"{file}: cannot be read: {error}") from error


def _opened(file: Path) -> BinaryIO:
    opener = _OPENERS.get(file.suffix)
    return file.open("rb") if opener is None else cast(BinaryIO, opener(file, "rb"))


def _name(text: str, field: str) -> str:
    """The page's name, found without parsing the line: almost all lines are not wanted."""
    # Inside JSON text a quotation mark is escaped, so the pattern can only meet a real key.
    found = re.search(rf'"{field}":\s*"((?:[^"\\]|\\.)*)"', text)
    if found is None:
        record = parse_json(text)
        name = record.get(field) if isinstance(record, dict) else None
        if not isinstance(name, str):
            raise ValueError(f"{field}: missing or no text")
        return name
    raw = found.group(1)
    return json.loads(f'"{raw}"') if "\\" in raw else raw


def _damaged(file: Path, line: int, what: object) -> BadInput:
    return BadInput(f"{file}: line {line}: {what}; is it the right dump, and downloaded whole?")
