"""What deletion leaves in the files of a database, and how it is made to go."""

from __future__ import annotations

import logging

from django.conf import settings
from django.db import DatabaseError, connection

logger = logging.getLogger(__name__)

#: How long a checkpoint waits for readers; the next one takes along what it could not.
WAIT_MS = 500


def forget_deleted_text() -> None:
    """Empty SQLite's write-ahead log, in which deleted text stands until it is overwritten.

    To be called after the commit. The pages themselves are overwritten by ``secure_delete``
    (settings). As far as it goes: a reader that is busy keeps the log until the next time. On
    PostgreSQL nothing is done; there the vacuum clears deleted rows.
    """
    if connection.vendor != "sqlite":
        return
    usual_ms = int(settings.DATABASES["default"]["OPTIONS"]["timeout"] * 1000)
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA busy_timeout = {WAIT_MS}")
            try:
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                cursor.execute(f"PRAGMA busy_timeout = {usual_ms}")
    except DatabaseError:
        logger.warning("The write-ahead log could not be emptied; the next withdrawal tries again.")
