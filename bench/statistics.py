"""The statistics of a study of a million trials: measures, and how sure one is of them.

Each part runs in a process of its own, so that its peak memory is its own. Baselines are numpy's
sort of as many numbers (for the measures) and the same resamples drawn literally (for the
bootstrap), in the same process.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bench.figures import goal, seconds_of

N_PARTICIPANTS = 20_000
N_CLAIMS = 2_500
#: 25 claims each; a participant meets one subset under either condition: 50 trials.
N_SUBSETS = 100
N_DRAWS = 2_000
#: So many draws are made literally, the time of the rest follows.
N_LITERAL = 20
CONDITIONS = {"ranking": "incremental", "selection": "all_at_once"}

GOAL_MEASURES = 2.0
GOAL_BOOTSTRAP = 60.0
GOAL_MB = 2_000


def measure() -> Iterator[str]:
    """Every part at full size, a line or two each."""
    for part in PARTS:
        command = [sys.executable, "-m", "bench.statistics", part, str(N_PARTICIPANTS)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        yield from json.loads(done.stdout)


def study(n_participants: int) -> dict[str, Any]:
    """Settings of the study; ``n_participants`` is a multiple of ``N_SUBSETS``."""
    return {
        "study_id": "large",
        "subsets": N_SUBSETS,
        "replications": n_participants // N_SUBSETS,
        "conditions": list(CONDITIONS),
        "trials_per_participant": 2 * N_CLAIMS // N_SUBSETS,
        "response_options": ["supported", "refuted", "cant_decide"],
    }


def trials(n_participants: int, seed: int = 5) -> pd.DataFrame:
    """A sound trial table of ``50 * n_participants`` rows, typed, in the order of the trial ids."""
    generator = np.random.default_rng(seed)
    per_subset = N_CLAIMS // N_SUBSETS
    n = 2 * per_subset * n_participants
    person, position = np.divmod(np.arange(n), 2 * per_subset)
    block, place = np.divmod(position, per_subset)
    replication, slot = np.divmod(person, N_SUBSETS)
    # Half of the replications begin with the other condition.
    condition = (block + replication) % 2
    shift = 1 + replication % (N_SUBSETS - 1)
    subset = (slot + condition * shift) % N_SUBSETS
    claim = subset * per_subset + place
    shown = _shown(generator).iloc[2 * claim + condition].reset_index(drop=True)
    n_read = np.where(
        condition == 0, 1 + generator.integers(shown["n_available"]), shown["n_available"]
    )
    active = generator.lognormal(9.5, 0.6, n).astype("int64") + 1
    hidden = np.where(generator.random(n) < 0.05, 4_000, 0)
    started = pd.Timestamp("2026-03-02T09:00:00Z") + pd.to_timedelta(position * 60_000, "ms")
    labels = np.array(["supported", "refuted", "cant_decide"])
    gold = generator.integers(2, size=N_CLAIMS)[claim]
    skill = generator.normal(0, 0.08, n_participants)[person] + 0.08 * (condition == 0)
    ease = generator.normal(0, 0.1, N_CLAIMS)[claim]
    is_right = generator.random(n) < 0.78 + skill + ease
    decision = np.where(is_right, gold, np.where(generator.random(n) < 0.2, 1 - gold, 2))
    ids = pd.Series([f"P{number:06d}" for number in range(n_participants)])
    return pd.DataFrame(
        {
            "study_id": "large",
            "trial_id": [f"t{number:07d}" for number in range(n)],
            "participant_id": ids.to_numpy()[person],
            "participant_status": "completed",
            "replication": replication + 1,
            "slot": slot + 1,
            "subset": subset + 1,
            "claim_id": np.array([f"c{number:04d}" for number in range(N_CLAIMS)], object)[claim],
            "condition": np.array(list(CONDITIONS), object)[condition],
            "interface": np.array(list(CONDITIONS.values()), object)[condition],
            "trial_kind": "main",
            "trial_status": "completed",
            "block": block + 1,
            "position": position + 1,
            "gold_label": labels[gold].astype(object),
            "decision": labels[decision].astype(object),
            "n_available": shown["n_available"],
            "shown_order": shown["shown_order"],
            "gold_sets": shown["gold_sets"],
            "n_read": n_read,
            "gold_min_size": shown["gold_min_size"],
            "msr": shown["msr"],
            "started_at": started,
            "decided_at": started + pd.to_timedelta(active + hidden, "ms"),
            "hidden_ms": hidden,
            "active_ms": active,
        }
    )


def _shown(generator: np.random.Generator) -> pd.DataFrame:
    """What every claim shows under the first condition and the second, one row each in turn."""
    from analysis.gold import derive_gold

    rows = []
    for _ in range(N_CLAIMS):
        size = int(generator.integers(1, 4))
        gold = "|".join(f"s{number}" for number in range(size))
        for n_available in (10, 4):
            ids = generator.permutation(10)[:n_available]
            rows.append((n_available, "|".join(f"s{number}" for number in ids), gold))
    table = pd.DataFrame(rows, columns=["n_available", "shown_order", "gold_sets"])
    sizes, ranks, _ = derive_gold(table["shown_order"], table["gold_sets"])
    return table.assign(gold_min_size=sizes.astype(int), msr=pd.array(ranks).astype("Int64"))


def checking(n_participants: int) -> list[str]:
    """Write the table, read it, check it; then the document of its measures alone."""
    from analysis.document import document_of, scored_trials
    from analysis.load import check_tables, read_table

    kept: list[Any] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trials.csv"
        _write(trials(n_participants), path)
        megabytes = path.stat().st_size / 1e6
        reading = seconds_of(lambda: kept.append(read_table(path)))
    raw = kept.pop()
    plain = seconds_of(lambda: raw.sort_values("trial_id", kind="stable"))
    settings = study(n_participants)
    checking = seconds_of(lambda: kept.append(check_tables(raw, None, settings)))
    document = seconds_of(
        lambda: document_of(scored_trials(kept[0]), kept[0].settings, with_comparison=False)
    )
    rows = f"{len(raw):,} trials ({megabytes:.0f} MB of CSV)"
    return [
        f"{rows}: read in {reading:.1f} s, checked in {checking:.1f} s, "
        f"ratio to sorting them by id {checking / plain:.1f}",
        f"document of its measures, without a comparison, in {document:.1f} s, "
        f"ratio to sorting the trials by id {document / plain:.1f}; peak {_peak_mb():.0f} MB",
    ]


def document(n_participants: int) -> list[str]:
    """The whole document of a checked table: measures, crossed intervals, comparison, models."""
    from analysis.document import build_document
    from analysis.load import check_tables

    tables = check_tables(trials(n_participants), None, study(n_participants))
    plain = seconds_of(lambda: tables.trials.sort_values("claim_id", kind="stable"))
    seconds = seconds_of(lambda: build_document(tables))
    return [
        f"whole document of {len(tables.trials):,} checked trials in {seconds:.0f} s, ratio to "
        f"sorting them by claim {seconds / plain:.0f}; peak {_peak_mb():.0f} MB"
    ]


def measures(n_participants: int) -> list[str]:
    """The measures of every condition, of trials that are scored already."""
    from analysis.measures import measures_by

    scored = _scored(n_participants)
    seconds = seconds_of(lambda: measures_by(scored, ["condition"]), times=3)
    times = scored["active_s"].to_numpy()
    plain = seconds_of(lambda: np.sort(times), times=3)
    return [
        f"measures by condition of {len(scored):,} scored trials in {seconds:.2f} s "
        f"{goal(f'{GOAL_MEASURES:.0f} s', seconds < GOAL_MEASURES)}, "
        f"ratio to sorting as many numbers {seconds / plain:.1f}"
    ]


def bootstrap(n_participants: int) -> list[str]:
    """Measures, their crossed intervals and the contrast, of trials that are scored already."""
    from analysis.comparison.contrast import Contrast
    from analysis.comparison.crossed_bootstrap import crossed_bootstrap
    from analysis.intervals import bootstrap_intervals
    from analysis.measures import measures_by

    scored = _scored(n_participants)
    before = _peak_mb()
    parts: tuple[Callable[[], object], ...] = (
        lambda: measures_by(scored, ["condition"]),
        lambda: bootstrap_intervals(scored, list(CONDITIONS), 1, N_DRAWS),
        lambda: crossed_bootstrap(scored, Contrast(*CONDITIONS), 1, N_DRAWS),
    )
    alone, intervals, contrast = (seconds_of(part) for part in parts)
    total, peak = alone + intervals + contrast, _peak_mb()
    literal = seconds_of(lambda: _literal_draws(scored, N_LITERAL)) * N_DRAWS / N_LITERAL
    is_met = total < GOAL_BOOTSTRAP and peak < GOAL_MB
    return [
        f"measures, intervals and contrast with {N_DRAWS:,} resamples of {len(scored):,} trials in "
        f"{total:.1f} s ({alone:.1f} + {intervals:.1f} + {contrast:.1f}), peak {peak:.0f} MB "
        f"{goal(f'{GOAL_BOOTSTRAP:.0f} s and {GOAL_MB} MB', is_met)}, "
        f"{before:.0f} MB of it the table; one measure's difference drawn literally "
        f"{literal:.0f} s (from {N_LITERAL} draws), ratio {total / literal:.2f}"
    ]


def _scored(n_participants: int) -> pd.DataFrame:
    from analysis.document import scored_trials
    from analysis.load import check_tables

    return scored_trials(check_tables(trials(n_participants), None, study(n_participants)))


def _literal_draws(scored: pd.DataFrame, draws: int) -> list[float]:
    """Differences of one measure, each draw made as the definition says it, without blocks."""
    generator = np.random.default_rng(1)
    people, claims = (pd.factorize(scored[key])[0] for key in ("participant_id", "claim_id"))
    is_first = (scored["condition"] == next(iter(CONDITIONS))).to_numpy()
    read = scored["n_read"].to_numpy(dtype=float)
    found = []
    for _ in range(draws):
        weights = np.ones(len(scored))
        for codes in (people, claims):
            n = codes.max() + 1
            weights *= np.bincount(generator.integers(n, size=n), minlength=n)[codes]
        first, second = (
            np.average(read[side], weights=weights[side]) for side in (is_first, ~is_first)
        )
        found.append(float(first - second))
    return found


def _write(table: pd.DataFrame, path: Path) -> None:
    """The table as an export writes it."""
    text = table.copy(deep=False)
    for name in ("started_at", "decided_at"):
        moments = text[name].dt.tz_localize(None).to_numpy().astype("datetime64[ms]")
        text[name] = np.char.add(np.datetime_as_string(moments), "Z")
    text.to_csv(path, index=False)


def _peak_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 if sys.platform != "darwin" else 1024**2)


PARTS: dict[str, Callable[[int], list[str]]] = {
    "checking": checking,
    "measures": measures,
    "bootstrap": bootstrap,
    "document": document,
}


def main() -> None:
    """Run the named part at the given size and print its lines as JSON."""
    part, n_participants = sys.argv[1:]
    print(json.dumps(PARTS[part](int(n_participants))))


if __name__ == "__main__":
    main()
