"""Who made the trials that count: participants, the study's own team, simulated readers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.inclusion import exclusion_reasons, run_kinds

KINDS = ("real", "pilot", "simulated")
_NAMES = {
    "real": ("participant", "participants"),
    "pilot": ("pilot participant", "pilot participants"),
    "simulated": ("simulated reader", "simulated readers"),
}
_PILOT = "from pilot runs, which the measures leave out"
_SIMULATED = "simulated; add --simulated to count them"


def kind_counts(scored: pd.DataFrame, counted: pd.Series) -> dict[str, dict[str, int]]:
    """By kind of run: ``counted`` trials, their ``readers``, and trials that ``could_count``.

    ``scored`` are all trials, ``counted`` says which are in the available set. Trials could count
    that nothing but their kind of run keeps out.
    """
    kinds = run_kinds(scored).to_numpy()
    reasons = exclusion_reasons(scored, include_simulated=True, include_pilot=True)
    could = reasons.isin(["", "superseded"]).to_numpy()
    counts = {}
    for kind in KINDS:
        own = kinds == kind
        people = scored.loc[own & counted.to_numpy(dtype=bool), "participant_id"]
        counts[kind] = {
            "counted": len(people),
            "readers": people.nunique(),
            "could_count": int((own & could).sum()),
        }
    return counts


def people_of(kind: str, n: int) -> str:
    """``3 simulated readers``."""
    return f"{n} {_NAMES[kind][n != 1]}"


def readers_text(trials: pd.DataFrame) -> str:
    """Who made these trials: ``12 participants and 5 simulated readers``."""
    people = trials["participant_id"].groupby(run_kinds(trials).to_numpy()).nunique()
    return _listed({kind: int(people.get(kind, 0)) for kind in KINDS})


def simulated_line(document: Mapping[str, Any]) -> str:
    """What must stand first where simulated trials count; empty where none does."""
    kinds = document["run_kinds"]
    n, total = kinds["simulated"]["counted"], document["n_available_set"]
    if not n:
        return ""
    readers = _listed({"simulated": kinds["simulated"]["readers"]})
    if n == total:
        return (
            f"Simulated: all {_trials(n)} that count were made by {readers}. The numbers show how "
            "the analysis works and say nothing about people."
        )
    return (
        f"Partly simulated: {n} of {_trials(total)} that count were made by {readers}, not by "
        "people. The numbers mix both."
    )


def nothing_counts_line(document: Mapping[str, Any]) -> str:
    """That only simulated or pilot trials could count, and none was asked for; else empty."""
    kinds = document["run_kinds"]
    if any(counts["counted"] for counts in kinds.values()) or kinds["real"]["could_count"]:
        return ""
    n_simulated, n_pilot = kinds["simulated"]["could_count"], kinds["pilot"]["could_count"]
    if n_simulated and n_pilot:
        return f"no trial counts: {_are(n_simulated)} {_SIMULATED}; {_are(n_pilot)} {_PILOT}"
    if n_simulated:
        return f"all {_are(n_simulated)} {_SIMULATED}"
    return f"all {_are(n_pilot)} {_PILOT}" if n_pilot else ""


def opening_lines(document: Mapping[str, Any]) -> list[str]:
    """The lines on simulated and pilot trials that stand before every number; mostly none."""
    nothing = nothing_counts_line(document)
    lines = [simulated_line(document), f"{nothing[:1].upper()}{nothing[1:]}." if nothing else ""]
    return [line for line in lines if line]


def _listed(counts: Mapping[str, int]) -> str:
    parts = [people_of(kind, n) for kind, n in counts.items() if n]
    if not parts:
        return "0 participants"
    *rest, last = parts
    return f"{', '.join(rest)} and {last}" if rest else last


def _trials(n: int) -> str:
    return f"{n} trial" if n == 1 else f"{n} trials"


def _are(n: int) -> str:
    return f"{_trials(n)} {'is' if n == 1 else 'are'}"
