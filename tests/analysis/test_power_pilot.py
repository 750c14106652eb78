"""Assumptions taken from a pilot."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from analysis import check_tables
from analysis.errors import BadTable
from analysis.load import Tables
from analysis.power import Assumptions, Reading, pilot_values, simulate
from analysis.power.layout import lay_out
from tests.analysis.builders import case_tables, selection_trial, study, trial, trials
from tests.shared_data import needs_data

LONGEST = 30


def simulated_pilot(participants: int, claims: int, assumptions: Assumptions) -> Tables:
    """One simulated study as an export of a pilot run."""
    layout = lay_out(participants, claims)
    success = simulate.successes(layout, assumptions, 2, range(1))[0]
    read = simulate.reading(layout, assumptions, 2, range(1))
    rows = []
    for place in range(layout.trials):
        first = bool(layout.is_first[place])
        n, required = int(read.n_read[0, place]), int(read.required[0, place])
        rank = int(read.rank[0, place]) if first else None
        available = LONGEST if first else n
        order = [f"s{i}" for i in range(1, available + 1)]
        gold = (
            [*order[: required - 1], order[rank - 1]]
            if rank
            else [f"g{i}" for i in range(required)]
        )
        rows.append(
            trial(
                trial_id=f"t{place}",
                participant_id=f"P{layout.participant[place]}",
                pilot="true",
                replication=layout.participant[place] // 5 + 1,
                slot=layout.participant[place] % 5 + 1,
                claim_id=f"c{layout.claim[place]}",
                condition="ranking" if first else "selection",
                interface="incremental" if first else "all_at_once",
                decision="supported" if success[place] else "refuted",
                n_available=available,
                shown_order="|".join(order),
                gold_sets="|".join(gold),
                n_read=min(n, available),
                gold_min_size=required,
                msr=rank or "",
            )
        )
    return check_tables(trials(*rows), None, study(subsets=5, replications=participants // 5))


def test_a_large_pilot_gives_back_what_it_was_simulated_with() -> None:
    assumed = Assumptions(
        success=(0.80, 0.65),
        sd_participant=1.0,
        sd_participant_slope=1.2,
        sd_claim=0.8,
        sd_claim_slope=1.0,
        reading=Reading(early=0.10, gives_up=0, stops=0.7, optimal=0.5, excess=0.5),
    )
    values, notes = pilot_values(simulated_pilot(40, 150, assumed))
    first = np.array(values["success"])
    assert first == pytest.approx([0.80, 0.65], abs=0.06)
    for name in ("sd_participant", "sd_participant_slope", "sd_claim", "sd_claim_slope"):
        assert 0.7 < values[name] / getattr(assumed, name) < 1.4, name
    assert values["early"] == pytest.approx(0.10, abs=0.02)
    assert values["stops"] == pytest.approx(0.70, abs=0.03)
    assert values["optimal"] == pytest.approx(0.5, abs=0.12)
    assert values["excess"] == pytest.approx(0.5, abs=0.12)
    sizes = dict(values["required"])
    assert sizes[1] == pytest.approx(0.44, abs=0.12)
    assert sum(size * share for size, share in values["shown"]) == pytest.approx(3.7, abs=0.5)
    assert (values["names"], values["subsets"]) == (("ranking", "selection"), 5)
    assert notes[0].startswith("pilot: 40 pilot participants, 150 claims, 2400 trials.")
    assert any("crude" in note for note in notes)


@needs_data
@pytest.mark.data
def test_the_published_figures_come_out_of_their_case() -> None:
    values, notes = pilot_values(check_tables(*case_tables("table5")))
    assert values["success"] == (0.94, 0.74)
    assert values["required"] == ((1, 0.44), (2, 0.34), (3, 0.14), (4, 0.06), (5, 0.02))
    assert values["interfaces"] == ("incremental", "all_at_once")
    assert (values["optimal"], values["conditions"]) == (0.70, 2)
    assert sum(size * share for size, share in values["shown"]) == pytest.approx(3.85)
    # The less favourable of estimate and default is taken, and the notes say so.
    assert "sd_participant" not in values
    assert any(note.startswith("sd_participant: ") and "default" in note for note in notes)


def test_the_contrast_may_be_turned_round_or_name_an_unknown_condition() -> None:
    tables = check_tables(trials(trial(), selection_trial()), None, study())
    values, _ = pilot_values(tables, ("selection", "ranking"))
    assert values["interfaces"] == ("all_at_once", "incremental")
    with pytest.raises(BadTable, match=r"p\.zip: no condition 'other'; it has ranking, selection"):
        pilot_values(tables, ("ranking", "other"), source="p.zip")


def test_a_rate_of_one_is_drawn_in_and_few_trials_leave_the_rest_to_defaults() -> None:
    tables = check_tables(trials(trial(), selection_trial()), None, study())
    values, notes = pilot_values(tables)
    assert values["success"] == (0.75, 0.25)
    assert "ranking: all 1 pilot trials came out alike" in " ".join(notes)
    assert [note for note in notes if "cannot tell" in note] == [
        "sd_participant: the pilot cannot tell; 0.5, the default, is taken.",
        "sd_participant_slope: the pilot cannot tell; 0.3, the default, is taken.",
        "sd_claim: the pilot cannot tell; 0.9, the default, is taken.",
        "sd_claim_slope: the pilot cannot tell; 0, the default, is taken.",
    ]


def test_stops_count_over_the_ranks_where_a_reader_could_go_on() -> None:
    rows = [
        # First sufficient at 3: two chances before, stopped at the third.
        trial(),
        # Gave up at the first of two chances before.
        trial(trial_id="t3", participant_id="P2", slot=2, n_read=1, decision="cant_decide"),
        # Two chances before; went on at 3, and the list ended at 4.
        trial(trial_id="t4", participant_id="P3", replication=2, n_read=4),
        # Stopped at 2, decided.
        trial(trial_id="t5", participant_id="P4", replication=2, slot=2, n_read=2),
        selection_trial(),
    ]
    values, _ = pilot_values(check_tables(trials(*rows), None, study(replications=2)))
    assert (values["gives_up"], values["early"], values["stops"]) == (1 / 7, 1 / 7, 1 / 2)


def test_simulated_rows_and_a_condition_without_trials_are_left_out_by_name() -> None:
    rows = trials(trial(), selection_trial(simulated="true"))
    tables = check_tables(rows, None, study())
    with pytest.raises(BadTable, match="no trial that counts and can be scored under selection"):
        pilot_values(tables)
    values, _ = pilot_values(tables, include_simulated=True)
    assert values["names"] == ("ranking", "selection")


def test_one_condition_cannot_be_compared() -> None:
    tables = check_tables(pd.DataFrame([trial()]), None, study(conditions=["ranking"]))
    with pytest.raises(BadTable, match="one condition, ranking; two are compared"):
        pilot_values(tables)
