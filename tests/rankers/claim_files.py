"""Small claims files for tests."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from rankers.formats import Row, read_rows

GOOD = {
    "id": "c1",
    "claim": "The tower opened in 1889.",
    "label": "supported",
    "candidates": ["It is a tower.", "It opened in 1889.", "It is in Paris."],
    "gold_sets": [[1]],
}


def line(**changes: Any) -> bytes:
    """A good claim's line with some fields changed; a field set to ``...`` is left out."""
    record = {key: value for key, value in {**GOOD, **changes}.items() if value is not ...}
    return json.dumps(record).encode() + b"\n"


def rows(data: bytes, format_name: str = "interchange") -> list[Row]:
    """All rows of some bytes."""
    return list(read_rows(io.BytesIO(data), format_name))


def problems(data: bytes, format_name: str = "interchange") -> list[str]:
    """All problems of some bytes, as they are printed."""
    return [str(problem) for row in rows(data, format_name) for problem in row.problems]


def write(path: Path, *claims: dict[str, Any]) -> Path:
    """Write claims, each a good one with changes, and return the path."""
    path.write_bytes(b"".join(line(**changes) for changes in claims))
    return path
