"""HoVer: claims in one JSON array, evidence sentences in HotpotQA's Wikipedia introductions.

All supporting facts of a claim together are its one gold set. ``NOT_SUPPORTED`` joins refuted and
not-enough-information claims and is read as refuted, with a notice. Ids are ``hover-`` and the
source's own. The introductions come as the published JSON Lines (``wiki_*.bz2``) or as SQLite.
"""

from __future__ import annotations

import html
import sqlite3
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO

from rankers.errors import BadInput
from rankers.formats.assemble import LABEL_OF, LEFT_OUT_LABELS, Parts, normal_label
from rankers.formats.dumps import dump_files, wanted_pages
from rankers.formats.lines import whole_json
from rankers.formats.pages import Fact, Page, Pages, Progress, normal, page_row, still_wanted
from rankers.formats.rows import TWO_WAY_LABEL, Problem, Row, SeenIds

SOURCE = "HoVer"
LICENSE = "annotations: CC BY-SA 4.0; candidates: CC BY-SA 4.0 (Wikipedia, October 2017, HotpotQA)"
WIKI_FILES = ("wiki_*.bz2", "wiki_*.jsonl", "*.db", "*.sqlite", "*.sqlite3")
#: What separates the sentences of a page in a database.
MARK = "[SENT]"
_SQLITE = b"SQLite format 3\x00"


def read_hover(stream: BinaryIO, seen: SeenIds, pages: Pages) -> Iterator[Row]:
    """Yield one row for each claim; the file is read whole, as one JSON value must be."""
    try:
        entries = _entries(stream)
    except ValueError as error:
        yield Row(None, problems=(Problem(None, None, str(error)),))
        return
    for number, entry in enumerate(entries):
        yield _row(number, entry, seen, pages)


def hover_pages(stream: BinaryIO) -> Iterator[str]:
    """Yield the key of every page that a claims file names; what is no claim names none."""
    try:
        entries = _entries(stream)
    except ValueError:
        return  # reading the claims says what is wrong
    for entry in entries:
        if not any(_shape_problems(entry)):
            yield from (key for key, _ in _facts(entry))


def load_hover_pages(
    wiki: Sequence[str | Path], wanted: set[str], progress: Progress | None = None
) -> dict[str, Page]:
    """Return the wanted pages of a folder or of files, JSON Lines or SQLite. Raises BadInput."""
    pages: dict[str, Page] = {}
    files = dump_files(wiki, WIKI_FILES)
    databases = [file for file in files if _is_database(file)]
    for file in databases:
        pages |= _database_pages(file, still_wanted(wanted, pages), progress)
    others = [file for file in files if file not in databases]
    missing = still_wanted(wanted, pages)
    return pages | wanted_pages(others, "title", _key, _page, missing, progress)


def _entries(stream: BinaryIO) -> list[Any]:
    entries = whole_json(stream)
    if not isinstance(entries, list):
        raise ValueError("must be a JSON list of claims, as in hover_dev_release_v1.1.json")
    return entries


def _row(number: int, entry: Any, seen: SeenIds, pages: Pages) -> Row:
    problems = [
        Problem(None, name, message, _place(number, entry))
        for name, message in _shape_problems(entry)
    ]
    if problems:
        return Row(None, problems=tuple(problems))
    claim_id = f"hover-{entry['uid']}"
    if message := seen.add(claim_id, None):
        return Row(None, problems=(Problem(None, "uid", message, claim_id),))
    label = normal_label(entry.get("label") or "")
    if label in LEFT_OUT_LABELS:
        return Row(None, left_out=LEFT_OUT_LABELS[label])
    if label not in LABEL_OF:
        message = f"unknown label {entry['label']!r}"
        return Row(None, problems=(Problem(None, "label", message, claim_id),))
    parts = Parts(
        line=None,
        id=claim_id,
        claim=entry["claim"],
        label=LABEL_OF[label],
        candidates=[],
        gold_sets=[],
        source=SOURCE,
        license=LICENSE,
        meta={key: entry[key] for key in ("num_hops", "hpqa_id") if key in entry},
    )
    if label == "NOT_SUPPORTED":
        parts.notice("label", "NOT_SUPPORTED read as refuted", TWO_WAY_LABEL)
    facts = _facts(entry)
    return page_row(parts, [facts] if facts else [], pages)


def _facts(entry: dict[str, Any]) -> list[Fact]:
    facts = entry.get("supporting_facts") or []
    return [(_key(title), sentence) for title, sentence in facts]


def _key(title: str) -> str:
    """A title without HTML escapes, in NFC: dumps differ in both."""
    return normal(html.unescape(title))


def _place(number: int, entry: Any) -> str:
    uid = entry.get("uid") if isinstance(entry, dict) else None
    return f"hover-{uid}" if isinstance(uid, str) and uid.strip() else f"claim {number + 1}"


def _shape_problems(entry: Any) -> Iterator[tuple[str | None, str]]:
    if not isinstance(entry, dict):
        yield None, "must be a JSON object"
        return
    for name in ("uid", "claim"):
        if not isinstance(entry.get(name), str) or not entry[name].strip():
            yield name, "missing or no text"
    if not isinstance(entry.get("label"), str | None):
        yield "label", "no text"
    facts = entry.get("supporting_facts")
    if facts is None and entry.get("label") is None:
        return  # the test file has neither
    if not isinstance(facts, list) or not all(map(_is_fact, facts)):
        yield "supporting_facts", "missing or no list of [page title, sentence number]"


def _is_fact(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and isinstance(value[0], str)
        and type(value[1]) is int
    )


def _page(record: dict[str, Any]) -> Page:
    title, texts = record["title"], record.get("text")
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError(
            f"text: no list of sentences, in page {title!r}; "
            "the introductions (abstracts) are needed, not the full pages"
        )
    return _page_of(title, texts)


def _page_of(title: str, texts: Sequence[str]) -> Page:
    shown = (normal(html.unescape(text)).strip() for text in texts)
    return Page(_key(title), {number: text for number, text in enumerate(shown) if text})


def _is_database(file: Path) -> bool:
    try:
        with file.open("rb") as stream:
            return stream.read(len(_SQLITE)) == _SQLITE
    except OSError as error:
        raise BadInput(f"{file}: cannot be read: {error.strerror or error}") from error


def _database_pages(file: Path, wanted: set[str], progress: Progress | None) -> dict[str, Page]:
    """Pages of the table ``documents(id, text)``; ``id`` is the title, mostly in NFD."""
    try:
        with closing(_read_only(file)) as database:
            texts = _database_texts(database, wanted, progress)
            if texts and not any(MARK in text for text in texts.values()):
                _check_marks(database, file)
    except sqlite3.Error as error:
        raise BadInput(
            f"{file}: {error}; a SQLite database with a table documents(id, text) is needed"
        ) from error
    return {key: _page_of(key, text.split(MARK)) for key, text in texts.items()}


def _read_only(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)


def _database_texts(
    database: sqlite3.Connection, wanted: set[str], progress: Progress | None
) -> dict[str, str]:
    texts: dict[str, str] = {}
    for count, key in enumerate(sorted(wanted), start=1):
        for title in _spellings(key):
            found = database.execute("SELECT text FROM documents WHERE id = ?", (title,)).fetchone()
            if found is not None and isinstance(found[0], str):
                texts.setdefault(key, found[0])
                if found[0].replace(MARK, "").strip():
                    texts[key] = found[0]
                    break
        if progress is not None:
            progress(count)
    return texts


def _spellings(key: str) -> Iterator[str]:
    """How a database may write a title, the key itself first."""
    for title in (key, html.escape(key, quote=False), html.escape(key)):
        yield title
        yield unicodedata.normalize("NFD", title)


def _check_marks(database: sqlite3.Connection, file: Path) -> None:
    """Refuse a database of running text: its sentence numbers could only be guessed."""
    query = "SELECT 1 FROM documents WHERE instr(text, ?) LIMIT 1"
    if database.execute(query, (MARK,)).fetchone() is None:
        raise BadInput(
            f"{file}: its pages do not mark where sentences end (no {MARK}), so the sentences that "
            "claims name by number cannot be found: give HotpotQA's introductions instead "
            "(enwiki-20171001-pages-meta-current-withlinks-abstracts, files wiki_*.bz2)"
        )
