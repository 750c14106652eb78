"""A listwise reranker that sees few candidates at a time, and tournaments that show it all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from rankers.base import PlannedCall, Ranker
from rankers.errors import BadInput
from rankers.listing import ask_listing, expected_list_tokens, list_tokens
from rankers.llm import LLM
from rankers.llm_ranker import LLMRanker, without
from rankers.prompts import RERANK_VERSION, SYSTEM, TURNS, rerank_messages
from rankers.values import FALLBACK, JUDGED, SEED, Ranking, Usage

GROUPS = "groups"
PAPER = "paper"
TOURNAMENTS = (GROUPS, PAPER)
REASONING_TOKENS = 3072


@dataclass(frozen=True, slots=True)
class Verdict:
    """An answer about some positions: those it named, best first, and whether they suffice."""

    named: tuple[int, ...]
    is_enough: bool
    usage: Usage = field(default_factory=Usage)


#: Judges several groups of positions; each answer has to name so many of its group.
Judge = Callable[[Sequence[Sequence[int]], int], Sequence[Verdict]]


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

    An answer has to name the whole group, in a round that drops candidates by groups at least
    ``keep`` of it; otherwise it is asked again, ``attempts`` requests in all. What it still leaves
    out keeps its place behind what it names (in the tournament of groups: in the seed order), and
    a candidate placed or dropped that way has origin ``fallback``.

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
            problems=problems,
        )
        self.tournament = tournament
        self.group = group
        self.keep = keep
        self.instructions = instructions
        self.reasoning_tokens = reasoning_tokens

    @property
    def params(self) -> Mapping[str, Any]:
        """The tournament with its sizes, place of the instructions, budgets, and the seed order."""
        return {
            "tournament": self.tournament,
            "group": self.group,
            "keep": self.keep,
            "instructions": self.instructions,
            "reasoning_tokens": self.reasoning_tokens,
            "attempts": self.attempts,
            "temperature": self.temperature,
            "seed_order": (
                "document_order" if self.tournament == PAPER else repr(self.seed_ranker)
            ),
        }

    def rank(self, claim: str, candidates: Sequence[str]) -> Ranking:
        """Run the tournament. TransportError and PermanentError end it as they come."""
        n = len(candidates)
        if n <= 1:
            return Ranking.judged(range(n))

        def judge(groups: Sequence[Sequence[int]], needed: int) -> Sequence[Verdict]:
            with ThreadPoolExecutor(max_workers=len(groups)) as pool:
                return list(
                    pool.map(lambda group: self._ask(claim, candidates, group, needed), groups)
                )

        if self.tournament == PAPER:
            return one_by_one(n, self.group, judge)
        seed, usage = self._seed_order(claim, candidates)
        ranking = by_groups(seed, self.group, self.keep, judge)
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

        self._run_with(judge, len(candidates))
        return calls

    def _run_with(self, judge: Judge, n: int) -> None:
        """The tournament in reading order."""
        if n > 1 and self.tournament == PAPER:
            one_by_one(n, self.group, judge)
        elif n > 1:
            by_groups(range(n), self.group, self.keep, judge)

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

    def _messages(self, claim: str, candidates: Sequence[str], group: Sequence[int]) -> Any:
        texts = [candidates[position] for position in group]
        return rerank_messages(claim, texts, self.instructions)


def by_groups(seed: Sequence[int], size: int, keep: int, judge: Judge) -> Ranking:
    """The ranking of a tournament of groups over the positions of ``seed`` (see Reranker)."""
    pool = sorted(seed)
    usage = Usage()
    dropped: dict[int, str] = {}
    while len(pool) > size:
        n_groups = groups_in_round(len(pool), size, keep)
        groups = [pool[k * size : (k + 1) * size] for k in range(n_groups)]
        waiting = pool[n_groups * size :]
        pool = []
        for group, verdict in zip(groups, judge(groups, keep), strict=True):
            usage += verdict.usage
            unnamed = [position for position in seed if position in group]
            order = [*verdict.named, *without(unnamed, verdict.named)]
            pool += sorted(order[:keep])
            origin = SEED if verdict.is_enough else FALLBACK
            dropped |= dict.fromkeys(order[keep:], origin)
        pool += waiting
    n_judged = keep if dropped else len(pool)
    (final,) = judge([pool], n_judged)
    last = without([position for position in seed if position in pool], final.named)
    rest = [position for position in seed if position in dropped]
    origins = [JUDGED if rank < n_judged else SEED for rank in range(len(final.named))]
    origins += [SEED if final.is_enough else FALLBACK] * len(last)
    origins += [dropped[position] for position in rest]
    return Ranking((*final.named, *last, *rest), tuple(origins), usage=usage + final.usage)


def one_by_one(n: int, size: int, judge: Judge) -> Ranking:
    """The ranking of the paper's tournament over n candidates (see Reranker)."""
    window = list(range(min(n, size)))
    dropped: dict[int, str] = {}
    (verdict,) = judge([window], len(window))
    usage = verdict.usage
    window = [*verdict.named, *without(window, verdict.named)]
    for newcomer in range(size, n):
        weakest = window.pop()
        dropped[weakest] = SEED if weakest in verdict.named else FALLBACK
        window.append(newcomer)
        (verdict,) = judge([window], size)
        usage += verdict.usage
        window = [*verdict.named, *without(window, verdict.named)]
    rest = sorted(dropped)
    n_judged = size - 1 if dropped else len(window)
    origins = [JUDGED if rank < n_judged else SEED for rank in range(len(verdict.named))]
    origins += [FALLBACK] * (len(window) - len(verdict.named))
    origins += [dropped[position] for position in rest]
    return Ranking((*window, *rest), tuple(origins), usage=usage)


def groups_in_round(n: int, size: int, keep: int) -> int:
    """How many full groups to judge of n > size candidates, so that one call can hold the rest.

    Each group takes ``size - keep`` candidates away. Where there are too few full groups for that,
    all of them are judged and another round follows.
    """
    wanted = -(-(n - size) // (size - keep))
    return min(wanted, n // size)


def n_calls(n: int, tournament: str, size: int, keep: int) -> int:
    """How many calls n candidates take, corrections aside. Raises BadInput for impossible sizes."""
    problems = size_problems(tournament, size, keep)
    if problems:
        raise BadInput(problems)
    if n <= size:
        return int(n > 1)
    if tournament == PAPER:
        return n - size + 1
    n_groups = groups_in_round(n, size, keep)
    return n_groups + n_calls(n - n_groups * (size - keep), tournament, size, keep)


def size_problems(tournament: str, group: int, keep: int) -> list[str]:
    """What is wrong with the sizes of a tournament, one line each."""
    problems = []
    if tournament not in TOURNAMENTS:
        names = ", ".join(TOURNAMENTS)
        problems.append(f"tournament: {tournament!r} is unknown, choose one of {names}")
    if group < 2:
        problems.append(f"group: {group} is below 2")
    if keep < 1:
        problems.append(f"keep: {keep} is below 1")
    elif tournament != PAPER and keep >= group:
        problems.append(f"keep: {keep} is not below group ({group}), so no round would end")
    return problems
