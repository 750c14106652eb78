"""The crossed bootstrap: its draws, the difference of conditions, intervals of the measures."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis import check_tables, measures_by, scored_trials
from analysis.comparison import crossed_bootstrap as contrasted
from analysis.comparison.compared import FAMILY
from analysis.comparison.contrast import Contrast
from analysis.comparison.crossed_bootstrap import crossed_bootstrap
from analysis.definitions import MEASURES
from analysis.inclusion import exclusion_reasons
from analysis.intervals import FOLDINGS, LEFT_OUT, RATIOS, bootstrap_intervals
from analysis.resampling import DRAWS_AT_ONCE, NO_SPREAD, Crossed, Sums, crossed, divide, resample
from tests.analysis.builders import (
    TRIAL_CASES,
    case_tables,
    expected,
    selection_trial,
    study,
    trial,
    trials,
)
from tests.shared_data import needs_data

CONTRAST = Contrast("ranking", "selection")
CONDITIONS = ["ranking", "selection"]
UNDEFINED = {"se": None, "percentile95": None, "B": 0, "redrawn": 0}


def design_set(*rows: dict[str, str], **changes: Any) -> pd.DataFrame:
    scored = scored_trials(check_tables(trials(*rows), None, study(**changes)))
    return scored[exclusion_reasons(scored) == ""]


def case_design_set(case: str) -> pd.DataFrame:
    table, _, settings = case_tables(case)
    scored = scored_trials(check_tables(table, None, settings))
    return scored[exclusion_reasons(scored) == ""]


def small_study(n_people: int = 4, n_claims: int = 6) -> list[dict[str, str]]:
    """Every participant meets every claim, in alternating conditions; times and answers differ."""
    answers = itertools.cycle(["supported", "refuted", "cant_decide", "supported", "supported"])
    rows = []
    for person, claim in itertools.product(range(n_people), range(n_claims)):
        make = trial if (person + claim) % 2 else selection_trial
        own = {"n_read": 1 + (2 * person + claim) % 4} if make is trial else {}
        hidden = 1000 * (1 + person + claim)
        rows.append(
            make(
                trial_id=f"t{person}{claim}",
                participant_id=f"P{person}",
                slot=1 + person % 2,
                replication=1 + person // 2,
                subset=1,
                claim_id=f"c{claim}",
                position=1 + claim,
                decision=next(answers),
                hidden_ms=hidden,
                active_ms=20_000 - hidden,
                **own,
            )
        )
    return rows


@needs_data
@pytest.mark.data
@pytest.mark.parametrize("case", TRIAL_CASES)
def test_the_difference_agrees_with_the_independent_bootstrap(case: str) -> None:
    wanted = expected(case)["inference_design_set"]["crossed_bootstrap"]
    found = crossed_bootstrap(case_design_set(case), CONTRAST, seed=7)
    for key, tolerance in {"success": 0.03, "read": 0.15}.items():
        assert found[key]["estimate"] == pytest.approx(wanted[key]["estimate"], abs=1e-9)
        assert found[key]["se"] == pytest.approx(wanted[key]["se"], rel=0.06)
        assert found[key]["percentile95"] == pytest.approx(
            wanted[key]["percentile95"], abs=tolerance
        )
        assert found[key]["B"] == 10_000


def literal_differences(rows: pd.DataFrame, draws: int, seed: int) -> np.ndarray:
    """Every draw with its trials written out as often as they weigh, draw by draw."""
    rows, design = crossed(rows)
    people, claims = next(design.multiplicities(seed))
    found = []
    for draw in range(draws):
        times = people[design.people, draw] * claims[design.claims, draw]
        drawn = rows.loc[rows.index.repeat(times.astype(int))]
        means = drawn.groupby("condition")["n_read"].mean()
        found.append(means.get("ranking", np.nan) - means.get("selection", np.nan))
    return np.array(found)


def test_a_draw_is_the_trials_repeated_as_often_as_person_and_claim_were_drawn() -> None:
    rows = design_set(*small_study(6, 8), replications=3)
    literal = literal_differences(rows, DRAWS_AT_ONCE, seed=3)
    found = crossed_bootstrap(rows, CONTRAST, seed=3, draws=DRAWS_AT_ONCE)["read"]
    assert found["redrawn"] == 0
    assert not np.isnan(literal).any()
    assert found["se"] == pytest.approx(literal.std(ddof=1))
    assert found["percentile95"] == pytest.approx(np.quantile(literal, [0.025, 0.975]))


def test_draws_without_weight_in_a_condition_are_replaced_and_counted() -> None:
    # Only two trials of selection, each of its own person and claim.
    rows = [row for row in small_study() if row["condition"] == "ranking"]
    rows += [row for row in small_study() if row["trial_id"] in ("t11", "t00")]
    table = design_set(*rows, replications=2)
    literal = literal_differences(table, DRAWS_AT_ONCE, seed=3)
    defined = literal[~np.isnan(literal)]
    draws = 60
    assert draws <= len(defined) < len(literal)
    last = np.flatnonzero(~np.isnan(literal))[draws - 1]
    found = crossed_bootstrap(table, CONTRAST, seed=3, draws=draws)["read"]
    assert (found["B"], found["redrawn"]) == (draws, last + 1 - draws)
    assert found["se"] == pytest.approx(defined[:draws].std(ddof=1))


def test_multiplicities_draw_as_many_as_there_are_with_equal_chance() -> None:
    people, claims = zip(
        *itertools.islice(
            Crossed(np.zeros(0), np.zeros(0), n_people=5, n_claims=40).multiplicities(1), 20
        ),
        strict=True,
    )
    for blocks, n in ((people, 5), (claims, 40)):
        counts = np.hstack(blocks)
        assert counts.shape == (n, 20 * DRAWS_AT_ONCE)
        assert (counts.sum(axis=0) == n).all()
        # Mean 1, variance 1 - 1/n of a multinomial count; six standard errors of either.
        assert np.abs(counts.mean(axis=1) - 1).max() < 6 / np.sqrt(counts.shape[1])
        assert counts.var() == pytest.approx(1 - 1 / n, abs=0.1)


def test_the_order_of_rows_changes_no_bit_and_the_seed_changes_the_draws() -> None:
    rows = design_set(*small_study(), replications=2)
    shuffled = rows.sample(frac=1, random_state=1)
    first, again, other = (
        json.dumps(crossed_bootstrap(table, CONTRAST, seed, 200))
        for table, seed in ((rows, 1), (shuffled, 1), (rows, 2))
    )
    assert first == again
    assert first != other
    first, again, other = (
        json.dumps(bootstrap_intervals(table, CONDITIONS, seed, 200))
        for table, seed in ((rows, 1), (shuffled, 1), (rows, 2))
    )
    assert first == again
    assert first != other


def test_large_sets_get_fewer_draws_unless_a_number_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = design_set(*small_study(), replications=2)
    monkeypatch.setattr(contrasted, "MANY_TRIALS", len(rows))
    assert crossed_bootstrap(rows, CONTRAST, 1)["read"]["B"] == 10_000
    monkeypatch.setattr(contrasted, "MANY_TRIALS", len(rows) - 1)
    assert crossed_bootstrap(rows, CONTRAST, 1)["read"]["B"] == 2_000
    assert crossed_bootstrap(rows, CONTRAST, 1, draws=30)["read"]["B"] == 30
    with pytest.raises(ValueError, match="2 or more"):
        crossed_bootstrap(rows, CONTRAST, 1, draws=1)


def test_what_the_trials_do_not_define_is_refused_and_not_drawn_for_ever() -> None:
    design = Crossed(np.arange(3), np.arange(3), 3, 3)
    for columns in ([[1.0, 1], [np.nan, 1], [2, 1]], [[1.0, 0], [2, 0], [2, 0]]):
        part = Sums(np.arange(3), np.array(columns))
        with pytest.raises(ValueError, match="not defined"):
            resample(design, [part], lambda sums: divide(sums[0], [0], [1]), 10, seed=1)


def test_a_condition_without_trials_is_named() -> None:
    rows = design_set(*(row for row in small_study() if row["condition"] == "ranking"))
    reason = "not defined, because no trial of selection has a value"
    wanted = {"estimate": None} | UNDEFINED | {"reason": reason}
    assert crossed_bootstrap(rows, CONTRAST, 1) == {measure.key: wanted for measure in FAMILY}
    nothing = crossed_bootstrap(rows[:0], CONTRAST, 1)
    assert {value["estimate"] for value in nothing.values()} == {None}


@pytest.mark.parametrize(("n_people", "n_claims"), [(1, 6), (4, 1)])
def test_one_person_or_one_claim_has_an_estimate_and_no_spread(
    n_people: int, n_claims: int
) -> None:
    rows = design_set(*small_study(n_people, n_claims), replications=2)
    found = crossed_bootstrap(rows, CONTRAST, 1)
    which = "participant" if n_people == 1 else "claim"
    reason = f"not defined, because one {which} alone cannot be resampled"
    for measure in FAMILY:
        value = dict(found[measure.key])
        assert value.pop("estimate") is not None
        assert value == UNDEFINED | {"reason": reason}
    intervals = bootstrap_intervals(rows, CONDITIONS, 1)
    assert intervals["intervals"]["ranking"]["mean_read"] is None
    assert intervals["not_defined"]["ranking.mean_read"] == reason


def test_the_same_answer_everywhere_has_no_interval_of_width_zero() -> None:
    same = [row | {"decision": "supported"} for row in small_study()]
    rows = design_set(*same, replications=2)
    found = crossed_bootstrap(rows, CONTRAST, 1, draws=50)
    assert found["success"] == {"estimate": 0.0} | UNDEFINED | {"reason": NO_SPREAD}
    assert found["read"]["se"] > 0
    intervals = bootstrap_intervals(rows, CONDITIONS, 1, draws=50)
    assert intervals["intervals"]["ranking"]["success_rate"] is None
    assert intervals["not_defined"]["ranking.success_rate"] == NO_SPREAD


def test_a_time_of_zero_has_no_logarithm_and_spoils_nothing_else() -> None:
    first, *others = small_study()
    rows = design_set(first | {"hidden_ms": "20000", "active_ms": "0"}, *others, replications=2)
    found = crossed_bootstrap(rows, CONTRAST, 1, draws=50)
    reason = "not defined, because a trial has an active time of 0"
    assert found["log_active"] == {"estimate": None} | UNDEFINED | {"reason": reason}
    assert found["read"]["B"] == 50
    intervals = bootstrap_intervals(rows, CONDITIONS, 1, draws=50)
    assert intervals["not_defined"]["selection.geomean_active_s"] == reason
    assert intervals["intervals"]["ranking"]["geomean_active_s"] is not None
    assert intervals["intervals"]["selection"]["mean_active_s"] is not None


def test_every_measure_of_a_condition_is_resampled_or_left_out_with_a_reason() -> None:
    resampled = [name for name, _, _ in RATIOS + FOLDINGS]
    assert len(set(resampled)) == len(resampled)
    single = {
        measure.name
        for measure in MEASURES
        if not measure.name.startswith("n_") and not measure.name.endswith("_wilson95")
    }
    # Of the sensitivity block, not of measures_by.
    single -= {"success_rate_incomplete_as_not_success", "mean_active_s_capped"}
    assert set(resampled) | set(LEFT_OUT) == single
    assert not set(resampled) & set(LEFT_OUT)


def test_with_every_person_and_claim_drawn_once_the_limits_are_the_measures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    partial = {"gold_label": "partially_supported", "decision": "refuted"}
    extra = trial(trial_id="t99", participant_id="P3", slot=2, replication=2, claim_id="c9")
    rows = design_set(*small_study(), extra | partial, replications=2)

    def once(design: Crossed, seed: int) -> Any:
        ones = np.ones((design.n_people, DRAWS_AT_ONCE)), np.ones((design.n_claims, DRAWS_AT_ONCE))
        return itertools.repeat(ones)

    monkeypatch.setattr(Crossed, "multiplicities", once)
    found = bootstrap_intervals(rows, CONDITIONS, 1, 10, foldings=True)
    measured = measures_by(rows, ["condition"], foldings=True)
    n_compared = 0
    for condition, name in itertools.product(CONDITIONS, found["intervals"]["ranking"]):
        limits = found["intervals"][condition][name]
        if limits is None:
            assert f"{condition}.{name}" in found["not_defined"]
            continue
        assert limits == pytest.approx([measured.loc[condition, name]] * 2), name
        n_compared += 1
    assert n_compared > 30


def test_each_interval_that_is_not_defined_says_why() -> None:
    rows = [row for row in small_study() if row["condition"] == "selection"]
    unscorable = [row | {"gold_label": "partially_supported"} for row in rows]
    found = bootstrap_intervals(
        design_set(*unscorable, replications=2), [*CONDITIONS, "third"], 1, draws=50
    )
    reasons = found["not_defined"]
    missing = {
        f"{condition}.{name}"
        for condition, values in found["intervals"].items()
        for name, limits in values.items()
        if limits is None
    }
    assert missing == set(reasons)
    assert "no trial of this condition" in reasons["third.mean_read"]
    assert "can score none" in reasons["selection.success_rate"]
    assert "was a success" in reasons["selection.lucky_share_of_successes"]
    assert "no trial had a gold set" in reasons["selection.mean_ranker_excess"]
    assert "all sentences were shown at once" in reasons["selection.under_read_rate"]
    assert found["intervals"]["selection"]["mean_active_s"] is not None
    assert json.loads(json.dumps(found)) == found
