"""Ask for an order of all candidates in one reply, and keep what can be used of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rankers.asking import ask
from rankers.errors import MalformedReply, TruncatedReply
from rankers.llm import LLM, Reply
from rankers.prompts import Message, ids_schema, list_messages, stable_prefix
from rankers.replies import LENGTH, Parsed, parse_ids
from rankers.values import Usage

_NAMED_IN_A_CORRECTION = 10


@dataclass(frozen=True, slots=True)
class Listing:
    """What an LLM said about an order.

    ``numbers`` are distinct, in 1..n, best first; ``is_enough`` says whether there are as many as
    were needed.
    """

    numbers: tuple[int, ...]
    is_enough: bool
    usage: Usage

    @property
    def positions(self) -> tuple[int, ...]:
        """``numbers`` counted from 0."""
        return tuple(number - 1 for number in self.numbers)


def list_tokens(n: int) -> int:
    """Token limit of a list of n numbers: a model that writes blanks for ever is stopped early."""
    return 6 * n + 32


def expected_list_tokens(n: int) -> int:
    """A guess at the tokens of a list of n numbers."""
    return 3 * n + 2


def ask_listing(
    llm: LLM,
    messages: Sequence[Message],
    n: int,
    *,
    max_tokens: int,
    attempts: int,
    temperature: float,
    needed: int | None = None,
    schema: Mapping[str, Any] | None = None,
    prefix: str | None = None,
) -> Listing:
    """Ask until a reply names ``needed`` (default: all n) of the numbers 1..n, best first.

    Of ``attempts`` replies that name fewer the one with most numbers counts, the later of equal
    ones; a reply cut even with the larger budget counts as far as it got, and ends the asking.
    Raises TransportError and PermanentError as they come.
    """
    enough = n if needed is None else needed
    best: tuple[int, ...] = ()

    def keep(parsed: Parsed) -> Parsed:
        nonlocal best
        if len(parsed.ids) >= len(best):
            best = parsed.ids
        return parsed

    def parse(reply: Reply) -> Parsed:
        parsed = keep(
            parse_ids(reply.text, n, finish_reason=reply.finish_reason, reasoning=reply.reasoning)
        )
        if len(parsed.ids) < enough:
            raise MalformedReply(_problem(parsed, n), raw=reply.text)
        return parsed

    def keep_start(error: TruncatedReply) -> None:
        keep(parse_ids(error.raw, n, finish_reason=LENGTH))

    _, usage = ask(
        llm,
        messages,
        parse,
        max_tokens=max_tokens,
        attempts=attempts,
        temperature=temperature,
        schema=schema,
        prefix=prefix,
        on_truncated=keep_start,
    )
    return Listing(best, len(best) >= enough, usage)


def ask_stable_listing(
    llm: LLM, claim: str, candidates: Sequence[str], *, attempts: int, temperature: float
) -> Listing:
    """Ask for the order of all candidates behind the prefix that layout ``stable`` shares."""
    n = len(candidates)
    return ask_listing(
        llm,
        list_messages(claim, candidates),
        n,
        max_tokens=list_tokens(n),
        attempts=attempts,
        temperature=temperature,
        schema=ids_schema(n),
        prefix=stable_prefix(claim, candidates),
    )


def _problem(parsed: Parsed, n: int) -> str:
    """What a reply lacks, in words that fit into a correction."""
    if not parsed.ids:
        return f"it holds no order of the numbers from 1 to {n}"
    named = [f"[{number}]" for number in parsed.missing[:_NAMED_IN_A_CORRECTION]]
    n_more = len(parsed.missing) - len(named)
    return f"it leaves out {', '.join(named)}" + (f" and {n_more} more" if n_more else "")
