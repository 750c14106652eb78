"""Small sound studies made at random, for properties that every study has (hypothesis)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from analysis import check_tables, scored_trials
from analysis.gold import minimal_sets, minimal_sufficient_rank
from tests.analysis.builders import study, trial

SENTENCES = tuple(f"s{number}" for number in range(5))
LABELS = ("supported", "refuted", "partially_supported")
DECISIONS = (*LABELS, "cant_decide")
START = pd.Timestamp("2026-03-02T09:00:00Z")

#: The same examples every time; a failure prints its study as drawn, since shrinking takes minutes.
EXAMPLES = settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
#: The same with fewer, where an example takes long.
FEW_EXAMPLES = settings(EXAMPLES, max_examples=4)


@dataclass(frozen=True)
class Claim:
    """What a claim shows: its right label, gold sets, and an order a condition."""

    claim_id: str
    label: str
    gold_sets: tuple[frozenset[str], ...]
    ranked: tuple[str, ...]
    selected: tuple[str, ...]


@dataclass(frozen=True)
class Study:
    """Rows of trials.csv as text, and study.json."""

    rows: list[dict[str, str]]
    settings: dict[str, Any] = field(default_factory=study)

    @property
    def trials(self) -> pd.DataFrame:
        """The trial table."""
        return pd.DataFrame(self.rows)

    @property
    def events(self) -> pd.DataFrame:
        """Events from which the numbers of the trial table follow."""
        return pd.DataFrame([event for row in self.rows for event in _events(row)])

    def changed(self, *more: dict[str, str], **columns: dict[str, str]) -> Study:
        """The study with values of columns replaced as the mappings say, and with more rows."""
        rows = [row | {name: new[row[name]] for name, new in columns.items()} for row in self.rows]
        return Study([*rows, *more], self.settings)


def scored(study: Study) -> pd.DataFrame:
    """The checked and scored trials of a study."""
    return scored_trials(check_tables(study.trials, None, study.settings))


def renamed(ids: list[str], prefix: str, *, keeps_order: bool) -> dict[str, str]:
    """New ids for old ones, in the same order or in the opposite one."""
    new = [f"{prefix}{number:03}" for number in range(len(set(ids)))]
    return dict(zip(sorted(set(ids)), new if keeps_order else new[::-1], strict=True))


def other_ids(study: Study, *, keeps_order: bool) -> Study:
    """The study with all ids of people, trials and claims replaced."""
    columns = {
        name: renamed([row[name] for row in study.rows], prefix, keeps_order=keeps_order)
        for name, prefix in (("participant_id", "Q"), ("trial_id", "u"), ("claim_id", "7"))
    }
    return study.changed(**columns)


@st.composite
def studies(draw: st.DrawFn, statuses: tuple[str, ...] = ("completed", "dropped_out")) -> Study:
    """Two replications of two slots, two to four claims, any number of trials from one up.

    Slots may be shared by several people or empty, trials void or incomplete, labels not scorable.
    """
    claims = [draw(_claims(f"c{number}")) for number in range(draw(st.integers(2, 4)))]
    options = draw(st.sampled_from([DECISIONS, ("supported", "refuted", "cant_decide")]))
    rows: list[dict[str, str]] = []
    for number in range(draw(st.integers(2, 5))):
        person = {
            "participant_id": f"P{number}",
            "participant_status": draw(st.sampled_from(statuses)),
            "replication": str(1 + number % 2),
            "slot": str(draw(st.integers(1, 2))),
        }
        # Everyone meets the first claim, so that each replication has a trial.
        met = claims[:1] + [claim for claim in claims[1:] if draw(st.booleans())]
        for position, claim in enumerate(met, start=1):
            own = {"trial_id": f"t{len(rows):03}", "position": str(position)}
            rows.append(person | own | draw(_trials(claim, options, len(rows))))
    planned = study(
        replications=2, trials_per_participant=len(claims), response_options=list(options)
    )
    return Study([trial(**row) for row in rows], planned)


@st.composite
def _claims(draw: st.DrawFn, claim_id: str) -> Claim:
    sets = st.frozensets(st.sampled_from(SENTENCES), min_size=1, max_size=2)
    return Claim(
        claim_id,
        draw(st.sampled_from(LABELS)),
        minimal_sets(draw(st.lists(sets, min_size=1, max_size=2))),
        tuple(draw(st.permutations(SENTENCES))),
        tuple(draw(st.permutations(SENTENCES)))[: draw(st.integers(1, 4))],
    )


@st.composite
def _trials(draw: st.DrawFn, claim: Claim, options: tuple[str, ...], number: int) -> dict[str, Any]:
    """Condition, reading, decision and times of a trial; each starts at a minute of its own."""
    is_ranked = draw(st.booleans())
    order = claim.ranked if is_ranked else claim.selected
    status = draw(st.sampled_from(["completed"] * 6 + ["incomplete", "void"]))
    wall = draw(st.integers(1_000, 50_000))
    hidden = wall * draw(st.sampled_from([0, 0, 0, 250, 500, 1000])) // 1000
    started = START + pd.Timedelta(number, "min")
    rank = minimal_sufficient_rank(order, claim.gold_sets)
    done = {
        "decision": draw(st.sampled_from(options)),
        "decided_at": _text(started + pd.Timedelta(wall, "ms")),
        "hidden_ms": hidden,
        "active_ms": wall - hidden,
    }
    return {
        "claim_id": claim.claim_id,
        "condition": "ranking" if is_ranked else "selection",
        "interface": "incremental" if is_ranked else "all_at_once",
        "trial_status": status,
        "gold_label": claim.label,
        "n_available": len(order),
        "shown_order": "|".join(order),
        "gold_sets": ";".join("|".join(sorted(ids)) for ids in claim.gold_sets),
        "n_read": draw(st.integers(1, len(order))) if is_ranked else len(order),
        "gold_min_size": min(map(len, claim.gold_sets)),
        "msr": "" if rank is None else rank,
        "started_at": _text(started),
        **(done if status == "completed" else dict.fromkeys(done, "")),
    }


def _text(moment: pd.Timestamp) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def _events(row: dict[str, str]) -> list[dict[str, str]]:
    """The events of a trial: reveals at once or one a millisecond, hidden until the decision."""
    started = pd.Timestamp(row["started_at"])
    steps = [("trial_started", 0, "", "")]
    for rank, sentence in enumerate(row["shown_order"].split("|")[: int(row["n_read"])], start=1):
        ms = rank - 1 if row["interface"] == "incremental" else 0
        steps.append(("reveal", ms, str(rank), sentence))
    if row["decision"]:
        wall = int(row["active_ms"]) + int(row["hidden_ms"])
        if row["hidden_ms"] != "0":
            steps.append(("page_hidden", int(row["active_ms"]), "", ""))
        steps.append(("decision_submitted", wall, "", ""))
    return [
        {
            "event_id": f"{row['trial_id']}-{seq}",
            "trial_id": row["trial_id"],
            "seq": str(seq),
            "event_type": kind,
            "rank": rank,
            "sentence_id": sentence,
            "server_ts": _text(started + pd.Timedelta(ms, "ms")),
            "client_ms": str(ms),
        }
        for seq, (kind, ms, rank, sentence) in enumerate(sorted(steps, key=lambda step: step[1]))
    ]
