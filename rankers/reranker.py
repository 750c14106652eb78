"""A listwise reranker that sees few candidates at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, ClassVar

from rankers.base import PlannedCall, Ranker
from rankers.listing import ask_listing, expected_list_tokens, list_tokens
from rankers.llm import LLM
from rankers.llm_ranker import LLMRanker
from rankers.prompts import RERANK_VERSION, SYSTEM, TURNS, Message, rerank_messages
from rankers.tournaments import (
    GROUPS,
    PAPER,
    Judge,
    Verdict,
    by_groups,
    one_by_one,
    size_problems,
)
from rankers.values import Ranking

REASONING_TOKENS = 3072

#: Groups asked about at the same time; the endpoint has a limit of its own.
_MOST_THREADS = 16


class Reranker(LLMRanker):
    """Order by a reranker that reads at most ``group`` sentences a call (evidence-ranking, C.3).

    Up to ``group`` candidates: one call, all ranks ``judged``. Beyond that,

    * ``tournament="groups"``: as many full groups as it takes are judged in parallel, the best
      ``keep`` of each stay, until one call can hold all that is left. Only the first ``keep`` ranks
      of that final are ``judged``: a candidate behind them was never compared with those that
      other groups dropped. Behind the judged ranks come the rest of the final in its order, then
      the dropped ones in the seed order, all with origin ``seed``.
    * ``tournament="paper"``: the first ``group`` candidates are judged, then again and again the
      current order without its last, and with the next candidate in the last place. The last
      answer is the top of the ranking; dropped candidates follow in input order as ``seed``. So
      is the last of the top: it was never compared with the one it took the place of.

    An answer has to name all it was shown, or ``keep`` of it where a tournament of groups drops
    candidates; otherwise it is asked again, ``attempts`` requests in all. What the best answer
    leaves out keeps its place behind what it names (in the tournament of groups: in the seed
    order), and a candidate placed or dropped that way has origin ``fallback``.

    Every token limit has room for ``reasoning_tokens`` of thinking. ``instructions`` says whether
    they go into a ``system`` turn, or into the ``user`` turn for models whose chat template knows
    no other.
    """

    name: ClassVar[str] = "reranker"
    prompt_version = RERANK_VERSION

    def __init__(
        self,
        llm: LLM,
        *,
        seed_ranker: Ranker,
        tournament: str = GROUPS,
        group: int = 20,
        keep: int = 6,
        instructions: str = SYSTEM,
        reasoning_tokens: int = REASONING_TOKENS,
        attempts: int = 5,
        temperature: float = 0.0,
    ):
        problems = size_problems(tournament, group, keep)
        if instructions not in TURNS:
            problems.append(
                f"instructions: {instructions!r} is unknown, choose one of {', '.join(TURNS)}"
            )
        if reasoning_tokens < 0:
            problems.append(f"reasoning_tokens: {reasoning_tokens} is below 0")
        super().__init__(
            llm,
            seed_ranker=seed_ranker,
            attempts=attempts,
            temperature=temperature,
            fills_as_read=tournament == PAPER,
            problems=problems,
        )
        self.tournament = tournament
        self.group = group
        self.keep = keep
        self.instructions = instructions
        self.reasoning_tokens = reasoning_tokens

    @property
    def params(self) -> Mapping[str, Any]:
        """The tournament, its sizes and budget, and what every LLM ranker has."""
        return {
            "tournament": self.tournament,
            "group": self.group,
            "keep": self.keep,
            "instructions": self.instructions,
            "reasoning_tokens": self.reasoning_tokens,
            **super().params,
        }

    def rank(self, claim: str, candidates: Sequence[str]) -> Ranking:
        """Run the tournament. TransportError and PermanentError end it as they come."""
        n = len(candidates)
        if n <= 1:
            return Ranking.judged(range(n))

        def judge(groups: Sequence[Sequence[int]], needed: int) -> Sequence[Verdict]:
            with ThreadPoolExecutor(min(len(groups), _MOST_THREADS)) as pool:
                asked = [pool.submit(self._ask, claim, candidates, g, needed) for g in groups]
                return [future.result() for future in asked]

        seed, usage = self._seed_order(claim, candidates)
        ranking = self._run(seed, judge)
        return replace(ranking, usage=usage + ranking.usage)

    def plan(self, claim: str, candidates: Sequence[str]) -> Sequence[PlannedCall]:
        """The calls of a reranker that finds every group in the right order.

        Each is expected to think for as long as it may.
        """
        calls: list[PlannedCall] = []

        def judge(groups: Sequence[Sequence[int]], needed: int) -> Sequence[Verdict]:
            for group in groups:
                expected = expected_list_tokens(len(group)) + self.reasoning_tokens
                calls.append(PlannedCall(self._messages(claim, candidates, group), expected))
            return [Verdict(tuple(group), True) for group in groups]

        if len(candidates) > 1:
            self._run(range(len(candidates)), judge)
        return calls

    def _run(self, seed: Sequence[int], judge: Judge) -> Ranking:
        """The tournament, with a seed order for the gaps of the one by groups."""
        if self.tournament == PAPER:
            return one_by_one(len(seed), self.group, judge)
        return by_groups(seed, self.group, self.keep, judge)

    def _ask(
        self, claim: str, candidates: Sequence[str], group: Sequence[int], needed: int
    ) -> Verdict:
        """What the model says about the positions of one group."""
        listing = ask_listing(
            self.llm,
            self._messages(claim, candidates, group),
            len(group),
            needed=needed,
            max_tokens=list_tokens(len(group)) + self.reasoning_tokens,
            attempts=self.attempts,
            temperature=self.temperature,
        )
        named = tuple(group[k] for k in listing.positions)
        return Verdict(named, listing.is_enough, listing.usage)

    def _messages(
        self, claim: str, candidates: Sequence[str], group: Sequence[int]
    ) -> tuple[Message, ...]:
        texts = [candidates[position] for position in group]
        return rerank_messages(claim, texts, self.instructions)
