"""A draft's settings change all or none, and never what a schedule was made with."""

from __future__ import annotations

from typing import Any

import pytest

from studyapp.domain.changing import change_draft, close_study, pause_study, resume_study
from studyapp.enums import StudyState
from studyapp.errors import NotEditable, StudyError
from studyapp.models import AuditEntry, Study
from tests import factories

pytestmark = pytest.mark.django_db


def stored(study: Study) -> Study:
    return Study.objects.get(pk=study.pk)


def test_only_the_named_settings_change() -> None:
    study = factories.draft_study(lang="de", completion_code="A")
    change_draft(study, {"title": "New", "seed": 5, "state": "open"})
    assert (study.title, study.seed) == ("New", 5)
    assert (stored(study).title, stored(study).seed) == ("New", 5)
    assert (stored(study).lang, stored(study).completion_code) == ("de", "A")
    assert stored(study).state == StudyState.DRAFT


def test_a_setting_that_somebody_else_changed_meanwhile_stays() -> None:
    study = factories.draft_study()
    Study.objects.filter(pk=study.pk).update(lang="de")
    change_draft(study, {"title": "New"})
    assert (stored(study).title, stored(study).lang) == ("New", "de")


@pytest.mark.parametrize(
    "changes",
    [
        {"title": ""},
        {"title": None, "lang": "de"},
        {"nothing": 1},
        {"title": "New", "conditions": []},
        {"title": "New", "sitting": None},
        {"title": "New", "recruiting": 3},
        {"title": "New", "preregistered": []},
    ],
)
def test_a_wrong_change_is_refused_whole(changes: dict[str, Any]) -> None:
    study = factories.draft_study()
    with pytest.raises(StudyError):
        change_draft(study, changes)
    assert (stored(study).title, stored(study).lang) == (study.title, study.lang)
    assert not AuditEntry.objects.exists()


def test_settings_that_go_together_are_checked_with_those_that_are_stored() -> None:
    study = factories.draft_study(recruiting={"id_parameter": "PID"})
    change_draft(study, {"recruiting": {"repeats": 3}})
    with pytest.raises(StudyError, match="id_parameter: must be set"):
        change_draft(study, {"recruiting": {"id_parameter": None}})
    assert stored(study).recruiting == {"id_parameter": "PID", "repeats": 3}


def test_an_object_of_settings_is_merged_and_none_takes_a_setting_out() -> None:
    study = factories.draft_study(sitting={"break_every": 5, "practice_tries": 2})
    change_draft(study, {"sitting": {"break_every": 7, "practice_tries": None}})
    assert stored(study).sitting == {"break_every": 7} == study.sitting


def test_the_log_says_which_settings_were_changed_and_not_to_what() -> None:
    study = factories.draft_study()
    change_draft(study, {"title": "Secret", "lang": "de"})
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.study_slug) == ("settings_changed", study.slug)
    assert entry.details == {"settings": "lang, title"}


@pytest.mark.parametrize("name", ["order_policy", "condition_policy", "subsets", "seed"])
def test_what_a_schedule_was_made_with_is_kept(name: str) -> None:
    study = factories.ready_study()
    others = {
        "order_policy": "interleaved",
        "condition_policy": "between",
        "subsets": 4,
        "seed": 8,
    }
    with pytest.raises(NotEditable, match=name):
        change_draft(study, {name: others[name], "title": "New"})
    assert stored(study).title == study.title
    own = {"order_policy": "blocked", "condition_policy": "within", "subsets": 2, "seed": 7}
    change_draft(study, {name: own[name], "title": "New"})
    assert stored(study).title == "New"


@pytest.mark.parametrize("state", [StudyState.OPEN, StudyState.PAUSED, StudyState.CLOSED])
def test_nothing_changes_once_the_study_has_opened(state: str) -> None:
    study = factories.open_study()
    Study.objects.filter(pk=study.pk).update(state=state)
    with pytest.raises(NotEditable):
        change_draft(study, {"title": "New"})
    assert stored(study).title == study.title


MOVES = {pause_study: {"open"}, resume_study: {"paused"}, close_study: {"open", "paused"}}
ENDS = {pause_study: "paused", resume_study: "open", close_study: "closed"}


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("state", StudyState.values)
def test_a_state_is_left_only_by_its_moves(move: Any, state: str) -> None:
    study = factories.ready_study() if state == "draft" else factories.open_study()
    Study.objects.filter(pk=study.pk).update(state=state)
    if state in MOVES[move]:
        move(study)
        assert stored(study).state == ENDS[move]
    else:
        with pytest.raises(NotEditable):
            move(study)
        assert stored(study).state == state
