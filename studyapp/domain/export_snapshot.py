"""One consistent view of the database for a read that takes long."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from django.db import connection, transaction


@contextmanager
def read_snapshot() -> Iterator[None]:
    """Everything read inside is as it was at the first read; nobody who writes has to wait.

    Inside a transaction that is already running, its own isolation holds.
    """
    if connection.in_atomic_block:
        yield
        return
    with ExitStack() as stack:
        _begin_reading(stack)
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield


def _begin_reading(stack: ExitStack) -> None:
    """Begin a transaction; on SQLite as a reader, since the configured mode locks writers out."""
    # Connecting sets the mode, so connect first.
    connection.ensure_connection()
    if connection.vendor != "sqlite":
        stack.enter_context(transaction.atomic())
        return
    configured = connection.transaction_mode
    connection.transaction_mode = "DEFERRED"
    try:
        stack.enter_context(transaction.atomic())
    finally:
        connection.transaction_mode = configured
