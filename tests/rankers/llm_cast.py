"""What the tests of LLM methods share: a claim, its outcome, seed orders, quick settings."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from rankers.base import Ranker
from rankers.endpoint import LLMSettings
from rankers.errors import RankerError
from rankers.llm import LLM
from rankers.prompts import SHOWN_LABEL
from rankers.values import Ranking
from tests.llm_server import Act, LLMServer, Request, keyed, pick, run, say

CLAIM = "Anna Smith wrote the novel Winter in Paris in 1931"
# Claim words: anna smith wrote novel winter paris 1931 (stop words out).
CANDIDATES = [
    "Anna Smith was a writer.",  # anna smith
    "The novel Winter appeared in 1931.",  # novel winter 1931
    "She lived in Paris.",  # paris
    "Cats sleep.",
    "Anna Smith wrote Winter in Paris.",  # anna smith wrote winter paris
]
# By hand: 4 has five words; 1 adds novel and 1931; then nothing is new and the most words in all
# come first: 0 (two), 2 (one), 3 (none).
ORDER = (4, 1, 0, 2, 3)
QUICK = LLMSettings(timeout=5, backoff=0.01, backoff_cap=0.02, tries=3)


class Fixed(Ranker):
    """A seed order known beforehand."""

    name: ClassVar[str] = "fixed"

    def __init__(self, order: Sequence[int]):
        self.order = tuple(order)

    def rank(self, claim: str, candidates: Sequence[str]) -> Ranking:
        return Ranking.judged(self.order)


class Backwards(Ranker):
    """A seed order unlike any other: from the last to the first."""

    name: ClassVar[str] = "backwards"

    def rank(self, claim: str, candidates: Sequence[str]) -> Ranking:
        return Ranking.judged(range(len(candidates))[::-1])


class Broken(Ranker):
    """A seed order that fails."""

    name: ClassVar[str] = "broken"

    def rank(self, claim: str, candidates: Sequence[str]) -> Ranking:
        raise RankerError("no vectors")


def llm_at(server: LLMServer, settings: LLMSettings = QUICK, **fields: Any) -> LLM:
    return LLM("m", base_url=server.base_url, settings=settings, **fields)


def ranker_of(kind: Callable[..., Any], settings: LLMSettings = QUICK) -> Callable[..., Any]:
    """What makes rankers of a kind at a server, with a seed order unlike any other."""

    def ranker_at(
        server: LLMServer, store: Any = None, settings: LLMSettings = settings, **fields: Any
    ) -> Any:
        fields.setdefault("seed_ranker", Backwards())
        return kind(llm_at(server, settings, store=store), **fields)

    return ranker_at


def numbers_of(request: Request) -> list[int]:
    """The numbers on offer in a request."""
    return [int(number) for number in re.findall(r"^\[(\d+)\] ", request.prompt, re.MULTILINE)]


def shown_in(request: Request) -> list[int] | None:
    """The numbers already shown, None in a request that has no such line."""
    line = re.search(rf"^{SHOWN_LABEL} (.*)$", request.prompt, re.MULTILINE)
    return None if line is None else [int(k) for k in re.findall(r"\[(\d+)\]", line[1])]


def in_reading_order(request: Request) -> Act:
    """The answer of a model that finds every list in the right order as it is."""
    numbers = numbers_of(request)
    shown = shown_in(request)
    if shown is not None or "Reply with the number of one" in request.prompt:
        return pick(min(set(numbers) - set(shown or ())))
    if "JSON object" in request.prompt:
        return keyed(dict.fromkeys(numbers, "text"))
    if "number alone" in request.prompt:
        return say("1", top_logprobs=[("1", -1.0)])
    return run(*numbers)


def sentences(n: int) -> list[str]:
    """n different sentences."""
    return [f"Sentence number {k} is about letter {chr(97 + k % 26)}." for k in range(n)]
