"""Position and block order (statistics.md 4.6)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy.stats import ttest_ind

from analysis.comparison import learning as module
from analysis.comparison.learning import learning
from analysis.settings import parse_settings
from tests.analysis.builders import study
from tests.analysis.model_tables import RANKING_SELECTION, crossed_trials

SETTINGS = parse_settings(study(trials_per_participant=12))


def test_models_have_position_and_its_interaction_with_the_condition() -> None:
    found = learning(crossed_trials(), RANKING_SELECTION, SETTINGS)
    effects = ["cond", "pos10", "cond:pos10"]
    for name, block in found["models"].items():
        expected = effects if name in ("glm_success", "lpm_success") else ["(Intercept)", *effects]
        assert list(block["fixed"]) == expected, name
        for effect in block["fixed"].values():
            assert effect["ci95"][0] < effect["estimate"] < effect["ci95"][1]
    assert found["planned_trials"] == 12


def test_a_rise_a_position_is_found_by_ten_and_the_condition_at_the_mean_position() -> None:
    table = crossed_trials(people=8, claims=20)
    random = np.random.default_rng(8)
    ranking = table["condition"] == "ranking"
    centred = table["position"] - table["position"].mean()
    table["n_read"] = 10 + 0.3 * centred - 2 * ranking + 0.1 * ranking * centred
    table["n_read"] += random.normal(0, 0.01, len(table))
    fixed = learning(table, RANKING_SELECTION, SETTINGS)["models"]["lmer_read"]["fixed"]
    estimates = {name: effect["estimate"] for name, effect in fixed.items()}
    assert estimates == pytest.approx(
        {"(Intercept)": 10, "cond": -2, "pos10": 3, "cond:pos10": 1}, abs=0.02
    )


def test_the_linear_version_is_least_squares_on_the_same_columns() -> None:
    table = crossed_trials()
    found = learning(table, RANKING_SELECTION, SETTINGS)["models"]["lpm_success"]["fixed"]
    frame = table.assign(
        y=table["success"].astype(float),
        cond=(table["condition"] == "ranking").astype(float),
        pos10=(table["position"] - table["position"].mean()) / 10,
    )
    reference = smf.ols("y ~ cond + pos10 + cond:pos10 + C(participant_id)", frame).fit()
    for name in ("cond", "pos10", "cond:pos10"):
        assert found[name]["estimate"] == pytest.approx(reference.params[name])
        assert found[name]["se_model"] == pytest.approx(reference.bse[name])


def person_values(table: pd.DataFrame) -> pd.DataFrame:
    """Mean of both conditions and their difference; odd participants met selection first."""
    means = table.groupby(["participant_id", "condition"])["n_read"].mean().unstack()
    people = pd.DataFrame(
        {"mean": means.mean(axis=1), "difference": means["ranking"] - means["selection"]}
    )
    people["first"] = np.where(people.index.str[-1].astype(int) % 2 == 0, "ranking", "selection")
    return people


def test_block_order_is_tested_between_ten_people_or_more() -> None:
    table = crossed_trials(people=10)
    found = learning(table, RANKING_SELECTION, SETTINGS)["block_order"]["read"]
    people = person_values(table)
    one, other = (people[people["first"] == name] for name in ("ranking", "selection"))
    for key, column in (("order", "mean"), ("order_by_condition", "difference")):
        test = ttest_ind(one[column], other[column])
        assert found[key]["estimate"] == pytest.approx(one[column].mean() - other[column].mean())
        assert found[key]["p"] == pytest.approx(test.pvalue)
        assert found[key]["ci95"] == pytest.approx(list(test.confidence_interval()))
        assert found[key]["df"] == 8
    assert "described_only" not in found


def test_block_order_is_described_below_ten_people() -> None:
    table = crossed_trials(people=9)
    found = learning(table, RANKING_SELECTION, SETTINGS)["block_order"]["read"]
    people = person_values(table)
    for name, group in people.groupby("first"):
        assert found["groups"][name] == pytest.approx(
            {
                "n_participants": len(group),
                "mean": group["mean"].mean(),
                "mean_difference": group["difference"].mean(),
            }
        )
    assert set(found["order"]) == {"estimate"}
    assert found["described_only"] == "described only, because 9 participants are fewer than 10"
    assert "cannot tell these apart" in found["note"]


def test_people_without_both_conditions_are_left_out_and_counted() -> None:
    table = crossed_trials(people=6)
    kept = (table["participant_id"] != "P001") | (table["condition"] == "ranking")
    found = learning(table[kept], RANKING_SELECTION, SETTINGS)
    order = found["block_order"]["read"]
    assert (order["n_participants"], order["n_participants_left_out"]) == (5, 1)
    assert found["participants_by_first_condition"] == {"ranking": 3, "selection": 2}


def test_the_statement_holds_for_counterbalanced_orders_only() -> None:
    table = crossed_trials(people=12)
    found = learning(table, RANKING_SELECTION, SETTINGS)
    assert found["participants_by_first_condition"] == {"ranking": 6, "selection": 6}
    assert found["statement"] == module.COUNTERBALANCED
    assert "does not bias" in module.COUNTERBALANCED

    same = table.assign(condition=np.where(table["position"] <= 6, "ranking", "selection"))
    found = learning(same, RANKING_SELECTION, SETTINGS)
    assert found["statement"] == module.CONFOUNDED
    order = found["block_order"]["read"]
    assert order["order"] is None
    assert "met the same condition first" in order["not_defined"]["order"]
    assert order["groups"]["selection"]["mean"] is None

    found = learning(table.iloc[:0], RANKING_SELECTION, SETTINGS)
    assert found["statement"] == module.NO_ORDER


def test_equal_differences_have_no_test() -> None:
    table = crossed_trials(people=12)
    table["n_read"] = 3 + (table["condition"] == "ranking")
    order = learning(table, RANKING_SELECTION, SETTINGS)["block_order"]["read"]
    assert order["order_by_condition"]["p"] is None
    assert "the standard error is 0" in order["order_by_condition"]["not_defined"]["p"]
