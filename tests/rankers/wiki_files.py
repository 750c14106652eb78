"""Small Wikipedia dumps and claims of FEVER and HoVer for tests, all texts invented."""

from __future__ import annotations

import bz2
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any


def jsonl(path: Path, *records: Any) -> Path:
    """Write records as JSON Lines, text as it is, and return the path."""
    lines = [one if isinstance(one, str) else json.dumps(one) for one in records]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def fever_page(page: str, *sentences: str) -> dict[str, str]:
    """A page of FEVER's dump with numbered sentences."""
    lines = "\n".join(f"{number}\t{text}" for number, text in enumerate(sentences))
    return {"id": page, "text": " ".join(sentences), "lines": lines}


def fever_claim(*groups: list[tuple[Any, Any]], **changes: Any) -> dict[str, Any]:
    """A FEVER claim; each group lists (page, sentence number)."""
    evidence = [
        [[number, 1000 + number, *fact] for fact in group] for number, group in enumerate(groups)
    ]
    record = {
        "id": 1,
        "verifiable": "VERIFIABLE",
        "label": "SUPPORTS",
        "claim": "The tower opened in 1889.",
        "evidence": evidence,
    }
    return {**record, **changes}


def hover_claim(*facts: tuple[str, int], **changes: Any) -> dict[str, Any]:
    """A HoVer claim with its supporting facts."""
    record = {
        "uid": "u1",
        "claim": "The tower opened in 1889.",
        "supporting_facts": [list(fact) for fact in facts],
        "label": "SUPPORTED",
        "num_hops": 2,
        "hpqa_id": "5a",
    }
    return {**record, **changes}


def hover_database(path: Path, pages: dict[str, str | None], table: str = "documents") -> Path:
    """A SQLite dump; texts have their sentences joined by [SENT]."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"CREATE TABLE {table} (id PRIMARY KEY, text)")
        database.executemany(f"INSERT INTO {table} VALUES (?, ?)", pages.items())
    return path


def hover_introductions(path: Path, pages: dict[str, list[str]]) -> Path:
    """HotpotQA's introductions: bz2 of JSON Lines."""
    records = [
        {"id": str(number), "url": "https://example.org", "title": title, "text": text}
        for number, (title, text) in enumerate(pages.items())
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bz2.compress("".join(json.dumps(one) + "\n" for one in records).encode()))
    return path
