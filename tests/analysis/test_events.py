"""Reading and time from the event stream."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from analysis.columns import columns_of
from analysis.events import dwell, first_reveals, trial_times
from analysis.typed import typed_table
from tests.analysis.builders import CASES, events, expected
from tests.shared_data import needs_data


def typed(raw: pd.DataFrame) -> pd.DataFrame:
    frame, problems = typed_table(raw, columns_of("events"), "event_id", "events.csv")
    assert problems == []
    return frame


@needs_data
@pytest.mark.data
def test_every_event_stream_of_the_edge_cases_gives_its_times() -> None:
    raw = pd.read_csv(CASES / "edge_cases" / "events.csv", dtype=str, keep_default_na=False)
    frame = typed(raw.sample(frac=1, random_state=3))
    times, reveals = trial_times(frame), first_reveals(frame)
    streams = expected("edge_cases")["events"]
    assert set(times.index) == set(streams)
    for name, wanted in streams.items():
        row = times.loc[name]
        assert (row["n_read"], row["complete"]) == (wanted["n_read"], wanted["complete"]), name
        for key in ("wall_ms", "hidden_ms", "active_ms"):
            got = None if np.isnan(row[key]) else row[key]
            assert got == wanted[key], (name, key)
        ranks = reveals[reveals["trial_id"] == name]
        assert ranks["since_start_ms"].tolist() == wanted["first_reveal_ms_by_rank"], name


def test_dwell_takes_hidden_time_off_and_adds_up_to_the_active_time() -> None:
    spent = dwell(typed(events()))
    assert spent["rank"].tolist() == [1, 2, 3]
    assert spent["dwell_ms"].tolist() == [4000, 4000, 7000]
    assert spent["dwell_ms"].sum() == trial_times(typed(events()))["active_ms"].iloc[0]


def test_the_last_dwell_of_a_trial_without_decision_is_not_defined() -> None:
    spent = dwell(typed(events().iloc[:4]))
    assert spent["dwell_ms"].tolist()[:2] == [4000, 4000]
    assert np.isnan(spent["dwell_ms"].iloc[2])


def test_what_comes_after_the_first_decision_changes_nothing() -> None:
    late = events(
        "t1",
        ("page_hidden", 21000, "", ""),
        ("reveal", 22000, "4", "s0"),
        ("decision_submitted", 30000, "", ""),
    )
    pd.testing.assert_frame_equal(trial_times(typed(late)), trial_times(typed(events())))


def test_a_clock_that_steps_back_gives_no_negative_time() -> None:
    raw = events()
    raw.loc[raw["event_type"] == "page_visible", "server_ts"] = "2026-03-02T08:00:00.000Z"
    row = trial_times(typed(raw)).loc["t1"]
    assert (row["wall_ms"], row["hidden_ms"], row["active_ms"]) == (20000, 0, 20000)


def test_streams_of_several_trials_do_not_mix() -> None:
    hidden_to_the_end = events("t2").drop(index=5)
    both = typed(pd.concat([events("t1"), hidden_to_the_end, events("t3")]))
    assert trial_times(both)["hidden_ms"].tolist() == [5000, 10000, 5000]
