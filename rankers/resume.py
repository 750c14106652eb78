"""The output file of a run: what it has, whether it fits, and appending to it safely."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO

from rankers.base import Method
from rankers.errors import BadInput
from rankers.formats.lines import parse_json
from rankers.records import FAILED, MAX_RECORD_BYTES, check_record, read_records, record_line

NOTE_SUFFIX = ".run.json"
#: How every line of ours begins.
_RECORD_START = b'{"id": "'


@dataclass(frozen=True)
class Identity:
    """What a file of records was made by."""

    method: str
    model: str | None
    prompt_version: str | None
    params: dict[str, Any]
    claims_sha256: str
    n_claims: int

    @classmethod
    def of(cls, method: Method, claims_sha256: str, n_claims: int) -> Identity:
        """The identity of a run of ``method``; parameters as JSON gives them back."""
        params = json.loads(json.dumps(dict(method.params)))
        return cls(
            method.name, method.model, method.prompt_version, params, claims_sha256, n_claims
        )

    def differences(self, other: Mapping[str, Any]) -> list[str]:
        """Say in what ``other``, a record or a note, differs: theirs first, then ours."""
        found = [
            f"{name} {json.dumps(other[name])}, not {json.dumps(getattr(self, name))}"
            for name in ("method", "model", "prompt_version")
            if other[name] != getattr(self, name)
        ]
        theirs = other["params"]
        found += [
            f"parameter {name} {_value(theirs, name)}, not {_value(self.params, name)}"
            for name in sorted({*theirs, *self.params})
            if _value(theirs, name) != _value(self.params, name)
        ]
        if other.get("claims_sha256", self.claims_sha256) != self.claims_sha256:
            found.append(
                f"another claims file ({other['n_claims']} claims, SHA-256 "
                f"{other['claims_sha256'][:12]}…), not this one ({self.n_claims} claims, "
                f"{self.claims_sha256[:12]}…)"
            )
        return found


class Output:
    """An OUT file open for appending; ``done`` holds the ids that need not be asked again."""

    def __init__(self, stream: BinaryIO, done: set[str], failed_elsewhere: int):
        self._stream = stream
        self.done = done
        #: Failed records that are outside this run's claims and so stay.
        self.failed_elsewhere = failed_elsewhere

    def write(self, line: str, *, sync: bool) -> None:
        """Append one line; with ``sync`` return when it is on the disk, whatever happens next."""
        self._stream.write(line.encode("utf-8"))
        self._stream.flush()
        if sync:
            os.fsync(self._stream.fileno())

    @classmethod
    @contextmanager
    def opened(
        cls,
        path: Path,
        identity: Identity,
        n_candidates: Mapping[str, int],
        *,
        retry: Collection[str],
    ) -> Iterator[Output]:
        """Open OUT for the claims ``retry``, making it or resuming it.

        A last line that a crash cut off is dropped, and so are failed records of ``retry``. Raises
        BadInput, naming each difference, when OUT was made by something else, and when another
        process writes to it.
        """
        try:
            note = path.with_name(path.name + NOTE_SUFFIX).open("a+", encoding="utf-8")
        except OSError as error:
            raise BadInput(f"{path}: cannot be written: {error.strerror or error}") from error
        with note:
            try:
                fcntl.flock(note, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise BadInput(f"{path}: another run is writing to it") from error
            note.seek(0)
            written = note.read()
            try:
                statuses = _statuses(path, identity, written, n_candidates)
            except BadInput:
                if not written:  # made just now, beside a file that is none of ours
                    Path(note.name).unlink(missing_ok=True)
                raise
            note.truncate(0)
            json.dump(asdict(identity), note)
            note.flush()
            os.fsync(note.fileno())
            failed = {claim_id for claim_id, status in statuses.items() if status == FAILED}
            _tidy(path, failed & set(retry))
            with path.open("ab") as stream:
                yield cls(stream, set(statuses) - failed, len(failed - set(retry)))


def finished_ids(path: Path) -> set[str]:
    """Return the ids that OUT holds a result for, without changing or checking anything more.

    Raises BadInput where a line is no record.
    """
    if not path.exists():
        return set()
    return {
        record["id"]
        for _, record in read_records(path, may_be_cut=True)
        if record["status"] != FAILED
    }


def _statuses(
    path: Path, identity: Identity, note: str, n_candidates: Mapping[str, int]
) -> dict[str, str]:
    """Statuses by id of what OUT has, which must fit this run in every respect."""
    statuses: dict[str, str] = {}
    if not path.exists():
        return statuses
    _refuse_foreign_end(path)
    for number, record in read_records(path, may_be_cut=True):
        # The note knows more than a record; it speaks for all lines and is asked once.
        made_by = _note_of(note) if not statuses else None
        differences = identity.differences(made_by) if made_by else []
        if differences := differences or identity.differences(record):
            raise BadInput(f"{path}: made by {'; '.join(differences)}: choose another -o file")
        place = f"{path}: line {number}: claim {record['id']!r}"
        if record["id"] in statuses:
            raise BadInput(f"{place} has two records: keep one of them")
        if record["id"] not in n_candidates:
            raise BadInput(f"{place} is not in this claims file: choose another -o file")
        if not _fits(record, n_candidates[record["id"]]):
            n = n_candidates[record["id"]]
            raise BadInput(f"{place} had other candidates than the {n} of this claims file")
        statuses[record["id"]] = record["status"]
    if not statuses and not _note_of(note) and path.stat().st_size:
        raise BadInput(f"{path}: is no file of ranking records: choose another -o file")
    return statuses


def _refuse_foreign_end(path: Path) -> None:
    """Raise BadInput unless a last line without an end is a record, or the start of one.

    A crash cuts our own lines, and may leave zero bytes; anything else is somebody's text.
    """
    tail = _unfinished_line(path)
    if not tail.strip(b"\0"):
        return
    is_start = tail[: len(_RECORD_START)] == _RECORD_START[: len(tail)]
    if is_start:
        try:
            record = parse_json(tail.decode("utf-8", "replace"))
        except ValueError:
            return
        try:
            check_record(record)
            return
        except ValueError:
            pass
    raise BadInput(f"{path}: its last line is no ranking record: choose another -o file")


def _unfinished_line(path: Path) -> bytes:
    """The last line of a file if it has no line end, else nothing."""
    with path.open("rb") as stream:
        position = stream.seek(0, os.SEEK_END)
        tail = b""
        while position and b"\n" not in tail and len(tail) <= MAX_RECORD_BYTES:
            size = min(position, 1 << 16)
            position = stream.seek(position - size)
            tail = stream.read(size) + tail
    return tail.rpartition(b"\n")[2]


def _fits(record: Mapping[str, Any], n: int) -> bool:
    if record["order"] is not None:
        return len(record["order"]) == n
    return record["selected"] is None or record["selected"][-1] < n


def _note_of(text: str) -> dict[str, Any] | None:
    """The note's content; None for a new or a half-written one."""
    try:
        note = parse_json(text)
    except ValueError:
        return None
    known = {one.name for one in fields(Identity)}
    return note if isinstance(note, dict) and set(note) == known else None


def _tidy(path: Path, dropped: Collection[str]) -> None:
    """Rewrite OUT without the records of ``dropped`` and without a cut last line, all or nothing.

    A complete last line without its line end gets one.
    """
    if not path.exists() or (not dropped and _ends_well(path)):
        return
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("wb") as stream:
        for _, record in read_records(path, may_be_cut=True):
            if record["id"] not in dropped:
                stream.write(record_line(record).encode("utf-8"))
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(temporary, path)


def _ends_well(path: Path) -> bool:
    with path.open("rb") as stream:
        if stream.seek(0, os.SEEK_END) == 0:
            return True
        stream.seek(-1, os.SEEK_END)
        return stream.read(1) == b"\n"


def _value(params: Mapping[str, Any], name: str) -> str:
    return json.dumps(params[name]) if name in params else "(not set)"
