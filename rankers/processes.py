"""What every process has to make for itself, however it was started."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class PerProcess(Generic[T]):
    """A value that each process makes when it first asks.

    A forked worker inherits its parent's memory but not its threads: a lock may be held by a thread
    that is gone, a connection is shared with the parent. So it must not touch either.
    """

    def __init__(self, make: Callable[[], T]):
        self._make = make
        self._made: dict[int, T] = {}

    def __call__(self) -> T:
        """This process's own value; all its threads get the same one."""
        pid = os.getpid()
        if pid not in self._made:
            # setdefault is atomic: of two threads that come first together, one value stays.
            self._made.setdefault(pid, self._make())
        return self._made[pid]
