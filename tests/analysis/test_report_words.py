"""The report's sentences: methods, verdicts, limitations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.comparison.contrast import Contrast
from analysis.load import read_export
from analysis.report.data import ReportData, report_data
from analysis.report.learning import learning_table, order_table
from analysis.report.limitations import limitations
from analysis.report.methods import methods_text
from analysis.report.models import models_table
from analysis.report.review import review_tables
from analysis.report.verdict import verdicts
from analysis.report.words import difference_text, interval, interval_text, listed, number, p_text
from tests.analysis.builders import case_zip, selection_trial, study, trial, trials
from tests.analysis.reports import checked, files, full_study, rows_of
from tests.shared_data import needs_data

CONTRAST = Contrast("ranking", "selection")


def small(*arguments: Any) -> ReportData:
    return report_data(["small"], [checked(*arguments)])


_MEASURED: dict[str, ReportData] = {}


def case(name: str, folder: Path) -> ReportData:
    """A case, measured once for all tests."""
    if name not in _MEASURED:
        _MEASURED[name] = report_data([name], [read_export(case_zip(name, folder))])
    return _MEASURED[name]


def test_numbers_have_real_minus_signs_and_no_negative_zero() -> None:
    assert [number(x) for x in (-1.234, 0.0, -0.001, 2)] == ["−1.23", "0.00", "0.00", "2.00"]
    assert [p_text(p) for p in (None, 0.0004, 0.02)] == ["", "< 0.001", "0.020"]
    assert interval([0.5, None]) == "[0.50, no limit]"
    assert difference_text("success", -0.2) == "−20.0"
    assert difference_text("log_active", 0.0) == "1.00"
    assert interval_text("read", [-1.5, 0.25]) == "[−1.50, 0.25]"
    assert [listed(names) for names in ([], ["a"], ["a", "b", "c"])] == ["none", "a", "a, b and c"]


def test_the_methods_hold_the_studys_own_numbers() -> None:
    conditions = [
        {"name": "ranking", "interface": "incremental", "method": "llm", "model": "m-7"},
        {"name": "selection", "interface": "all_at_once", "method": "pick"},
    ]
    settings = study(conditions=conditions, software="suffice 9.9", seed=77, order_policy="blocked")
    people, design, excluded, *_, software = methods_text(small(full_study(), settings))
    assert people == (
        "2 participants took part in 4 trials. The design set, on which the primary analysis "
        "rests, holds 4 trials of 2 participants on 2 claims, 2 trials each."
    )
    assert design == (
        "The conditions were ranking (one sentence more a click; method llm, model m-7) and "
        "selection (all sentences at once; method pick). 2 claims in 2 disjoint subsets were "
        "assigned to conditions by a cyclic Latin square with 1 replication (2 places), so that "
        "each claim was to be judged once under every condition and nobody met a claim twice; 2 "
        "trials were planned a participant, the conditions came in blocks, their order balanced "
        "over the places. Participants chose among supported, refuted and can't decide."
    )
    assert excluded == (
        "All recorded trials count. No rule of exclusion was fixed beforehand; 0 participants were "
        "excluded."
    )
    assert software.startswith("The study ran on suffice 9.9. The analysis used suffice ")
    assert "statsmodels 0." in software
    assert software.endswith("The seed was 77.")


@needs_data
@pytest.mark.data
def test_five_people_are_told_what_they_cannot_show(tmp_path: Path) -> None:
    sentence = (
        "With 5 participants the smallest two-sided p of an exact sign-flip (or Wilcoxon) test is "
        "0.0625: such a test can never reach 0.05, and at least six participants are needed "
        "(0.03125)."
    )
    five, thirty = case("table5", tmp_path), case("thirty_a", tmp_path)
    assert sentence in limitations(five)
    assert any(paragraph.endswith(sentence) for paragraph in methods_text(five))
    assert not any(
        "sign-flip (or" in text for text in [*methods_text(thirty), *limitations(thirty)]
    )
    assert "exact McNemar" in " ".join(methods_text(five))
    assert "exact McNemar" not in " ".join(methods_text(thirty))


@needs_data
@pytest.mark.data
def test_the_exclusions_are_counted_in_words(tmp_path: Path) -> None:
    text = methods_text(case("dropouts_a", tmp_path))[2]
    assert text.startswith("Of 328 recorded trials 100 are not in the design set")
    assert "17 (consent was taken back), 28 (participant excluded" in text


@needs_data
@pytest.mark.data
def test_the_verdict_is_in_words(tmp_path: Path) -> None:
    assert verdicts(case("table5", tmp_path).document, CONTRAST) == [
        "Success under ranking is not worse than under selection by the margin of 10.0 points or "
        "more: the lower 95 % limit of the difference, 4.1 points, lies above minus the margin.",
        "Fewer sentences under ranking: the upper 95 % limit of the difference, −0.75, lies below "
        "0.",
        "Both together, fewer sentences without harm to accuracy beyond the margin, is shown for "
        "ranking against selection.",
        "Equivalence of success within the margin, in both directions, is not shown for ranking - "
        "selection (two one-sided tests over claims and over participants, the larger p: 0.986).",
    ]


def test_what_is_not_shown_is_not_called_harm() -> None:
    document = {
        "not_defined": {},
        "non_inferiority": {
            "margin": 0.1,
            "success_lower95": -0.2,
            "non_inferior": False,
            "read_upper95": 0.5,
            "fewer_read": False,
            "efficient_without_harm": False,
        },
    }
    worse, fewer, both = verdicts(document, CONTRAST)
    assert "is not shown" in worse
    assert worse.endswith("This is no proof that it is worse.")
    assert "is not shown" in fewer
    assert "is not shown" in both


def test_without_an_interval_the_verdict_says_why() -> None:
    document = small(full_study()).document
    first, *_ = verdicts(document, CONTRAST)
    assert first.startswith("Non-inferiority of success: not defined, because")


@needs_data
@pytest.mark.data
def test_limitations_name_what_the_data_show(tmp_path: Path) -> None:
    found = " ".join(limitations(case("dropouts_a", tmp_path)))
    for part in (
        "The design set has 10 participants",
        "The design is unbalanced: 8 cells of the claims met so far have no trial; ",
        "require different numbers of sentences",
        "dropped out; who stays may differ",
        "17 trials were withdrawn by those who made them.",
        "2 main trials incomplete (",
        "2 main trials void (",
        "right on evidence that holds no gold set",
    ):
        assert part in found
    partial = " ".join(limitations(case("partial_a", tmp_path)))
    assert "had no right button among the response options" in partial


def test_long_hidden_times_and_no_times_are_limitations() -> None:
    hidden = full_study(hidden_ms=15000, active_ms=5000)
    assert any(
        "In 4 trials (ranking 2, selection 2)" in line for line in limitations(small(hidden))
    )
    none = full_study(hidden_ms=20000, active_ms=0)
    assert any(
        line.startswith("4 trials have an active time of 0") for line in limitations(small(none))
    )


MODELS = {
    "glm_participant_fixed_claim_clusters": {"left_out": "left out, because it is separated"},
    "lmer_read": {
        "fixed": {
            "(Intercept)": {"estimate": 3.0},
            "cond": {"estimate": -1.0, "se": 0.5, "p": 0.04},
        },
        "variance": {"claim_id": 0.8},
    },
    "glmer_success": {"degenerate": True, "note": "the variance ran away"},
}


def test_a_model_is_shown_or_the_reason_why_it_is_left_out() -> None:
    document = {"not_defined": {}, "inference_design_set": MODELS}
    table = models_table(document)
    assert table is not None
    assert [row[1:4] for row in table.rows] == [
        ("left out, because it is separated", "", ""),
        ("condition", "−1.000", "0.500"),
        ("variance: claims", "0.800", ""),
        ("left out: the variance ran away", "", ""),
    ]
    assert models_table({"not_defined": {}, "inference_design_set": {"left_out": "one"}}) is None


def test_learning_is_described_from_its_block() -> None:
    effect = {"estimate": 0.25, "se": 0.1, "ci95": [0.05, 0.45], "p": 0.02}
    document = {
        "learning": {
            "statement": "It does not bias.",
            "models": {
                "lmer_read": {"fixed": {"pos10": effect}},
                "glmer_success": {"left_out": "no"},
            },
            "block_order": {
                "read": {
                    "groups": {
                        "ranking": {"n_participants": 3, "mean": 3.2, "mean_difference": -1.0},
                        "selection": {"n_participants": 0, "mean": None, "mean_difference": None},
                    },
                    "order_by_condition": {"estimate": 0.5},
                    "described_only": "described only, because 3 participants are fewer than 10",
                }
            },
        }
    }
    models, orders = learning_table(document), order_table(document)
    assert models is not None
    assert orders is not None
    assert models.rows == (
        (
            "Sentences: linear mixed model",
            "position, ten trials",
            "0.250",
            "0.100",
            "[0.050, 0.450]",
            "0.020",
        ),
        ("Success, log odds: logistic mixed model", "no", "", "", "", ""),
    )
    assert models.note.endswith("It does not bias.")
    assert [row[1:5] for row in orders.rows] == [
        ("ranking", "3", "3.20", "−1.00"),
        ("selection", "0", "", ""),
        ("first order − second", "", "", "0.50"),
    ]
    assert orders.note.endswith("Described only, because 3 participants are fewer than 10.")
    assert learning_table({"inference_design_set": {"left_out": "one condition"}}) is None


def test_a_negative_mean_is_no_formula_in_the_csv_of_table_5() -> None:
    row = trial(trial_id="t1", n_read=2, hidden_ms=5000)
    rows = {r["measure"]: r for r in rows_of(files(trials(row, selection_trial()))["table5.csv"])}
    assert rows["mean_reader_excess"]["ranking (sentences read)"] == "−1.00 (n = 1)"


@needs_data
@pytest.mark.data
def test_doubtful_claims_are_listed_and_agreement_is_shown(tmp_path: Path) -> None:
    found = {table.name: table for table in review_tables(case("dropouts_a", tmp_path))}
    assert [row[:2] for row in found["review_items"].rows] == [
        (
            "dr009",
            "2 of 2 readers chose refuted without a gold set shown: is a gold set missing, or is "
            "the claim common knowledge?",
        )
    ]
    assert [row[:5] for row in found["agreement"].rows] == [
        ("ranking", "0.593", "[0.409, 0.763]", "77.2 %", "57"),
        ("selection", "0.640", "[0.456, 0.806]", "76.5 %", "51"),
    ]
    once = {table.name: table for table in review_tables(case("table5", tmp_path))}["agreement"]
    assert all(row[1].startswith("not defined, because no claim was judged") for row in once.rows)
