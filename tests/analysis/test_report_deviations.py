"""What was fixed beforehand against what the data show."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from analysis.report.deviations import deviations_text, findings_of
from analysis.report.finding import DEVIATION, KEPT, NOT_FIXED, UNCHECKED
from tests.analysis.builders import case_zip, study, trial, trials
from tests.analysis.reports import full_study, source
from tests.shared_data import needs_data


def finding(subject: str, *arguments: Any, **options: Any) -> tuple[str, str, str]:
    """Fixed, found and verdict of one check."""
    found = {f.subject: f for f in findings_of(source(*arguments, **options))}[subject]
    return found.fixed, found.found, found.verdict


def fixed(**values: Any) -> dict[str, Any]:
    """Settings with pre-registered values."""
    return study(preregistered=values)


def checks(passed: list[bool], **changes: Any) -> pd.DataFrame:
    """A full study whose first participant met attention checks."""
    rows = [
        trial(
            trial_id=f"c{n}",
            claim_id=f"check{n}",
            trial_kind="attention",
            subset="",
            position=0,
            decision="supported" if right else "refuted",
        )
        for n, right in enumerate(passed)
    ]
    table = pd.concat([full_study(), trials(*rows)], ignore_index=True)
    mine = table["participant_id"] == "P1"
    for key, value in changes.items():
        table.loc[mine, key] = value
    return table


RULE = "fewer than half of the attention checks"


def test_a_sound_study_has_no_deviation_and_says_what_was_checked() -> None:
    text = deviations_text(findings_of(source(full_study(), fixed(time_cap_s=60))))
    assert text == [
        "No deviation found among those that can be checked: time cap, places of the schedule, "
        "cells, void trials and simulated and pilot runs."
    ]


def test_a_failed_check_that_counts_is_a_deviation() -> None:
    table = checks([True, False, False])
    shown, found, verdict = finding("Exclusion rule", table, fixed(exclusion_rule=RULE))
    assert (shown, verdict) == (RULE, DEVIATION)
    assert (
        found == "Not excluded: P1 passed fewer than 50 % of the attention checks and still count."
    )


def test_a_rule_that_was_applied_is_kept() -> None:
    table = checks([False, False], participant_status="excluded")
    assert finding("Exclusion rule", table, fixed(exclusion_rule=RULE))[1:] == (
        "1 participant was excluded (rejected, screened out or failed checks), everybody who "
        "counts passed 50 % or more",
        KEPT,
    )


def test_a_rule_applied_to_somebody_who_passed_is_a_deviation() -> None:
    table = checks([True, True], participant_status="excluded")
    found, verdict = finding("Exclusion rule", table, fixed(exclusion_rule=RULE))[1:]
    assert verdict == DEVIATION
    assert found == "Excluded with 50 % or more of the attention checks passed: P1."


def test_a_rule_given_as_a_number_is_checked_as_written() -> None:
    table = checks([True, True, False])
    kept = fixed(exclusion_rule={"min_attention_pass_rate": 0.6})
    broken = fixed(exclusion_rule={"min_attention_pass_rate": 0.9})
    assert finding("Exclusion rule", table, kept)[2] == KEPT
    assert finding("Exclusion rule", table, broken)[2] == DEVIATION


def test_an_exclusion_without_a_rule_is_a_deviation() -> None:
    table = checks([False], participant_status="excluded")
    assert finding("Exclusion rule", table)[1:] == (
        "1 participant was excluded (rejected, screened out or failed checks), though no rule was "
        "fixed.",
        DEVIATION,
    )
    assert finding("Exclusion rule", full_study())[2] == NOT_FIXED
    assert finding("Exclusion rule", full_study(), fixed(exclusion_rule=RULE))[2] == UNCHECKED


def test_trials_above_the_cap_are_counted_by_condition() -> None:
    found, verdict = finding("Time cap", full_study(), fixed(time_cap_s=14.95))[1:]
    assert verdict == DEVIATION
    assert found.startswith("3 trials of the design set took longer (ranking 1, selection 2).")


def test_a_contrast_against_another_reference_is_a_deviation() -> None:
    assert finding("Reference and contrast", full_study(), fixed(reference="ranking"))[1:] == (
        "The report compares ranking - selection; the reference fixed was ranking.",
        DEVIATION,
    )
    kept = fixed(reference_condition="selection", contrast="ranking - selection")
    assert finding("Reference and contrast", full_study(), kept)[2] == KEPT


def test_another_margin_is_a_deviation() -> None:
    settings = fixed(non_inferiority_margin=0.05) | {"non_inferiority_margin": 0.1}
    assert finding("Non-inferiority margin", full_study(), settings) == (
        "0.05",
        "The report uses 0.1.",
        DEVIATION,
    )
    assert finding("Non-inferiority margin", full_study())[2] == NOT_FIXED


def test_the_family_that_was_fixed_is_the_one_adjusted_over() -> None:
    shown, found, _ = finding("Family of tests", full_study(), fixed(family=["success", "n_read"]))
    assert shown == "success, read"
    assert "Tested in addition" not in found
    assert "Not tested" not in found


def test_other_conditions_than_those_fixed_are_a_deviation() -> None:
    settings = fixed(conditions=["ranking", "third"])
    assert finding("Conditions and options", full_study(), settings) == (
        "ranking, third",
        "conditions: now ranking and selection.",
        DEVIATION,
    )


def test_empty_places_and_unreplaced_drop_outs_are_named() -> None:
    table = full_study()
    dropped = table["participant_id"] == "P2"
    table.loc[dropped, "participant_status"] = "dropped_out"
    found, verdict = finding("Places of the schedule", table, study(replications=2))[1:]
    assert verdict == DEVIATION
    assert found == (
        "2 places without trials: replication 2 slot 1, replication 2 slot 2. "
        "1 place held by a drop-out who was not replaced: replication 1 slot 2."
    )


def test_the_schedule_of_the_export_says_how_many_trials_were_planned() -> None:
    slots = [{"replication": 1, "slot": n, "trials": [{}] * 3} for n in (1, 2)]
    shown, found, _ = finding(
        "Places of the schedule", full_study(), study(schedule={"slots": slots})
    )
    assert shown == "2 places, 6 trials"
    assert found == "2 places with trials missing: replication 1 slot 1, replication 1 slot 2."


def test_cycles_that_were_added_later_are_a_deviation() -> None:
    added = [
        {"at": "2026-03-01T10:00:00.000Z", "first_replication": 2, "last_replication": 2},
        {"at": "2026-03-09T10:00:00.000Z", "first_replication": 3, "last_replication": 5},
    ]
    settings = study(frozen={"seed": 1, "cycles_added": added})
    assert finding("Places of the schedule", full_study(), settings)[1:] == (
        "Replication 2 was added after the study opened, on 2026-03-01. "
        "Replications 3 to 5 were added after the study opened, on 2026-03-09.",
        DEVIATION,
    )
    for odd in (None, 3, [3]):
        settings = study(frozen={"seed": 1, "cycles_added": odd})
        assert finding("Places of the schedule", full_study(), settings)[2] == KEPT


def test_missing_cells_are_a_deviation() -> None:
    met = "2 cells of the claims met so far have no trial."
    assert finding("Cells", trials())[1:] == (met, DEVIATION)
    assert finding("Cells", full_study(simulated="true"))[2] == UNCHECKED


def test_planned_cells_of_claims_that_nobody_met_are_counted_where_the_settings_say_how_many() -> (
    None
):
    assert finding("Cells", trials(), study(n_claims=5))[1] == (
        "2 cells of the claims met so far have no trial. Of all 10 planned cells 8 have none."
    )
    assert finding("Cells", full_study(), study(n_claims=3))[1:] == (
        "Of all 6 planned cells 2 have none.",
        DEVIATION,
    )
    whole = ("4 cells, one each", KEPT)
    assert finding("Cells", full_study(), study(n_claims=2))[1:] == whole
    for odd in (None, 1, 0, True, "many"):
        assert finding("Cells", full_study(), study(n_claims=odd))[1:] == whole


def test_closed_places_and_subsets_are_named() -> None:
    plan = [
        {"replication": 1, "slot": slot, "closed": slot == 2, "trials": [{}, {}]} for slot in (1, 2)
    ]
    subsets = [{"subset": 1, "closed": False, "claims": []}, {"subset": 2, "closed": True}]
    settings = study(schedule={"slots": plan, "subsets": subsets})
    assert finding("Places of the schedule", full_study(), settings)[1:] == (
        "1 place was closed: replication 1 slot 2. "
        "1 subset of claims was closed, with every place that has them: 2.",
        DEVIATION,
    )
    plan[1].pop("closed")
    settings = study(schedule={"slots": plan, "subsets": [None, {"subset": 1}]})
    assert finding("Places of the schedule", full_study(), settings)[2] == KEPT


def test_a_study_that_changed_while_it_ran_is_a_deviation() -> None:
    table = full_study()
    table["study_version"] = ["v1", "v1", "v1", "v2"]
    assert finding("Study version", table)[1:] == (
        "The study changed while it ran: v1 (3 trials), v2 (1 trials).",
        DEVIATION,
    )
    assert finding("Study version", full_study(study_version="v1"))[1:] == ("v1 (4 trials)", KEPT)
    assert finding("Study version", full_study())[2] == UNCHECKED


def test_another_seed_or_software_than_at_opening_is_a_deviation() -> None:
    settings = study(
        seed=2, software="suffice 2", frozen={"seed": 1, "software": "suffice 2", "claims": "x"}
    )
    assert finding("Seed and software", full_study(), settings)[1:] == (
        "seed: 1 at opening, 2 in the export.",
        DEVIATION,
    )


def test_a_void_trial_needs_a_reason() -> None:
    table = full_study()
    table.loc[0, ["trial_status", "decision"]] = ["void", ""]
    table.loc[0, ["hidden_ms", "active_ms"]] = ""
    assert finding("Void trials", table)[1:] == ("No reason is given for 1 trial: a0.", DEVIATION)
    table["void_reason"] = ["the page failed", "", "", ""]
    assert finding("Void trials", table)[1:] == ("1 trial void, each with its reason", KEPT)


@pytest.mark.parametrize("kind", ["simulated", "pilot"])
def test_a_void_trial_of_a_run_that_does_not_count_is_nobodys_deviation(kind: str) -> None:
    table = full_study()
    table.loc[0, ["trial_status", "decision"]] = ["void", ""]
    table.loc[0, ["hidden_ms", "active_ms"]] = ""
    table[kind] = ["true", "false", "false", "false"]
    assert finding("Void trials", table)[1:] == ("no trial is void", KEPT)


def test_simulated_runs_that_count_are_a_deviation() -> None:
    table = full_study(simulated="true")
    assert finding("Simulated and pilot runs", table)[2] == KEPT
    assert finding("Simulated and pilot runs", table, include_simulated=True)[1:] == (
        "4 trials of simulated runs count.",
        DEVIATION,
    )


def test_what_no_program_can_judge_is_listed() -> None:
    shown, found, verdict = finding("hypothesis", full_study(), fixed(hypothesis={"a": 1, "b": 2}))
    assert (shown, found, verdict) == ("a: 1; b: 2", "for readers to judge", UNCHECKED)


@needs_data
@pytest.mark.data
def test_the_deviations_of_the_case_with_drop_outs(tmp_path: Any) -> None:
    from analysis.load import read_export
    from analysis.report.data import report_data

    tables = read_export(case_zip("dropouts_a", tmp_path))
    found = {f.subject: f for f in findings_of(report_data(["a"], [tables]).sources[0])}
    assert {name for name, f in found.items() if f.verdict == DEVIATION} == {
        "Exclusion rule",
        "Places of the schedule",
        "Cells",
        "Void trials",
    }
    assert found["Places of the schedule"].found == (
        "1 place held by a drop-out who was not replaced: replication 2 slot 1. 2 places with "
        "trials missing: replication 1 slot 4, replication 2 slot 3."
    )


HISTORY = [
    {"number": 2, "created_at": "2026-03-02T10:00:00.000Z", "reason": "A typing\nerror.",
     "changes": [{"setting": "texts.consent", "old": "a", "new": "b"}]},
    {"number": 1, "created_at": "2026-03-01T10:00:00.000Z", "reason": "", "changes": [],
     "hashes": {"seed": 1, "software": "suffice 0.1"}},
]  # fmt: skip


def test_versions_after_the_opening_are_deviations_with_their_reasons() -> None:
    subject = "Changes after the opening"
    assert finding(subject, full_study(), study(versions=HISTORY)) == (
        "none",
        "Version 2 (2026-03-02T10:00:00.000Z) changed texts.consent; the reason given: A typing "
        "error.",
        DEVIATION,
    )
    assert finding(subject, full_study(), study(versions=HISTORY[1:]))[1:] == (
        "none was made",
        KEPT,
    )
    assert finding(subject, full_study(), study())[2] == UNCHECKED


def test_seed_and_software_are_compared_with_the_opening_not_with_a_later_version() -> None:
    settings = study(versions=HISTORY, seed=1, software="suffice 0.2", frozen={"seed": 1})
    assert finding("Seed and software", full_study(), settings)[1:] == (
        "software: suffice 0.1 at opening, suffice 0.2 in the export.",
        DEVIATION,
    )


@pytest.mark.parametrize(
    "versions",
    [
        "v1",
        [None],
        [{"number": "2"}],
        [{"number": True}],
        [{"number": 1}, {"number": 2, "changes": "texts", "reason": None}],
        [{"number": 1}, {"number": 2, "changes": [None, {"old": 1}], "reason": 3}],
    ],
)
def test_a_history_that_is_none_breaks_no_report(versions: Any) -> None:
    found = finding("Changes after the opening", full_study(), study(versions=versions))
    assert found[2] in (UNCHECKED, DEVIATION)
    assert "None" not in found[1]


def test_a_long_reason_and_many_settings_are_cut() -> None:
    changes = [{"setting": f"texts.t{n}"} for n in range(12)]
    history = [{"number": 1}, {"number": 2, "changes": changes, "reason": "x" * 400}]
    found = finding("Changes after the opening", full_study(), study(versions=history))[1]
    assert "texts.t7 and 4 more settings; the reason given: " + "x" * 299 + "…." in found


def test_unblinding_a_blind_study_is_a_deviation() -> None:
    subject = "Blind while running"
    lifted = study(blind=True, unblinded={"at": "2026-03-02T10:00:00.000Z", "by": "owner"})
    assert finding(subject, full_study(), lifted)[1:] == (
        "Unblinded on 2026-03-02T10:00:00.000Z by an owner.",
        DEVIATION,
    )
    assert finding(subject, full_study(), study(blind=True))[2] == KEPT
    assert finding(subject, full_study(), study())[2] == NOT_FIXED
