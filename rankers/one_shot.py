"""An LLM orders all candidates in one call."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from rankers.base import PlannedCall, Ranker
from rankers.errors import PermanentError
from rankers.listing import Listing, ask_listing, ask_stable_listing, expected_list_tokens
from rankers.llm import LLM
from rankers.llm_ranker import LLMRanker, filled
from rankers.prompts import (
    FIRST_TOKEN_VERSION,
    LAYOUTS,
    LIST_VERSION,
    PAPER,
    PAPER_LIST_VERSION,
    STABLE,
    display,
    first_token_messages,
    list_messages,
    paper_list_messages,
    stable_prefix,
)
from rankers.replies import number_of_token
from rankers.values import FALLBACK, SEED, Ranking, Usage

LIST = "list"
FIRST_TOKEN = "first_token"
ANSWERS = (LIST, FIRST_TOKEN)


class OneShotLLM(LLMRanker):
    """Order by one listwise answer (evidence-ranking paper, C.1).

    With ``answer="list"`` the model names all numbers in order, in layout ``paper`` as a JSON
    object that repeats the sentences. An answer that names each of them is judged as a whole.
    Otherwise it is asked again, ``attempts`` requests in all; then the most complete answer counts
    and the seed order fills the rest (in layout ``paper`` reading order, as in the paper), with
    origin ``fallback``.

    With ``answer="first_token"`` the model writes one token, and the log probabilities of the
    likeliest tokens in its place that are numbers order the candidates. The rest (a server reports
    20 tokens at most) is the seed order with origin ``seed``, or ``fallback`` where no token was a
    number. With ten candidates or more this needs a model whose tokens hold whole numbers: where
    each digit is a token of its own, "1" may be the start of "12". A server that reports no log
    probabilities is a PermanentError, since a list in their place would be another method.
    """

    name: ClassVar[str] = "llm"

    def __init__(
        self,
        llm: LLM,
        *,
        seed_ranker: Ranker,
        layout: str = STABLE,
        answer: str = LIST,
        attempts: int = 5,
        temperature: float = 0.0,
    ):
        problems = []
        if layout not in LAYOUTS:
            problems.append(f"layout: {layout!r} is unknown, choose one of {', '.join(LAYOUTS)}")
        if answer not in ANSWERS:
            problems.append(f"answer: {answer!r} is unknown, choose one of {', '.join(ANSWERS)}")
        if answer == FIRST_TOKEN and layout == PAPER:
            problems.append(f"answer: {FIRST_TOKEN} goes with layout {STABLE}, not {PAPER}")
        super().__init__(
            llm,
            seed_ranker=seed_ranker,
            attempts=attempts,
            temperature=temperature,
            fills_as_read=layout == PAPER,
            problems=problems,
        )
        self.layout = layout
        self.answer = answer
        list_version = PAPER_LIST_VERSION if layout == PAPER else LIST_VERSION
        self.prompt_version = FIRST_TOKEN_VERSION if answer == FIRST_TOKEN else list_version

    @property
    def params(self) -> Mapping[str, Any]:
        """Layout and kind of answer, and what every LLM ranker has."""
        return {"layout": self.layout, "answer": self.answer, **super().params}

    def rank(self, claim: str, candidates: Sequence[str]) -> Ranking:
        """Ask once. See the class for what fills the gaps."""
        if len(candidates) <= 1:
            return Ranking.judged(range(len(candidates)))
        seed, usage = self._seed_order(claim, candidates)
        if self.answer == FIRST_TOKEN:
            judged, cost = self._by_first_token(claim, candidates)
            return filled(judged, seed, SEED if judged else FALLBACK, usage + cost)
        listing = self._listing(claim, candidates)
        return filled(listing.positions, seed, FALLBACK, usage + listing.usage)

    def plan(self, claim: str, candidates: Sequence[str]) -> Sequence[PlannedCall]:
        """One call, none for a single candidate."""
        n = len(candidates)
        if n <= 1:
            return ()
        if self.answer == FIRST_TOKEN:
            return (PlannedCall(first_token_messages(claim, candidates), 1),)
        if self.layout == PAPER:
            expected = _n_chars(candidates) // 4 + 8 * n
            return (PlannedCall(paper_list_messages(claim, candidates), expected),)
        return (PlannedCall(list_messages(claim, candidates), expected_list_tokens(n)),)

    def _listing(self, claim: str, candidates: Sequence[str]) -> Listing:
        """The order as the model names it, in this layout."""
        if self.layout == PAPER:
            return self._paper_listing(claim, candidates)
        return ask_stable_listing(
            self.llm, claim, candidates, attempts=self.attempts, temperature=self.temperature
        )

    def _paper_listing(self, claim: str, candidates: Sequence[str]) -> Listing:
        """A JSON object of all sentences. No schema: one would fix the order of its keys."""
        n = len(candidates)
        return ask_listing(
            self.llm,
            paper_list_messages(claim, candidates),
            n,
            # Twice the tokens of English; other scripts may need the larger budget.
            max_tokens=_n_chars(candidates) // 2 + 16 * n + 64,
            attempts=self.attempts,
            temperature=self.temperature,
        )

    def _by_first_token(self, claim: str, candidates: Sequence[str]) -> tuple[list[int], Usage]:
        """The positions whose numbers are among the likeliest first tokens, and the cost."""
        reply = self.llm.first_tokens(
            first_token_messages(claim, candidates),
            temperature=self.temperature,
            prefix=stable_prefix(claim, candidates),
        )
        if not reply.top_logprobs:
            raise PermanentError(
                f"{self.llm.base_url} reports no log probabilities of tokens (top_logprobs) for "
                f"{self.model}: set answer={LIST}, or use a server that reports them"
            )
        scores = number_scores(reply.top_logprobs, len(candidates))
        return [k - 1 for k in sorted(scores, key=lambda k: (-scores[k], k))], reply.usage


def number_scores(top_logprobs: Sequence[tuple[str, float]], n: int) -> dict[int, float]:
    """Log probability by number 1..n; tokens of one number ("3", " 3") add up, others are left out.

    ``top_logprobs`` holds tokens with their log probabilities (natural logarithm).
    """
    scores: dict[int, float] = {}
    for token, logprob in top_logprobs:
        number = number_of_token(token, n)
        if number is not None:
            scores[number] = _log_sum(scores.get(number, -math.inf), logprob)
    return scores


def _log_sum(a: float, b: float) -> float:
    """log(exp(a) + exp(b)), for logarithms far below what exp can take."""
    high, low = max(a, b), min(a, b)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))


def _n_chars(candidates: Sequence[str]) -> int:
    return sum(len(display(text)) for text in candidates)
