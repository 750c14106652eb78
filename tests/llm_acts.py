"""What the scripted LLM server can be told to do instead of a good answer, by name.

Malformed, cut, late and refused answers of every kind that servers and models have been seen to
give; tests read better with a name than with a body.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

#: Set by nobody: the server's own rule decides.
UNSET: Any = object()


@dataclass(frozen=True)
class Act:
    """What to do instead of a good answer. Build one with the functions below."""

    delay: float = 0.0
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    content: Any = UNSET
    finish_reason: str | None = "stop"
    reasoning: str | None = None
    top_logprobs: Sequence[tuple[str, float]] | None = None
    usage: Any = UNSET
    is_dropped: bool = False
    is_hanging: bool = False
    drip: float = 0.0


def say(content: Any, **fields: Any) -> Act:
    """Answer with this content (any value, None included)."""
    return Act(content=content, **fields)


def delay(seconds: float) -> Act:
    """A good answer, late."""
    return Act(delay=seconds)


def status(
    http_status: int, message: str = "no", retry_after: str | None = None, **error: Any
) -> Act:
    """An HTTP error with an OpenAI-style body, to which ``error`` adds fields."""
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return Act(status=http_status, headers=headers, body={"error": {"message": message, **error}})


def raw_body(body: Any) -> Act:
    """Status 200 with this body: an object is sent as JSON, a string as it is."""
    return Act(body=body)


def hang() -> Act:
    """Take the request and say nothing until the server stops."""
    return Act(is_hanging=True)


def drop() -> Act:
    """Close the connection without an answer."""
    return Act(is_dropped=True)


def drip(seconds: float) -> Act:
    """A good answer, one blank every so many seconds before it, for ever."""
    return Act(drip=seconds)


def no_content() -> Act:
    """Content null and no reasoning, as after a refusal or a tool call."""
    return say(None)


def empty() -> Act:
    """An empty string."""
    return say("")


# Orders, good and bad.


def pick(*numbers: int) -> Act:
    """These numbers in brackets, valid or not."""
    return say(" ".join(f"[{number}]" for number in numbers))


def run(*numbers: int) -> Act:
    """An order as rerankers write it: [3] > [1]."""
    return say(_run(numbers))


def fenced_json(ids: Sequence[int]) -> Act:
    """JSON in a code fence after a remark."""
    return say(f"Here you are:\n```json\n{json.dumps({'ids': list(ids)})}\n```")


def prose() -> Act:
    """Digits, years, and no answer."""
    return say("I looked at all 5 sentences; the 2 from 1990 seem best.")


def prose_before(*numbers: int) -> Act:
    """A remark with a number of its own, then an order."""
    return say(f"I rank the 5 passages: {_run(numbers)}")


def prose_behind(*numbers: int) -> Act:
    """An order, then a remark with numbers."""
    return say(f"{_run(numbers)}\nSee also Doc: 5, page 3 of 1990.")


def decimals() -> Act:
    """Scores where ids belong."""
    return say("3.1 > 2")


def words_as_ids(*names: str) -> Act:
    """Ids of another kind, such as random letters."""
    return say(" > ".join(names))


def keyed(texts: dict[Any, str]) -> Act:
    """A JSON object from id to text, as the paper's prompt asks for."""
    return say(json.dumps({str(key): text for key, text in texts.items()}))


# Replies that were cut.


def reasoning_only(text: str = "Let me compare [1] and [2] first") -> Act:
    """Thinking that used up the whole limit."""
    return say(None, reasoning=text, finish_reason="length")


def json_as_reasoning(*numbers: int) -> Act:
    """The constrained answer in the field for thinking, and no content."""
    return say(None, reasoning=json.dumps({"order": list(numbers)}))


def open_think(text: str = "maybe [7] or 1990") -> Act:
    """Thinking without an end, and nothing that says so."""
    return say(f"<think>{text}")


def truncated(content: str = "Sentence [1] says") -> Act:
    """An answer that ran into the token limit."""
    return say(content, finish_reason="length")


def cut_list(*numbers: int, rest: str = "") -> Act:
    """The start of a JSON list; ``rest`` is what is there of the next number."""
    return truncated('{"order":[' + "".join(f"{number}," for number in numbers) + rest)


def blank_loop(*numbers: int) -> Act:
    """The start of a JSON list, and blank lines until the token limit."""
    start = "".join(f" {number}," for number in numbers)
    return truncated('{"order": [' + start.strip() + "\n" * 500)


# What servers say instead of an answer.


def limit_reached() -> Act:
    """A refusal for now, with numbers in its words."""
    return status(429, "Limit 10, Used 7, Requested 3")


def schema_refused() -> Act:
    """A refusal of a word in the JSON schema."""
    return status(400, "Invalid schema for response_format: 'uniqueItems' is not permitted")


def top_tokens(*likeliest: tuple[str, float]) -> Act:
    """One token, and these alternatives to it with their log probabilities."""
    return say(likeliest[0][0], finish_reason="length", top_logprobs=likeliest)


def unknown_cache(content: str, prompt_tokens: int = 9, completion_tokens: int = 2) -> Act:
    """An answer with token counts that say nothing about cached ones."""
    usage = {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "prompt_tokens_details": None,
    }
    return say(content, usage=usage)


def _run(numbers: Sequence[int]) -> str:
    return " > ".join(f"[{number}]" for number in numbers)
