"""The models of statistics.md 4.3 against lme4, clubSandwich, statsmodels and their definitions."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy.stats import t as student

from analysis import check_tables, scored_trials
from analysis.comparison import gee, glmm, mixed
from analysis.comparison.compared import READ, SUCCESS
from analysis.comparison.crossed import Crossed
from analysis.comparison.laplace import _Laplace
from analysis.comparison.model_rows import CONDITION, INTERCEPT, POSITION, model_rows
from analysis.comparison.reml import fit_reml
from analysis.inclusion import exclusion_reasons
from tests.analysis.builders import TRIAL_CASES, case_tables, expected
from tests.analysis.model_tables import RANKING_SELECTION, crossed_trials
from tests.shared_data import needs_data

_MODULES = (gee, mixed, glmm)


@cache
def design_set(case: str) -> pd.DataFrame:
    scored = scored_trials(check_tables(*case_tables(case)))
    return scored[exclusion_reasons(scored) == ""]


@cache
def fitted(case: str) -> dict[str, Any]:
    every: dict[str, Any] = {}
    for module in _MODULES:
        every |= module.models(design_set(case), RANKING_SELECTION)
    return every


def wanted(case: str, name: str) -> dict[str, Any]:
    return expected(case)["inference_design_set"][name]


def assert_mixed_agrees(actual: dict[str, Any], values: dict[str, Any]) -> None:
    """Estimates within 0.02 and errors within 5 %, as the cases' tolerances say."""
    assert set(actual["fixed"]) == set(values["fixed"])
    for name, effect in values["fixed"].items():
        assert actual["fixed"][name]["estimate"] == pytest.approx(effect["estimate"], abs=0.02)
        assert actual["fixed"][name]["se"] == pytest.approx(effect["se"], rel=0.05)
    assert actual["variance"] == pytest.approx(values["variance"], abs=0.02)


@needs_data
@pytest.mark.data
@pytest.mark.parametrize("case", TRIAL_CASES)
@pytest.mark.parametrize("name", ["lmer_read", "lmer_log_active"])
def test_linear_mixed_models_agree_with_lme4(case: str, name: str) -> None:
    actual = fitted(case)[name]
    assert_mixed_agrees(actual, wanted(case, name))
    people = design_set(case)["participant_id"].nunique()
    effect = actual["fixed"]["cond"]
    assert actual["df"] == people - 1
    assert effect["p"] == pytest.approx(
        2 * student.sf(abs(effect["estimate"] / effect["se"]), people - 1)
    )


@needs_data
@pytest.mark.data
@pytest.mark.parametrize("case", TRIAL_CASES)
@pytest.mark.parametrize("name", ["lpm", "lm_read", "glm"])
def test_models_with_claims_as_clusters_agree_with_clubsandwich(case: str, name: str) -> None:
    name += "_participant_fixed_claim_clusters"
    if name not in expected(case)["inference_design_set"]:
        assert case == "dropouts_a"
        assert "1 of 10 participants had only successes or none" in fitted(case)[name]["left_out"]
        assert "odds_ratio" not in fitted(case)[name]
        return
    tolerance = 1e-3 if name.startswith("glm") else 1e-6
    for key, value in wanted(case, name).items():
        assert fitted(case)[name][key] == pytest.approx(value, abs=tolerance), key


@needs_data
@pytest.mark.data
@pytest.mark.parametrize("case", TRIAL_CASES)
def test_success_with_participants_as_clusters_needs_ten(case: str) -> None:
    actual = fitted(case)["glm_participant_clusters"]
    if case in ("table5", "partial_a"):
        assert "too few for clusters; it needs 10" in actual["left_out"]
        assert "log_odds_ratio" not in actual
        return
    for key, value in wanted(case, "glm_participant_clusters").items():
        assert actual[key] == pytest.approx(value, abs=1e-3), key


@needs_data
@pytest.mark.data
@pytest.mark.parametrize("case", ["dropouts_a", "thirty_a"])
def test_the_logistic_mixed_model_agrees_with_lme4(case: str) -> None:
    actual = fitted(case)["glmer_success"]
    assert actual["degenerate"] is False
    assert_mixed_agrees(actual, wanted(case, "glmer_success"))
    assert actual["odds_ratio"] == pytest.approx(np.exp(actual["fixed"]["cond"]["estimate"]))


@needs_data
@pytest.mark.data
@pytest.mark.parametrize("case", TRIAL_CASES)
def test_the_logistic_mixed_model_says_what_few_replications_allow(case: str) -> None:
    actual = fitted(case)["glmer_success"]
    if case in ("table5", "partial_a"):
        assert actual["degenerate"] is wanted(case, "glmer_success")["degenerate"] is True
        assert "not identified" in actual["note"]
        assert "it needs 2 replications or more" in actual["left_out"]
        assert "fixed" not in actual
    else:
        assert ("Exploratory" in actual.get("note", "")) == (case == "dropouts_a")


@needs_data
@pytest.mark.data
@pytest.mark.parametrize("case", ["table5", "partial_a"])
def test_a_logistic_mixed_model_that_runs_away_is_called_degenerate(case: str) -> None:
    table = design_set(case)
    people = table["participant_id"].astype("category").cat.codes
    actual = glmm.models(table.assign(replication=people + 1), RANKING_SELECTION)["glmer_success"]
    assert actual["degenerate"] is True
    assert "ran away" in actual["note"]
    assert not {"fixed", "variance", "odds_ratio"} & set(actual)


@pytest.mark.parametrize("seed", [2, 3])
def test_reml_reaches_the_likelihood_of_mixedlm(seed: int) -> None:
    table = crossed_trials(people=8, claims=20, seed=seed)
    rows = model_rows(table, RANKING_SELECTION, READ)
    found = fit_reml(rows, rows.columns(INTERCEPT, CONDITION, POSITION))
    frame = pd.DataFrame(
        {
            "y": rows.outcome,
            "cond": rows.condition,
            "tens": rows.tens,
            "claim": rows.claims,
            "person": rows.people,
            "one": 1,
        }
    )
    factors = {"claim": "0 + C(claim)", "person": "0 + C(person)"}
    model = smf.mixedlm("y ~ cond + tens", frame, groups="one", vc_formula=factors)
    reference = model.fit(reml=True, method="powell")
    assert found.log_likelihood == pytest.approx(reference.llf, abs=1e-4)
    assert found.log_likelihood > reference.llf - 1e-6
    assert found.estimates == pytest.approx(reference.fe_params.to_numpy(), abs=1e-3)
    assert found.errors == pytest.approx(reference.bse_fe.to_numpy(), rel=1e-2)
    variances = [found.claim_variance, found.participant_variance]
    assert variances == pytest.approx(reference.vcomp, abs=1e-2)
    assert found.residual_variance == pytest.approx(reference.scale, abs=1e-2)


def dense_indicators(claims: np.ndarray, people: np.ndarray) -> np.ndarray:
    """Z, claims first."""
    return np.column_stack([np.eye(claims.max() + 1)[claims], np.eye(people.max() + 1)[people]])


@pytest.mark.parametrize(("people", "claims"), [(4, 10), (11, 6)])
def test_the_eliminated_system_solves_the_dense_one(people: int, claims: int) -> None:
    """Whichever factor is the larger."""
    rows = model_rows(crossed_trials(people, claims), RANKING_SELECTION, READ)
    crossed = Crossed(rows)
    weights = np.random.default_rng(5).random(len(rows)) + 0.1
    scales = crossed.scales(0.7, 1.3)
    factored = crossed.factored(crossed.cells(weights), scales)

    first, second = (rows.claims, rows.people) if claims >= people else (rows.people, rows.claims)
    indicators = dense_indicators(first, second)
    sizes = sorted((claims, people), reverse=True)
    dense_scales = np.repeat((0.7, 1.3) if claims >= people else (1.3, 0.7), sizes)
    scaled = indicators * dense_scales
    system = np.eye(claims + people) + scaled.T @ (scaled * weights[:, None])
    right = np.arange(claims + people, dtype=float)
    assert scales == pytest.approx(dense_scales)
    assert factored.solve(right) == pytest.approx(np.linalg.solve(system, right))
    assert factored.log_determinant == pytest.approx(np.linalg.slogdet(system)[1])
    assert crossed.spread(right) == pytest.approx(indicators @ right)
    assert crossed.sums(weights) == pytest.approx(indicators.T @ weights)


def test_the_laplace_criterion_is_its_definition() -> None:
    """-2 times log of joint density at its mode plus the Gaussian volume, all matrices dense."""
    rows = model_rows(crossed_trials(), RANKING_SELECTION, SUCCESS)
    columns = rows.columns(INTERCEPT, CONDITION)
    parameters = np.array([0.9, 0.4, 0.5, 0.6])
    scaled = dense_indicators(rows.claims, rows.people) * np.repeat(
        parameters[:2], [rows.n_claims, rows.n_people]
    )
    modes = np.zeros(scaled.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-(columns @ parameters[2:] + scaled @ modes)))
        system = np.eye(len(modes)) + scaled.T @ (scaled * (chance * (1 - chance))[:, None])
        modes = modes + np.linalg.solve(system, scaled.T @ (rows.outcome - chance) - modes)
    right = np.where(rows.outcome == 1, chance, 1 - chance)
    value = -2 * np.log(right).sum() + modes @ modes + np.linalg.slogdet(system)[1]
    assert _Laplace(rows, columns).deviance(parameters) == pytest.approx(value, abs=1e-8)


def test_without_random_effects_the_laplace_criterion_is_that_of_a_logit() -> None:
    rows = model_rows(crossed_trials(), RANKING_SELECTION, SUCCESS)
    frame = pd.DataFrame({"y": rows.outcome, "cond": rows.condition})
    logit = smf.logit("y ~ cond", frame).fit(disp=False)
    parameters = np.array([0, 0, *logit.params])
    model = _Laplace(rows, rows.columns(INTERCEPT, CONDITION))
    assert model.deviance(parameters) == pytest.approx(-2 * logit.llf)
    assert model.gradient(parameters) == pytest.approx(0, abs=1e-5)


def test_a_variance_of_zero_is_exactly_zero_and_called_singular() -> None:
    random = np.random.default_rng(7)
    table = crossed_trials(6, 30)
    table = table.assign(success=random.permutation(np.arange(len(table)) % 4 > 0))
    actual = glmm.models(table, RANKING_SELECTION)["glmer_success"]
    assert actual["variance"]["claim_id"] == 0
    assert actual["singular"] is True
    assert actual["fixed"]["cond"]["se"] > 0


def test_a_time_effect_is_given_as_a_ratio_too() -> None:
    actual = mixed.models(crossed_trials(), RANKING_SELECTION)["lmer_log_active"]
    effect = actual["fixed"]["cond"]
    assert actual["ratio"] == pytest.approx(np.exp(effect["estimate"]))
    assert actual["ratio_ci95"] == pytest.approx(np.exp(effect["ci95"]))


def test_the_intercept_is_the_second_condition_and_swapping_the_contrast_its_sign() -> None:
    table = crossed_trials()
    actual = mixed.models(table, RANKING_SELECTION)["lmer_read"]
    swapped = mixed.models(table, type(RANKING_SELECTION)("selection", "ranking"))["lmer_read"]
    assert swapped["fixed"]["cond"]["estimate"] == pytest.approx(
        -actual["fixed"]["cond"]["estimate"], abs=1e-5
    )
    means = table.groupby("condition")["n_read"].mean()
    assert actual["fixed"]["(Intercept)"]["estimate"] == pytest.approx(means["selection"], abs=0.05)


def test_few_participants_come_with_the_range_of_their_differences() -> None:
    table = crossed_trials(people=5)
    actual = mixed.models(table, RANKING_SELECTION)["lmer_read"]
    means = table.groupby(["participant_id", "condition"])["n_read"].mean().unstack()
    differences = means["ranking"] - means["selection"]
    assert actual["participant_differences_range"] == pytest.approx(
        [differences.min(), differences.max()]
    )
    assert "variance is description" in actual["note"]
    assert "note" not in mixed.models(crossed_trials(people=6), RANKING_SELECTION)["lmer_read"]


def test_the_order_of_rows_changes_no_byte() -> None:
    table = crossed_trials(people=12)
    shuffled = table.sample(frac=1, random_state=3)
    for module in _MODULES:
        texts = {
            json.dumps(module.models(rows, RANKING_SELECTION), sort_keys=True)
            for rows in (table, table.copy(), shuffled)
        }
        assert len(texts) == 1


def test_a_third_condition_plays_no_part() -> None:
    table = crossed_trials()
    third = crossed_trials(seed=9).assign(condition="other")
    third["trial_id"] = "x" + third["trial_id"]
    both = pd.concat([table, third], ignore_index=True)
    for module in _MODULES:
        assert module.models(both, RANKING_SELECTION) == module.models(table, RANKING_SELECTION)
