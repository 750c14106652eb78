"""How a simulated reader stops and decides (statistics.md, section 5).

Choices depend on (seed, participant number, claim, condition) alone, so equal seeds give equal
trials whatever the order of things, ids and clocks apart.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

CANT_DECIDE = "cant_decide"


@dataclass(frozen=True)
class Stimulus:
    """What the reader is about to see: ``msr`` is None where no gold set is shown."""

    claim_id: str
    condition: str
    label: str
    n_available: int
    msr: int | None
    is_incremental: bool
    options: tuple[str, ...]
    #: Points of the scale on which the reader says how sure it is; none where that is not asked.
    points: tuple[int, ...] = ()


@dataclass(frozen=True)
class Behaviour:
    """How many sentences the reader looks at, and what the reader then decides."""

    n_read: int
    decision: str


@dataclass(frozen=True)
class NoisyStopper:
    """Parameters of the noisy reader; probabilities per rank or per decision."""

    stops_early: float = 0.04
    gives_up: float = 0.01
    stops_when_sufficient: float = 0.90
    #: Spread of a person's shift, on the logit of both stopping rates.
    person_sd: float = 0.3
    right_if_sufficient: float = 0.95
    wrong_if_sufficient: float = 0.02
    right_if_stopped_early: float = 0.75
    right_if_insufficient: float = 0.10
    wrong_if_insufficient: float = 0.10


def oracle(stimulus: Stimulus, participant: int, seed: int) -> Behaviour:
    """Stops at the first sufficient prefix, decides rightly; without one reads all, undecided."""
    if stimulus.msr is None:
        return Behaviour(stimulus.n_available, CANT_DECIDE)
    n_read = stimulus.msr if stimulus.is_incremental else stimulus.n_available
    decision = stimulus.label if stimulus.label in stimulus.options else CANT_DECIDE
    return Behaviour(n_read, decision)


def noisy(
    stimulus: Stimulus, participant: int, seed: int, rates: NoisyStopper | None = None
) -> Behaviour:
    """Stops early now and then, reads on now and then, and errs now and then."""
    rates = rates or NoisyStopper()
    shift = random.Random(f"{seed}:{participant}").gauss(0, rates.person_sd)
    draw = random.Random(f"{seed}:{participant}:{stimulus.claim_id}:{stimulus.condition}")
    if not stimulus.is_incremental:
        n_read = stimulus.n_available
        stopped_early = False
    else:
        n_read, gave_up, stopped_early = _read(stimulus, draw, shift, rates)
        if gave_up:
            return Behaviour(n_read, CANT_DECIDE)
    is_sufficient = stimulus.msr is not None and stimulus.msr <= n_read
    return Behaviour(n_read, _decide(stimulus, draw, is_sufficient, stopped_early, rates))


def _read(
    stimulus: Stimulus, draw: random.Random, shift: float, rates: NoisyStopper
) -> tuple[int, bool, bool]:
    """(sentences read, whether the reader gave up, whether the reader stopped too early)."""
    early = _shifted(rates.stops_early, shift)
    enough = _shifted(rates.stops_when_sufficient, shift)
    for rank in range(1, stimulus.n_available):
        chance = draw.random()
        if stimulus.msr is not None and rank >= stimulus.msr:
            if chance < enough:
                return rank, False, False
        elif chance < early:
            return rank, False, True
        elif chance < early + rates.gives_up:
            return rank, True, False
    return stimulus.n_available, False, False


def _decide(
    stimulus: Stimulus,
    draw: random.Random,
    is_sufficient: bool,
    stopped_early: bool,
    rates: NoisyStopper,
) -> str:
    if is_sufficient:
        right, wrong = rates.right_if_sufficient, rates.wrong_if_sufficient
    elif stopped_early:
        right, wrong = rates.right_if_stopped_early, 1 - rates.right_if_stopped_early
    else:
        right, wrong = rates.right_if_insufficient, rates.wrong_if_insufficient
    others = [o for o in stimulus.options if o not in (stimulus.label, CANT_DECIDE)]
    chance = draw.random()
    if chance < right:
        return stimulus.label if stimulus.label in stimulus.options else CANT_DECIDE
    if chance < right + wrong:
        return draw.choice(others)
    return CANT_DECIDE


def _shifted(probability: float, shift: float) -> float:
    return 1 / (1 + math.exp(-(math.log(probability / (1 - probability)) + shift)))


def confidence(stimulus: Stimulus, participant: int, seed: int) -> int | None:
    """How sure the reader says it is, by a draw of its own; None where that is not asked."""
    if not stimulus.points:
        return None
    key = f"{seed}:{participant}:{stimulus.claim_id}:{stimulus.condition}:confidence"
    return random.Random(key).choice(stimulus.points)


def questionnaire_answer(question: dict[str, Any], participant: int, seed: int) -> str:
    """An answer that its question takes; meaningless, like everything a simulated reader says."""
    draw = random.Random(f"{seed}:{participant}:question:{question['name']}")
    kind = question["kind"]
    if kind == "choice":
        return str(draw.choice(question["options"]))
    if kind == "scale":
        return str(draw.randint(question["min"], question["max"]))
    if kind == "number":
        return str(question.get("min", min(0, question.get("max", 0))))
    return "A simulated answer."


POLICIES: dict[str, Callable[[Stimulus, int, int], Behaviour]] = {"oracle": oracle, "noisy": noisy}
