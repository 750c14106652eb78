"""Each trial of the edge cases gets exactly the flags that the specification gives it."""

from __future__ import annotations

import pandas as pd
import pytest

from analysis import parse_settings, score_trials
from analysis.gold import minimal_sets, minimal_sufficient_rank, parse_gold_sets
from analysis.load import check_tables
from tests.analysis.builders import CASES, expected, selection_trial, study, trial, trials
from tests.shared_data import needs_data

SINGLES = expected("edge_cases")["single_trials"] if CASES.is_dir() else {}


@needs_data
@pytest.mark.data
@pytest.mark.parametrize("name", list(SINGLES))
def test_a_single_trial_gets_its_flags(name: str) -> None:
    case = SINGLES[name]
    wanted = dict(case["expected"])
    gold_sets = [[ids] if isinstance(ids, str) else ids for ids in case["gold_sets"]]
    required, msr = wanted.pop("required"), wanted.pop("msr")
    condition = "ranking" if case["interface"] == "incremental" else "selection"
    row = trial(
        condition=condition,
        interface=case["interface"],
        shown_order="|".join(case["shown_order"]),
        gold_sets=";".join("|".join(ids) for ids in gold_sets),
        n_read=case["n_read"],
        n_available=case["n_available"],
        decision=case["decision"],
        gold_label=case["gold_label"],
        gold_min_size=required,
        msr="" if msr is None else msr,
    )
    # The check at the door recomputes required and msr; passing it means that they agree.
    tables = check_tables(trials(row), None, study())
    flags = score_trials(tables.trials, tables.settings).iloc[0]
    for flag, value in wanted.items():
        if value is None:
            assert pd.isna(flags[flag]), flag
        else:
            assert flags[flag] == value, flag


def test_gold_sets_are_reduced_to_the_minimal_ones() -> None:
    sets = parse_gold_sets("a|b|c;b|c;d;d|e;c|b")
    assert sets == (frozenset("d"), frozenset("bc"))
    assert minimal_sets([]) == ()


@pytest.mark.parametrize("text", ["a;;b", ";a", "a|", "|", ";"])
def test_an_empty_gold_set_or_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="empty"):
        parse_gold_sets(text)


def test_the_first_sufficient_prefix_may_complete_a_larger_set() -> None:
    sets = parse_gold_sets("z;a|b")
    assert minimal_sufficient_rank(["a", "c", "b", "z"], sets) == 3
    assert minimal_sufficient_rank(["a", "c"], sets) is None


def test_a_partially_supported_claim_is_scorable_only_with_its_button() -> None:
    row = selection_trial(gold_label="partially_supported", decision="refuted")
    tables = check_tables(trials(row), None, study())
    three = score_trials(tables.trials, tables.settings).iloc[0]
    assert (three["scorable"], three["outcome"]) == (False, "")
    assert (three["as_refuted"], three["as_supported"]) == (True, False)
    four = parse_settings(
        study(response_options=["supported", "refuted", "partially_supported", "cant_decide"])
    )
    assert score_trials(tables.trials, four).iloc[0]["outcome"] == "wrong"
