"""Agreement, preferences and sign tests reproduce the values that R computed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.agreement import (
    cohen,
    fleiss,
    krippendorff,
    mann_whitney,
    preferences,
    sign_test,
)
from analysis.cli import main
from analysis.text_table import read_text_table
from tests.analysis.builders import CASES, assert_agrees, expected
from tests.shared_data import needs_data

pytestmark = [needs_data, pytest.mark.data]


def table(name: str) -> pd.DataFrame:
    return read_text_table(CASES / "agreement_a" / f"{name}.csv")


def wanted(name: str) -> dict[str, Any]:
    return expected("agreement_a")[name]


def closely(value: float) -> Any:
    return pytest.approx(value, abs=1e-10)


def test_cohen_of_two_raters() -> None:
    found = cohen(table("two_raters"))
    assert_agrees(found, wanted("two_raters"))
    assert found["kappa"] == closely(wanted("two_raters")["kappa"])
    assert found["ase"] == closely(wanted("two_raters")["ase"])
    assert found["marginals"] == {
        "rater1": {"no": 0.08, "yes": 0.92},
        "rater2": {"no": 0.08, "yes": 0.92},
    }


def test_weighted_kappa_of_two_raters() -> None:
    found = cohen(table("two_raters_ordinal"))
    assert_agrees(found, wanted("two_raters_ordinal"))
    for name in ("unweighted", "linear", "quadratic"):
        assert found[name]["kappa"] == closely(wanted("two_raters_ordinal")[name]["kappa"])
        assert found[name]["ase"] == closely(wanted("two_raters_ordinal")[name]["ase"])


@pytest.mark.parametrize("name", ["two_raters", "two_raters_ordinal"])
def test_scikit_learn_and_statsmodels_give_the_same_kappa(name: str) -> None:
    from statsmodels.stats.inter_rater import cohens_kappa

    ratings = table(name)
    crossed = pd.crosstab(ratings["rater1"], ratings["rater2"]).to_numpy()
    for weights in (None, "linear", "quadratic"):
        other = cohens_kappa(crossed, wt=weights)
        found = cohen(ratings, weights, order=sorted(set(ratings["rater1"])))
        assert found["kappa"] == closely(other.kappa)
        assert found["ci95"] == [closely(other.kappa_low), closely(other.kappa_upp)]


@pytest.mark.parametrize("name", ["two_raters", "many_raters"])
def test_fleiss(name: str) -> None:
    found, values = fleiss(table(name)), wanted(name)
    assert found["fleiss_kappa"] == closely(values["fleiss_kappa"])
    assert found["krippendorff_nominal"] == closely(values["krippendorff_nominal"])
    assert found["n_items"] == values["n_items"]
    assert found["n_raters"] == values.get("n_raters", 2)
    low, high = found["ci95"]
    assert low < found["fleiss_kappa"] < high


def test_alpha_on_every_level_with_ratings_missing() -> None:
    found = krippendorff(table("missing_ordinal"))
    assert_agrees(found, wanted("missing_ordinal"))
    for level in ("nominal", "ordinal", "interval"):
        assert found[f"alpha_{level}"] == closely(wanted("missing_ordinal")[f"alpha_{level}"])
    assert (found["level"], found["alpha"]) == ("ordinal", found["alpha_ordinal"])


@pytest.mark.parametrize("name", ["two_raters", "many_raters"])
def test_nominal_alpha(name: str) -> None:
    found = krippendorff(table(name))
    assert found["krippendorff_nominal"] == closely(wanted(name)["krippendorff_nominal"])
    assert found["alpha"] == found["alpha_nominal"] == found["krippendorff_nominal"]


@pytest.mark.parametrize(
    ("name", "level"),
    [("missing_ordinal", "nominal"), ("missing_ordinal", "interval"), ("many_raters", "nominal")],
)
def test_alpha_is_that_of_nltk(name: str, level: str) -> None:
    """NLTK has these two levels; it drops items with one rating by itself only when told to."""
    from nltk.metrics.agreement import AnnotationTask
    from nltk.metrics.distance import binary_distance, interval_distance

    ratings = table(name)
    column = "score" if "score" in ratings else "label"
    ratings = ratings[ratings.groupby("item")["item"].transform("size") > 1]
    convert = float if level == "interval" else str
    triples = [
        (rater, item, convert(label))
        for rater, item, label in zip(
            ratings["rater"], ratings["item"], ratings[column], strict=True
        )
    ]
    distance = interval_distance if level == "interval" else binary_distance
    other = AnnotationTask(data=triples, distance=distance).alpha()
    assert krippendorff(table(name), level, draws=10)["alpha"] == pytest.approx(other, abs=1e-12)


def test_preferences() -> None:
    found = preferences(table("preferences"))
    assert_agrees(found, wanted("preferences"))
    claims = wanted("preferences")["claim_majority"]
    assert found["claim_majority"]["two_tail"] == closely(claims["two_tail"])
    assert (found["first"], found["second"]) == ("suggested", "current")


def test_preferences_the_other_way_round() -> None:
    found = preferences(table("preferences"), "current", "suggested")
    values = wanted("preferences")
    assert found["claim_majority"]["two_tail"] == closely(values["claim_majority"]["two_tail"])
    assert found["claim_majority"]["one_tail"] > 0.99
    assert found["shares"] == {name: closely(share) for name, share in values["shares"].items()}


def test_two_independent_groups() -> None:
    found = mann_whitney(table("two_groups"))
    assert_agrees(found, wanted("two_groups"))
    assert (found["p_method"], found["p"]) == ("asymptotic", found["p_continuity"])
    other = mann_whitney(table("two_groups"), "y")
    assert other["rank_biserial"] == closely(-wanted("two_groups")["rank_biserial"])
    assert other["U_x"] == 34 * 41 - found["U_x"]


def test_every_sign_test() -> None:
    cases = expected("sign_test")["sign_test_cases"]
    assert len(cases) == 11
    for case in cases:
        found = sign_test(case["wins"], case["losses"])
        assert found["n"] == case["n"]
        assert found["one_tail"] == closely(case["one_tail_wins_greater"])
        assert found["two_tail"] == closely(case["two_tail"])
    nothing = expected("sign_test")["zero_informative_pairs"]
    found = sign_test(0, 0)
    assert {name: found[name] for name in nothing} == nothing
    assert found["not_defined"]["two_tail"].startswith("not defined, because")


def test_only_two_tables_give_the_published_p_values() -> None:
    matching = expected("sign_test")["sign_test_tables_matching_0.0178_and_0.0357_up_to_n_400"]
    for case in matching:
        found = sign_test(case["wins"], case["losses"])
        assert found["one_tail"] == closely(case["one_tail"])
        assert (round(found["one_tail"], 4), round(found["two_tail"], 4)) == (0.0178, 0.0357)


def test_the_nearest_table_to_the_published_kappa() -> None:
    nearest = expected("sign_test")["cohen_nearest"]
    cells = {"yes yes": "yes_yes", "yes no": "yes_no", "no yes": "no_yes", "no no": "no_no"}
    pairs = [pair.split() for pair, key in cells.items() for _ in range(nearest[key])]
    ratings = pd.DataFrame(pairs, columns=["rater1", "rater2"])
    ratings["item"] = [f"i{row}" for row in range(len(ratings))]
    found = cohen(ratings)
    assert found["kappa"] == closely(nearest["kappa"])
    assert found["yes_share"] == nearest["yes_share"]
    assert abs(found["kappa"] - 0.84) == closely(nearest["gap"])


@pytest.mark.parametrize(
    ("name", "kind", "block"),
    [
        ("two_raters", "cohen", "two_raters"),
        ("two_raters_ordinal", "cohen", "two_raters_ordinal"),
        ("many_raters", "fleiss", "many_raters"),
        ("missing_ordinal", "alpha", "missing_ordinal"),
        ("preferences", "preference", "preferences"),
        ("two_groups", "mannwhitney", "two_groups"),
    ],
)
def test_the_command_prints_the_expected_keys_and_the_same_bytes(
    name: str, kind: str, block: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["agreement", str(CASES / "agreement_a" / f"{name}.csv"), "--kind", kind]
    texts = []
    for _ in range(2):
        assert main([*arguments, "--json"]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    document = json.loads(texts[0])
    assert_agrees(document, wanted(block))
    assert {"method", "assumptions", "library"} <= set(document)
    assert main(arguments) == 0
    shown = capsys.readouterr()
    assert "Method: " in shown.out
    assert shown.err == ""


def test_the_row_order_changes_nothing() -> None:
    ratings = table("missing_ordinal")
    shuffled = ratings.iloc[np.random.default_rng(1).permutation(len(ratings))]
    assert krippendorff(shuffled) == krippendorff(ratings)


def test_a_table_of_a_notebook_gives_the_same(tmp_path: Path) -> None:
    typed = pd.read_csv(CASES / "agreement_a" / "missing_ordinal.csv")
    wide = typed.pivot(index="item", columns="rater", values="score").reset_index()
    wide.columns = ["item", *(f"rater{name[1:]}" for name in wide.columns[1:])]
    long_found, wide_found = krippendorff(typed), krippendorff(wide)
    assert long_found["alpha"] == closely(wanted("missing_ordinal")["alpha_ordinal"])
    assert wide_found == long_found
