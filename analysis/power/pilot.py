"""Assumptions from a pilot's export (statistics.md 5): rates, reading and, crudely, spreads.

The design set is taken, pilot runs counted. What a pilot cannot tell keeps its default; the notes
say so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis.comparison.contrast import Contrast
from analysis.document import scored_trials
from analysis.errors import BadTable
from analysis.inclusion import exclusion_reasons
from analysis.load import Tables
from analysis.power.assumptions import Shares
from analysis.power.spreads import spreads
from analysis.readers import kind_counts, nothing_counts_line, readers_text
from analysis.typed import floats

#: A simulated reader who stops less often would go on for hundreds of sentences.
_LEAST_STOPS = 0.01


def pilot_values(
    tables: Tables,
    contrast: tuple[str, str] | None = None,
    *,
    source: str = "pilot",
    include_simulated: bool = False,
) -> tuple[dict[str, Any], list[str]]:
    """Inputs of a power simulation as a pilot has them, and notes on how good they are.

    Values are named like the fields of ``Assumptions``, ``Reading`` and ``Plan``. ``contrast``
    names the two conditions; without it, the contrast of the study. Raises BadTable when the
    pilot lacks one of them or has no scorable trial of it; messages begin with ``source``.
    """
    names = _names(tables, contrast, source)
    scored = scored_trials(tables)
    reasons = exclusion_reasons(scored, include_simulated=include_simulated, include_pilot=True)
    if nothing := nothing_counts_line(
        {"run_kinds": kind_counts(scored, reasons.isin(["", "superseded"]))}
    ):
        raise BadTable(f"{source}: {nothing}")
    trials = Contrast(*names).trials_of(scored[reasons == ""])
    scorable = trials[trials["scorable"].to_numpy(dtype=bool)]
    absent = [name for name in names if not (scorable["condition"] == name).any()]
    if absent:
        raise BadTable(
            [f"{source}: no trial that counts and can be scored under {name}" for name in absent]
        )
    values: dict[str, Any] = {
        "names": names,
        "interfaces": tuple(
            str(trials.loc[(trials["condition"] == name).to_numpy(), "interface"].iloc[0])
            for name in names
        ),
        "subsets": tables.settings.subsets,
        "conditions": len(tables.settings.conditions),
    }
    if "non_inferiority_margin" in tables.settings.planned.stated:
        values["margin"] = tables.settings.planned.margin
    notes: list[str] = []
    values["success"] = _rates(scorable, names, notes)
    values |= spreads(scorable, names, notes)
    values |= _sentences(trials)
    values |= _stopping(trials)
    return values, [_summary(trials, source), *notes]


def _names(tables: Tables, contrast: tuple[str, str] | None, source: str) -> tuple[str, str]:
    conditions = tables.settings.conditions
    if contrast is None:
        planned = tables.settings.planned.contrast
        if planned is None:
            raise BadTable(f"{source}: one condition, {conditions[0]}; two are compared")
        return planned.first, planned.second
    unknown = [name for name in contrast if name not in conditions]
    if unknown:
        raise BadTable(
            [f"{source}: no condition {name!r}; it has {', '.join(conditions)}" for name in unknown]
        )
    return contrast


def _summary(trials: pd.DataFrame, source: str) -> str:
    claims = trials["claim_id"].nunique()
    return (
        f"{source}: {readers_text(trials)}, {claims} claims, {len(trials)} trials. A pilot's rates "
        "are uncertain; look at the power for less favourable ones too."
    )


def _rates(scorable: pd.DataFrame, names: tuple[str, str], notes: list[str]) -> tuple[float, ...]:
    """Success rates; one of 0 or 1 is drawn in, since no assumption can be so sure."""
    rates = []
    for name in names:
        found = scorable.loc[(scorable["condition"] == name).to_numpy(), "success"]
        rate, n = float(found.mean()), len(found)
        if rate in (0.0, 1.0):
            rate = (rate * n + 0.5) / (n + 1)
            notes.append(
                f"{name}: all {n} pilot trials came out alike; half a success and half a failure "
                "are added to the success rate."
            )
        rates.append(rate)
    return tuple(rates)


def _sentences(trials: pd.DataFrame) -> dict[str, Any]:
    """Sizes of gold sets and of shown sets, and how often a ranked list is as short as can be."""
    values: dict[str, Any] = {
        "required": _shares(trials.drop_duplicates("claim_id")["gold_min_size"])
    }
    lists = trials.drop_duplicates(["claim_id", "condition"])
    shown = lists[(lists["interface"] == "all_at_once").to_numpy()]
    if len(shown):
        values["shown"] = _shares(shown["n_available"])
    ranked = lists[
        (lists["interface"] == "incremental").to_numpy() & lists["msr"].notna().to_numpy()
    ]
    if len(ranked):
        excess = floats(ranked["ranker_excess"])
        values["optimal"] = float((excess == 0).mean())
        if (excess > 0).any():
            values["excess"] = max(1 / float(excess[excess > 0].mean()), _LEAST_STOPS)
    return values


def _shares(sizes: pd.Series) -> Shares:
    counts = sizes.astype(int).value_counts().sort_index()
    return tuple((int(str(size)), int(n) / len(sizes)) for size, n in counts.items())


def _stopping(trials: pd.DataFrame) -> dict[str, float]:
    """Rates of stopping a rank: stops over the ranks at which a reader could have gone on.

    At the end of a list nobody can go on, so it counts as no chance. A list without a gold set is
    all before the first sufficient rank.
    """
    read = trials[(trials["interface"] == "incremental").to_numpy()]
    n, available = floats(read["n_read"]), floats(read["n_available"])
    rank = np.nan_to_num(floats(read["msr"]), nan=np.inf)
    free = np.minimum(n, available - 1)
    before, after = np.minimum(free, rank - 1).sum(), np.maximum(free - rank + 1, 0).sum()
    stopped = n < available
    gave_up = stopped & (n < rank) & (read["decision"] == "cant_decide").to_numpy()
    values = {}
    if before > 0:
        values["gives_up"] = float(gave_up.sum() / before)
        values["early"] = float((stopped & (n < rank) & ~gave_up).sum() / before)
    if after > 0:
        values["stops"] = max(float((stopped & (n >= rank)).sum() / after), _LEAST_STOPS)
    return values
