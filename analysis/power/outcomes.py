"""What every simulated study finds: one value a study for each test and each mean."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analysis.power import simulate
from analysis.power.assumptions import Assumptions
from analysis.power.clustered import Paired, TwoWay
from analysis.power.layout import Layout

#: Trials simulated at once; bounds the memory, not the result.
_BATCH = 1_000_000

#: Name to one value a study; bools for tests, floats for means, None where a test is not defined.
Outcomes = dict[str, np.ndarray | None]


def success_outcomes(layout: Layout, assumptions: Assumptions, sims: int, seed: int) -> Outcomes:
    """The primary test of success alone: it differs, and it is non-inferior."""
    test = _two_way(layout)
    parts: list[Outcomes] = []
    for runs in _batches(layout, sims):
        estimate = test.estimate(simulate.successes(layout, assumptions, seed, runs))
        parts.append(
            {
                "power_success_two_way": estimate.differs,
                "noninferior_two_way": estimate.is_above(-assumptions.margin),
            }
        )
    return _joined(parts)


def all_outcomes(layout: Layout, assumptions: Assumptions, sims: int, seed: int) -> Outcomes:
    """All tests and means of success and reading."""
    test = _two_way(layout)
    by_claims = Paired.of(layout.is_first, layout.claim)
    by_people = Paired.of(layout.is_first, layout.participant)
    parts = []
    for runs in _batches(layout, sims):
        success = simulate.successes(layout, assumptions, seed, runs)
        read = simulate.reading(layout, assumptions, seed, runs)
        parts.append(
            _success(success, layout, assumptions.margin, (test, by_claims, by_people))
            | _reading(read, layout, assumptions, (test, by_claims))
        )
    return _joined(parts)


def _success(
    values: np.ndarray, layout: Layout, margin: float, tests: tuple[TwoWay, Paired, Paired]
) -> Outcomes:
    """Tests of success by 4.1, over claims and over people, and its means."""
    outcomes: Outcomes = {}
    estimates = {
        "two_way": tests[0].estimate(values),
        "claims": tests[1].estimate(values),
        "participants": tests[2].estimate(values),
    }
    for name, estimate in estimates.items():
        outcomes[f"power_success_{name}"] = None if estimate is None else estimate.differs
        outcomes[f"noninferior_{name}"] = None if estimate is None else estimate.is_above(-margin)
    first, second = _means(values, layout)
    return outcomes | {
        "success_rate_first": first,
        "success_rate_second": second,
        "mean_rd": first - second,
    }


def _reading(
    read: simulate.Read, layout: Layout, assumptions: Assumptions, tests: tuple[TwoWay, Paired]
) -> Outcomes:
    """Tests of fewer sentences in the first condition, and the means of reading."""
    outcomes: Outcomes = {}
    by_claims = tests[1].estimate(read.n_read)
    outcomes["power_fewer_read_two_way"] = tests[0].estimate(read.n_read).is_below_zero
    outcomes["power_fewer_read_claims"] = None if by_claims is None else by_claims.is_below_zero
    read_first, read_second = _means(read.n_read, layout)
    surplus = _means(read.n_read - read.required, layout)
    over_read = _means((read.n_read > read.rank).astype(float), layout)
    outcomes |= {
        "mean_read_first": read_first,
        "mean_read_second": read_second,
        "mean_read_difference": read_first - read_second,
    }
    for place, which in enumerate(("first", "second")):
        is_incremental = assumptions.interfaces[place] == "incremental"
        outcomes[f"mean_surplus_{which}"] = surplus[place]
        outcomes[f"over_read_msr_rate_{which}"] = over_read[place] if is_incremental else None
    return outcomes


def _means(values: np.ndarray, layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Mean of the first and of the second condition in every run."""
    return values[:, layout.is_first].mean(axis=1), values[:, ~layout.is_first].mean(axis=1)


def _two_way(layout: Layout) -> TwoWay:
    return TwoWay.of(layout.is_first, layout.participant, layout.claim)


def _batches(layout: Layout, sims: int) -> Iterator[range]:
    """The runs 0 to sims - 1 in batches."""
    size = max(1, _BATCH // layout.trials)
    for start in range(0, sims, size):
        yield range(start, min(start + size, sims))


def _joined(parts: list[Outcomes]) -> Outcomes:
    """The outcomes of the batches as those of all runs."""
    joined: Outcomes = {}
    for name in parts[0]:
        found = [values for part in parts if (values := part[name]) is not None]
        joined[name] = np.concatenate(found) if found else None
    return joined
