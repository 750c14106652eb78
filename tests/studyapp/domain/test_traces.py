"""What was deleted stands in no file of the database any more."""

from __future__ import annotations

import sqlite3
import subprocess
from pathlib import Path

import pytest
from django.db import connection

from studyapp.domain.assignment import withdraw
from studyapp.domain.traces import forget_deleted_text
from studyapp.domain.trials import record_decision
from studyapp.models import VerificationAnswer
from tests import factories

MARK = "a reason that nobody else gives"
SQLITE_ONLY = "PostgreSQL's files are cleared by its vacuum"


@pytest.fixture
def database(committed_db: None) -> Path:
    if connection.vendor != "sqlite":
        pytest.skip(SQLITE_ONLY)
    return Path(connection.settings_dict["NAME"])


def files_with(database: Path, text: str) -> list[str]:
    """The files of the database that hold a text, in order, read by a process of its own.

    Closing a file gives up every lock that its process has on it: read here, the database would be
    torn from under the connections of other tests.
    """
    files = sorted(database.parent.glob(f"{database.name}*"))
    command = ["grep", "--files-with-matches", "--fixed-strings", "--text", text, *map(str, files)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.stderr == ""
    return [Path(line).name for line in found.stdout.splitlines()]


def answered() -> str:
    """The token of a run with marked reasons, some of them in every page of a table."""
    study = factories.open_study(8, sitting={"reason": "optional"})
    enrolment, trial = factories.started(study)
    while trial is not None:
        answer = {"decision": "supported", "reason": f"{MARK} {trial.code} " * 20}
        trial = record_decision(enrolment.token, trial.code, answer)
    return enrolment.token


def test_a_withdrawal_leaves_no_text_in_the_files(database: Path) -> None:
    token = answered()
    assert files_with(database, MARK)
    assert files_with(database, token)
    withdraw(token)
    assert files_with(database, MARK) == []
    assert files_with(database, token) == []


def test_text_in_the_file_itself_is_overwritten_too(database: Path) -> None:
    token = answered()
    forget_deleted_text()  # moves what is in the log to the file
    assert files_with(database, MARK) == [database.name]
    withdraw(token)
    assert files_with(database, MARK) == []


def test_a_busy_reader_keeps_nobody_from_withdrawing(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studyapp.domain.traces.WAIT_MS", 20)
    token = answered()
    with sqlite3.connect(database, isolation_level=None) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT COUNT(*) FROM studyapp_study").fetchone()
        withdraw(token)
        assert not VerificationAnswer.objects.exists()
        with connection.cursor() as cursor:
            timeout = cursor.execute("PRAGMA busy_timeout").fetchone()
        assert timeout == (30_000,)
        reader.execute("COMMIT")
    reader.close()
    # The next one takes it along.
    withdraw(factories.joined(factories.open_study()).token)
    assert files_with(database, MARK) == []


def test_elsewhere_nothing_is_done(db: None, django_assert_num_queries) -> None:  # type: ignore[no-untyped-def]
    if connection.vendor == "sqlite":
        pytest.skip("about the other databases")
    with django_assert_num_queries(0):
        forget_deleted_text()
