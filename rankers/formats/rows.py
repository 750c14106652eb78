"""What every reader yields: one ``Row`` for each claim of a file, good, bad or left out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from rankers.errors import BadInput
from rankers.values import Claim

Source = str | Path | BinaryIO

#: No single claim, in any format, may take more than this many bytes of its file.
MAX_CLAIM_BYTES = 5_000_000


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that makes a row unusable: where, in which field, what and how to mend it.

    ``line`` is 1-based, None in formats that are one JSON value; ``claim_id`` names the row there.
    """

    line: int | None
    field: str | None
    message: str
    claim_id: str | None = None

    def __str__(self) -> str:
        places = []
        if self.line is not None:
            places.append(f"line {self.line}")
        elif self.claim_id is not None:
            places.append(self.claim_id)
        if self.field is not None:
            places.append(self.field)
        return f"{', '.join(places)}: {self.message}" if places else self.message


# Kinds of notices: what a reader changed or ignored, with the words for a count of them.
REDUCED_GOLD_SETS = "reduced_gold_sets"
EMPTY_CANDIDATES = "empty_candidates"
REPEATED_TEXT = "repeated_text"
UNKNOWN_FIELD = "unknown_field"
UNREACHABLE_SETS = "unreachable_sets"
TWO_WAY_LABEL = "two_way_label"
AMBIGUOUS_GOLD = "ambiguous_gold"
NO_STRATUM = "no_stratum"
NOTICE_WORDS = {
    REDUCED_GOLD_SETS: "claims with gold sets reduced to the minimal ones",
    EMPTY_CANDIDATES: "claims with empty candidates dropped and indices moved",
    REPEATED_TEXT: "claims with gold sentences that occur more than once (first unused one taken)",
    UNKNOWN_FIELD: "claims or files with unknown fields, ignored",
    UNREACHABLE_SETS: "claims that lost a gold set whose page or sentence the dump lacks",
    TWO_WAY_LABEL: "claims labelled NOT_SUPPORTED, which joins refuted and unknown, as refuted",
    NO_STRATUM: "claims read without a value for a key of --stratify, a stratum of their own",
    AMBIGUOUS_GOLD: "claims whose gold sentence has a twin before it that will be read instead",
}


@dataclass(frozen=True, slots=True)
class Notice(Problem):
    """Something that was mended or ignored; ``kind`` is a key of ``NOTICE_WORDS``."""

    kind: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One claim of a file.

    At most one of three: ``claim`` is there; or ``problems`` say why it cannot be; or ``left_out``
    names the reason why the source's own rules leave it out (``not_supported``, ``no_gold_set``,
    …). A row of ``notices`` alone speaks of the file. ``given_sets`` are the gold sets before they
    were reduced to minimal ones, without repeats.
    """

    line: int | None
    claim: Claim | None = None
    problems: tuple[Problem, ...] = ()
    notices: tuple[Notice, ...] = ()
    left_out: str | None = None
    given_sets: tuple[tuple[int, ...], ...] = ()


@dataclass
class SeenIds:
    """Ids met so far, with their places; shared by all files of one conversion.

    It is all that reading keeps of a claim, so memory grows with the number of claims only.
    """

    source: str = ""
    _first: dict[str, tuple[str, int | None]] = field(default_factory=dict)

    def add(self, claim_id: str, line: int | None) -> str | None:
        """Note an id; return a message naming its first place when it was there already."""
        if claim_id in self._first:
            return self._message(claim_id, self._first[claim_id])
        self._first[claim_id] = (self.source, line)
        return None

    def _message(self, claim_id: str, first: tuple[str, int | None]) -> str:
        name, line = first
        place = f"line {line}" if line is not None else "another claim"
        place += f" of {name}" if name != self.source else ""
        return f"duplicate id {claim_id!r}, first on {place}"


def source_name(source: Source) -> str:
    """Return what to call a path or stream in messages."""
    if isinstance(source, str | Path):
        return str(source)
    return str(getattr(source, "name", None) or "input")


@contextmanager
def opened(source: Source) -> Iterator[BinaryIO]:
    """Open a path for reading bytes; a stream is passed through and left open.

    Raises BadInput, naming the file, when it cannot be opened.
    """
    if not isinstance(source, str | Path):
        yield source
        return
    try:
        stream = Path(source).open("rb")  # noqa: SIM115 - an error while reading is not ours
    except OSError as error:
        raise BadInput(f"{source}: cannot be read: {error.strerror or error}") from error
    with stream:
        yield stream
