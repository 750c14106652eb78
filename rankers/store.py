"""Where LLM answers are kept under the hash of their request, so that none is paid for twice."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

from rankers.errors import BadInput

_SECONDS_TO_WAIT_FOR_A_LOCK = 30


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
        self._lock = threading.Lock()

    def get(self, key: str) -> dict[str, Any] | None:
        """The response stored under ``key``, or None; a copy, as every store hands out."""
        text = self._responses.get(key)
        return None if text is None else json.loads(text)

    def put(self, key: str, response: dict[str, Any]) -> None:
        """Keep ``response`` unless ``key`` has one."""
        with self._lock:
            self._responses.setdefault(key, json.dumps(response))


class FileStore:
    """Answers in one SQLite file, shared by any number of threads and processes on a machine.

    ``put`` returns once the answer is on the disk (write-ahead log, full synchronisation), so an
    answer that was used survives ``kill -9`` and a power cut; a half-written one is rolled back by
    SQLite when the file is opened next. Beside ``path`` SQLite keeps ``path-wal`` and ``path-shm``
    while the file is in use. The file must be on a local disk, not on a network share.

    Every operation opens its own connection: it takes well under a millisecond against the seconds
    of a model's answer, and nothing is left over to break in a forked worker or another thread.
    Raises BadInput, naming the file, when it cannot be made, read or written.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"{self.path.parent}: cannot make the folder ({error})") from None
        with self._connection() as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS response ("
                "key TEXT PRIMARY KEY, body TEXT NOT NULL, "
                "stored_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP) WITHOUT ROWID"
            )

    def get(self, key: str) -> dict[str, Any] | None:
        """The response stored under ``key``, or None."""
        with self._connection() as connection:
            row = connection.execute("SELECT body FROM response WHERE key = ?", (key,)).fetchone()
        return None if row is None else json.loads(row[0])

    def put(self, key: str, response: dict[str, Any]) -> None:
        """Write ``response`` to the disk unless ``key`` has one."""
        with self._connection() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO response (key, body) VALUES (?, ?)",
                (key, json.dumps(response)),
            )

    def __len__(self) -> int:
        """Number of stored answers."""
        with self._connection() as connection:
            return int(connection.execute("SELECT count(*) FROM response").fetchone()[0])

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """A connection that commits every statement by itself and is closed at the end."""
        try:
            with closing(
                sqlite3.connect(
                    self.path, timeout=_SECONDS_TO_WAIT_FOR_A_LOCK, isolation_level=None
                )
            ) as connection:
                connection.execute("PRAGMA synchronous = FULL")
                yield connection
        except sqlite3.Error as error:
            raise BadInput(
                f"{self.path}: cannot be used to keep answers ({error}); "
                "name a new file or one made by this program"
            ) from error
