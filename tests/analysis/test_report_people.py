"""Who and what the report's words count: kinds of run, tests that gave a result, one seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.comparison.contrast import Contrast
from analysis.report.data import ReportData, report_data
from analysis.report.limitations import limitations
from analysis.report.methods import methods_text
from analysis.report.rule_checks import exclusion
from tests.analysis.builders import study, trials
from tests.analysis.compared_studies import answer, square
from tests.analysis.reports import checked, full_study

CONTRAST = Contrast("ranking", "selection")


def mixed_kinds(status: str = "completed") -> pd.DataFrame:
    """Four people who count, one of the team and two simulated readers, who have a status."""
    table = full_study(people=7)
    team = (table["participant_id"] == "P5").to_numpy()
    simulated = table["participant_id"].isin(["P6", "P7"]).to_numpy()
    table["pilot"] = np.where(team, "true", "false")
    table["simulated"] = np.where(simulated, "true", "false")
    table.loc[team | simulated, "participant_status"] = status
    return table


def report_of(table: pd.DataFrame, include_simulated: bool = False, **changes: Any) -> ReportData:
    settings = study(replications=4, **changes)
    return report_data(["small"], [checked(table, settings)], include_simulated)


def test_only_those_whose_kind_of_run_counts_are_participants() -> None:
    table = mixed_kinds()
    people = methods_text(report_of(table))[0]
    assert people == (
        "4 participants took part in 8 trials. Apart from them, 6 trials of 1 pilot participant "
        "and 2 simulated readers are recorded and do not count. The design set, on which "
        "the primary analysis rests, holds 8 trials of 4 participants on 2 claims, 2 trials each."
    )
    people = methods_text(report_of(table, include_simulated=True))[0]
    assert people == (
        "4 participants and 2 simulated readers took part in 12 trials. Apart from them, 2 trials "
        "of 1 pilot participant are recorded and do not count. The design set, on which "
        "the primary analysis rests, holds 12 trials of 4 participants and 2 simulated readers on "
        "2 claims, 2 trials each."
    )
    nobody = methods_text(report_of(table.assign(simulated="true", pilot="false")))[0]
    assert nobody.startswith(
        "0 participants took part in 0 trials. Apart from them, 14 trials of 7 simulated readers"
    )


@pytest.mark.parametrize(("status", "words"), [("dropped_out", "dropped out"), ("excluded",) * 2])
def test_losses_are_those_of_the_kinds_of_run_that_count(status: str, words: str) -> None:
    table = mixed_kinds(status)
    assert not any(words in line for line in limitations(report_of(table)))
    shown = limitations(report_of(table, include_simulated=True))
    assert f"2 of 2 simulated readers {words}; who stays may differ." in shown
    table.loc[0:1, "participant_status"] = status
    shown = limitations(report_of(table))
    assert f"1 of 4 participants {words}; who stays may differ." in shown


def test_the_exclusion_rule_is_not_held_against_the_team_or_simulated_readers() -> None:
    export = report_of(mixed_kinds("excluded")).sources[0]
    assert exclusion(export).found == "nobody was excluded"


def test_tests_that_gave_nothing_are_not_named_in_the_methods() -> None:
    rows = [
        answer(1 + n % 4, n, CONTRAST.first if n % 2 else CONTRAST.second, n_read=2 + n % 3)
        for n in range(1, 13)
    ]
    data = report_of(trials(*rows))
    text = " ".join(methods_text(data))
    for words in ("McNemar", "over claims (", "Wilcoxon", "over participants"):
        assert words not in text
    assert "Exploratory and unadjusted beside them: a crossed bootstrap" in text
    full = " ".join(methods_text(report_of(trials(*square(4, 8)))))
    assert "exact McNemar tests" in full
    assert "Wilcoxon signed-rank tests" in full
    assert "sign-flip tests over participants" in full


def test_a_measure_without_a_p_is_not_among_those_adjusted() -> None:
    table = trials(*(row | {"gold_label": "partially_supported"} for row in square(4, 8)))
    text = " ".join(methods_text(report_of(table)))
    adjusted = text.split("adjusted by Holm's method over ")[1].split(".")[0]
    assert "success" not in adjusted
    assert "sentences" in adjusted


def test_the_seed_of_pooled_exports_is_the_one_that_was_drawn_from() -> None:
    exports = [
        checked(full_study().assign(study_id=name), study(study_id=name, seed=seed))
        for name, seed in (("one", 11), ("two", 22))
    ]
    text = methods_text(report_data(["one", "two"], exports))[-1]
    assert text.endswith("The seed was 11, that of the first export.")
    assert "22" not in text.split("The seed")[1]
