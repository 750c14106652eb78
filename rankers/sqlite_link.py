"""A lasting connection to an SQLite file that threads share and a fork does not break."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SECONDS_TO_WAIT_FOR_A_LOCK = 30


class Link:
    """One connection, opened when needed and lent to one thread at a time.

    It stays open, since closing the last connection to a file makes SQLite tidy up the log, which
    takes longer than everything else. Before a fork it is closed: SQLite keeps its knowledge of
    file locks in memory, and a child that inherits an open connection, or opens a second one beside
    it, believes it holds locks that only its parent has.
    """

    def __init__(self, path: Path):
        self.path = path
        self._lock = threading.Lock()
        self._holder: list[sqlite3.Connection] = []
        weakref.finalize(self, _close, self._holder)
        with _links_lock:
            _links.add(self)

    @contextmanager
    def use(self) -> Iterator[sqlite3.Connection]:
        """The connection, which commits every statement by itself outside BEGIN and COMMIT.

        After any error it is closed, which undoes what was not committed; the next use opens
        another one. Raises sqlite3.Error.
        """
        with self._lock:
            try:
                if not self._holder:
                    self._holder.append(_connect(self.path))
                yield self._holder[0]
            except BaseException:
                _close(self._holder)
                raise

    def lock_for_fork(self) -> None:
        """Wait for whoever uses the connection, then close it and keep everybody out."""
        self._lock.acquire()
        _close(self._holder)

    def unlock_after_fork(self) -> None:
        """Let threads in again."""
        self._lock.release()


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=_SECONDS_TO_WAIT_FOR_A_LOCK, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def _close(holder: list[sqlite3.Connection]) -> None:
    """Close the connection, if there is one."""
    while holder:
        holder.pop().close()


_links: weakref.WeakSet[Link] = weakref.WeakSet()
_links_lock = threading.Lock()
_locked: list[Link] = []


def _before_fork() -> None:
    _links_lock.acquire()
    for link in list(_links):
        link.lock_for_fork()
        _locked.append(link)


def _after_fork() -> None:
    while _locked:
        _locked.pop().unlock_after_fork()
    _links_lock.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
