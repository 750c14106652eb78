"""Requests are counted in a cache that tests share: every test begins with an empty one."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import cache

from tests.studyapp.api.asking import Api, researcher


@pytest.fixture(autouse=True)
def nothing_counted() -> None:
    cache.clear()


@pytest.fixture
def ann(db: None) -> Any:
    """A researcher."""
    return researcher("ann")


@pytest.fixture
def api(ann: Any) -> Api:
    """The API as ann asks it."""
    return Api(ann)
