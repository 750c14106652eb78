"""From the event stream to what was read and for how long (statistics.md 1.2 and 2.5).

All functions take an event table with the columns of events.csv, typed (``typed.typed_table``),
in any row order, and use the server's order (``seq``) and clock (``server_ts``) only.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.typed import floats, milliseconds


def timeline(events: pd.DataFrame) -> pd.DataFrame:
    """The events up to each trial's first decision, with two clocks.

    Returns one row an event, sorted by trial and ``seq``: ``trial_id``, ``event_type``, ``rank``
    (float), ``sentence_id``, ``since_start_ms``, ``hidden_before_ms`` (hidden time between start
    and event: a second ``page_hidden`` while hidden and a lone ``page_visible`` change nothing),
    ``has_decision`` (of the trial). Events after the first decision are left out, as are those of
    a trial that never started.
    """
    frame = events.sort_values(["trial_id", "seq"], kind="stable").reset_index(drop=True)
    codes, ids = pd.factorize(frame["trial_id"])
    kind = frame["event_type"].astype(object).to_numpy()
    # The server's order rules: should its clock step back, time stands still.
    clock = pd.Series(milliseconds(frame["server_ts"])).groupby(codes).cummax().to_numpy()
    started = _first_time(codes, clock, kind == "trial_started", len(ids))
    decided = _first_time(codes, clock, kind == "decision_submitted", len(ids))
    within = ~np.isnan(started[codes]) & ~(clock > decided[codes])
    frame, codes, kind, clock = frame[within], codes[within], kind[within], clock[within]
    clock = np.maximum(clock, started[codes])
    hidden_before = _hidden_before(codes, clock, kind)
    return pd.DataFrame(
        {
            "trial_id": frame["trial_id"].to_numpy(),
            "event_type": kind,
            "rank": floats(frame["rank"]),
            "sentence_id": frame["sentence_id"].to_numpy(),
            "since_start_ms": clock - started[codes],
            "hidden_before_ms": hidden_before,
            "has_decision": ~np.isnan(decided[codes]),
        }
    )


def _first_time(codes: np.ndarray, clock: np.ndarray, wanted: np.ndarray, n: int) -> np.ndarray:
    """Time of each trial's first wanted event, NaN without one."""
    times = np.full(n, np.nan)
    found, first = np.unique(codes[wanted], return_index=True)
    times[found] = clock[wanted][first]
    return times


def _hidden_before(codes: np.ndarray, clock: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """Hidden time of the trial before each event, events sorted within trials."""
    if not len(codes):
        return np.empty(0)
    rows = np.arange(len(codes))
    new_trial = np.r_[True, codes[1:] != codes[:-1]]
    first_row = np.maximum.accumulate(np.where(new_trial, rows, 0))
    is_page = (kind == "page_hidden") | (kind == "page_visible")
    last_page = np.maximum.accumulate(np.where(is_page, rows, -1))
    is_hidden = (last_page >= first_row) & (kind[last_page] == "page_hidden")
    gap = np.r_[np.diff(clock), 0.0]
    gap[np.r_[new_trial[1:], True]] = 0.0
    total_before = np.r_[0.0, np.cumsum(gap * is_hidden)[:-1]]
    return total_before - total_before[first_row]


def trial_times(events: pd.DataFrame) -> pd.DataFrame:
    """What the events say about each trial.

    Returns a table indexed by ``trial_id``: ``n_read`` (highest rank revealed by the decision),
    ``wall_ms``, ``hidden_ms``, ``active_ms`` (NaN without a decision), ``complete``.
    """
    line = timeline(events)
    is_decision = line["event_type"] == "decision_submitted"
    ends = line[is_decision].drop_duplicates("trial_id").set_index("trial_id")
    read = line[line["event_type"] == "reveal"].groupby("trial_id")["rank"].max()
    trials = pd.Index(sorted(line["trial_id"].unique()), name="trial_id")
    result = pd.DataFrame(index=trials)
    result["n_read"] = read.reindex(trials)
    result["wall_ms"] = ends["since_start_ms"].reindex(trials)
    result["hidden_ms"] = ends["hidden_before_ms"].reindex(trials)
    result["active_ms"] = result["wall_ms"] - result["hidden_ms"]
    result["complete"] = trials.isin(ends.index)
    return result


def first_reveals(events: pd.DataFrame) -> pd.DataFrame:
    """The first reveal of every rank, repeats left out.

    Returns ``trial_id``, ``rank``, ``sentence_id``, ``since_start_ms``, ``hidden_before_ms``,
    sorted by trial and rank.
    """
    line = timeline(events)
    shown = line[line["event_type"] == "reveal"].drop_duplicates(["trial_id", "rank"])
    shown = shown.sort_values(["trial_id", "rank"], kind="stable").reset_index(drop=True)
    return shown[["trial_id", "rank", "sentence_id", "since_start_ms", "hidden_before_ms"]]


def dwell(events: pd.DataFrame) -> pd.DataFrame:
    """Visible time spent after each reveal until the next one, or the decision.

    Meant for incremental trials only: give those trials' events. Returns ``trial_id``, ``rank``,
    ``dwell_ms`` (hidden time taken off; NaN for the last rank of a trial without a decision).
    """
    shown = first_reveals(events)
    seen_at = shown["since_start_ms"] - shown["hidden_before_ms"]
    active = trial_times(events)["active_ms"]
    until = seen_at.groupby(shown["trial_id"]).shift(-1)
    is_last = ~shown["trial_id"].duplicated(keep="last")
    until = until.where(~is_last, shown["trial_id"].map(active))
    return pd.DataFrame(
        {"trial_id": shown["trial_id"], "rank": shown["rank"], "dwell_ms": until - seen_at}
    )
