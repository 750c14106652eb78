"""The zip of an export, written member by member from streams; its tables also in other forms."""

from __future__ import annotations

import csv
import io
import json
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from studyapp.domain.spreadsheet import NUMERIC_KINDS, safe_text

#: The same date for every file in every zip, so that the same data give the same bytes.
_FILE_DATE = (1980, 1, 1, 0, 0, 0)
#: Rows between two reports of progress.
_REPORT_EVERY = 1000
#: Where the other forms of the tables lie.
SPREADSHEETS, JSON_TABLES = "spreadsheet", "tables"

Row = dict[str, Any]
#: Whether a cell of a column of text holds a number all the same: the row and the column's name.
IsNumber = Callable[[Row, str], bool]


@dataclass(frozen=True)
class Copies:
    """Which further forms of each table go into the zip."""

    jsonl: bool = False
    spreadsheet: bool = False
    has_bom: bool = True


class _Copy(Protocol):
    """A further form of a table, written row by row beside the table itself."""

    name: str
    file: IO[str]

    def add(self, row: Row) -> None: ...


class Archive:
    """A zip that is written file by file from streams; ``rows`` counts the rows of each."""

    def __init__(self, path: Path, advance: Callable[[int], object], copies: Copies | None = None):
        self.rows: dict[str, int] = {}
        self._zip = zipfile.ZipFile(path, "x", zipfile.ZIP_DEFLATED)
        self._advance = advance
        self._copies = copies or Copies()
        self._folder = path.parent

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def add_text(self, name: str, pieces: Iterable[str]) -> None:
        """A text file from pieces of it."""
        with self._text_member(name) as file:
            file.writelines(pieces)

    def add_records(self, name: str, records: Iterable[Row]) -> None:
        """A JSON Lines file."""
        with self._text_member(name) as file:
            for record in self._counted(name, records):
                file.write(_json_line(record))

    def add_table(
        self,
        table: str,
        kinds: dict[str, str],
        rows: Iterable[Row],
        is_number: IsNumber = lambda row, column: False,
    ) -> None:
        """A CSV file (RFC 4180) with a header, and the copies of it that are wanted.

        ``kinds`` are the kinds of the columns by name, in the order of the file; every row must
        hold every column.
        """
        columns = list(kinds)
        with ExitStack() as stack:
            copies = self._begun_copies(stack, table, kinds, is_number)
            with self._text_member(f"{table}.csv") as file:
                writer = _csv_writer(file)
                writer.writerow(columns)
                for row in self._counted(f"{table}.csv", rows):
                    writer.writerow([row[column] for column in columns])
                    for copy in copies:
                        copy.add(row)
            for copy in copies:
                self._add_copy(copy)
                self.rows[copy.name] = self.rows[f"{table}.csv"]

    def _begun_copies(
        self, stack: ExitStack, table: str, kinds: dict[str, str], is_number: IsNumber
    ) -> list[_Copy]:
        """The copies of a table, each in a file without a name: a zip takes one member at once."""

        def spool() -> IO[str]:
            return stack.enter_context(
                tempfile.TemporaryFile("w+", encoding="utf-8", newline="", dir=self._folder)
            )

        copies: list[_Copy] = []
        if self._copies.jsonl:
            copies.append(_JsonTable(table, kinds, spool()))
        if self._copies.spreadsheet:
            copies.append(_Spreadsheet(table, kinds, spool(), is_number, self._copies.has_bom))
        return copies

    def _add_copy(self, copy: _Copy) -> None:
        copy.file.flush()
        copy.file.buffer.seek(0)  # type: ignore[attr-defined]
        with self._member(copy.name) as raw:
            shutil.copyfileobj(copy.file.buffer, raw, 1024 * 1024)  # type: ignore[attr-defined]

    @contextmanager
    def _text_member(self, name: str) -> Iterator[io.TextIOWrapper]:
        with self._member(name) as raw:
            with io.TextIOWrapper(raw, encoding="utf-8", newline="") as text:
                yield text

    @contextmanager
    def _member(self, name: str) -> Iterator[IO[bytes]]:
        info = zipfile.ZipInfo(name, _FILE_DATE)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.create_system = 3
        info.external_attr = 0o100644 << 16
        # Sizes are not known beforehand and may pass 4 GB.
        with self._zip.open(info, "w", force_zip64=True) as raw:
            yield raw

    def _counted(self, name: str, rows: Iterable[Row]) -> Iterator[Row]:
        count = 0
        for row in rows:
            yield row
            count += 1
            if count % _REPORT_EVERY == 0:
                self._advance(_REPORT_EVERY)
        self._advance(count % _REPORT_EVERY)
        self.rows[name] = count


class _JsonTable:
    """The table as JSON Lines: numbers and truth values as such, null for an empty cell."""

    def __init__(self, table: str, kinds: dict[str, str], file: IO[str]):
        self.name = f"{JSON_TABLES}/{table}.jsonl"
        self.file = file
        self._kinds = kinds

    def add(self, row: Row) -> None:
        self.file.write(
            _json_line({name: _typed(row[name], kind) for name, kind in self._kinds.items()})
        )


class _Spreadsheet:
    """The table as a CSV file that a spreadsheet program opens without changing a cell."""

    def __init__(
        self,
        table: str,
        kinds: dict[str, str],
        file: IO[str],
        is_number: IsNumber,
        has_bom: bool,
    ):
        self.name = f"{SPREADSHEETS}/{table}.csv"
        self.file = file
        self._kinds = kinds
        self._is_number = is_number
        self._writer = _csv_writer(file)
        if has_bom:
            file.write("\ufeff")
        self._writer.writerow(map(safe_text, kinds))

    def add(self, row: Row) -> None:
        self._writer.writerow([self._cell(row, name, kind) for name, kind in self._kinds.items()])

    def _cell(self, row: Row, name: str, kind: str) -> Any:
        value = row[name]
        if value is None or kind in NUMERIC_KINDS or self._is_number(row, name):
            return value
        return safe_text(str(value))


def _csv_writer(file: Any) -> Any:
    # With \r\n as line end the writer also quotes cells that hold a lone \r or \n.
    return csv.writer(file, lineterminator="\r\n")


def _json_line(value: Row) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n"


def _typed(value: Any, kind: str) -> Any:
    """A cell as JSON has it: rows hold truth values as text, and some missing texts as empty."""
    if value is None or value == "":
        return None
    return value == "true" if kind == "bool" else value
