"""What study.json may say about the comparison, and what holds where it is silent."""

from __future__ import annotations

import pytest

from analysis import BadTable, measure_document, parse_settings
from analysis.comparison.contrast import Contrast
from analysis.comparison.planned import Planned, joint_plan
from tests.analysis.builders import selection_trial, study, trial, trials


def planned(**changes: object) -> Planned:
    return parse_settings(study(**changes)).planned


def test_a_silent_study_compares_the_first_condition_with_the_second() -> None:
    assert planned() == Planned(
        contrast=Contrast("ranking", "selection"),
        seed=0,
        margin=0.1,
        family=("success", "undecided", "over_read_msr", "read", "log_active"),
        reference=None,
        stated=frozenset(),
    )


def test_all_that_is_stated_is_taken() -> None:
    assert planned(
        contrast="selection - ranking",
        seed=7,
        non_inferiority_margin=0.05,
        preregistered={"family": ["n_read", "success"], "reference_condition": "ranking"},
    ) == Planned(
        contrast=Contrast("selection", "ranking"),
        seed=7,
        margin=0.05,
        family=("success", "read"),
        reference="ranking",
        stated=frozenset(
            {"contrast", "seed", "non_inferiority_margin", "family", "reference_condition"}
        ),
    )
    assert planned(preregistered={"reference": "selection"}).reference == "selection"


def test_a_name_may_hold_the_sign_of_the_contrast() -> None:
    names = ["a - b", "c", "a"]
    assert planned(conditions=names, contrast="a - b - c").contrast == Contrast("a - b", "c")
    assert planned(conditions=names, contrast="a - c").contrast == Contrast("a", "c")


def test_one_condition_has_no_contrast() -> None:
    assert planned(conditions=["ranking"]).contrast is None
    assert planned(conditions=["ranking"], contrast=None).contrast is None


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            {"contrast": "ranking - other"},
            "study.json: contrast: 'ranking - other' is not of the form A - B with two of the "
            "conditions ranking, selection",
        ),
        ({"contrast": "ranking - ranking"}, "study.json: contrast: 'ranking - ranking' is not"),
        ({"contrast": ["ranking"]}, "study.json: contrast: ['ranking'] is not"),
        ({"seed": -1}, "study.json: seed: -1 is no whole number from 0 to 2**63 - 1"),
        ({"seed": 2**63}, "study.json: seed: "),
        ({"seed": True}, "study.json: seed: True"),
        ({"non_inferiority_margin": 0}, "study.json: non_inferiority_margin: 0 is no number"),
        ({"non_inferiority_margin": "0.1"}, "study.json: non_inferiority_margin: '0.1'"),
        (
            {"preregistered": {"reference_condition": "none"}},
            "study.json: preregistered.reference_condition: 'none' is none of the conditions",
        ),
        (
            {"preregistered": {"family": ["success", "speed"]}},
            "study.json: preregistered.family: 'speed' unknown; use success, undecided",
        ),
        ({"preregistered": {"family": "success"}}, "study.json: preregistered.family: not a list"),
        (
            {"preregistered": {"family": ["read", "n_read"]}},
            "study.json: preregistered.family: a measure occurs twice",
        ),
    ],
)
def test_a_wrong_plan_is_refused_by_field(change: dict[str, object], line: str) -> None:
    with pytest.raises(BadTable) as refused:
        parse_settings(study(**change))
    assert len(refused.value.problems) == 1
    assert line in refused.value.problems[0]


def test_the_document_says_what_was_stated_and_what_was_not() -> None:
    silent = measure_document(trials(), None, study())
    assert silent["comparison_plan"]["seed_stated"] is False
    assert any("random draws start from 0" in line for line in silent["notices"])
    whole = study(contrast="ranking - selection", seed=3, non_inferiority_margin=0.1)
    document = measure_document(trials(), None, whole)
    assert not any("do not say otherwise" in line for line in document["notices"])
    plan = document["comparison_plan"]
    assert plan | {"reasons": {}} == {
        "contrast": "ranking - selection",
        "contrast_stated": True,
        "family": ["success", "undecided", "over_read_msr", "read", "log_active"],
        "family_stated": False,
        "first_condition": "ranking",
        "non_inferiority_margin": 0.1,
        "non_inferiority_margin_stated": True,
        "reasons": {},
        "reference_condition": None,
        "reference_condition_stated": False,
        "second_condition": "selection",
        "seed": 3,
        "seed_stated": True,
    }
    assert "pre-registered" in document["not_defined"]["comparison_plan.reference_condition"]


def test_a_contrast_beside_the_reference_is_announced() -> None:
    settings = study(preregistered={"reference_condition": "ranking"})
    lines = measure_document(trials(trial(), selection_trial()), None, settings)["notices"]
    assert (
        "The main contrast, ranking - selection, is not one against the pre-registered "
        "reference, ranking." in lines
    )


def test_pooled_studies_keep_the_stricter_plan() -> None:
    one = planned(seed=4, non_inferiority_margin=0.1, preregistered={"family": ["read"]})
    other = planned(non_inferiority_margin=0.05, preregistered={"family": ["success"]})
    assert joint_plan([one, other]) == Planned(
        contrast=Contrast("ranking", "selection"),
        seed=4,
        margin=0.05,
        family=("success", "read"),
        reference=None,
        stated=frozenset({"non_inferiority_margin", "family"}),
    )
