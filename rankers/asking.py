"""Ask until a reply can be used: the first request and its correction turns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from rankers.errors import MalformedReply, TruncatedReply
from rankers.llm import LLM, Reply
from rankers.prompts import Message, correction_messages
from rankers.values import Usage

Answer = TypeVar("Answer")


def ask(
    llm: LLM,
    messages: Sequence[Message],
    parse: Callable[[Reply], Answer],
    *,
    max_tokens: int,
    attempts: int,
    temperature: float,
    schema: Mapping[str, Any] | None = None,
    prefix: str | None = None,
    on_truncated: Callable[[TruncatedReply], object] | None = None,
) -> tuple[Answer | None, Usage]:
    """The first reply that ``parse`` accepts, or None after ``attempts`` requests; and the cost.

    ``prefix`` is what the prompt shares with others (see ``LLM.complete``).
    ``parse`` raises MalformedReply to ask again: the same messages and one correction turn, which
    replaces the one before. A truncated reply has had its own second chance and ends the asking;
    ``on_truncated`` is told what there is of it.
    Raises TransportError and PermanentError as they come.
    """
    usage = Usage()
    asked = tuple(messages)
    for attempt in range(attempts):
        try:
            reply = llm.complete(
                asked,
                max_tokens=max_tokens,
                attempt=attempt,
                temperature=temperature,
                schema=schema,
                prefix=prefix,
            )
            usage += reply.usage
            return parse(reply), usage
        except TruncatedReply as error:
            if on_truncated is not None:
                on_truncated(error)
            return None, usage + error.usage
        except MalformedReply as error:
            asked = correction_messages(
                messages, error.raw, str(error), attempt=attempt + 2, attempts=attempts
            )
    return None, usage
