"""Strict parsing of model replies into ids 1..n.

Anything ambiguous yields nothing, so that the caller asks again: a loose digit in prose is never
an id, and no reply makes these functions fail in any other way than the documented one.

Order of the steps: (1) find the answer text: closed think blocks are dropped, an open one means
the reply was cut, and of several ``<answer>`` blocks the last that holds ids counts; (2) strict
JSON, whole, in the last fenced block, or the last balanced piece of the text; where the reply was
cut also an open list up to its last delimiter, or the keys of an open object of texts; (3) the
longest run of bracketed ids; (4) nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rankers.errors import MalformedReply, TruncatedReply

OK = "ok"
REPAIRED = "repaired"
PARTIAL = "partial"
FALLBACK = "fallback"
TRUNCATED = "truncated"

#: What a server says when a reply ran into its token limit.
LENGTH = "length"

# An answer stands at the end; more text than this is a runaway reply, and its start is not read.
_MAX_CHARS = 50_000

_THINK_TAG = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_ANSWER_BLOCK = re.compile(r"<answer>(.*?)(?:</answer>|\Z)", re.DOTALL | re.IGNORECASE)
_FENCE = "```"
_LANGUAGE = re.compile(r"[\w-]*[ \t]*\n?")
_OPEN_LIST = re.compile(r"\[([^\[\]{}]*)\Z")
# A key, and its text up to the end of either the text or the reply.
_KEYED = re.compile(
    r'\s*"([0-9]{1,9})"\s*:\s*(?:"(?:[^"\\]|\\.)*(?:"\s*(?:,|\Z)|\\?\Z)|\Z)', re.DOTALL
)
_OPEN_KEY = re.compile(r'\s*(?:"[0-9]*"?\s*)?\Z')
_OPEN_BRACE = re.compile(r'\{(?=\s*"[0-9])')
_JSON_START = re.compile(r"[\[{]")

_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"
_BRACKETED = rf"\[\s*{_NUMBER}\s*\]"
_RUN = re.compile(rf"{_BRACKETED}(?:[\s>,]*{_BRACKETED})*")
_QUOTED = rf'"?{_NUMBER}"?'
_GROUP = re.compile(rf"\[\s*{_QUOTED}(?:\s*,\s*{_QUOTED})*\s*\]")
_IN_GROUP = re.compile(_NUMBER)
_INTEGER = re.compile(r"[0-9]{1,9}")
# Blanks, brackets, and the signs that stand for a blank in some vocabularies.
_AROUND_A_TOKEN = " \t\r\n[](){}\"'*#.,:\u2581\u0120\u010a"


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a reply says about the order of ids 1..n.

    ``ids`` are distinct and in 1..n; ``missing`` are the others, ascending. ``rejected`` counts
    values that are no ids (true, 2.0, 0, -1, n + 1, words), ``repeated`` ids given again.
    ``status`` is ``ok`` (all n, as asked), ``repaired`` (all n once the rest was dropped),
    ``partial`` (some), ``truncated`` (the reply was cut before it had all; ``ids`` is the start
    of the order) or ``fallback`` (none).
    """

    ids: tuple[int, ...]
    rejected: int
    missing: tuple[int, ...]
    status: str
    repeated: int = 0


class _Object(list[tuple[str, Any]]):
    """A JSON object as its pairs in order, repeated keys included."""


_DECODER = json.JSONDecoder(object_pairs_hook=_Object)


def parse_ids(
    text: str | None, n: int, *, finish_reason: str | None = None, reasoning: str | None = None
) -> Parsed:
    """Read an order (or a set) of ids 1..n from a reply.

    ``text`` is the content as it came (None counts as empty) and ``reasoning`` the separate
    reasoning field of thinking models. Reasoning is never searched: without content it counts only
    if the whole field is JSON (some servers put the constrained answer there), and otherwise means
    that the reply was cut. Never raises for any text; ValueError for a negative ``n``.
    """
    if n < 0:
        raise ValueError(f"n is a number of candidates, not {n}")
    was_cut = finish_reason == LENGTH
    answer = answer_text(text)
    if answer is None:
        return _judge([], n, was_cut=True)
    if not answer and reasoning and reasoning.strip():
        values = _values(_load(reasoning), n)
        return _judge(values or [], n, was_cut=was_cut or values is None)
    blocks = _ANSWER_BLOCK.findall(answer)
    if not blocks:
        return _judge(_find(answer, n, was_cut), n, was_cut)
    for block in reversed(blocks):
        parsed = _judge(_find(block, n, was_cut), n, was_cut)
        if parsed.ids:
            return parsed
    return _judge([], n, was_cut)


def parse_pick(
    text: str | None, n: int, used: Collection[int] = (), *, reasoning: str | None = None
) -> int:
    """Read the one id in 1..n that a reply chooses and that is not among ``used``.

    The whole answer text must name exactly one such id, once or more often: "[3] is better than
    [1]" chooses nothing. Numbers count only in square brackets or as keys of a JSON object.
    Raises MalformedReply saying what is wrong, or TruncatedReply for a reply cut while thinking.
    """
    answer = answer_text(text)
    if answer is None:
        raise TruncatedReply("the reply ended inside its think block", raw=text or "")
    if not answer and is_json(reasoning):
        answer = (reasoning or "").strip()
    blocks = _ANSWER_BLOCK.findall(answer)
    mentioned = _mentions(answer)
    if blocks:
        mentioned = next((found for found in map(_mentions, reversed(blocks)) if found), [])
    valid = {number for value in mentioned if (number := _as_id(value, n)) is not None}
    unused = valid - set(used)
    if len(unused) == 1:
        return unused.pop()
    raise MalformedReply(_pick_problem(mentioned, valid, unused, n), raw=text or "")


def answer_text(text: str | None) -> str | None:
    """``text`` without closed think blocks; None when a think block is still open.

    An end tag without a start ends all the text before it: some chat templates write the start
    tag into the prompt, so that it never shows up in the reply.
    """
    kept: list[str] = []
    position, is_open = 0, False
    for tag in _THINK_TAG.finditer(text or ""):
        is_end = bool(tag[1])
        if is_end and not is_open:
            kept.clear()
        elif not is_end and not is_open:
            kept.append((text or "")[position : tag.start()])
        is_open = not is_end
        position = tag.end()
    if is_open:
        return None
    kept.append((text or "")[position:])
    return " ".join(kept)[-_MAX_CHARS:].lstrip()


def number_of_token(token: str, n: int) -> int | None:
    """The number 1..n that one token of a model states, blanks and brackets around it aside."""
    return _as_id(token.strip(_AROUND_A_TOKEN), n)


def is_json(text: str | None) -> bool:
    """Whether the whole text is one JSON list or object."""
    return isinstance(_load(text or ""), list)


def _pick_problem(mentioned: Sequence[Any], valid: set[int], unused: set[int], n: int) -> str:
    """Why there is no pick, in words that fit into a correction."""
    if len(unused) > 1:
        names = ", ".join(f"[{number}]" for number in sorted(unused))
        return f"it names several sentences ({names}) where exactly one was asked for"
    if valid:
        names = ", ".join(f"[{number}]" for number in sorted(valid))
        return f"{names} has been chosen before (repeat)"
    if mentioned:
        return f"it names no number from 1 to {n}"
    return "it holds no number in square brackets"


def _find(text: str, n: int, was_cut: bool) -> list[Any]:
    """Steps 2 to 4 on one answer text: the values given, good or bad, in order."""
    whole = _values(_load(text), n)
    if whole is not None:
        return whole
    fences = _fenced(text)
    fenced = _values(_load(fences[-1]), n) if fences else None
    if fenced is not None:
        return fenced
    start = (_open_list(text) or _open_object(text)) if was_cut else None
    if start is not None:
        return start
    embedded: list[Any] = []
    for value in _embedded(text):
        if not _is_bracketed_id(value) and (values := _values(value, n)) is not None:
            embedded = values
    return embedded or _longest_run(text, n)


def _fenced(text: str) -> list[str]:
    """What stands in closed code fences, without the language; in linear time for any text."""
    inside = text.split(_FENCE)[1:]
    closed = inside[: len(inside) - 1 : 2]
    return [_LANGUAGE.sub("", piece, count=1) for piece in closed]


def _load(text: str) -> Any:
    """The whole text as JSON, or None where it is none (or is nested beyond reason)."""
    try:
        return _DECODER.decode(text.strip())
    except (ValueError, RecursionError):
        return None


def _embedded(text: str) -> Iterator[Any]:
    """The outermost JSON lists and objects inside the text, from left to right."""
    start = 0
    while (match := _JSON_START.search(text, start)) is not None:
        try:
            value, start = _DECODER.raw_decode(text, match.start())
            yield value
        except ValueError:
            start = match.start() + 1
        except RecursionError:  # hundreds of open brackets: a loop, no answer
            return


def _is_bracketed_id(value: Any) -> bool:
    """A list of one number inside prose is an id in brackets: step 3 knows what to do with it."""
    return isinstance(value, list) and not isinstance(value, _Object) and len(value) == 1


def _values(value: Any, n: int) -> list[Any] | None:
    """The values of a list, of an object's only list, or an object's keys; None for other JSON."""
    if isinstance(value, _Object):
        lists = [item for _, item in value if isinstance(item, list)]
        if lists:
            only = lists[0]
            return list(only) if len(lists) == 1 and not isinstance(only, _Object) else None
        keys: list[Any] = [key for key, _ in value]
        if not any(_as_id(key, n) for key in keys) or _is_keyed_by_rank(value, n):
            return None
        return keys
    return list(value) if isinstance(value, list) else None


def _is_keyed_by_rank(pairs: _Object, n: int) -> bool:
    """Whether an object may as well map ranks to ids ({"1": 3, "2": 1}): then neither is taken."""
    keys = [_as_id(key, n) for key, _ in pairs]
    ids = [_as_id(item, n) for _, item in pairs]
    return keys == list(range(1, len(pairs) + 1)) and None not in ids and keys != ids


def _open_list(text: str) -> list[Any] | None:
    """The complete numbers of a list that was cut off; None if there is none.

    The last number may have lost digits, so it counts only with a delimiter behind it.
    """
    match = _OPEN_LIST.search(text)
    if match is None:
        return None
    items = match[1]
    cut = max((k for k, char in enumerate(items) if char == "," or char.isspace()), default=-1)
    parts = [part.strip().strip('"') for part in items[: cut + 1].split(",")]
    numbers = [part for part in parts if part]
    return numbers if numbers and all(map(_IN_GROUP.fullmatch, numbers)) else None


def _open_object(text: str) -> list[Any] | None:
    """The keys, in order, of an object of texts that was cut off; None if there is none."""
    for brace in reversed(list(_OPEN_BRACE.finditer(text))):
        keys: list[Any] = []
        position = brace.end()
        while (pair := _KEYED.match(text, position)) is not None:
            keys.append(pair[1])
            position = pair.end()
        if keys and _OPEN_KEY.match(text, position):
            return keys
    return None


def _longest_run(text: str, n: int) -> list[Any]:
    """The run of bracketed ids, joined by ``>``, commas or white space, with most distinct ids.

    Two such runs of equal length with different ids leave it open which is meant: nothing.
    """
    best: list[Any] = []
    best_ids: tuple[int, ...] = ()
    is_tied = False
    for match in _RUN.finditer(text):
        values: list[Any] = _IN_GROUP.findall(match[0])
        ids = _judge(values, n, was_cut=False).ids
        if len(ids) > len(best_ids) or not best:
            best, best_ids, is_tied = values, ids, False
        elif len(ids) == len(best_ids) and ids != best_ids:
            is_tied = True
    return [] if is_tied else best


def _mentions(text: str) -> list[Any]:
    """Every number in square brackets, and the keys of a JSON object (whole text or last fence)."""
    found: list[Any] = []
    for match in _GROUP.finditer(text):
        found.extend(_IN_GROUP.findall(match[0]))
    for piece in [text, *_fenced(text)[-1:]]:
        value = _load(piece)
        if isinstance(value, _Object):
            found.extend(key for key, _ in value if _INTEGER.fullmatch(key.strip()))
    return found


def _as_id(value: Any, n: int) -> int | None:
    """The id in 1..n that a value states exactly, else None. True is not 1 and 2.0 is not 2."""
    if isinstance(value, str) and _INTEGER.fullmatch(value.strip()):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 1 <= value <= n else None


def _judge(values: Sequence[Any], n: int, was_cut: bool) -> Parsed:
    """Keep the first mention of every valid id and say how good the whole is."""
    ids: dict[int, None] = {}
    rejected = repeated = 0
    for value in values:
        number = _as_id(value, n)
        if number is None:
            rejected += 1
        elif number in ids:
            repeated += 1
        else:
            ids[number] = None
    missing = tuple(number for number in range(1, n + 1) if number not in ids)
    if not missing:
        status = REPAIRED if rejected or repeated else OK
    elif was_cut:
        status = TRUNCATED
    else:
        status = PARTIAL if ids else FALLBACK
    return Parsed(tuple(ids), rejected, missing, status, repeated)
