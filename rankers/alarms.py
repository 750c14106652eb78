"""Something to do at a point in time unless it is called off before: one thread for any number."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Alarms:
    """Alarms of one process, rung by one thread that is started with the first of them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._pending: dict[object, tuple[float, Callable[[], None]]] = {}
        self._wakes_at = math.inf
        self._thread: threading.Thread | None = None

    @contextmanager
    def at(self, end: float, ring: Callable[[], None]) -> Iterator[None]:
        """Call ``ring`` at ``end`` (monotonic clock) unless the block is left before.

        ``ring`` must be quick and must not raise. It is never called after the block.
        """
        key = object()
        with self._changed:
            self._pending[key] = (end, ring)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="alarms")
                self._thread.start()
            elif end < self._wakes_at:
                self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._pending.pop(key, None)

    def _run(self) -> None:
        with self._changed:
            while True:
                now = time.monotonic()
                for key in [key for key, (end, _) in self._pending.items() if end <= now]:
                    self._pending.pop(key)[1]()
                ends = [end for end, _ in self._pending.values()]
                self._wakes_at = min(ends, default=math.inf)
                self._changed.wait(self._wakes_at - now if ends else None)
