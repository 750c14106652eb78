"""Names for personal links, from a CSV file or typed one a line: checked, all or nothing."""

from __future__ import annotations

import csv
import io
import unicodedata
from dataclasses import dataclass

from studyapp.enums import RunKind
from studyapp.errors import BadUpload
from studyapp.models.links import MAX_NAME

#: Most names at once, and the largest file.
MAX_NAMES = 10_000
MAX_BYTES = 5_000_000
#: Kinds that people are invited to; simulated runs make their own way.
KINDS = (RunKind.REAL.value, RunKind.PILOT.value)
#: More problems than these are only counted.
MAX_PROBLEMS = 50

_HEADERS = (["name"], ["name", "kind"])


@dataclass(frozen=True)
class NewLink:
    """One person to make a link for, and the line that names them."""

    line: int
    name: str
    run_kind: str


def read_csv_names(data: bytes, file_name: str, run_kind: str = RunKind.REAL) -> list[NewLink]:
    """The people of a CSV file with the header ``name`` or ``name,kind``.

    ``run_kind`` is that of lines without one. A BOM, CRLF and blank lines are tolerated. Raises
    BadUpload with a line for every problem: file, line, field, what to do.
    """
    if len(data) > MAX_BYTES:
        raise BadUpload(f"{file_name}: the file has more than {MAX_BYTES // 1_000_000} MB.")
    rows = _rows(_text(data, file_name), file_name)
    if not rows or [cell.strip().lower() for cell in rows[0][1]] not in _HEADERS:
        raise BadUpload(f"{file_name}, line 1: the first line must be name, or name,kind.")
    n_columns = len(rows[0][1])
    problems: list[str] = []
    found = []
    for line, cells in rows[1:]:
        where = f"{file_name}, line {line}"
        if len(cells) > n_columns:
            problems.append(
                f"{where}: {len(cells)} fields where the first line has {n_columns}; put a name "
                "with a comma in double quotes."
            )
            continue
        kind = (cells[1].strip().lower() if len(cells) > 1 else "") or str(run_kind)
        if kind not in KINDS:
            problems.append(f"{where}, field kind: must be {' or '.join(KINDS)}, or empty.")
        found.append(NewLink(line, cells[0].strip(), kind))
    return _checked(found, file_name, problems)


def read_typed_names(text: str, run_kind: str = RunKind.REAL) -> list[NewLink]:
    """The people of a text with one name a line; blank lines are passed over. Raises BadUpload."""
    lines = enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), start=1)
    found = [NewLink(line, name.strip(), str(run_kind)) for line, name in lines if name.strip()]
    return _checked(found, "the list", [])


def _text(data: bytes, file_name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise BadUpload(f"{file_name}, line {line}: not UTF-8; save the file as UTF-8.") from None


def _rows(text: str, file_name: str) -> list[tuple[int, list[str]]]:
    """Each row with the line on which it begins, blank ones left out. Raises BadUpload."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows = []
    begins = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                rows.append((begins, cells))
            begins = reader.line_num + 1
    except csv.Error:
        raise BadUpload(
            f"{file_name}, line {begins}: cannot be read as CSV; look for a double quote that is "
            "not closed."
        ) from None
    return rows


def _checked(found: list[NewLink], source: str, problems: list[str]) -> list[NewLink]:
    """The same people, if there is nothing wrong with any of them."""
    if not found and not problems:
        raise BadUpload(f"{source}: there is no name in it.")
    if len(found) > MAX_NAMES:
        raise BadUpload(f"{source}: {len(found):,} names; take at most {MAX_NAMES:,} at a time.")
    seen: dict[str, int] = {}
    for each in found:
        where = f"{source}, line {each.line}, field name"
        if fault := name_fault(each.name):
            problems.append(f"{where}: {fault}")
        elif each.name in seen:
            problems.append(
                f"{where}: {each.name!r} is on line {seen[each.name]} already; add something that "
                "tells the two apart."
            )
        seen.setdefault(each.name, each.line)
    if problems:
        raise BadUpload(_cut(problems))
    return found


def name_fault(name: str) -> str:
    """What is wrong with a name; empty where nothing is."""
    if not name:
        return "is empty; write a name or take the line out."
    if len(name) > MAX_NAME:
        return f"has {len(name)} characters; the most is {MAX_NAME}."
    if any(unicodedata.category(sign) in ("Cc", "Cs") or sign == "�" for sign in name):
        return "has a sign that cannot be read or printed; type the name again."
    return ""


def _cut(problems: list[str]) -> list[str]:
    n_more = len(problems) - MAX_PROBLEMS
    more = [f"… and {n_more:,} further problems."] if n_more > 0 else []
    return problems[:MAX_PROBLEMS] + more
