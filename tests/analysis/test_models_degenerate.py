"""Data that cannot answer: every model says why, without a warning, and no number is made up."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.comparison import crossed, gee, gee_fit, glmm, mixed
from analysis.comparison.learning import learning
from analysis.settings import parse_settings
from tests.analysis.builders import study
from tests.analysis.model_tables import (
    RANKING_SELECTION,
    crossed_trials,
    undefined_without_reason,
)

SETTINGS = parse_settings(study())


Maker = Callable[[], pd.DataFrame]


@cache
def every_block(make: Maker) -> dict[str, dict[str, Any]]:
    """All blocks of the models and of learning by name; a warning is an error."""
    table = make()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        blocks: dict[str, dict[str, Any]] = {}
        for module in (gee, mixed, glmm):
            blocks |= module.models(table, RANKING_SELECTION)
        learned = learning(table, RANKING_SELECTION, SETTINGS)
    for part in ("models", "block_order"):
        blocks |= {f"{part}.{name}": values for name, values in learned[part].items()}
    return blocks


def left_out(make: Maker) -> dict[str, str]:
    return {name: b["left_out"] for name, b in every_block(make).items() if "left_out" in b}


def one_person() -> pd.DataFrame:
    return crossed_trials(people=1)


def one_claim() -> pd.DataFrame:
    return crossed_trials().assign(claim_id="c000")


def one_condition() -> pd.DataFrame:
    return crossed_trials().assign(condition="ranking")


def a_condition_each() -> pd.DataFrame:
    table = crossed_trials()
    odd = table["participant_id"].isin(["P001", "P003", "P005"])
    return table.assign(condition=np.where(odd, "ranking", "selection"))


def no_trials() -> pd.DataFrame:
    return crossed_trials().iloc[:0]


def a_single_trial() -> pd.DataFrame:
    return crossed_trials().iloc[:1]


def two_trials() -> pd.DataFrame:
    table = crossed_trials()
    return table.groupby("condition").head(1)


def a_trial_a_person() -> pd.DataFrame:
    table = crossed_trials(people=12)
    return table.assign(participant_id=table["trial_id"])


def a_trial_a_claim() -> pd.DataFrame:
    table = crossed_trials()
    return table.assign(claim_id=table["trial_id"])


def equal_outcomes() -> pd.DataFrame:
    return crossed_trials().assign(success=True, n_read=3, active_s=20.0)


def outcomes_of_the_condition() -> pd.DataFrame:
    table = crossed_trials(people=12)
    ranking = table["condition"] == "ranking"
    return table.assign(success=ranking, n_read=3 - ranking, active_s=20.0 - ranking)


def outcomes_of_the_claim() -> pd.DataFrame:
    """Claim and condition explain all: the clusters' scores cancel."""
    table = crossed_trials(people=12)
    claim = table["claim_id"].str[1:].astype(int)
    ranking = table["condition"] == "ranking"
    return table.assign(
        success=claim % 2 == 0, n_read=20 + claim - ranking, active_s=np.exp(claim - 0.5 * ranking)
    )


def separated_people() -> pd.DataFrame:
    table = crossed_trials(people=12)
    return table.assign(success=table["participant_id"] < "P006")


def one_position() -> pd.DataFrame:
    return crossed_trials().assign(position=1)


def nothing_scorable() -> pd.DataFrame:
    return crossed_trials().assign(scorable=False)


def no_time() -> pd.DataFrame:
    table = crossed_trials()
    return table.assign(active_s=np.where(table.index == 3, 0.0, table["active_s"]))


def same_order_for_all() -> pd.DataFrame:
    table = crossed_trials(people=12)
    return table.assign(condition=np.where(table["position"] <= 6, "ranking", "selection"))


TABLES = [
    crossed_trials,
    one_person,
    one_claim,
    one_condition,
    a_condition_each,
    no_trials,
    a_single_trial,
    two_trials,
    a_trial_a_person,
    a_trial_a_claim,
    equal_outcomes,
    outcomes_of_the_condition,
    outcomes_of_the_claim,
    separated_people,
    one_position,
    nothing_scorable,
    no_time,
    same_order_for_all,
]


@pytest.mark.parametrize("make", TABLES)
def test_every_block_is_whole_and_every_gap_has_its_reason(
    make: Maker,
) -> None:
    n_trials = len(make())
    blocks = every_block(make)
    json.dumps(blocks, allow_nan=False)
    assert undefined_without_reason(blocks) == []
    for name, values in blocks.items():
        assert values["method"], name
        assert values["library"], name
        assert values["n_trials"] <= n_trials, name
        reason = values.get("left_out", "left out, because")
        assert reason.startswith("left out, because"), name


def test_sound_trials_leave_out_only_what_needs_ten_people() -> None:
    assert left_out(crossed_trials) == {
        "glm_participant_clusters": "left out, because 6 participants are too few for clusters; it "
        "needs 10"
    }


@pytest.mark.parametrize("make", [one_person, one_claim, a_trial_a_person, a_trial_a_claim])
def test_a_factor_without_levels_of_its_own_has_no_variance(
    make: Maker,
) -> None:
    reasons = left_out(make)
    for name in ("lmer_read", "lmer_log_active"):
        assert (
            "one participant only" in reasons[name]
            or "one claim only" in reasons[name]
            or ("cannot tell its variance from the residual's" in reasons[name])
        )


def test_one_condition_has_no_contrast() -> None:
    reasons = left_out(one_condition)
    assert set(reasons) == set(every_block(one_condition))
    assert reasons["lmer_read"] == "left out, because no trial of condition selection is in the set"
    assert reasons["glmer_success"].endswith(
        "no scorable trial of condition selection is in the set"
    )


def test_a_contrast_between_people_is_left_to_models_without_their_dummies() -> None:
    reasons = left_out(a_condition_each)
    why = "left out, because no participant has trials in both conditions"
    assert reasons["lpm_participant_fixed_claim_clusters"] == why
    assert reasons["block_order.read"] == why
    block = every_block(a_condition_each)["lmer_read"]
    assert block["fixed"]["cond"]["se"] > 0
    assert block["participant_differences_range"] is None


def test_equal_outcomes_have_no_error_and_so_no_test() -> None:
    blocks = every_block(equal_outcomes)
    assert "the same value" in blocks["lmer_read"]["left_out"]
    assert "the same value" in blocks["lm_read_participant_fixed_claim_clusters"]["left_out"]
    assert "same outcome" in blocks["glm_participant_fixed_claim_clusters"]["left_out"]
    assert blocks["glmer_success"]["degenerate"] is True


def test_outcomes_without_a_residual_are_not_tested() -> None:
    blocks = every_block(outcomes_of_the_condition)
    for name in ("lmer_read", "lm_read_participant_fixed_claim_clusters"):
        assert "without a residual" in blocks[name]["left_out"]
    assert blocks["glmer_success"]["degenerate"] is True
    blocks = every_block(outcomes_of_the_claim)
    assert "without a residual" in blocks["lmer_read"]["left_out"]


def test_people_who_separate_the_logit_leave_the_linear_version() -> None:
    blocks = every_block(separated_people)
    for name in ("glm_participant_fixed_claim_clusters", "models.glm_success"):
        assert "12 of 12 participants had only successes or none" in blocks[name]["left_out"]
    assert "odds_ratio" not in blocks["glm_participant_fixed_claim_clusters"]


def test_a_coefficient_beyond_ten_gives_no_odds_ratio() -> None:
    """Nobody and no condition has equal outcomes, and yet the condition separates them."""
    table = crossed_trials(people=12, claims=24)
    even = table["trial_id"].str[-1].astype(int) % 2 == 0
    ranking = table["condition"] == "ranking"
    first_half = table["participant_id"] < "P006"
    table = table.assign(success=np.where(first_half, ranking | even, ranking & even))
    block = gee.models(table, RANKING_SELECTION)["glm_participant_fixed_claim_clusters"]
    assert "a coefficient exceeds 10" in block["left_out"]
    assert not {"log_odds_ratio", "odds_ratio"} & set(block)


def test_a_time_of_zero_concerns_the_logarithm_alone() -> None:
    assert set(left_out(no_time)) == {
        "glm_participant_clusters",
        "lmer_log_active",
        "models.lmer_log_active",
        "block_order.log_active",
    }
    assert left_out(no_time)["lmer_log_active"] == (
        "left out, because a trial has an active time of 0"
    )


def test_people_with_one_trial_are_left_out_of_the_dummies_and_counted() -> None:
    table = crossed_trials()
    alone = crossed_trials(seed=4).iloc[[0]].assign(participant_id="P900", trial_id="x1")
    name = "lm_read_participant_fixed_claim_clusters"
    without = gee.models(table, RANKING_SELECTION)[name]
    both = gee.models(pd.concat([table, alone]), RANKING_SELECTION)[name]
    assert (both["n_trials"], both["n_trials_left_out"]) == (73, 1)
    same = ("difference", "se_model", "se_CR0", "se_CR3", "n_participants")
    assert [both[key] for key in same] == pytest.approx([without[key] for key in same])


def test_a_cluster_that_determines_an_effect_alone_has_no_corrected_error() -> None:
    table = crossed_trials()
    only = table["claim_id"] == "c003"
    table = table.assign(
        condition=np.where(only & (table["participant_id"] < "P003"), "ranking", "selection")
    )
    block = gee.models(table, RANKING_SELECTION)["lm_read_participant_fixed_claim_clusters"]
    assert block["se_CR3"] is None
    assert block["p"] is None
    assert block["not_defined"]["se_CR3"] == (
        "not defined, because one cluster determines an effect alone"
    )
    assert block["se_model"] > 0


def test_what_is_too_large_is_left_out_with_the_size(monkeypatch: pytest.MonkeyPatch) -> None:
    table = crossed_trials(people=12)
    monkeypatch.setattr(mixed, "MAX_TRIALS", 143)
    monkeypatch.setattr(glmm, "MAX_TRIALS", 143)
    monkeypatch.setattr(gee_fit, "MAX_WORK", 1000)
    linear, logistic, dummies = (
        module.models(table, RANKING_SELECTION) for module in (mixed, glmm, gee)
    )
    why = "left out, because the set has 144 trials; this model is fitted up to 143"
    assert linear["lmer_read"]["left_out"] == logistic["glmer_success"]["left_out"] == why
    reason = dummies["lpm_participant_fixed_claim_clusters"]["left_out"]
    assert "144 trials with 13 columns in 12 clusters" in reason


def test_too_many_levels_are_left_out_with_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crossed, "MAX_WORK", 400)
    block = mixed.models(crossed_trials(), RANKING_SELECTION)["lmer_read"]
    assert block["left_out"] == (
        "left out, because 12 x 6 participants and claims are too many for it; beside 12, up to 5 "
        "are fitted"
    )


def test_the_limits_are_those_of_the_specification() -> None:
    assert mixed.MAX_TRIALS == 5_000
    assert (glmm.REPORTED_REPLICATIONS, glmm.MAX_VARIANCE, glmm.MAX_EFFECT) == (3, 25, 6)
    assert (gee.MIN_PEOPLE, gee.MAX_COEFFICIENT) == (10, 10)
