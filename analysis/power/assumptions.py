"""What a simulated study assumes, with the defaults of statistics.md 5, and what is refused."""

from __future__ import annotations

import math
from dataclasses import dataclass

from analysis.trial_columns import INTERFACES

#: Value and share, in the order of the values.
Shares = tuple[tuple[int, float], ...]

#: Readers of incremental trials.
READERS = ("noisy", "oracle")

#: Shares may miss 1 by rounding.
_SUM_SLACK = 0.005


@dataclass(frozen=True, slots=True)
class Reading:
    """How many sentences a trial needs, and how many are read.

    ``required``: shares of claims by size of the smallest gold set. ``optimal``: probability that
    a ranked list shows it first; else ``excess`` is the parameter of the geometric number of
    sentences more. ``shown``: shares of claims by size of the set that is shown all at once.
    ``reader``: ``oracle`` stops at the first sufficient rank; ``noisy`` stops at each rank before
    it with ``early`` or gives up with ``gives_up``, and stops at each rank from it on with
    ``stops``; people differ by a shift with SD ``sd_reader`` on the logit of ``early`` and
    ``stops``.
    """

    required: Shares = ((1, 0.44), (2, 0.34), (3, 0.14), (4, 0.06), (5, 0.02))
    optimal: float = 0.70
    excess: float = 0.65
    #: Mean 3.7 sentences, SD 1.9.
    shown: Shares = (
        (1, 0.12),
        (2, 0.19),
        (3, 0.20),
        (4, 0.17),
        (5, 0.14),
        (6, 0.09),
        (7, 0.05),
        (8, 0.03),
        (9, 0.01),
    )
    reader: str = "noisy"
    early: float = 0.04
    gives_up: float = 0.01
    stops: float = 0.90
    sd_reader: float = 0.3


@dataclass(frozen=True, slots=True)
class Assumptions:
    """Two conditions, the first compared with the second, and how people and claims differ.

    ``success``: marginal success rates. The SDs are on the logit: of people, of people's
    difference between the conditions (slope), of claims, of claims' difference. ``margin``: a
    first condition not worse by more than this is non-inferior.
    """

    names: tuple[str, str] = ("ranking", "selection")
    interfaces: tuple[str, str] = ("incremental", "all_at_once")
    success: tuple[float, float] = (0.94, 0.74)
    sd_participant: float = 0.5
    sd_participant_slope: float = 0.3
    sd_claim: float = 0.9
    sd_claim_slope: float = 0.0
    margin: float = 0.10
    reading: Reading = Reading()

    @property
    def total_sd(self) -> float:
        """Spread of a trial's logit within a condition."""
        levels = self.sd_participant**2 + self.sd_claim**2
        slopes = self.sd_participant_slope**2 + self.sd_claim_slope**2
        return math.sqrt(levels + slopes / 4)


def problems_of(assumptions: Assumptions) -> list[tuple[str, str]]:
    """What is wrong with assumptions: name of the field and a sentence; empty when sound."""
    return [
        *_problems_of_rates(assumptions),
        *_problems_of_spread(assumptions),
        *_problems_of_reading(assumptions.reading),
    ]


def _problems_of_rates(assumptions: Assumptions) -> list[tuple[str, str]]:
    problems = [
        ("success", f"{rate:g} is no rate above 0 and below 1")
        for rate in assumptions.success
        if not 0 < rate < 1
    ]
    if not 0 < assumptions.margin < 1:
        problems.append(("margin", f"{assumptions.margin:g} is not above 0 and below 1"))
    problems += [
        ("interfaces", f"{interface!r} is none of {', '.join(INTERFACES)}")
        for interface in assumptions.interfaces
        if interface not in INTERFACES
    ]
    first, second = assumptions.names
    if not first or not second or first == second:
        problems.append(("contrast", f"{first!r} and {second!r} are not two names"))
    return problems


def _problems_of_spread(assumptions: Assumptions) -> list[tuple[str, str]]:
    spreads = {
        name: getattr(assumptions, name)
        for name in ("sd_participant", "sd_participant_slope", "sd_claim", "sd_claim_slope")
    }
    spreads["sd_reader"] = assumptions.reading.sd_reader
    return [
        (name, f"{spread:g} is no standard deviation from 0 to 10 (on the logit)")
        for name, spread in spreads.items()
        if not 0 <= spread <= 10
    ]


def _problems_of_reading(reading: Reading) -> list[tuple[str, str]]:
    problems = []
    for name in ("required", "shown"):
        problems += [(name, problem) for problem in _problems_of_shares(getattr(reading, name))]
    if reading.reader not in READERS:
        problems.append(("reader", f"{reading.reader!r} is none of {', '.join(READERS)}"))
    for name in ("optimal", "early", "gives_up"):
        value = getattr(reading, name)
        if not 0 <= value <= 1:
            problems.append((name, f"{value:g} is no probability from 0 to 1"))
    # Below 0.01 a simulated reader would go on for hundreds of sentences.
    for name in ("excess", "stops"):
        value = getattr(reading, name)
        if not 0.01 <= value <= 1:
            problems.append((name, f"{value:g} is no probability from 0.01 to 1"))
    if reading.early + reading.gives_up > 1:
        problems.append(
            ("gives_up", "with early stops more than 1; a reader does one or the other")
        )
    return problems


def _problems_of_shares(shares: Shares) -> list[str]:
    problems = [
        f"{size}:{share:g} has no size of at least 1 with a share from 0 to 1"
        for size, share in shares
        if size < 1 or not 0 <= share <= 1
    ]
    sizes = [size for size, _ in shares]
    if len(set(sizes)) < len(sizes):
        problems.append("a size occurs twice")
    total = sum(share for _, share in shares)
    if not problems and abs(total - 1) > _SUM_SLACK:
        problems.append(f"the shares sum to {total:g}, not 1")
    return problems
