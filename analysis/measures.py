"""The measures of a study: outcome, reading, sufficiency, time (statistics.md 2).

``score_trials`` says what each trial was; ``measures_by`` summarises any grouping of scored trials
with the same definitions and the denominators of the group.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from analysis.settings import StudySettings
from analysis.trial_columns import CANT_DECIDE
from analysis.typed import floats

BREAKDOWNS = ("participant_id", "claim_id", "gold_label", "gold_min_size", "position")

#: Rates with a Wilson interval: name of the interval, count, denominator.
_INTERVALS = (
    ("success_wilson95", "n_success", "n_scorable"),
    ("wrong_wilson95", "n_wrong", "n_scorable"),
    ("undecided_wilson95", "n_undecided", "n_scorable"),
    ("over_read_msr_wilson95", "n_over_read_msr", "n_trials"),
)
INTERVAL_NAMES = tuple(name for name, _, _ in _INTERVALS)


def score_trials(trials: pd.DataFrame, settings: StudySettings) -> pd.DataFrame:
    """What each completed trial was (statistics.md 2.1 to 2.5).

    Keeps all columns of ``trials`` and adds, as bools unless said: ``scorable``; ``outcome``
    (text, ``success`` | ``wrong`` | ``undecided``, empty when not scorable); ``success``,
    ``wrong``, ``undecided``, ``gave_up``, ``exhausted`` (scorable trials only);
    ``missed``, ``over_read_min``, ``over_read_msr``, ``sufficient_available``, ``exact_stop``,
    ``shown_insufficient``, ``system_insufficient``, ``decided_insufficient``, ``lucky``;
    ``under_read`` (float 0/1, NaN for all-at-once); ``surplus``, ``ranker_excess``,
    ``reader_excess`` (float, NaN without a finite msr where they need it); ``active_s``,
    ``time_per_sentence_s`` (float); ``as_supported``, ``as_refuted`` (success under the foldings
    of partially supported claims). An incomplete trial is neither success, wrong nor undecided.
    """
    n = floats(trials["n_read"])
    available = floats(trials["n_available"])
    required = floats(trials["gold_min_size"])
    rank = floats(trials["msr"])
    incremental = (trials["interface"] == "incremental").to_numpy()
    gold = trials["gold_label"].astype(object).to_numpy()
    decision = trials["decision"].astype(object).to_numpy()

    decided = trials["decision"].notna().to_numpy()
    cant_decide = decision == CANT_DECIDE
    labelled = decided & ~cant_decide
    right = labelled & (decision == gold)
    scorable = np.isin(gold.astype(str), settings.labels)
    finite = ~np.isnan(rank)
    insufficient = ~(rank <= n)
    active = floats(trials["active_ms"]) / 1000
    decided_insufficient = labelled & insufficient
    success, wrong, undecided = (
        right & scorable,
        labelled & ~right & scorable,
        cant_decide & scorable,
    )

    added = {
        "scorable": scorable,
        "outcome": np.select(
            [success, wrong, undecided], ["success", "wrong", "undecided"], ""
        ).astype(object),
        "success": success,
        "wrong": wrong,
        "undecided": undecided,
        "gave_up": undecided & incremental & (n < available),
        "exhausted": undecided & (n == available),
        "missed": cant_decide & ~insufficient,
        "surplus": n - required,
        "over_read_min": n > required,
        "over_read_msr": n > rank,
        "sufficient_available": finite,
        "exact_stop": n == rank,
        "shown_insufficient": insufficient,
        "system_insufficient": ~finite,
        "decided_insufficient": decided_insufficient,
        "under_read": np.where(incremental, decided_insufficient & (n < available), np.nan),
        "lucky": success & insufficient,
        "ranker_excess": rank - required,
        "reader_excess": n - rank,
        "active_s": active,
        "time_per_sentence_s": active / n,
        "as_supported": _folded(decision, gold, "supported"),
        "as_refuted": _folded(decision, gold, "refuted"),
    }
    # A further column of the file that happens to bear one of these names gives way to it.
    own = trials.drop(columns=[name for name in added if name in trials.columns])
    return pd.concat([own, pd.DataFrame(added, index=trials.index)], axis=1)


def _folded(decision: np.ndarray, gold: np.ndarray, label: str) -> np.ndarray:
    """Success when ``partially_supported`` is read as ``label``, in gold and decision alike."""
    partial = "partially_supported"
    right = np.where(gold == partial, label, gold)
    return np.where(decision == partial, label, decision) == right


def measures_by(scored: pd.DataFrame, by: list[str], *, foldings: bool = False) -> pd.DataFrame:
    """All measures of every group of scored trials.

    Returns one row a group, indexed by the values of ``by`` that occur, sorted; columns are the
    names of ``definitions.MEASURES``, an interval as ``<name>_low`` and ``<name>_high``. NaN means
    not defined. ``foldings`` adds the two sensitivity columns for partially supported claims.
    Raises ValueError when a column of ``by`` is missing.
    """
    absent = [name for name in by if name not in scored.columns]
    if absent:
        raise ValueError(f"no column {', '.join(absent)} to group by")
    codes, index = _groups(scored, by)
    size = len(index)

    def total(name: str) -> np.ndarray:
        return np.bincount(codes, weights=scored[name].to_numpy(dtype=float), minlength=size)

    def mean(name: str) -> np.ndarray:
        return total(name) / n_trials

    n_trials = np.bincount(codes, minlength=size).astype(float)
    finite = scored["sufficient_available"].to_numpy()
    out: dict[str, np.ndarray] = {"n_trials": n_trials, "n_scorable": total("scorable")}
    for name in ("success", "wrong", "undecided", "gave_up"):
        out[f"n_{name}"] = total(name)
    for name in ("success", "wrong", "undecided"):
        out[f"{name}_rate"] = _divide(out[f"n_{name}"], out["n_scorable"])
    out["mean_read"] = mean("n_read")
    deviation = floats(scored["n_read"]) - out["mean_read"][codes]
    squares = np.bincount(codes, weights=deviation**2, minlength=size)
    out["sd_read"] = np.sqrt(_divide(squares, n_trials - 1))
    out["median_read"] = _medians(scored["n_read"], codes)
    out["mean_required"] = mean("gold_min_size")
    out["mean_surplus"] = mean("surplus")
    for name in ("min", "msr"):
        out[f"n_over_read_{name}"] = total(f"over_read_{name}")
        out[f"over_read_{name}_rate"] = out[f"n_over_read_{name}"] / n_trials
    out["n_sufficient_available"] = total("sufficient_available")
    out["over_read_msr_rate_if_sufficient_available"] = _divide(
        out["n_over_read_msr"], out["n_sufficient_available"]
    )
    for name in ("shown_insufficient", "system_insufficient", "exact_stop", "decided_insufficient"):
        out[f"{name}_rate"] = mean(name)
    # NaN for all-at-once carries over: such a group has no under-reading at all.
    out["under_read_rate"] = mean("under_read")
    out["lucky_rate"] = _divide(total("lucky"), out["n_scorable"])
    out["lucky_share_of_successes"] = _divide(total("lucky"), out["n_success"])
    out["missed_rate"] = mean("missed")
    for name in ("ranker_excess", "reader_excess"):
        values = scored[name].to_numpy()[finite]
        sums = np.bincount(codes[finite], weights=values, minlength=size)
        out[f"mean_{name}"] = _divide(sums, out["n_sufficient_available"])
    out |= _times(scored, codes, n_trials)
    if foldings:
        for label in ("supported", "refuted"):
            out[f"sensitivity_success_partial_as_{label}"] = mean(f"as_{label}")
    for name, count, denominator in _INTERVALS:
        out[f"{name}_low"], out[f"{name}_high"] = wilson(out[count], out[denominator])
    return pd.DataFrame(out, index=index)


def wilson(count: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Wilson 95 % limits of ``count / n``, NaN where n is 0 (statistics.md 4.4)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        low, high = proportion_confint(count, np.where(n > 0, n, np.nan), method="wilson")
    # Exact where the formula is: rounding would leave limits such as 1e-17.
    return np.where((count == 0) & (n > 0), 0.0, low), np.where((count == n) & (n > 0), 1.0, high)


def _groups(scored: pd.DataFrame, by: list[str]) -> tuple[np.ndarray, pd.Index]:
    """The number of each row's group, and the groups' values in sorted order."""
    grouped = scored.groupby(by, sort=True, observed=True)
    codes = grouped.ngroup().to_numpy()
    first = np.unique(codes, return_index=True)[1]
    values = scored[by].iloc[first]
    if len(by) == 1:
        return codes, pd.Index(values[by[0]], name=by[0])
    return codes, pd.MultiIndex.from_frame(values)


def _times(scored: pd.DataFrame, codes: np.ndarray, n_trials: np.ndarray) -> dict[str, np.ndarray]:
    """Active time, in seconds (statistics.md 2.5); no logarithm where a trial has no time."""
    active = scored["active_s"].to_numpy()
    size = len(n_trials)
    seconds = np.bincount(codes, weights=active, minlength=size)
    sentences = np.bincount(codes, weights=floats(scored["n_read"]), minlength=size)
    has_zero = np.bincount(codes, weights=active <= 0, minlength=size) > 0
    logs = np.bincount(codes, weights=np.log(np.where(active > 0, active, 1.0)), minlength=size)
    return {
        "mean_active_s": seconds / n_trials,
        "median_active_s": _medians(scored["active_s"], codes),
        "geomean_active_s": np.where(has_zero, np.nan, np.exp(logs / n_trials)),
        "median_time_per_sentence_s": _medians(scored["time_per_sentence_s"], codes),
        "pooled_time_per_sentence_s": seconds / sentences,
    }


def _medians(values: pd.Series, codes: np.ndarray) -> np.ndarray:
    """Median of each group."""
    return values.reset_index(drop=True).groupby(codes).median().to_numpy(dtype=float)


def _divide(count: np.ndarray, n: np.ndarray) -> np.ndarray:
    """``count / n``, NaN where n is not above 0."""
    return np.divide(count, n, out=np.full(len(n), np.nan), where=n > 0)
