"""An installation for measurements, on PostgreSQL, in a temporary folder."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

os.environ.setdefault("SUFFICE_TEST_BACKEND", "postgres")


@contextmanager
def postgres_site() -> Iterator[object]:
    """A ``tests.flows.site.Site`` on a PostgreSQL server of its own."""
    from tests.flows.site import Site

    with tempfile.TemporaryDirectory(prefix="suffice-bench-") as folder:
        site = Site(Path(folder))
        try:
            yield site
        finally:
            site.close()
