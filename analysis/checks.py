"""What a typed table must satisfy beyond its types (statistics.md 1.1).

Every check returns readable lines that name the file, the column and the trial ids.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.errors import name_ids
from analysis.events import first_reveals, trial_times
from analysis.gold import derive_gold, list_lengths
from analysis.settings import StudySettings
from analysis.typed import floats, milliseconds


def check_trials(trials: pd.DataFrame, settings: StudySettings, source: str) -> list[str]:
    """Problems of a typed trial table; empty when it may be analysed."""
    return [
        *_check_keys(trials, source),
        *_check_design(trials, settings, source),
        *_check_decisions(trials, settings, source),
        *_check_reading(trials, source),
        *_check_gold(trials, source),
        *_check_times(trials, source),
    ]


def check_events(
    trials: pd.DataFrame, events: pd.DataFrame, source: str, trials_source: str
) -> list[str]:
    """Problems of a typed event table, and numbers of the trial table that disagree with it."""
    ids = trials["trial_id"]
    problems = [
        _line(source, "event_id", "occurs twice", events["event_id"].duplicated(), events),
        _line(source, "seq", "occurs twice", events.duplicated(["trial_id", "seq"]), events),
        _line(source, "trial_id", f"not in {trials_source}", ~events["trial_id"].isin(ids), events),
        _line(
            source,
            "rank",
            "missing for a reveal",
            (events["event_type"] == "reveal") & events["rank"].isna(),
            events,
        ),
    ]
    if any(problems):
        return [line for line in problems if line]
    return [*_check_reveals(trials, events, source), *_check_replay(trials, events, trials_source)]


def _line(
    source: str, column: str, what: str, rows: pd.Series | np.ndarray, frame: pd.DataFrame
) -> str:
    """One message for the rows that fail, or an empty text when none does."""
    wrong = np.asarray(rows, dtype=bool)
    if not wrong.any():
        return ""
    ids = frame.loc[wrong, "trial_id"].drop_duplicates()
    return f"{source}: column {column}: {what}, in trial {name_ids(ids)}"


def _check_keys(trials: pd.DataFrame, source: str) -> list[str]:
    """Unique keys that begin with a letter; no claim twice for one participant."""
    main = trials.loc[trials["trial_kind"] == "main", ["trial_id", "participant_id", "claim_id"]]
    lines = [
        _line(source, "trial_id", "occurs twice", trials["trial_id"].duplicated(), trials),
        _line(
            source,
            "claim_id",
            "the same participant has this claim twice among the main trials",
            main.duplicated(["participant_id", "claim_id"], keep=False),
            main,
        ),
    ]
    for name in ("trial_id", "participant_id"):
        codes, ids = pd.factorize(trials[name])
        with_letter = np.array([text[:1].isalpha() for text in ids], dtype=bool)
        lines.append(_line(source, name, "begins with no letter", ~with_letter[codes], trials))
    return [line for line in lines if line]


def _check_design(trials: pd.DataFrame, settings: StudySettings, source: str) -> list[str]:
    """Conditions, interfaces, subsets and positions as the settings say."""
    is_main = (trials["trial_kind"] == "main").to_numpy()
    subset = floats(trials["subset"])
    known = trials["condition"].isin(settings.conditions)
    lines = [
        _line(
            source,
            "condition",
            f"none of the study's ({', '.join(settings.conditions)})",
            ~known,
            trials,
        ),
        _line(source, "subset", "missing for a main trial", is_main & np.isnan(subset), trials),
        _line(
            source, "subset", f"outside 1..{settings.subsets}", subset > settings.subsets, trials
        ),
        _line(
            source,
            "position",
            "0 for a main trial",
            is_main & (floats(trials["position"]) < 1),
            trials,
        ),
    ]
    main = trials.loc[is_main, ["trial_id", "condition", "interface"]]
    for condition, interfaces in main.groupby("condition", observed=True)["interface"]:
        used = sorted(set(interfaces.dropna()))
        stated = settings.interfaces.get(str(condition), used[0] if used else "")
        if len(used) > 1 or (used and used[0] != stated):
            wrong = (main["condition"] == condition) & (main["interface"] != stated)
            lines.append(
                _line(
                    source,
                    "interface",
                    f"condition {condition} is {stated} and has other trials",
                    wrong,
                    main,
                )
            )
    return [line for line in lines if line]


def _check_decisions(trials: pd.DataFrame, settings: StudySettings, source: str) -> list[str]:
    """A decision exactly where a trial is completed, and one that the study offers."""
    completed = trials["trial_status"] == "completed"
    decided = trials["decision"].notna()
    offered = trials["decision"].isin(settings.response_options)
    lines = [
        _line(source, "decision", "missing for a completed trial", completed & ~decided, trials),
        _line(source, "decision", "given for a trial not completed", ~completed & decided, trials),
        _line(
            source,
            "decision",
            f"not among response_options ({', '.join(settings.response_options)})",
            decided & ~offered,
            trials,
        ),
    ]
    return [line for line in lines if line]


def _check_reading(trials: pd.DataFrame, source: str) -> list[str]:
    """``n_available``, ``shown_order`` and ``n_read`` agree."""
    n_read, n_available = floats(trials["n_read"]), floats(trials["n_available"])
    lengths, faulty = list_lengths(trials["shown_order"])
    at_once = (trials["interface"] == "all_at_once").to_numpy()
    lines = [
        _line(source, "shown_order", "an id is empty or occurs twice", faulty, trials),
        _line(
            source, "n_available", "not the length of shown_order", lengths != n_available, trials
        ),
        _line(
            source,
            "n_read",
            "outside 1..n_available",
            (n_read < 1) | (n_read > n_available),
            trials,
        ),
        _line(
            source,
            "n_read",
            "all_at_once, yet not n_available",
            at_once & (n_read != n_available),
            trials,
        ),
    ]
    return [line for line in lines if line]


def _check_gold(trials: pd.DataFrame, source: str) -> list[str]:
    """Readable gold sets, and ``gold_min_size`` and ``msr`` as they follow from them."""
    size, rank, faults = derive_gold(trials["shown_order"], trials["gold_sets"])
    texts = trials["gold_sets"]
    unreadable = texts.isin(faults.keys()).to_numpy()
    no_set = (texts == "").to_numpy()
    is_main = (trials["trial_kind"] == "main").to_numpy()
    what = f"holds {next(iter(faults.values()))}" if faults else ""
    lines = [
        _line(source, "gold_sets", what, unreadable, trials),
        _line(source, "gold_sets", "missing for a main trial", is_main & no_set, trials),
        _line(
            source,
            "gold_min_size",
            "disagrees with gold_sets",
            ~unreadable & _differ(floats(trials["gold_min_size"]), size),
            trials,
        ),
        _line(
            source,
            "msr",
            "disagrees with shown_order and gold_sets",
            ~unreadable & _differ(floats(trials["msr"]), rank),
            trials,
        ),
    ]
    return [line for line in lines if line]


def _check_times(trials: pd.DataFrame, source: str) -> list[str]:
    """A completed trial has its times, and they add up."""
    completed = (trials["trial_status"] == "completed").to_numpy()
    lines = [
        _line(
            source,
            name,
            "missing for a completed trial",
            completed & trials[name].isna().to_numpy(),
            trials,
        )
        for name in ("decided_at", "hidden_ms", "active_ms")
    ]
    wall = milliseconds(trials["decided_at"]) - milliseconds(trials["started_at"])
    parts = floats(trials["hidden_ms"]) + floats(trials["active_ms"])
    lines.append(_line(source, "decided_at", "before started_at", completed & (wall < 0), trials))
    lines.append(
        _line(
            source,
            "active_ms",
            "not decided_at - started_at - hidden_ms",
            completed & (wall >= 0) & (np.abs(wall - parts) > 0),
            trials,
        )
    )
    return [line for line in lines if line]


def _check_reveals(trials: pd.DataFrame, events: pd.DataFrame, source: str) -> list[str]:
    """Every reveal shows the sentence that the frozen order has at its rank."""
    shown = first_reveals(events)
    codes, orders = pd.factorize(trials["shown_order"])
    order_of = pd.Series(codes, index=trials["trial_id"]).reindex(shown["trial_id"]).to_numpy()
    lists = [text.split("|") for text in orders]
    ranks = shown["rank"].to_numpy().astype(int)
    wrong = np.array(
        [
            rank > len(lists[order]) or lists[order][rank - 1] != sentence
            for order, rank, sentence in zip(order_of, ranks, shown["sentence_id"], strict=True)
        ],
        dtype=bool,
    )
    line = _line(
        source, "sentence_id", "not the sentence at this rank of shown_order", wrong, shown
    )
    return [line] if line else []


def _check_replay(trials: pd.DataFrame, events: pd.DataFrame, source: str) -> list[str]:
    """``n_read``, ``hidden_ms`` and ``active_ms`` as they follow from the events."""
    replay = trial_times(events).reindex(trials["trial_id"])
    status = trials["trial_status"].astype(object).to_numpy()
    completed = status == "completed"
    started = replay["n_read"].notna().to_numpy()
    has_decision = replay["complete"].eq(True).to_numpy()
    lines = [
        _line(source, "trial_id", "the events show no start or no reveal", ~started, trials),
        _line(
            source,
            "trial_status",
            "completed, yet the events show no decision",
            completed & started & ~has_decision,
            trials,
        ),
        _line(
            source,
            "trial_status",
            "incomplete, yet the events show a decision",
            (status == "incomplete") & has_decision,
            trials,
        ),
        _line(
            source,
            "n_read",
            "disagrees with the events",
            started & _differ(floats(trials["n_read"]), replay["n_read"].to_numpy()),
            trials,
        ),
    ]
    for name in ("hidden_ms", "active_ms"):
        recomputed = replay[name].to_numpy()
        differs = completed & has_decision & _differ(floats(trials[name]), recomputed)
        lines.append(_line(source, name, "disagrees with the events", differs, trials))
    return [line for line in lines if line]


def _differ(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Where two float columns differ; missing equals missing."""
    return ~((left == right) | (np.isnan(left) & np.isnan(right)))
