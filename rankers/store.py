"""Where LLM answers are kept under the hash of their request, so that none is paid for twice."""

from __future__ import annotations

import json
import sqlite3
from collections import deque
from pathlib import Path
from typing import Any, Protocol

from rankers.errors import BadInput, RankerError, StoreError
from rankers.sqlite_link import Link

_KINDS_OF_TROUBLE = {
    sqlite3.SQLITE_FULL: "the disk is full: free some space",
    sqlite3.SQLITE_IOERR: "the disk is full or failing: free some space or check it",
    sqlite3.SQLITE_BUSY: "another program keeps it locked: wait for it or stop it",
    sqlite3.SQLITE_LOCKED: "another program keeps it locked: wait for it or stop it",
    sqlite3.SQLITE_READONLY: "it may not be written: check the permissions of file and folder",
    sqlite3.SQLITE_PERM: "it may not be written: check the permissions of file and folder",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: check file, folder and their permissions",
}


class ResponseStore(Protocol):
    """Answers by key. Implementations are safe with several threads at once."""

    def get(self, key: str) -> dict[str, Any] | None:
        """The response stored under ``key``, or None."""

    def put(self, key: str, response: dict[str, Any]) -> None:
        """Keep ``response`` for good before returning. What is already there stays."""


class MemoryStore:
    """Answers of one process, gone when it ends."""

    def __init__(self) -> None:
        self._responses: dict[str, str] = {}

    def get(self, key: str) -> dict[str, Any] | None:
        """The response stored under ``key``, or None; a copy, as every store hands out."""
        text = self._responses.get(key)
        return None if text is None else json.loads(text)

    def put(self, key: str, response: dict[str, Any]) -> None:
        """Keep ``response`` unless ``key`` has one."""
        self._responses.setdefault(key, json.dumps(response))  # atomic


class _Waiting:
    """An answer on its way to the disk: not yet settled, written, or refused by ``error``."""

    def __init__(self, key: str, body: str):
        self.row = (key, body)
        self.is_settled = False
        self.error: sqlite3.Error | None = None


class FileStore:
    """Answers in one SQLite file, shared by any number of threads and processes on a machine.

    ``put`` returns once the answer is on the disk (write-ahead log, full synchronisation), so an
    answer that was used survives ``kill -9`` and a power cut; a half-written one is rolled back by
    SQLite when the file is opened next. Beside ``path`` SQLite keeps ``path-wal`` and ``path-shm``
    while the file is in use. The file must be on a local disk, not on a network share.

    Answers that arrive while another one is being written go to the disk together: the disk is
    waited for once, however many threads have something to keep.
    Raises BadInput, naming the file, when it is no such store, and StoreError when it cannot be
    read or written; what was stored before is not touched by either.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"{self.path.parent}: cannot make the folder ({error})") from None
        self._waiting: deque[_Waiting] = deque()
        # A reader does not have to wait until a writer has the disk's word.
        self._reader, self._writer = Link(self.path), Link(self.path)
        try:
            self._prepare()
        except sqlite3.Error as error:
            raise self._trouble(error) from error

    def get(self, key: str) -> dict[str, Any] | None:
        """The response stored under ``key``, or None."""
        rows = self._read("SELECT body FROM response WHERE key = ?", key)
        return json.loads(rows[0][0]) if rows else None

    def put(self, key: str, response: dict[str, Any]) -> None:
        """Write ``response`` to the disk unless ``key`` has one."""
        mine = _Waiting(key, json.dumps(response))
        self._waiting.append(mine)
        try:
            with self._writer.use() as connection:
                if not mine.is_settled:
                    _write(connection, [mine, *self._others(mine)])
        except sqlite3.Error as error:
            mine.error = mine.error or error
        if mine.error is not None:
            raise self._trouble(mine.error) from mine.error

    def __len__(self) -> int:
        """Number of stored answers."""
        return int(self._read("SELECT count(*) FROM response")[0][0])

    def _others(self, mine: _Waiting) -> list[_Waiting]:
        """Take what waits besides ``mine``; only the thread with the writing connection may."""
        taken = [self._waiting.popleft() for _ in range(len(self._waiting))]
        return [one for one in taken if one is not mine]

    def _read(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        try:
            with self._reader.use() as connection:
                return connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise self._trouble(error) from error

    def _prepare(self) -> None:
        """Make the table, unless the file is somebody else's database."""
        with self._writer.use() as connection:
            tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            names = {name for (name,) in tables.fetchall()}
            if names and "response" not in names:
                raise BadInput(
                    f"{self.path}: is a database of another program (tables: "
                    f"{', '.join(sorted(names)[:5])}); name a new file or one made by this program"
                )
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS response ("
                "key TEXT PRIMARY KEY, body TEXT NOT NULL, "
                "stored_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP) WITHOUT ROWID"
            )
            connection.execute("SELECT key, body FROM response LIMIT 1").fetchall()

    def _trouble(self, error: sqlite3.Error) -> RankerError:
        """The error to raise: what happened, and what to do about it."""
        kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if kind not in _KINDS_OF_TROUBLE:
            return BadInput(
                f"{self.path}: cannot be used to keep answers ({error}); "
                "name a new file or one made by this program"
            )
        return StoreError(
            f"{self.path}: an answer cannot be kept or read ({error}); {_KINDS_OF_TROUBLE[kind]} "
            "and start again, what was stored before is used again"
        )


def _write(connection: sqlite3.Connection, batch: list[_Waiting]) -> None:
    """Commit a batch; all of it is settled afterwards, by being written or by the error raised.

    An interrupt settles nothing: then each of the other threads writes its own answer.
    """
    error = None
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(
            "INSERT OR IGNORE INTO response (key, body) VALUES (?, ?)", [one.row for one in batch]
        )
        connection.execute("COMMIT")
    except sqlite3.Error as trouble:
        error = trouble
    for one in batch:
        one.error, one.is_settled = error, True
    if error is not None:
        raise error
