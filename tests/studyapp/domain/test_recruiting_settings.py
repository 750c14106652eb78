"""The settings of recruiting: every wrong one is named."""

from __future__ import annotations

from typing import Any

import pytest

from studyapp.domain.configuration import create_study
from studyapp.domain.recruiting_settings import recruiting_problems
from studyapp.errors import StudyError
from studyapp.models import Study
from studyapp.models.study import RECRUITING_DEFAULTS


@pytest.mark.parametrize(
    "value",
    [
        {},
        RECRUITING_DEFAULTS,
        {"id_parameter": "workerId", "repeats": 100},
        {"id_parameter": "x" * 40, "other_parameters": [f"p{n}" for n in range(10)]},
    ],
)
def test_sound_settings_have_no_problem(value: dict[str, Any]) -> None:
    assert recruiting_problems(value) == []


NAME = "up to 40 letters, digits and underscores, and not run or notice"


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([], "recruiting: must be an object"),
        (
            {"id": "x"},
            f"recruiting.id: not known; known are {', '.join(RECRUITING_DEFAULTS)}",
        ),
        *(
            ({"id_parameter": wrong}, f"recruiting.id_parameter: must be empty or {NAME}")
            for wrong in ("a b", "a-b", "x" * 41, "é", None, 1, "run", "notice", "a\n")
        ),
        *(
            (
                {"id_parameter": "id", "other_parameters": wrong},
                "recruiting.other_parameters: must be a list of at most 10 different names, each "
                + NAME,
            )
            for wrong in ("a", ["a", "a"], [""], [1], [f"p{n}" for n in range(11)], None, ["run"])
        ),
        *(
            (
                {"id_parameter": "id", "repeats": wrong},
                "recruiting.repeats: must be a whole number from 1 to 100",
            )
            for wrong in (0, -1, 101, 1.5, "2", True, None)
        ),
        *(
            (
                {"extra_places": wrong},
                "recruiting.extra_places: must be a whole number from 0 to 100",
            )
            for wrong in (-1, 101, 0.5, "2", True, None)
        ),
        (
            {"id_parameter": "id", "other_parameters": ["id"]},
            "recruiting.other_parameters: id is the id_parameter already",
        ),
        *(
            (
                wrong,
                "recruiting.id_parameter: must be set where there are other_parameters or repeats",
            )
            for wrong in ({"repeats": 2}, {"other_parameters": ["a"]})
        ),
    ],
)
def test_a_wrong_setting_is_named(value: Any, problem: str) -> None:
    assert recruiting_problems(value) == [problem]


def test_a_file_with_a_wrong_setting_makes_no_study(db: None) -> None:
    with pytest.raises(StudyError) as caught:
        create_study("new", configuration={"recruiting": {"repeats": 0}, "sitting": {"x": 1}})
    assert [problem.split(":")[0] for problem in caught.value.problems] == [
        "field recruiting.repeats",
        "field sitting.x",
    ]
    assert not Study.objects.exists()
