"""Requests are counted in a cache that tests share: every test begins with an empty one."""

from __future__ import annotations

import pytest
from django.core.cache import cache


@pytest.fixture(autouse=True)
def nothing_counted() -> None:
    cache.clear()
