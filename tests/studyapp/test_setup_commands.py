"""What the set-up pages change, from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from studyapp.domain.changing import change_draft
from studyapp.domain.draft_conditions import change_condition, move_condition
from studyapp.errors import NotEditable
from studyapp.models import Study
from tests import factories

pytestmark = pytest.mark.django_db

CLAIMS = Path(__file__).parents[2] / "fixtures" / "demo_claims.jsonl"


def changed(study: Study, tmp_path: Path, changes: dict[str, Any]) -> None:
    """Run ``change_study`` with a file of these changes."""
    file = tmp_path / "changes.json"
    file.write_text(json.dumps(changes), encoding="utf-8")
    call_command("change_study", study.slug, config=file)


def refused(capsys: Any, *command: Any, **options: Any) -> str:
    with pytest.raises(SystemExit) as ended:
        call_command(*command, **options)
    assert ended.value.code == 1
    return str(capsys.readouterr().err).strip()


def test_settings_of_a_draft_are_changed_and_the_others_stay(tmp_path: Path, capsys: Any) -> None:
    study = factories.draft_study("s", sitting={"break_every": 5}, texts={"contact": "Ann"})
    changed(study, tmp_path, {"title": "New", "sitting": {"confidence": "optional"}})
    study = Study.objects.get()
    assert (study.title, study.texts) == ("New", {"contact": "Ann"})
    assert study.sitting == {"break_every": 5, "confidence": "optional"}
    assert capsys.readouterr().out == "study s: changed\n"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"colour": "red"}, "field colour: not known"),
        ({"sitting": {"break_every": -1}}, "field sitting.break_every: must be"),
        ({"conditions": []}, "field conditions: changed by add_condition and remove_condition"),
        ({"subsets": 3}, "field subsets: changed by schedule"),
    ],
)
def test_wrong_changes_change_nothing(
    tmp_path: Path, capsys: Any, changes: dict[str, Any], said: str
) -> None:
    study = factories.draft_study("s", title="Old")
    file = tmp_path / "changes.json"
    file.write_text(json.dumps(changes | {"title": "New"}), encoding="utf-8")
    assert said in refused(capsys, "change_study", "s", config=file)
    assert Study.objects.get(pk=study.pk).title == "Old"


def test_a_study_that_has_opened_is_not_changed(tmp_path: Path, capsys: Any) -> None:
    study = factories.open_study(title="Old")
    file = tmp_path / "changes.json"
    file.write_text('{"title": "New"}', encoding="utf-8")
    assert "frozen" in refused(capsys, "change_study", study.slug, config=file)
    for command in (["remove_claims"], ["remove_schedule"], ["remove_condition"]):
        more = ["ranking"] if command == ["remove_condition"] else []
        assert "frozen" in refused(capsys, *command, study.slug, *more)
    study = Study.objects.get()
    assert (study.title, study.claims.count(), study.slots.count()) == ("Old", 4, 2)


def test_schedule_condition_and_claims_are_removed_one_after_the_other(capsys: Any) -> None:
    study = factories.ready_study(slug="s")
    assert "has a schedule" in refused(capsys, "remove_claims", "s")
    assert "has a schedule" in refused(capsys, "remove_condition", "s", "ranking")
    call_command("remove_schedule", "s")
    assert "no condition 'x'; there are: ranking, selection." in refused(
        capsys, "remove_condition", "s", "x"
    )
    call_command("remove_condition", "s", "ranking")
    call_command("remove_claims", "s")
    assert capsys.readouterr().out == (
        "condition ranking: removed, with 4 stored rankings\n"
        "4 claims and 4 stored rankings deleted\n"
    )
    assert (study.slots.count(), study.claims.count()) == (0, 0)
    assert list(study.conditions.values_list("name", "position")) == [("selection", 1)]


def test_what_a_schedule_keeps_from_changing_names_the_way_to_take_it_away(
    capsys: Any,
) -> None:
    study = factories.ready_study(slug="s")
    condition = study.conditions.get(name="ranking")
    refusals = [
        refused(capsys, "remove_condition", "s", "ranking"),
        refused(capsys, "remove_claims", "s"),
        refused(capsys, "add_condition", "s", "new", interface="incremental", method="bm25"),
        refused(capsys, "import_claims", "s", CLAIMS),
    ]
    for call in (
        lambda: change_draft(study, {"seed": 99}),
        lambda: change_condition(condition, name="new"),
        lambda: move_condition(condition, 1),
    ):
        with pytest.raises(NotEditable) as refusal:
            call()
        refusals.append(str(refusal.value))
    for said in refusals:
        assert "remove it first, in the step Schedule or with remove_schedule" in said
    assert "then remove the claims" in refusals[1]
    assert not any("add conditions first" in said for said in refusals)
