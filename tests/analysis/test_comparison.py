"""What the comparison does: signs, ties, several conditions, correction, words."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.contingency_tables import cochrans_q
from statsmodels.stats.sandwich_covariance import cov_cluster_2groups

from analysis import check_tables, scored_trials, to_json
from analysis.commands.measures import measures_text
from analysis.comparison.by_claim import rank_biserial
from analysis.comparison.by_participant import sign_flip
from analysis.comparison.cells import claim_means
from analysis.comparison.clustered import two_way
from analysis.comparison.compared import BY_KEY, READ, SUCCESS
from analysis.comparison.contrast import Contrast
from analysis.comparison.family import adjusted, contrasts_beside
from analysis.comparison.mcnemar import bonett_price
from analysis.comparison.noninferiority import non_inferiority
from analysis.comparison.omnibus import omnibus
from analysis.comparison.table import (
    comparison_headings,
    comparison_notes,
    comparison_table,
    p_text,
)
from tests.analysis.builders import study, trials
from tests.analysis.compared_studies import answer, compared, square, undefined

THREE = ("list", "ranking", "selection")


def test_the_order_of_rows_does_not_matter() -> None:
    table = trials(*square(4, 12))
    mixed = table.sample(frac=1, random_state=3)
    assert to_json(compared(table)) == to_json(compared(mixed))


def test_a_turned_contrast_turns_signs_and_nothing_else() -> None:
    rows = square(4, 12)
    one = compared(rows, contrast="ranking - selection")["inference_design_set"]
    other = compared(rows, contrast="selection - ranking")["inference_design_set"]
    for key, block in one["two_way"].items():
        turned = other["two_way"][key]
        assert turned["difference"] == pytest.approx(-block["difference"])
        assert turned["ci95"] == pytest.approx([-block["ci95"][1], -block["ci95"][0]])
        assert (turned["p"], turned["se_used"]) == pytest.approx((block["p"], block["se_used"]))
    assert other["success"]["selection_only"] == one["success"]["selection_only"]
    for key in ("read_by_claim", "success_by_participant"):
        assert other[key]["t"] == pytest.approx(-one[key]["t"])
        assert other[key]["p"] == pytest.approx(one[key]["p"])


def test_trials_of_other_conditions_do_not_bear_on_a_contrast() -> None:
    rows = square(6, 12, THREE)
    of_two = [row for row in rows if row["condition"] != "list"]
    whole = compared(rows, subsets=6, conditions=list(THREE), contrast="ranking - selection")
    alone = compared(of_two, subsets=6, contrast="ranking - selection")
    assert whole["inference_design_set"] == alone["inference_design_set"]


def test_claims_are_averaged_over_their_complete_replications() -> None:
    rows = [
        answer(1, 1, "ranking", n_read=4),
        answer(2, 1, "selection", n_read=2),
        answer(1, 1, "ranking", n_read=3, replication=2, participant_id="P3"),
        answer(2, 1, "selection", n_read=3, replication=2, participant_id="P4"),
        # This replication lacks the other condition: it does not count.
        answer(1, 1, "ranking", n_read=2, replication=3, participant_id="P5"),
        answer(1, 2, "ranking", n_read=2),
    ]
    scored = scored_trials(check_tables(trials(*rows), None, study(replications=3)))
    means, left_out = claim_means(scored, ("ranking", "selection"), READ)
    wanted = pd.DataFrame({"ranking": [3.5], "selection": [2.5]}, index=["c1"])
    assert means.to_dict() == wanted.to_dict()
    assert left_out == 1


@pytest.mark.parametrize(
    ("d", "p"),
    [
        ([1.0, 1.0, 1.0], 0.25),
        ([1.0, -1.0], 1.0),
        ([0.0, 0.0, 0.0], 1.0),
        ([0.1, 0.2, -0.3], 1.0),
        ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.03125),
    ],
)
def test_exact_sign_flips_count_every_sign(d: list[float], p: float) -> None:
    assert sign_flip(np.array(d), seed=0)["sign_flip_exact_p"] == p


def test_drawn_sign_flips_agree_with_the_exact_ones_and_with_their_seed() -> None:
    d = np.random.default_rng(5).normal(0.4, 1, 15)
    signs = np.array(np.meshgrid(*[[-1, 1]] * 15)).reshape(15, -1)
    sums = np.abs(d @ signs)
    exact = np.mean(sums >= abs(d.sum()) - 1e-9)
    drawn = sign_flip(d, seed=3)
    assert drawn == sign_flip(d, seed=3)
    assert drawn["sign_flip_p"] == pytest.approx(exact, abs=0.006)


def test_rank_biserial_by_hand() -> None:
    # Sizes 1, 2, 3 and one zero: W+ = 1 + 3, W- = 2.
    assert rank_biserial(np.array([1.0, -2.0, 3.0, 0.0])) == pytest.approx((4 - 2) / 6)


def test_bonett_price_stays_inside_minus_one_and_one() -> None:
    low, high = bonett_price(3, 0, 3)
    assert (0 < low < 1, high) == (False, 1.0)
    assert bonett_price(0, 3, 3) == pytest.approx([-high, -low])


def test_holm_by_hand() -> None:
    assert adjusted({"a": 0.01, "b": None, "c": 0.04, "d": 0.03}) == {
        "a": pytest.approx(0.03),
        "b": None,
        "c": pytest.approx(0.06),
        "d": pytest.approx(0.06),
    }


@pytest.mark.parametrize(
    ("lower", "upper", "verdict"),
    [
        (-0.05, -0.1, (True, True, True)),
        (-0.15, -0.1, (False, True, False)),
        (-0.05, 0.1, (True, False, False)),
        (-0.10, -0.1, (False, True, False)),
        (None, -0.1, (None, True, None)),
        (None, 0.1, (None, False, False)),
    ],
)
def test_efficiency_without_harm_needs_both(
    lower: float | None, upper: float, verdict: tuple[bool | None, ...]
) -> None:
    success = {"ci95": None if lower is None else [lower, 0.5], "reason": "not defined, because x"}
    block = non_inferiority({"success": success, "read": {"ci95": [-9.0, upper]}}, 0.10)
    got = (block["non_inferior"], block["fewer_read"], block["efficient_without_harm"])
    assert got == verdict
    named = {key for key, value in block.items() if value is None}
    assert named == set(block.get("reasons", {}))


def test_a_reference_compares_each_other_condition_with_it() -> None:
    main = Contrast("list", "ranking")
    assert [c.name for c in contrasts_beside(main, THREE, "selection")] == [
        "list - selection",
        "ranking - selection",
    ]
    assert [c.name for c in contrasts_beside(main, THREE, "list")] == ["selection - list"]
    assert [c.name for c in contrasts_beside(main, THREE, None)] == [
        "list - selection",
        "ranking - selection",
    ]


def test_three_conditions_get_contrasts_and_omnibus_tests() -> None:
    document = compared(square(6, 24, THREE), subsets=6, conditions=list(THREE))
    assert set(document["other_contrasts"]) == {"list - selection", "ranking - selection"}
    every = {"list - ranking": document["inference_design_set"]["two_way"]} | {
        name: blocks["two_way"] for name, blocks in document["other_contrasts"].items()
    }
    corrected = document["holm_all_contrasts"]["adjusted"]
    assert set(corrected) == set(every)
    least = min(block["p"] for blocks in every.values() for block in blocks.values())
    assert min(p for blocks in corrected.values() for p in blocks.values()) == pytest.approx(
        min(1.0, 15 * least)
    )
    block = document["omnibus"]
    assert block["conditions"] == list(THREE)
    assert set(block["cochran_q"]) == {"success", "undecided", "over_read_msr"}
    assert not undefined(document)


def omnibus_of(rows: list[dict[str, str]], *conditions: str) -> dict[str, Any]:
    """The omnibus tests of three conditions (and more), made without a warning."""
    settings = study(subsets=6, replications=2, conditions=[*THREE, *conditions])
    scored = scored_trials(check_tables(trials(*rows), None, settings))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return omnibus(scored, [*THREE, *conditions])


def test_omnibus_tests_agree_with_the_libraries_on_the_plain_table() -> None:
    rows = square(6, 24, THREE)
    table = trials(*rows)
    block = omnibus_of(rows)
    right = (table["decision"] == table["gold_label"]).astype(int)
    wide = right.groupby([table["claim_id"], table["condition"]]).first().unstack()
    wanted = cochrans_q(wide.to_numpy())
    got = block["cochran_q"]["success"]
    assert (got["q"], got["p"]) == pytest.approx((wanted.statistic, wanted.pvalue))
    assert (got["df"], got["n_claims"]) == (2, 24)
    read = table["n_read"].astype(int)
    wide = read.groupby([table["claim_id"], table["condition"]]).first().unstack()
    friedman = stats.friedmanchisquare(*wide.to_numpy().T)
    got = block["friedman"]["read"]
    assert (got["chi2"], got["p"]) == pytest.approx((friedman.statistic, friedman.pvalue))


def test_a_claim_with_several_trials_of_a_condition_is_no_single_answer() -> None:
    rows = square(6, 24, THREE)
    alike = rows[0] | {"trial_id": "again", "participant_id": "P9", "slot": "9"}
    other = rows[3] | {"trial_id": "other", "participant_id": "P9", "slot": "9"}
    other |= {"decision": "refuted" if rows[3]["decision"] == "supported" else "supported"}
    fewer = [row for row in rows if row["claim_id"] not in (alike["claim_id"], other["claim_id"])]
    block = omnibus_of([*rows, alike, other])
    for key, values in block["cochran_q"].items():
        assert (values["n_claims"], values["n_left_out"], values["n_repeated"]) == (22, 2, 2)
        # One trial answers like its double and the other does not: neither claim may stay.
        assert values["q"] == omnibus_of(fewer)["cochran_q"][key]["q"]
    assert (block["friedman"]["read"]["n_claims"], block["friedman"]["read"]["n_left_out"]) == (
        24,
        0,
    )


def test_omnibus_tests_that_cannot_be_done_say_so() -> None:
    rows = [row | {"decision": "supported"} for row in square(6, 24, THREE)]
    more = [row | {"replication": "2", "trial_id": f"b{row['trial_id']}"} for row in rows]
    more = [row | {"participant_id": f"Q{row['participant_id']}"} for row in more]
    once = omnibus_of(rows)["cochran_q"]["success"]
    assert (once["q"], once["p"]) == (None, None)
    assert "no claim differs" in once["reason"]
    twice = omnibus_of([*rows, *more])
    assert "2 replications" in twice["cochran_q"]["success"]["reason"]
    assert twice["friedman"]["read"]["n_claims"] == 24
    missing = omnibus_of(rows, "fourth")["friedman"]["read"]
    assert missing["p"] is None
    assert "fewer than two claims" in missing["reason"]


def test_the_table_shows_conditions_difference_interval_and_method() -> None:
    rows = [answer(1 + n % 4, n, "ranking", n_read=2 + n % 2) for n in range(1, 9)]
    rows += [answer(1 + (n + 1) % 4, n, "selection", n_read=3 + n % 2) for n in range(1, 9)]
    document = compared(rows)
    headings = comparison_headings(document)
    assert headings == [
        "",
        "ranking",
        "selection",
        "Difference",
        "95 % interval",
        "p",
        "Holm p",
        "Method",
        "n",
    ]
    read = next(row for row in comparison_table(document) if row.key == "read")
    block = document["inference_design_set"]["two_way"]["read"]
    low, high = block["ci95"]
    adjusted_p = document["inference_design_set"]["holm"]["adjusted"]["read"]
    assert read.cells == (
        "Sentences read or shown",
        "2.50",
        "3.50",
        "−1.00",
        f"[{low:.2f}, {high:.2f}]".replace("-", "−"),
        p_text(block["p"]),
        p_text(adjusted_p),
        "two-way clustered, t(3)",
        "16 trials, 4 participants, 8 claims",
    )
    assert any("margin 10 percentage points" in note for note in comparison_notes(document))
    assert all(len(row.cells) == len(headings) for row in comparison_table(document))
    available = comparison_table(document, "inference_available_set")
    assert [row.key for row in available] == list(BY_KEY)


def test_p_values_are_printed_to_three_digits() -> None:
    assert [p_text(p) for p in (0.00099, 0.001, 0.0498, 0.0625, 1.0, None)] == [
        "< 0.001",
        "0.001",
        "0.050",
        "0.063",
        "1.000",
        "",
    ]


def test_the_terminal_prints_the_comparison_and_numbers_its_reasons() -> None:
    text = measures_text(compared(square(6, 24, THREE), subsets=6, conditions=list(THREE)))
    assert "Comparison, list - ranking: Design set (primary)" in text
    assert "All conditions: Cochran's Q" in text
    assert "Non-inferiority: " in text
    one = measures_text(compared([answer(1, 1)], conditions=["ranking"]))
    assert "Comparison: not defined, because the study has one condition only" in one
    gaps = measures_text(compared([answer(1, 1)]))
    assert "not defined (1)" in gaps
    assert "(1) because no trial of condition selection" in gaps


def test_every_block_of_the_comparison_has_its_method_in_words() -> None:
    document = compared(square(6, 24, THREE), subsets=6, conditions=list(THREE))
    methods = document["methods"]
    told = {name for entry in methods.values() for name in entry["blocks"]}
    inference = {k for k, v in document["inference_design_set"].items() if isinstance(v, dict)}
    assert inference <= told
    assert {"omnibus.cochran_q", "omnibus.friedman", "non_inferiority", "equivalence"} <= told
    fields = {"blocks", "method", "population", "n", "assumptions", "library"}
    assert all(set(entry) == fields for entry in methods.values())
    assert methods["mcnemar"]["population"] == "these six people, other claims"
    assert methods["mcnemar"]["n"]["success"] == "24 claim pairs"
    assert methods["two_way"]["n"]["read"] == "48 trials, 6 participants, 24 claims"


def test_unscorable_trials_leave_success_and_stay_in_reading() -> None:
    rows = square(4, 12)
    rows = [
        r | ({"gold_label": "partially_supported"} if r["claim_id"] == "c1" else {}) for r in rows
    ]
    inference = compared(rows)["inference_design_set"]
    assert (inference["pairs_complete"], inference["pairs_scorable"]) == (12, 11)
    assert inference["success"]["n_pairs"] == 11
    assert inference["over_read_msr"]["n_pairs"] == 12
    assert inference["two_way"][SUCCESS.key]["n_trials"] == 22
    assert inference["two_way"][READ.key]["n_trials"] == 24


def _errors_by_the_library(rows: pd.DataFrame) -> list[float]:
    """Two-way, participant and claim clustered errors of the reading difference."""
    first = (rows["condition"] == "ranking").to_numpy(float)
    fit = OLS(rows["n_read"].to_numpy(float), np.column_stack([np.ones(len(first)), first])).fit()
    people, claims = (pd.factorize(rows[name])[0] for name in ("participant_id", "claim_id"))
    return [float(np.sqrt(c[1, 1])) for c in cov_cluster_2groups(fit, people, claims)]


def test_clustered_errors_are_the_librarys_with_and_without_repeated_cells() -> None:
    scored = scored_trials(check_tables(trials(*square(5, 40, seed=2)), None, study()))
    again = scored.assign(n_read=scored["n_read"].to_numpy()[::-1])
    for rows in (scored, pd.concat([scored, again, again], ignore_index=True)):
        block = two_way(rows, Contrast("ranking", "selection"))["read"]
        got = [block["se_two_way"], block["se_participant"], block["se_claim"]]
        assert got == pytest.approx(_errors_by_the_library(rows))
        assert block["se_used"] == max(got)


def test_a_negative_two_way_variance_is_passed_over() -> None:
    document = compared(square(3, 6, seed=1))
    block = document["inference_design_set"]["two_way"]["over_read_msr"]
    assert block["se_two_way"] is None
    assert block["se_used"] == block["se_claim"] > 0
    path = "inference_design_set.two_way.over_read_msr.se_two_way"
    assert "the two-way variance is not positive" in document["not_defined"][path]
    assert f"{path[:-10]}p" not in document["not_defined"]


def test_variances_that_cancel_are_0_and_no_rounding_in_any_order_of_trials() -> None:
    # Every claim's logarithms sum to log 36, so that claims differ by rounding alone.
    times = [(12, 3), (9, 4), (18, 2), (6, 6), (3, 12), (4, 9), (2, 18), (36, 1)]
    rows = [
        answer(2 * claim + side, claim, THREE[1 + claim % 2], seconds=pair[side])
        for claim, pair in enumerate(times, start=1)
        for side in (0, 1)
    ]
    other_ids = [row | {"participant_id": f"Q{99 - n}"} for n, row in enumerate(reversed(rows))]
    for table in (rows, other_ids):
        block = compared(table)["inference_design_set"]["two_way"]["log_active"]
        assert (block["se_two_way"], block["se_claim"]) == (None, 0.0)
        assert block["se_used"] == block["se_participant"] > 0
        assert "is not positive" in block["reasons"]["se_two_way"]
