"""The schedule as a table: how slots stand, where claims are, strata, CSV."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from studyapp.domain import closing, schedule_table
from studyapp.domain.run_ends import return_run
from studyapp.domain.schedule_csv import csv_lines, write_csv
from studyapp.enums import RunKind
from studyapp.errors import StudyError
from studyapp.models import Claim, Enrolment, PlannedTrial, Slot, Study
from tests import factories
from tests.studyapp.domain.test_schedule import plan_of
from tests.studyapp.views.test_researcher import finish

pytestmark = pytest.mark.django_db


def states(study: Study) -> dict[str, str]:
    return {
        f"{row.key[0]}.{row.key[1]}": row.state.value for row in schedule_table.slot_rows(study)
    }


def test_a_slot_is_free_held_completed_or_closed() -> None:
    study = factories.open_study(8, n_subsets=4, n_replications=2)
    runs = [factories.joined(study) for _ in range(3)]
    finish(runs[0])
    return_run(study, runs[2].participant.code)
    factories.joined(study, RunKind.SIMULATED)
    done, held, returned = (str(run.slot) for run in runs)
    last = str(Slot.objects.filter(study=study).latest("pk"))
    closing.close_slots(study, *map(int, last.split(".")))
    expected = dict.fromkeys(states(study), "free")
    assert states(study) == expected | {done: "completed", held: "held", last: "closed"}
    assert states(study)[returned] == "free"
    held_row = next(row for row in schedule_table.slot_rows(study) if row.pk == runs[1].slot_id)
    subset = held_row.subsets[0]
    closing.close_subset(study, subset)
    # Whoever is under way goes on, and what is finished stays finished.
    assert states(study)[held] == "held"
    assert states(study)[done] == "completed"
    shown = [row for row in schedule_table.slot_rows(study) if subset in row.subsets]
    assert len(shown) == 4
    assert all(row.is_closed and row.closed_subsets == [subset] for row in shown)


def test_a_slot_for_several_is_free_while_one_place_is() -> None:
    study = factories.open_study()
    Slot.objects.filter(study=study).update(target=2)
    run = factories.joined(study)
    assert states(study)[str(run.slot)] == "free"
    factories.joined(study)
    factories.joined(study)
    factories.joined(study)
    assert set(states(study).values()) == {"held"}


def test_claims_are_found_by_subset_label_and_text_and_shown_where_they_are_planned() -> None:
    study = factories.ready_study(12, n_subsets=3, n_replications=2)
    found = schedule_table.claims_found(study, label="refuted", text="C1")
    assert [claim.claim_id for claim in found] == ["c10", "c12"]
    of_subset = list(schedule_table.claims_found(study, subset=2))
    assert {claim.subset.number for claim in of_subset} == {2}
    rows = schedule_table.claim_rows(of_subset, cycle=2)
    assert [row.claim for row in rows] == of_subset
    for row in rows:
        for name in ("ranking", "selection"):
            planned = PlannedTrial.objects.get(claim=row.claim, condition__name=name, replication=2)
            assert row.places[name] == [((2, planned.slot.number), planned.position)]


def test_strata_and_positions_are_counted() -> None:
    study = factories.ready_study(8, n_subsets=4)
    strata = schedule_table.strata_of(study)
    assert [(one.label, one.gold_min_size, one.per_subset) for one in strata] == [
        ("refuted", 1, {1: 1, 2: 1, 3: 1, 4: 1}),
        ("supported", 1, {1: 1, 2: 1, 3: 1, 4: 1}),
    ]
    assert schedule_table.position_counts(study) == {
        position: {"ranking": 2, "selection": 2} for position in range(1, 5)
    }


def test_the_csv_holds_every_planned_trial_in_order() -> None:
    study = factories.ready_study(6, n_subsets=3, n_replications=2)
    rows = list(csv.reader(io.StringIO("".join(csv_lines(study)))))
    assert rows[0] == [
        *("replication", "slot", "position", "block", "subset", "claim_id", "condition")
    ]
    assert [[*row[:4], *row[5:]] for row in rows[1:]] == [
        [str(cell) for cell in row] for row in plan_of(study)
    ]
    subsets = dict(study.claims.values_list("claim_id", "subset__number"))
    assert all(row[4] == str(subsets[row[5]]) for row in rows[1:])


@pytest.mark.parametrize("start", ["=", "+", "-", "@"])
def test_an_id_that_looks_like_a_formula_is_harmless_in_a_spreadsheet(start: str) -> None:
    study = factories.ready_study(4)
    Claim.objects.filter(study=study, position=1).update(claim_id=f'{start}1,"2"')
    ids = {row["claim_id"] for row in csv.DictReader(io.StringIO("".join(csv_lines(study))))}
    assert ids == {f'\'{start}1,"2"', "c2", "c3", "c4"}


def test_the_command_prints_the_table_or_writes_it_whole(tmp_path: Path, capsys: Any) -> None:
    study = factories.ready_study(4)
    call_command("schedule_table", study.slug)
    printed = capsys.readouterr().out
    assert printed.replace("\r\n", "\n").count("\n") == 9
    target = tmp_path / "plan.csv"
    call_command("schedule_table", study.slug, output=target)
    assert capsys.readouterr().out == f"{target}: 8 planned trials\n"
    assert target.read_bytes().decode() == "".join(csv_lines(study))
    assert [path.name for path in tmp_path.iterdir()] == ["plan.csv"]
    with pytest.raises(StudyError, match="cannot be written"):
        write_csv(study, tmp_path / "nowhere" / "plan.csv")


def test_the_command_adds_cycles(capsys: Any) -> None:
    study = factories.open_study(4)
    call_command("schedule", study.slug, add_cycles=2)
    assert "6 slots, 24 trials" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        call_command("schedule", study.slug, add_cycles=1, seed=3)
    assert "give it alone" in capsys.readouterr().err
    assert Enrolment.objects.count() == 0
    assert study.slots.count() == 6


@pytest.mark.parametrize("n_replications", [1, 3])
def test_reads_are_few_whatever_the_size(
    django_assert_num_queries: Any, n_replications: int
) -> None:
    study = factories.open_study(8, n_subsets=4, n_replications=n_replications)
    for _ in range(n_replications):
        factories.joined(study)
    with django_assert_num_queries(3):
        rows = schedule_table.slot_rows(study)
    with django_assert_num_queries(1):
        orders = schedule_table.trial_orders(rows)
    assert {len(order) for order in orders.values()} == {4}
