"""Tournaments: orders of many candidates from judgements about few of them at a time.

Nothing here asks anyone: a ``Judge`` does, and this module decides whom it sees and what follows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rankers.errors import BadInput
from rankers.llm_ranker import without
from rankers.values import FALLBACK, JUDGED, SEED, Ranking, Usage

GROUPS = "groups"
PAPER = "paper"
TOURNAMENTS = (GROUPS, PAPER)


@dataclass(frozen=True, slots=True)
class Verdict:
    """An answer about some positions: those it named, best first, and whether they suffice."""

    named: tuple[int, ...]
    is_enough: bool
    usage: Usage = field(default_factory=Usage)


#: Judges several groups of positions; each answer has to name so many of its group.
Judge = Callable[[Sequence[Sequence[int]], int], Sequence[Verdict]]


def by_groups(seed: Sequence[int], size: int, keep: int, judge: Judge) -> Ranking:
    """Order the positions of ``seed`` by groups of ``size``, whose best ``keep`` stay, and a final.

    A round judges as many full groups, in reading order, as it takes for one call to hold all that
    is left; those behind them wait. Ranks: the final as it was answered, what it left out and then
    the dropped ones in the order of ``seed``. ``judged`` are the first ``keep``, or all if nothing
    had to be dropped. An answer that named too few is filled from ``seed``, and whoever it placed
    or dropped by that is ``fallback``.
    """
    pool = sorted(seed)
    usage = Usage()
    dropped: dict[int, str] = {}
    while len(pool) > size:
        n_groups = groups_in_round(len(pool), size, keep)
        groups = [pool[k * size : (k + 1) * size] for k in range(n_groups)]
        pool = pool[n_groups * size :]
        for group, verdict in zip(groups, judge(groups, keep), strict=True):
            usage += verdict.usage
            order = _completed(verdict.named, group, seed)
            pool += order[:keep]
            origin = SEED if verdict.is_enough else FALLBACK
            dropped |= dict.fromkeys(order[keep:], origin)
        pool.sort()
    n_judged = keep if dropped else len(pool)
    (final,) = judge([pool], n_judged)
    top = _completed(final.named, pool, seed)
    origins = _top_origins(final, len(top), n_judged)
    return _with_dropped(top, origins, dropped, seed, usage + final.usage)


def one_by_one(n: int, size: int, judge: Judge) -> Ranking:
    """Order positions 0..n-1 by a window of ``size``: its last leaves, the next position comes.

    Ranks: the last answer, then the dropped ones in reading order. The last of the window is not
    ``judged`` if anything was dropped: it was never compared with the one it took the place of.
    What an answer left out keeps its place behind what it named; whoever was placed or dropped by
    that is ``fallback``.
    """
    window: list[int] = list(range(min(n, size)))
    dropped: dict[int, str] = {}
    (verdict,) = judge([window], len(window))
    usage = verdict.usage
    for newcomer in range(size, n):
        *window, weakest = _completed(verdict.named, window, window)
        dropped[weakest] = SEED if weakest in verdict.named else FALLBACK
        window.append(newcomer)
        (verdict,) = judge([window], size)
        usage += verdict.usage
    top = _completed(verdict.named, window, window)
    origins = _top_origins(verdict, len(top), size - 1 if dropped else len(top))
    return _with_dropped(top, origins, dropped, range(n), usage)


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


def _completed(named: Sequence[int], group: Sequence[int], filling: Sequence[int]) -> list[int]:
    """The positions named, then the others of the group in the order of ``filling``."""
    members = set(group)
    rest = [position for position in filling if position in members]
    return [*named, *without(rest, named)]


def _top_origins(verdict: Verdict, n: int, n_judged: int) -> list[str]:
    """Origins of the n ranks that the last answer settles."""
    n_named = len(verdict.named)
    origins = [JUDGED if rank < n_judged else SEED for rank in range(n_named)]
    return origins + [SEED if verdict.is_enough else FALLBACK] * (n - n_named)


def _with_dropped(
    top: Sequence[int],
    origins: Sequence[str],
    dropped: dict[int, str],
    seed: Sequence[int],
    usage: Usage,
) -> Ranking:
    """The whole ranking: the top, then what was dropped in the order of ``seed``."""
    rest = [position for position in seed if position in dropped]
    tail = [dropped[position] for position in rest]
    return Ranking((*top, *rest), (*origins, *tail), usage=usage)
