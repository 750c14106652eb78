"""An LLM orders candidates by choosing the next sentence, given those already chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from rankers.asking import ask
from rankers.base import PlannedCall, Ranker
from rankers.llm import LLM
from rankers.llm_ranker import LLMRanker
from rankers.prompts import (
    LAYOUTS,
    PAPER,
    PAPER_VERSION,
    STABLE,
    STABLE_VERSION,
    Question,
    ids_schema,
    paper_question,
    stable_question,
)
from rankers.replies import parse_pick
from rankers.values import FALLBACK, JUDGED, SEED, Ranking, Usage

#: One number in brackets, and room for a short remark; a longer reply gets a second chance.
PICK_TOKENS = 256
#: A guess at what a pick takes: a bracket, a number, a bracket, the end.
EXPECTED_PICK_TOKENS = 4

_QUESTIONS: dict[str, Callable[[str, Sequence[str], Sequence[int]], Question]] = {
    STABLE: stable_question,
    PAPER: paper_question,
}
_VERSIONS = {STABLE: STABLE_VERSION, PAPER: PAPER_VERSION}


class IncrementalLLM(LLMRanker):
    """Greedy order by one question a position (evidence-ranking paper, C.2).

    ``depth`` positions are asked for (0: all), the rest is the seed order with origin ``seed``.
    A position gets at most ``attempts`` requests; without a usable reply it takes the next
    sentence of the seed order with origin ``fallback``, and the run goes on. The seed order is
    that of ``seed_ranker`` (reading order if it fails); layout ``paper`` takes reading order, as
    the paper does. The last remaining sentence needs no question; it counts as judged when
    ``depth`` reaches it. A TransportError or PermanentError ends the ranking; with a response
    store a later run pays only for what is missing.
    """

    name: ClassVar[str] = "incremental_llm"

    def __init__(
        self,
        llm: LLM,
        *,
        seed_ranker: Ranker,
        layout: str = STABLE,
        depth: int = 6,
        attempts: int = 5,
        temperature: float = 0.0,
    ):
        problems = []
        if layout not in LAYOUTS:
            problems.append(f"layout: {layout!r} is unknown, choose one of {', '.join(LAYOUTS)}")
        if depth < 0:
            problems.append(f"depth: {depth} is below 0 (0 asks for every position)")
        super().__init__(
            llm,
            seed_ranker=seed_ranker,
            attempts=attempts,
            temperature=temperature,
            fills_as_read=layout == PAPER,
            problems=problems,
        )
        self.layout = layout
        self.depth = depth
        self.prompt_version = _VERSIONS[layout]

    @property
    def params(self) -> Mapping[str, Any]:
        """Layout and depth, and what every LLM ranker has."""
        return {"layout": self.layout, "depth": self.depth, **super().params}

    def rank(self, claim: str, candidates: Sequence[str]) -> Ranking:
        """Ask position by position. See the class for what fills the gaps."""
        n = len(candidates)
        if n <= 1:
            return Ranking.judged(range(n))
        left, usage = self._seed_order(claim, candidates)
        order: list[int] = []
        origins: list[str] = []
        for _ in range(min(self.depth, n) or n):
            picked: int | None = left[0]
            if len(left) > 1:
                picked, cost = self._pick(claim, candidates, order)
                usage += cost
            order.append(left[0] if picked is None else picked)
            origins.append(FALLBACK if picked is None else JUDGED)
            left.remove(order[-1])
        return Ranking((*order, *left), (*origins, *[SEED] * len(left)), usage=usage)

    def plan(self, claim: str, candidates: Sequence[str]) -> Sequence[PlannedCall]:
        """One call a position, reading order standing in for the picks."""
        questions = (
            _QUESTIONS[self.layout](claim, candidates, range(k))
            for k in range(n_questions(len(candidates), self.depth))
        )
        return [PlannedCall(question.messages, EXPECTED_PICK_TOKENS) for question in questions]

    def _pick(
        self, claim: str, candidates: Sequence[str], chosen: Sequence[int]
    ) -> tuple[int | None, Usage]:
        """The position the model chooses next, None if it names none, and the cost."""
        question = _QUESTIONS[self.layout](claim, candidates, chosen)
        return ask_pick(
            self.llm,
            question,
            len(candidates),
            attempts=self.attempts,
            temperature=self.temperature,
        )


def n_questions(n_candidates: int, depth: int) -> int:
    """How many positions are asked for: the last one has one candidate left and never is."""
    return max(0, min(depth or n_candidates, n_candidates - 1))


def ask_pick(
    llm: LLM, question: Question, n_candidates: int, *, attempts: int, temperature: float
) -> tuple[int | None, Usage]:
    """The position that the model chooses, None without a usable reply, and the cost.

    The schema is for all numbers of the claim also where fewer are on offer, since a server caches
    it with the prompt: a number beyond those on offer is asked again like any other wrong one.
    Raises TransportError and PermanentError as they come.
    """
    n = len(question.options)
    number, usage = ask(
        llm,
        question.messages,
        lambda reply: parse_pick(reply.text, n, question.used, reasoning=reply.reasoning),
        max_tokens=PICK_TOKENS,
        attempts=attempts,
        temperature=temperature,
        schema=ids_schema(n_candidates),
        prefix=question.prefix,
    )
    return (None if number is None else question.options[number - 1]), usage
