"""The end of a request and the size of its answer, kept by every step of its connection.

An HTTP library bounds each wait for more bytes, so a server that sends one now and then, in front
of the headers, within them or in an error's body, could keep a request going for ever. Here each
step of a connection gets only the time that the whole request has left. What is read is counted,
so that headers and errors' bodies, which the client reads on its own, cannot fill the memory.
"""

from __future__ import annotations

import importlib
import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Bytes written in one step: a server may take a long prompt as slowly as it likes.
_PIECE = 65_536


class _Current(threading.local):
    """What the request of this thread may still take: until when, and how many bytes."""

    end = math.inf
    room = math.inf


_current = _Current()


class TooLarge(Exception):
    """An answer is larger than it may be; the rest of it was not read."""


@contextmanager
def until(end: float, n_bytes: float) -> Iterator[None]:
    """Inside, this thread's steps on bounded connections end by ``end`` (monotonic clock).

    Reading more than ``n_bytes`` raises TooLarge.
    """
    _current.end, _current.room = end, n_bytes
    try:
        yield
    finally:
        _current.end = _current.room = math.inf


def bound(http_client: Any) -> None:
    """Let all connections that an httpx client will make keep to ``until``.

    The library has no public way to this for a client that also honours proxy settings.
    """
    for transport in [http_client._transport, *http_client._mounts.values()]:
        if transport is not None:
            pool = transport._pool
            pool._network_backend = _Backend(pool._network_backend)


class _Wrapper:
    """Something of the HTTP library's core, used as it is but for some methods."""

    def __init__(self, wrapped: Any):
        self._wrapped = wrapped

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wrapped, name)


class _Backend(_Wrapper):
    """Makes connections whose steps are bounded."""

    def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, *args: Any, **more: Any
    ) -> _Stream:
        seconds = _left(self._wrapped, "ConnectTimeout", timeout)
        return _Stream(self._wrapped.connect_tcp(host, port, seconds, *args, **more))


class _Stream(_Wrapper):
    """A connection whose steps are bounded."""

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data: bytes = self._wrapped.read(max_bytes, _left(self._wrapped, "ReadTimeout", timeout))
        _current.room -= len(data)
        if _current.room < 0:
            raise TooLarge
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _PIECE):
            seconds = _left(self._wrapped, "WriteTimeout", timeout)
            self._wrapped.write(buffer[start : start + _PIECE], seconds)

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> _Stream:
        seconds = _left(self._wrapped, "ConnectTimeout", timeout)
        return _Stream(self._wrapped.start_tls(ssl_context, server_hostname, seconds))


def _left(core: Any, error: str, timeout: float | None) -> float | None:
    """Seconds for one step, or the library's own error of that name when none are left."""
    left = _current.end - time.monotonic()
    if left <= 0:
        library = importlib.import_module(type(core).__module__.split(".")[0])
        raise getattr(library, error)("the time of the whole request is over")
    if left == math.inf:
        return timeout
    return left if timeout is None else min(left, timeout)
