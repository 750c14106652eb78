"""Lines and JSON out of untrusted bytes, in bounded memory."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from rankers.formats.rows import MAX_CLAIM_BYTES

#: Levels of a JSON value that are read.
MAX_DEPTH = 100
_SKIP_BYTES = 1 << 16
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class Line:
    """A line with its 1-based number: either its ``text``, line end included, or a ``problem``.

    ``has_end`` is False for a last line without a line end.
    """

    number: int
    text: str = ""
    problem: str | None = None
    has_end: bool = True


def read_lines(stream: BinaryIO, limit: int = MAX_CLAIM_BYTES) -> Iterator[Line]:
    """Yield the lines of UTF-8 bytes, blank ones too; a byte order mark at the start is dropped.

    A line of more than ``limit`` bytes is skipped without ever being held, and reported.
    """
    number = 0
    while raw := stream.readline(limit + 1):
        number += 1
        if number == 1:
            if raw.startswith(_UTF16_MARKS):
                yield Line(1, problem="not UTF-8 but UTF-16: save the file as UTF-8")
                return
            raw = raw.removeprefix(codecs.BOM_UTF8)
        if len(raw) > limit:
            while not raw.endswith(b"\n") and (raw := stream.readline(_SKIP_BYTES)):
                pass
            yield Line(number, problem=f"longer than {limit:,} bytes, the limit for one claim")
            continue
        has_end = raw.endswith(b"\n")
        try:
            yield Line(number, raw.decode("utf-8"), has_end=has_end)
        except UnicodeDecodeError as error:
            byte = raw[error.start]
            yield Line(
                number,
                problem=f"not UTF-8 (byte 0x{byte:02X} at position {error.start + 1}): "
                "save the file as UTF-8",
                has_end=has_end,
            )


def parse_json(text: str) -> Any:
    """Return the JSON value of ``text``.

    Raises ValueError with a readable message for anything that is not JSON, for an object that
    names a key twice (one of the values would be lost) and for numbers that JSON cannot hold.
    """
    try:
        return json.loads(
            text,
            object_pairs_hook=_without_repeats,
            parse_constant=_no_constant,
            parse_float=_finite,
        )
    except json.JSONDecodeError as error:
        cut_off = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        hint = "; it ends in the middle, is the file cut off?" if cut_off else ""
        place = f"line {error.lineno}, " if error.lineno > 1 else ""
        raise ValueError(f"not JSON: {error.msg} at {place}column {error.colno}{hint}") from error
    except RecursionError as error:
        raise ValueError("not usable JSON: nested too deeply") from error
    except _Refused as error:
        raise ValueError(str(error)) from error
    except ValueError as error:  # a whole number of thousands of digits
        raise ValueError("not usable JSON: a number with too many digits") from error


def whole_json(stream: BinaryIO) -> Any:
    """Return the JSON value that a whole stream holds. Raises ValueError as ``parse_json`` does."""
    try:
        text = stream.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 (at byte {error.start + 1}): save the file as UTF-8") from None
    return parse_json(text)


def text_problem(text: str) -> str | None:
    """Return why ``text`` cannot be stored or shown, or None."""
    if "\x00" in text:
        return "holds U+0000, which cannot be stored: remove it"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        return f"holds half a character (\\u{ord(text[error.start]):04x} alone): remove it"
    return None


def deep_text_problem(value: Any) -> str | None:
    """Return the first ``text_problem`` of any text inside a JSON value, keys included.

    A value nested deeper than ``MAX_DEPTH`` is a problem too: nobody could store or print it.
    """
    waiting: list[tuple[Any, int]] = [(value, 0)]
    while waiting:
        part, depth = waiting.pop()
        if depth > MAX_DEPTH:
            return f"is nested more than {MAX_DEPTH} levels deep: flatten it"
        if isinstance(part, str):
            if found := text_problem(part):
                return found
        elif isinstance(part, dict):
            waiting += [(inner, depth + 1) for inner in (*part.keys(), *part.values())]
        elif isinstance(part, list):
            waiting += [(inner, depth + 1) for inner in part]
    return None


class _Refused(ValueError):
    """Our own objections, told apart from those of the parser."""


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise _Refused(f"not usable JSON: the key {repeated!r} occurs twice in one object")
    return value


def _no_constant(name: str) -> Any:
    raise _Refused(f"not JSON: {name} is not a JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise _Refused(f"not usable JSON: the number {digits[:20]} is too large")
    return number
