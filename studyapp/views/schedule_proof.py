"""The proof of balance in words: what a schedule promises, its numbers, and whether it holds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from studyapp.domain.balance import Balance
from studyapp.domain.schedule_table import Stratum
from studyapp.enums import Label, OrderPolicy
from studyapp.models import Study
from studyapp.views.researcher_words import counted, listed, number

#: Examples named where something does not hold.
MAX_EXAMPLES = 3


@dataclass(frozen=True)
class Statement:
    """One promise. ``verdict`` says in a word how it stands; ``tone`` picks the sign beside it."""

    says: str
    numbers: str
    verdict: str
    tone: str


@dataclass(frozen=True)
class StratumRow:
    """One stratum over the subsets, ready to print."""

    label: str
    size: str
    smallest: str
    largest: str
    total: str
    verdict: str
    tone: str


def statements(
    study: Study,
    balance: Balance,
    strata: list[Stratum],
    positions: dict[int, Counter[str]],
) -> list[Statement]:
    """Every statement of the proof, in the order in which one asks."""
    names = list(balance.trials_of)
    return [
        _claims_once(balance, _n_claims(strata)),
        _nobody_twice(balance),
        _subset_sizes(study, strata),
        _stratified(study, strata),
        _first_conditions(study, balance),
        _shared_positions(study, names, positions),
    ]


def stratum_rows(study: Study, strata: list[Stratum]) -> list[StratumRow]:
    """How evenly each stratum is dealt into the subsets."""
    rows = []
    for stratum in strata:
        counts = _counts(stratum, study.n_subsets)
        rows.append(
            StratumRow(
                label=Label(stratum.label).label,
                size=number(stratum.gold_min_size),
                smallest=number(min(counts)),
                largest=number(max(counts)),
                total=number(sum(stratum.per_subset.values())),
                **_verdict(_is_even(stratum, study.n_subsets)),
            )
        )
    return rows


def _claims_once(balance: Balance, n_claims: int) -> Statement:
    cells = balance.claims_once
    wrong = [key for key, once in cells.items() if once != n_claims]
    numbers = (
        f"{counted(n_claims, 'claim')} in {number(len(cells) - len(wrong))} of "
        f"{counted(len(cells), 'pair')} of cycle and condition"
    )
    examples = [
        f"{number(cells[key])} in cycle {key[0]} under {key[1]}" for key in wrong[:MAX_EXAMPLES]
    ]
    return Statement(
        says="Every claim is seen once under every condition in every cycle",
        numbers=f"{numbers}; {listed(examples)}" if examples else numbers,
        **_verdict(not wrong),
    )


def _nobody_twice(balance: Balance) -> Statement:
    good = balance.n_slots - balance.n_repeating
    return Statement(
        says="Nobody meets a claim twice",
        numbers=(
            f"{number(good)} of {counted(balance.n_slots, 'slot')} show each subset under one "
            "condition only"
        ),
        **_verdict(not balance.n_repeating),
    )


def _subset_sizes(study: Study, strata: list[Stratum]) -> Statement:
    sizes = Counter[int]()
    for stratum in strata:
        sizes.update(stratum.per_subset)
    n_without = sizes.pop(0, 0)
    how_many = Counter(sizes[subset] for subset in range(1, study.n_subsets + 1))
    numbers = listed(
        [
            f"{counted(n, 'subset')} of {counted(size, 'claim')}"
            for size, n in sorted(how_many.items())
        ]
    )
    if n_without:
        numbers += f"; {counted(n_without, 'claim')} in none"
    is_even = max(how_many) - min(how_many) <= 1 and not n_without
    return Statement("Subsets differ by at most one claim", numbers, **_verdict(is_even))


def _stratified(study: Study, strata: list[Stratum]) -> Statement:
    even = [stratum for stratum in strata if _is_even(stratum, study.n_subsets)]
    return Statement(
        says="Labels and gold set sizes are dealt evenly over the subsets",
        numbers=(
            f"subsets differ by at most one claim in {number(len(even))} of "
            f"{counted(len(strata), 'stratum', 'strata')}"
        ),
        **_verdict(len(even) == len(strata)),
    )


def _first_conditions(study: Study, balance: Balance) -> Statement:
    first = balance.first_condition
    numbers = listed([f"{name} begins {counted(n, 'slot')}" for name, n in first.items()])
    return Statement(
        says="Every condition begins as many slots as any other, or one fewer",
        numbers=numbers,
        **_verdict(max(first.values()) - min(first.values()) <= 1, _by_chance(study)),
    )


def _shared_positions(
    study: Study, names: list[str], positions: dict[int, Counter[str]]
) -> Statement:
    gaps = {
        position: max(counts[name] for name in names) - min(counts[name] for name in names)
        for position, counts in positions.items()
    }
    even = sum(gap <= 1 for gap in gaps.values())
    numbers = f"even at {number(even)} of {counted(len(gaps), 'position')}"
    if even < len(gaps):
        widest = max(gaps, key=lambda position: gaps[position])
        numbers += f"; most uneven at position {widest}: {counted(gaps[widest], 'slot')} apart"
    return Statement(
        says="Every condition has each position of a slot as often as any other, or once fewer",
        numbers=numbers,
        **_verdict(even == len(gaps), _by_chance(study)),
    )


def _by_chance(study: Study) -> bool:
    """Whether the order policy leaves positions to chance and promises nothing of them."""
    return study.order_policy == OrderPolicy.INTERLEAVED


def _verdict(holds: bool, is_by_chance: bool = False) -> dict[str, str]:
    if holds:
        return {"verdict": "holds", "tone": "done"}
    if is_by_chance:
        return {"verdict": "does not hold; interleaved order leaves it to chance", "tone": "plain"}
    return {"verdict": "does not hold", "tone": "problem"}


def _n_claims(strata: list[Stratum]) -> int:
    return sum(sum(stratum.per_subset.values()) for stratum in strata)


def _is_even(stratum: Stratum, n_subsets: int) -> bool:
    counts = _counts(stratum, n_subsets)
    return max(counts) - min(counts) <= 1


def _counts(stratum: Stratum, n_subsets: int) -> list[int]:
    return [stratum.per_subset.get(subset, 0) for subset in range(1, n_subsets + 1)]
