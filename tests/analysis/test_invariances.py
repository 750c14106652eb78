"""What must not change a number, and what must hold between numbers, in every study."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis import BREAKDOWNS, check_tables, measures_by, scored_trials
from analysis.document import document_of
from analysis.inclusion import REASONS, count_reasons, exclusion_reasons
from analysis.pool import pool
from tests.analysis.studies import EXAMPLES, FEW_EXAMPLES, Study, other_ids, scored, studies

SETS = ("design_set", "available_set")


def measured(scored: pd.DataFrame) -> dict[str, Any]:
    """Measures by condition of both sets, counts of reasons, and the set of each row."""
    reasons = exclusion_reasons(scored)
    sets = {
        "design_set": scored[(reasons == "").to_numpy()],
        "available_set": scored[reasons.isin(["", "superseded"]).to_numpy()],
    }
    return {
        "excluded": count_reasons(reasons),
        **{name: table_of(measures_by(rows, ["condition"])) for name, rows in sets.items()},
    }


def table_of(measures: pd.DataFrame) -> dict[str, dict[str, float]]:
    """A table of measures as plain values by group and name."""
    return {str(group): row.to_dict() for group, row in measures.iterrows()}


def of_study(study: Study) -> dict[str, Any]:
    return measured(scored(study))


def assert_same(actual: dict[str, Any], wanted: dict[str, Any], names: tuple[str, ...]) -> None:
    """Equal groups and measures; sums in another order may differ in the last digits."""
    for name in names:
        assert set(actual[name]) == set(wanted[name])
        for group, values in wanted[name].items():
            assert actual[name][group] == pytest.approx(values, rel=1e-9, abs=1e-9, nan_ok=True)


@FEW_EXAMPLES
@given(studies(), st.integers(0, 99))
def test_the_order_of_trials_and_events_changes_no_byte(study: Study, seed: int) -> None:
    events = study.events
    tables = check_tables(study.trials, events, study.settings)
    shuffled = check_tables(
        study.trials.sample(frac=1, random_state=seed),
        events.sample(frac=1, random_state=seed),
        study.settings,
    )
    pd.testing.assert_frame_equal(scored_trials(shuffled), scored_trials(tables))
    first, second = (
        document_of(scored_trials(one), one.settings, with_comparison=False)
        for one in (tables, shuffled)
    )
    assert first == second


@pytest.mark.parametrize("keeps_order", [True, False])
@EXAMPLES
@given(studies(("completed", "dropped_out", "excluded", "withdrawn")))
def test_other_ids_leave_the_measures(keeps_order: bool, study: Study) -> None:
    other, wanted = of_study(other_ids(study, keeps_order=keeps_order)), of_study(study)
    assert other["excluded"] == wanted["excluded"]
    assert_same(other, wanted, SETS)
    if keeps_order:
        assert repr(other) == repr(wanted)


@EXAMPLES
@given(studies())
def test_other_names_of_conditions_change_the_names_alone(study: Study) -> None:
    names = {"ranking": "second way", "selection": "First way"}
    other = Study(
        study.changed(condition=names).rows, study.settings | {"conditions": [*names.values()]}
    )
    wanted = of_study(study)
    for name in SETS:
        wanted[name] = {names[condition]: values for condition, values in wanted[name].items()}
    assert_same(of_study(other), wanted, SETS)


@EXAMPLES
@given(studies())
def test_an_export_split_by_replication_and_pooled_again_measures_the_same(study: Study) -> None:
    actual = pooled(study, [row["replication"] for row in study.rows])
    assert actual["excluded"] == of_study(study)["excluded"]
    assert_same(actual, of_study(study), SETS)


@EXAMPLES
@given(studies())
def test_an_export_split_by_participants_keeps_its_available_set(study: Study) -> None:
    """Not the design set: who shares a slot no longer stands in it beside the other."""
    actual = pooled(study, [row["participant_id"] for row in study.rows])
    assert_same(actual, of_study(study), ("available_set",))
    assert actual["excluded"]["superseded"] == 0


def pooled(study: Study, part_of: list[str]) -> dict[str, Any]:
    """The measures of the study cut into parts and pooled."""
    parts = [
        Study([row for row, own in zip(study.rows, part_of, strict=True) if own == part])
        for part in sorted(set(part_of))
    ]
    exports = [check_tables(part.trials, None, study.settings) for part in parts]
    return measured(pool([f"part {number}" for number in range(len(exports))], exports)[1])


@EXAMPLES
@given(studies())
def test_everyone_once_more_doubles_counts_and_leaves_rates_and_means(study: Study) -> None:
    again = [
        row
        | {
            "trial_id": f"u{row['trial_id']}",
            "participant_id": f"Q{row['participant_id']}",
            "replication": str(int(row["replication"]) + 2),
        }
        for row in study.rows
    ]
    doubled, once = of_study(study.changed(*again)), of_study(study)
    assert doubled["excluded"] == {reason: 2 * n for reason, n in once["excluded"].items()}
    for name in SETS:
        for values in (*once[name].values(), *doubled[name].values()):
            for key in [key for key in values if "wilson" in key or key == "sd_read"]:
                del values[key]
        for values in once[name].values():
            values |= {key: 2 * n for key, n in values.items() if key.startswith("n_")}
    assert_same(doubled, once, SETS)


def rows_that_do_not_count(study: Study) -> list[dict[str, str]]:
    """A copy of a trial for every reason but ``superseded``; new people fill slots of their own."""
    row = next(row for row in study.rows if row["trial_status"] == "completed")
    open_trial = {"decision": "", "decided_at": "", "hidden_ms": "", "active_ms": ""}
    outside = {"position": "0", "block": "0", "subset": ""}
    changes = {
        "simulated": {"participant_id": "X1", "simulated": "true"},
        "pilot": {"participant_id": "X2", "pilot": "true"},
        "withdrawn": {"participant_id": "X3", "participant_status": "withdrawn"},
        "excluded_participant": {"participant_id": "X4", "participant_status": "excluded"},
        "practice": {"trial_kind": "practice"} | outside,
        "attention": {"trial_kind": "attention"} | outside,
        "void": {"trial_status": "void", "claim_id": "x1"} | open_trial,
        "incomplete": {"trial_status": "incomplete", "claim_id": "x2"} | open_trial,
    }
    assert list(changes) == list(REASONS[:-1])
    return [
        row | {"trial_id": f"x{number}"} | change for number, change in enumerate(changes.values())
    ]


@EXAMPLES
@given(studies().filter(lambda s: any(r["trial_status"] == "completed" for r in s.rows)))
def test_rows_that_do_not_count_change_no_measure(study: Study) -> None:
    more, wanted = of_study(study.changed(*rows_that_do_not_count(study))), of_study(study)
    added = {reason: more["excluded"][reason] - n for reason, n in wanted["excluded"].items()}
    assert added == dict.fromkeys(REASONS, 1) | {"superseded": 0}
    assert_same(more, wanted, SETS)


@EXAMPLES
@given(studies())
def test_counts_of_any_breakdown_add_up(study: Study) -> None:
    rows = scored(study)
    rows = rows[exclusion_reasons(rows).isin(["", "superseded"]).to_numpy()]
    whole = measures_by(rows, ["condition"])
    counts = [name for name in whole.columns if name.startswith("n_")]
    for by in BREAKDOWNS:
        parts = measures_by(rows, ["condition", by])[counts].groupby("condition").sum()
        pd.testing.assert_frame_equal(parts, whole[counts])


@EXAMPLES
@given(studies())
def test_what_holds_between_the_measures(study: Study) -> None:
    for values in (one for name in SETS for one in of_study(study)[name].values()):
        assert (
            sum(values[f"n_{name}"] for name in ("success", "wrong", "undecided"))
            == (values["n_scorable"])
        )
        if values["n_scorable"]:
            rates = sum(values[f"{name}_rate"] for name in ("success", "wrong", "undecided"))
            assert rates == pytest.approx(1)
        assert values["mean_surplus"] == pytest.approx(
            values["mean_read"] - values["mean_required"], abs=1e-9
        )
        if values["n_sufficient_available"] == values["n_trials"]:
            parts = values["mean_ranker_excess"] + values["mean_reader_excess"]
            assert values["mean_surplus"] == pytest.approx(parts, abs=1e-9)
        assert values["n_over_read_msr"] <= values["n_over_read_min"]
        assert values["n_gave_up"] <= values["n_undecided"]
        for name, value in values.items():
            assert np.isnan(value) or "rate" not in name or 0 <= value <= 1


@EXAMPLES
@given(studies())
def test_what_holds_of_every_trial(study: Study) -> None:
    rows = scored(study)
    counted = exclusion_reasons(rows).isin(["", "superseded"]).to_numpy()
    flags = {
        name: rows[name].to_numpy(dtype=bool)[counted] for name in rows.select_dtypes(bool).columns
    }
    number = {
        name: rows[name].to_numpy(dtype=float, na_value=np.nan)[counted]
        for name in ("n_read", "msr", "gold_min_size", "surplus", "ranker_excess", "reader_excess")
    }
    finite = flags["sufficient_available"]
    outcomes = sum(flags[name].astype(int) for name in ("success", "wrong", "undecided"))
    assert (outcomes == flags["scorable"]).all()
    assert (number["gold_min_size"] <= number["msr"])[finite].all()
    parts = number["ranker_excess"] + number["reader_excess"]
    assert (number["surplus"] == parts)[finite].all()
    assert (flags["over_read_min"] | ~flags["over_read_msr"]).all()
    under = finite & (number["n_read"] < number["msr"])
    assert (under + flags["exact_stop"] + flags["over_read_msr"] == finite).all()
    assert (flags["shown_insufficient"] == (~finite | under)).all()
    assert (flags["success"] | ~flags["lucky"]).all()
    assert (flags["shown_insufficient"] | ~flags["lucky"]).all()
    assert (flags["undecided"] == flags["gave_up"] | flags["exhausted"]).all()
