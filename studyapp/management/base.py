"""What all our commands share: refused actions end with status 1 and clear lines on stderr."""

from __future__ import annotations

import os
import sys
from typing import Any

from django.core.management.base import BaseCommand
from django.db import OperationalError, ProgrammingError, connection

from studyapp.errors import StudyError
from studyapp.models import Study

#: The status of a program whose reader went away, as a shell tells it: 128 and the signal's number.
READER_GONE = 141


class StudyCommand(BaseCommand):
    """A command on a study. Subclasses implement ``run``; exit status 0, 1 (refused), 2 (usage).

    Where whoever reads the output has enough, as ``head`` does, it ends without a word.
    """

    requires_migrations_checks = False
    # They load every address, and with them the whole API, which takes longer than most commands;
    # check, migrate and runserver run them.
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self.run(**options)
            self.stdout.flush()
        except BrokenPipeError:
            _stop_writing()
            sys.exit(READER_GONE)
        except StudyError as error:
            for problem in error.problems:
                self.stderr.write(problem)
            sys.exit(1)
        except (OperationalError, ProgrammingError) as error:
            if has_tables():
                raise
            self.stderr.write(
                f"The database is not set up ({_one_line(error)}): run migrate first."
            )
            sys.exit(1)

    def run(self, **options: Any) -> None:
        """Do the work. Raises StudyError when it is refused."""
        raise AssertionError("a command implements run()")

    def say(self, text: str) -> None:
        self.stdout.write(text)

    def note(self, text: str) -> None:
        """A remark that is no result: goes to stderr, so that pipes stay clean."""
        self.stderr.write(text)


def counted(n: int, one: str, many: str | None = None) -> str:
    """``1 claim``, ``2000 claims``; ``many`` where the plural is no plain s. Without separators:
    programs read this too."""
    return f"{n} {one if n == 1 else many or one + 's'}"


def _stop_writing() -> None:
    """Let Python's last flush, at its end, go nowhere instead of failing once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def has_tables() -> bool:
    """Whether the database answers and holds our tables."""
    try:
        return Study._meta.db_table in connection.introspection.table_names()
    except (OperationalError, ProgrammingError):
        return False


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def parse_pairs(pairs: list[str] | None) -> dict[str, str]:
    """``["k=v", …]`` as a dict. Raises StudyError for a pair without ``=``."""
    result = {}
    for pair in pairs or []:
        key, separator, value = pair.partition("=")
        if not separator or not key:
            raise StudyError(f"--param {pair!r}: write it as name=value.")
        result[key] = value
    return result
