"""A web server of our own on loopback: the same WSGI server that serves a real study."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from studyapp.errors import StudyError


def free_port(wanted: int = 0) -> int:
    """``wanted`` if nobody listens there, else a free port of loopback."""
    for port in (wanted, 0) if wanted else (0,):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise StudyError("No free port on this machine.")


def start_web(
    port: int, *, threads: int = 4, public_url: str | None = None
) -> subprocess.Popen[bytes]:
    """Start granian on 127.0.0.1:``port`` in a process group of its own.

    ``public_url`` is the address that its pages hand out, else the one in the environment. The
    caller waits with ``wait_until_up`` and ends it with ``stop``.
    """
    environment = os.environ | {
        "SUFFICE_SSL_REDIRECT": "false",
        "SUFFICE_ALLOWED_HOSTS": "127.0.0.1,localhost",
    }
    if public_url:
        environment["SUFFICE_PUBLIC_URL"] = public_url
    command = [sys.executable, "-m", "granian", "--interface", "wsgi", "studyapp.wsgi:application"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--blocking-threads", str(threads)]
    command += ["--no-ws", "--log-level", "warning"]
    return subprocess.Popen(command, env=environment, start_new_session=True)


def wait_until_up(process: subprocess.Popen[bytes], port: int, *, seconds: float = 30) -> None:
    """Wait until the server takes connections. Raises StudyError when it ends or stays silent."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise StudyError(f"The web server ended at once with status {process.returncode}.")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise StudyError(f"The web server does not answer on port {port}.")


def stop(process: subprocess.Popen[bytes], *, seconds: float = 10) -> None:
    """End a process that we started: politely, then for good."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(seconds)


@contextmanager
def running_web() -> Iterator[str]:
    """A server for the time of the block; gives its base address."""
    port = free_port()
    process = start_web(port)
    try:
        wait_until_up(process, port)
        yield f"http://127.0.0.1:{port}"
    finally:
        stop(process)
