"""What a run is going to cost: calls and tokens counted from the prompts it would send.

No tokenizer is asked: tokens are UTF-8 bytes over ``BYTES_PER_TOKEN``, measured on the candidates
of the open WiCE claims with cl100k (82.9 bytes, 18.6 tokens a sentence). Other English text and
other tokenizers differ by some 15 %; text in other scripts takes more tokens than it says.
"""

from __future__ import annotations

import math
import os.path
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rankers.base import PlannedCall
from rankers.values import Usage

BYTES_PER_TOKEN = 4.46
#: Tokens that a chat template adds around a turn.
_TURN_TOKENS = 4
#: Tokens of a block of a server's prefix cache; vLLM's default.
BLOCK = 16


@dataclass(frozen=True, slots=True)
class Estimate:
    """Calls and tokens; ``cached_tokens`` are the part of ``prompt_tokens`` a cache can serve."""

    calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0

    @property
    def computed_tokens(self) -> int:
        """Prompt tokens that the server has to work through."""
        return self.prompt_tokens - self.cached_tokens

    @property
    def usage(self) -> Usage:
        """The same as a usage, for prices."""
        return Usage(self.calls, self.prompt_tokens, self.cached_tokens, self.completion_tokens)


def estimate(
    plans: Iterable[Sequence[PlannedCall]], *, block: int = BLOCK, least: int = 0
) -> Estimate:
    """Add up the planned calls of one claim after another, retries aside.

    A call finds in the cache what it shares with the call before it or with its claim's first one,
    in whole blocks of ``block`` tokens, and nothing below ``least`` tokens (some services cache
    from 1,024 tokens on). Raises ValueError for a ``block`` below 1 or a negative ``least``.
    """
    if block < 1 or least < 0:
        raise ValueError(f"block must be at least 1 and least at least 0, not {block} and {least}")
    calls = prompt = cached = completion = 0
    before = ""
    for plan in plans:
        first = ""
        for call in plan:
            text = _text_of(call.messages)
            n_tokens = count_tokens(text) + _TURN_TOKENS * len(call.messages)
            shared = max(_common(text, before), _common(text, first))
            hit = min(int(shared / BYTES_PER_TOKEN), n_tokens) // block * block
            calls += 1
            prompt += n_tokens
            cached += hit if hit >= least else 0
            completion += call.completion_tokens
            before, first = text, first or text
    return Estimate(calls, prompt, cached, completion)


def count_tokens(text: str) -> int:
    """Return about how many tokens a text has, rounded up."""
    return math.ceil(len(text.encode("utf-8", "surrogatepass")) / BYTES_PER_TOKEN)


def _text_of(messages: Sequence[Mapping[str, str]]) -> str:
    return "\n".join(f"{message['role']}\n{message['content']}" for message in messages)


def _common(a: str, b: str) -> int:
    """UTF-8 bytes of the longest common prefix."""
    shared = os.path.commonprefix((a, b))  # noqa: RUF071 - characters are what is meant
    return len(shared.encode("utf-8", "surrogatepass"))
