"""An LLM drafts an order in one call and then mends its first positions, several at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

from rankers.base import PlannedCall, Ranker
from rankers.errors import RankerError
from rankers.incremental import EXPECTED_PICK_TOKENS, ask_pick, n_questions
from rankers.listing import ask_stable_listing, expected_list_tokens
from rankers.llm import LLM
from rankers.llm_ranker import LLMRanker, without
from rankers.prompts import LIST_VERSION, STABLE_VERSION, list_messages, stable_question
from rankers.values import FALLBACK, JUDGED, Ranking, Usage

MOST_AHEAD = 3

#: A position or None, and the cost of asking.
Pick = tuple[int | None, Usage]
#: Asks for the position after those chosen.
Ask = Callable[[Sequence[int]], Pick]


class OnePassRepair(LLMRanker):
    """A listwise draft whose first ``depth`` positions (0: all) are asked for one by one.

    The draft is the answer of ``llm`` in layout ``stable``, completed by the seed order. The
    questions are those of ``incremental_llm`` in the same prefix, with the draft as its seed
    order, and so is the result if the model is deterministic. But they need not wait for one
    another: while an answer is awaited, up to ``ahead`` further questions are under way that
    suppose the model agrees with the draft. A disagreement makes them useless, and asking starts
    again behind it. One after another come 1 + ceil(depth / (ahead + 1)) answers plus, at most,
    one for each disagreement.

    Behind ``depth`` the ranks that the draft named are ``judged`` and those that the seed order
    had to fill are ``fallback``. Answers to useless questions count in the usage and their errors
    do not matter; an error of any other call ends the ranking, and with a response store a later
    run pays only for what is missing.
    """

    name: ClassVar[str] = "one_pass_repair"
    prompt_version = f"{LIST_VERSION}+{STABLE_VERSION}"

    def __init__(
        self,
        llm: LLM,
        *,
        seed_ranker: Ranker,
        depth: int = 6,
        ahead: int = MOST_AHEAD,
        attempts: int = 5,
        temperature: float = 0.0,
    ):
        problems = []
        if depth < 0:
            problems.append(f"depth: {depth} is below 0 (0 asks for every position)")
        if not 0 <= ahead <= MOST_AHEAD:
            problems.append(f"ahead: {ahead} is not from 0 to {MOST_AHEAD}")
        super().__init__(
            llm,
            seed_ranker=seed_ranker,
            attempts=attempts,
            temperature=temperature,
            problems=problems,
        )
        self.depth = depth
        self.ahead = ahead

    @property
    def params(self) -> Mapping[str, Any]:
        """Depth and questions ahead, and what every LLM ranker has."""
        return {"depth": self.depth, "ahead": self.ahead, **super().params}

    def rank(self, claim: str, candidates: Sequence[str]) -> Ranking:
        """Draft, then mend. See the class for the origins."""
        n = len(candidates)
        if n <= 1:
            return Ranking.judged(range(n))
        seed, usage = self._seed_order(claim, candidates)
        listing = ask_stable_listing(
            self.llm, claim, candidates, attempts=self.attempts, temperature=self.temperature
        )
        usage += listing.usage
        drafted = listing.positions
        draft = [*drafted, *without(seed, drafted)]

        def ask(chosen: Sequence[int]) -> Pick:
            return ask_pick(
                self.llm,
                stable_question(claim, candidates, chosen),
                n,
                attempts=self.attempts,
                temperature=self.temperature,
            )

        mended = mend(draft, n_questions(n, self.depth), self.ahead, ask)
        left = without(draft, mended.order)
        named = set(drafted)
        # A single sentence that is left over has been reached by the questions before it.
        is_reached = len(left) == 1 and (not self.depth or self.depth >= n)
        tail = [JUDGED if is_reached or k in named else FALLBACK for k in left]
        return Ranking((*mended.order, *left), (*mended.origins, *tail), usage=usage + mended.usage)

    def plan(self, claim: str, candidates: Sequence[str]) -> Sequence[PlannedCall]:
        """The draft and one call a position, reading order standing in for draft and picks."""
        n = len(candidates)
        if n <= 1:
            return ()
        draft = PlannedCall(list_messages(claim, candidates), expected_list_tokens(n))
        questions = (
            stable_question(claim, candidates, range(k)) for k in range(n_questions(n, self.depth))
        )
        picks = [PlannedCall(question.messages, EXPECTED_PICK_TOKENS) for question in questions]
        return (draft, *picks)


def most_calls(n_candidates: int, depth: int, ahead: int) -> int:
    """The largest number of calls, corrections aside: the model never agrees with its draft."""
    n_asked = n_questions(n_candidates, depth)
    return bool(n_asked) + sum(min(ahead + 1, n_asked - k) for k in range(n_asked))


@dataclass(frozen=True, slots=True)
class Mended:
    """The first positions as mended, with their origins and what all the asking cost."""

    order: tuple[int, ...]
    origins: tuple[str, ...]
    usage: Usage


def mend(draft: Sequence[int], n_asked: int, ahead: int, ask: Ask) -> Mended:
    """Ask for the first ``n_asked`` positions of an order, up to ``ahead`` of them in advance.

    A position without a usable answer keeps what the draft has there, with origin ``fallback``.
    The first error of a question that mattered is raised once the calls under way have ended.
    """
    order: list[int] = []
    origins: list[str] = []
    usage = Usage()
    left = list(draft)
    # asked[k] asks what follows ``order`` and the first k of ``left``.
    asked: deque[Future[Pick]] = deque()
    useless: list[Future[Pick]] = []
    with ThreadPoolExecutor(max_workers=max(1, n_asked * (ahead + 1))) as pool:
        while len(order) < n_asked:
            while len(asked) <= ahead and len(order) + len(asked) < n_asked:
                asked.append(pool.submit(ask, (*order, *left[: len(asked)])))
            picked, cost = asked.popleft().result()
            usage += cost
            if picked not in (None, left[0]):
                useless += asked
                asked.clear()
            origins.append(FALLBACK if picked is None else JUDGED)
            order.append(left[0] if picked is None else picked)
            left.remove(order[-1])
    for future in useless:
        with suppress(RankerError):
            usage += future.result()[1]
    return Mended(tuple(order), tuple(origins), usage)
