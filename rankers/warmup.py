"""The first call of a prompt prefix goes alone, so that the calls behind it hit a warm cache."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

#: Prefixes remembered; a server's own cache does not keep more for long.
_REMEMBERED = 4096


class Warmup:
    """Turns for calls by prefix, shared by the threads of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._warm: OrderedDict[int, None] = OrderedDict()
        self._under_way: dict[int, threading.Event] = {}

    @contextmanager
    def turn(self, prefix: str | None) -> Iterator[bool]:
        """Wait while another call is the first one with ``prefix``; None never waits.

        Yields whether it waited. When the first call fails, the next one in line goes alone.
        """
        if prefix is None:
            yield False
            return
        key = hash(prefix)
        is_first, has_waited = self._settle(key)
        if not is_first:
            yield has_waited
            return
        try:
            yield has_waited
            with self._lock:
                self._warm[key] = None
                while len(self._warm) > _REMEMBERED:
                    self._warm.popitem(last=False)
        finally:
            with self._lock:
                self._under_way.pop(key).set()

    def _settle(self, key: int) -> tuple[bool, bool]:
        """Whether the caller is to go alone, and whether it had to wait to learn it."""
        has_waited = False
        while True:
            with self._lock:
                if key in self._warm:
                    self._warm.move_to_end(key)
                    return False, has_waited
                first = self._under_way.get(key)
                if first is None:
                    self._under_way[key] = threading.Event()
                    return True, has_waited
            first.wait()
            has_waited = True
