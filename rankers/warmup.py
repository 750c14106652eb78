"""The first call of a prompt prefix goes alone, so that the calls behind it hit a warm cache."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

#: Prefixes remembered; a server's own cache does not keep more for long.
_REMEMBERED = 4096


class Warmup:
    """Turns for calls by prefix, shared by the threads of one LLM object."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._warm: OrderedDict[int, None] = OrderedDict()
        self._under_way: dict[int, threading.Event] = {}

    @contextmanager
    def turn(self, prefix: str | None) -> Iterator[None]:
        """Wait while another call is the first one with ``prefix``; None never waits.

        When the first call fails, the next one in line goes alone.
        """
        if prefix is None:
            yield
            return
        key = hash(prefix)
        if not self._is_first(key):
            yield
            return
        try:
            yield
            with self._lock:
                self._warm[key] = None
                while len(self._warm) > _REMEMBERED:
                    self._warm.popitem(last=False)
        finally:
            with self._lock:
                self._under_way.pop(key).set()

    def _is_first(self, key: int) -> bool:
        """Whether the caller is to go alone; returns once that is settled."""
        while True:
            with self._lock:
                if key in self._warm:
                    self._warm.move_to_end(key)
                    return False
                first = self._under_way.get(key)
                if first is None:
                    self._under_way[key] = threading.Event()
                    return True
            first.wait()
