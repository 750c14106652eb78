"""The settings of recruiting: every wrong one is named."""

from __future__ import annotations

from typing import Any

import pytest

from studyapp.domain.changing import change_draft
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


NAME = "up to 40 letters, digits and underscores, and not run, notice or link"


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
        *(
            (
                {"return_after_minutes": wrong},
                "recruiting.return_after_minutes: must be a whole number from 0 to 10080",
            )
            for wrong in (-1, 10_081, 1.5, "2", True, None)
        ),
        *(
            ({"source": wrong}, "recruiting.source: must be plain or prolific or mturk or sona")
            for wrong in ("MTurk", None, ["sona"], 1)
        ),
        *(
            ({"personal_links": wrong}, "recruiting.personal_links: must be also or only or off")
            for wrong in (True, None, "yes")
        ),
        (
            {"personal_links": "only", "source": "sona"},
            "recruiting.personal_links: must be also or off where links carry an id_parameter",
        ),
        (
            {"source": "mturk", "other_parameters": ["assignmentId"]},
            "recruiting.other_parameters: must hold turkSubmitTo where the source is mturk",
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


def test_a_source_sets_what_the_study_does_not():
    study = Study(recruiting={"source": "mturk"})
    assert study.recruiting_setting("id_parameter") == "workerId"
    assert study.recruiting_setting("other_parameters") == ["assignmentId", "hitId", "turkSubmitTo"]
    study.recruiting = {"source": "sona", "id_parameter": "id"}
    assert study.recruiting_setting("id_parameter") == "id"
    assert study.recruiting_setting("other_parameters") == []


def test_a_change_is_checked_with_what_is_stored(db: None) -> None:
    study = create_study("s", configuration={"recruiting": {"source": "mturk"}})
    change_draft(study, {"recruiting": {"repeats": 2}})
    assert study.recruiting == {"source": "mturk", "repeats": 2}
    with pytest.raises(StudyError, match="must be workerId where the source is mturk"):
        change_draft(study, {"recruiting": {"id_parameter": "id"}})
    with pytest.raises(StudyError, match="must be set where there are other_parameters or repeats"):
        change_draft(study, {"recruiting": {"source": "plain"}})
    assert Study.objects.get().recruiting == {"source": "mturk", "repeats": 2}


def test_a_file_with_a_wrong_setting_makes_no_study(db: None) -> None:
    with pytest.raises(StudyError) as caught:
        create_study("new", configuration={"recruiting": {"repeats": 0}, "sitting": {"x": 1}})
    assert [problem.split(":")[0] for problem in caught.value.problems] == [
        "field recruiting.repeats",
        "field sitting.x",
    ]
    assert not Study.objects.exists()
