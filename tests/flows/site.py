"""A whole installation in a folder of its own: real commands, worker and web processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from studyapp.simulation.server import free_port
from tests import backends
from tests.shared_data import ROOT


class Site:
    """Runs on the backend of this test run; everything it starts is ended by ``close``."""

    _n_databases = 0

    def __init__(self, folder: Path, **settings: str):
        self.folder = folder
        self.environment = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("SUFFICE_", "OPENAI_", "CELERY_", "DJANGO_"))
        } | {
            "SUFFICE_DATA_DIR": str(folder / "var"),
            "DATABASE_URL": f"sqlite:///{folder / 'site.sqlite3'}",
            "PYTHONUNBUFFERED": "1",
        }
        if backends.POSTGRES is not None and backends.REDIS is not None:
            Site._n_databases += 1
            number = Site._n_databases
            self.environment["DATABASE_URL"] = backends.POSTGRES.create(f"site_{number}")
            self.environment["CELERY_BROKER_URL"] = backends.REDIS.url(number % 15 + 1)
        self.environment |= settings
        self._processes: list[subprocess.Popen[bytes]] = []
        self.manage("migrate", "--no-input")

    def manage(self, *arguments: object, status: int = 0) -> subprocess.CompletedProcess[str]:
        """Run a manage.py command and insist on its exit status."""
        return self.run("manage.py", *arguments, status=status)

    def run(self, *arguments: object, status: int = 0) -> subprocess.CompletedProcess[str]:
        """Run ``python …`` in the repository and insist on the exit status."""
        done = subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == status, (arguments, done.returncode, done.stdout, done.stderr)
        return done

    def ask(self, code: str) -> str:
        """Run Django code that prints something, and return what it printed."""
        prelude = "from studyapp.models import *\n"
        return self.manage("shell", "--no-imports", "-c", prelude + code).stdout.strip()

    def start_worker(self, *, concurrency: int = 2) -> subprocess.Popen[bytes]:
        """``celery -A studyapp worker`` in a process group of its own."""
        return self._start(
            "-m", "celery", "-A", "studyapp", "worker", "--concurrency", concurrency,
            "--loglevel", "WARNING",
        )  # fmt: skip

    def start_web(self, port: int | None = None) -> tuple[subprocess.Popen[bytes], str]:
        """The web server on loopback; returns the process and its base address once it answers."""
        port = port or free_port()
        process = self._start(
            "-m", "granian", "--interface", "wsgi", "studyapp.wsgi:application",
            "--host", "127.0.0.1", "--port", port, "--blocking-threads", 4, "--no-ws",
            "--log-level", "warning",
        )  # fmt: skip
        base_url = f"http://127.0.0.1:{port}"
        import httpx

        def answers() -> bool:
            try:
                return httpx.get(f"{base_url}/healthz").status_code == 200
            except httpx.TransportError:
                return False

        wait_for(answers, 30)
        return process, base_url

    def _start(self, *arguments: object) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            cwd=ROOT,
            env=self.environment,
            start_new_session=True,
        )
        self._processes.append(process)
        return process

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """kill -9 of the process and everything it started."""
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)

    def stop(self, process: subprocess.Popen[bytes]) -> None:
        """End a process politely."""
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                self.kill(process)

    def close(self) -> None:
        for process in reversed(self._processes):
            self.stop(process)


def wait_for(condition: Callable[[], Any], seconds: float, *, every: float = 0.1) -> Any:
    """Wait until ``condition()`` is true and return it; AssertionError after ``seconds``."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(every)
    raise AssertionError(f"not within {seconds} s: {condition}")
