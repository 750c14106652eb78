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
#: Characters of a page's name in JSON. Wikipedia's titles have 255 bytes, here with room for
#: escapes; an unbounded search could fill the memory with one line.
MAX_NAME_LENGTH = 4_000
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
    """Return the pages whose key is wanted.

    Of several with one key, that with sentences and the key itself as its name is taken, or else
    one with sentences, or else the first; of equals the first. Reading stops when all are settled.
    ``page_of`` raises ValueError for a record of another shape. Raises BadInput, naming file and
    line, for a dump that cannot be read.
    """
    names = _name_pattern(name_field)
    best = _Best()
    open_keys = set(wanted)
    count = 0
    for file in files:
        for number, text in _lines(file):
            count += 1
            if progress is not None and count % TOLD_EVERY == 0:
                progress(count)
            try:
                if not _may_name(text, names, key_of, open_keys):
                    continue
                record, name = _named(text, name_field)
                key = key_of(name)
                if key in open_keys and best.offer(key, name, page_of(record)):
                    open_keys.remove(key)
            except ValueError as error:
                raise _damaged(file, number, error) from error
            if not open_keys:
                return best.pages
    return best.pages


class _Best:
    """The best page of every key met so far."""

    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        self._merits: dict[str, tuple[bool, bool]] = {}

    def offer(self, key: str, name: str, page: Page) -> bool:
        """Keep a page that is better than the one kept; whether none can be better."""
        merit = (bool(page.sentences), name == key)
        if key not in self.pages or merit > self._merits[key]:
            self.pages[key], self._merits[key] = page, merit
        return all(merit)


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


def _name_pattern(field: str) -> re.Pattern[str]:
    """What finds values of ``field`` in a line without parsing it."""
    # Inside JSON text a quotation mark is escaped, so the pattern can only meet real keys.
    key = re.escape(json.dumps(field))
    return re.compile(rf'{key}\s*:\s*"((?:[^"\\]|\\.){{0,{MAX_NAME_LENGTH}}}+)"')


def _may_name(
    text: str, names: re.Pattern[str], key_of: Callable[[str], str], keys: set[str]
) -> bool:
    """Whether a line is worth parsing: almost none is, and parsing would take most of the time.

    Any object inside the line may have the field, before or after the page's own.
    """
    found_any = False
    for found in names.finditer(text):
        found_any = True
        raw = found.group(1)
        name = json.loads(f'"{raw}"') if "\\" in raw else raw
        if key_of(name) in keys:
            return True
    return not found_any


def _named(text: str, field: str) -> tuple[dict[str, Any], str]:
    """The record of a line and the page's name in it."""
    record = parse_json(text)
    name = record.get(field) if isinstance(record, dict) else None
    if not isinstance(name, str):
        raise ValueError(f"{field}: missing or no text")
    return record, name


def _damaged(file: Path, line: int, what: object) -> BadInput:
    return BadInput(f"{file}: line {line}: {what}; is it the right dump, and downloaded whole?")
