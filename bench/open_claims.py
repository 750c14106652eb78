"""The open claims files, which are no part of the repository."""

from __future__ import annotations

from pathlib import Path

from rankers.formats import read_claims
from rankers.values import Claim
from tests.shared_data import DATA

FILES = ("wice_open", "wice_long_open", "fm2_open")


class MissingData(Exception):
    """The folder is not there; the message says where it was looked for and what to set."""


def open_claims(name: str, *, at_least: int = 0, every: int = 1) -> list[Claim]:
    """Return every ``every``-th claim of a file that has ``at_least`` candidates.

    Raises MissingData when the file is not there.
    """
    wanted = [claim for claim in read_claims(path_of(name)) if len(claim.candidates) >= at_least]
    return wanted[::every]


def path_of(name: str) -> Path:
    """Return where a file is. Raises MissingData."""
    path = DATA / f"{name}.jsonl"
    if not path.is_file():
        raise MissingData(
            f"{path} is not there: put the open claims beside the repository, or name their "
            "folder in SUFFICE_SHARED_DATA"
        )
    return path
