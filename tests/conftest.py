"""The small cast of the tests, and what they need of the database and the browser."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.db.backends.base.operations import BaseDatabaseOperations

from studyapp.triggers import install_triggers, remove_triggers
from tests import backends, factories

CHROMIUM = Path("/usr/bin/chromium")


@pytest.fixture(scope="session")
def django_db_modify_db_settings() -> None:
    """SQLite tests use a file, as threads and processes of a real study do."""
    from django.conf import settings

    if backends.BACKEND == "sqlite":
        test_settings = settings.DATABASES["default"].setdefault("TEST", {})
        test_settings["NAME"] = str(backends.FOLDER / "test.sqlite3")
        connection.settings_dict["TEST"]["NAME"] = test_settings["NAME"]


def _patiently(action: Callable[[], Any]) -> Any:
    """Do it again if it deadlocks with the last request of a page that a test has just closed."""
    for pause in (0.2, 0.5, 1, 2):
        try:
            return action()
        except OperationalError:
            time.sleep(pause)
    return action()


@pytest.fixture(scope="session", autouse=True)
def patient_flush() -> Iterator[None]:
    """The database is emptied between tests, also while a browser's last beacon is answered."""
    flush = BaseDatabaseOperations.execute_sql_flush

    def patient(self: BaseDatabaseOperations, sql_list: list[str]) -> None:
        _patiently(lambda: flush(self, sql_list))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseDatabaseOperations, "execute_sql_flush", patient)
        yield


@pytest.fixture
def committed_db(transactional_db: None) -> Iterator[None]:
    """A database in which transactions really commit, with the triggers in force.

    Emptying it afterwards deletes events, which the triggers refuse: they are taken off for the
    clean-up and put back before the next test.
    """
    yield
    connection.ensure_connection()
    _patiently(lambda: remove_triggers(connection))


@pytest.fixture(autouse=True)
def triggers_in_force(request: pytest.FixtureRequest) -> None:
    """Put the triggers back if a committed test has taken them off."""
    names = set(request.fixturenames)
    if names & {"committed_db", "transactional_db"}:
        request.getfixturevalue("transactional_db")
    elif names & {"db", "django_db_setup"}:
        request.getfixturevalue("db")
    else:
        return
    remove_triggers(connection)
    install_triggers(connection)


@pytest.fixture
def study(db: None) -> factories.Study:
    """An open study of 4 claims in 2 subsets, with a reveal and a set condition."""
    return factories.open_study()


@pytest.fixture(scope="session")
def browser():
    """Debian's chromium through Playwright; skipped without it, failing under CI."""
    if not CHROMIUM.exists():
        if os.environ.get("CI"):
            pytest.fail("chromium is missing: the CI script installs it")
        pytest.skip("Debian's chromium is not installed")
    from playwright.sync_api import sync_playwright

    # Playwright's loop runs in this thread; Django must not take it for an async context.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=str(CHROMIUM),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield chromium
        chromium.close()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Under CI, a skip for want of the shared data is a failure when the folder is there."""
    from tests.shared_data import DATA

    if not os.environ.get("CI") or not DATA.is_dir():
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = [str(r.longrepr) for r in reporter.stats.get("skipped", [])]
    if any("shared data" in reason for reason in skipped):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
