"""The document of ``python -m analysis rankers``."""

from __future__ import annotations

import itertools
import math
import sys
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from analysis.comparison.family import adjusted
from analysis.plain import plain
from analysis.rankers_table.pairs import Bootstrap, compare_pair
from analysis.rankers_table.scores import MEASURES, read_scores, size_bucket

_ONE_CLAIM = "not defined, because one claim has no spread"
_NO_P = "not defined, because the pair was not tested"

_ABOUT = {
    "assumptions": "claims are a sample of the claims in question; rankers are paired over the "
    "claims scored for both; claims without a score are left out, never counted as 0; standard "
    "errors that do not overlap are no test; numbers by size of the smallest gold set are "
    "exploratory and not adjusted",
    "library": "scipy sem, bootstrap, wilcoxon, ttest_1samp; statsmodels mcnemar and multipletests",
}


def compare_rankers(
    table: pd.DataFrame, *, seed: int = 0, source: str = "scores"
) -> dict[str, Any]:
    """Means of every ranker and all pairs, over all claims and by size of the smallest gold set.

    ``table`` has the columns of ``python -m rankers evaluate --csv``: ``claim_id``, ``ranker``,
    ``imsr``, ``msr``, ``rr``, ``sr``, ``ndcg`` (further ones are ignored). Rankers stand in the
    order in which they first occur. Keys: ``table`` (a ranker: ``n``, ``mean_msr`` and
    ``rr``, ``sr``, ``ndcg`` with ``mean``, ``sem``, ``sem_population_sd``), ``pairs`` (see
    ``compare_pair``; ``holm_p`` over all pairs), ``by_imsr`` (the same for ``1``, ``2``, ``3+``, as
    far as there are such claims, without Holm), ``notes``. Raises BadTable.
    """
    scores = read_scores(table, source)
    names = list(scores["ranker"].drop_duplicates())
    n_claims = int(scores["claim_id"].nunique())
    boot = Bootstrap.of_claims(n_claims, seed)
    whole = _comparison(scores, names, boot)
    _adjust(whole["pairs"])
    buckets = size_bucket(scores["imsr"])
    document = {
        "rankers": names,
        "n_claims": n_claims,
        **whole,
        "by_imsr": {
            size: _comparison(scores[buckets == size], names, boot) for size in sorted(set(buckets))
        },
        "draws": boot.draws,
        "seed": seed,
        "notes": _notes(scores, whole),
        "method": f"mean and SEM; mean difference with {boot.method} bootstrap over claims "
        f"({boot.draws} draws); Wilcoxon signed-rank over claims, Pratt, asymptotic, Holm over all "
        "pairs; exact McNemar for SR",
        **_ABOUT,
    }
    return plain(document)


def _comparison(scores: pd.DataFrame, names: list[str], boot: Bootstrap) -> dict[str, Any]:
    """``n_claims``, ``table`` and ``pairs`` of some of the scores."""
    by_name = {name: scores[scores["ranker"] == name].set_index("claim_id") for name in names}
    couples = list(itertools.combinations(names, 2))
    bar = tqdm(couples, desc="pairs", leave=False, disable=not sys.stderr.isatty())
    present = {name: own for name, own in by_name.items() if len(own)}
    return {
        "n_claims": int(scores["claim_id"].nunique()),
        "table": {name: _means(own) for name, own in present.items()},
        "pairs": [
            compare_pair(by_name[first], by_name[second], (first, second), boot)
            for first, second in bar
        ],
    }


def _adjust(pairs: list[dict[str, Any]]) -> None:
    """Add ``holm_p``; a pair without a p-value was not tested and does not count for the others."""
    raw = {place: pair["wilcoxon_pratt_p"] for place, pair in enumerate(pairs)}
    for place, p in adjusted(raw).items():
        pairs[place]["holm_p"] = p
        if p is None:
            pairs[place]["not_defined"]["holm_p"] = _NO_P


def _means(scores: pd.DataFrame) -> dict[str, Any]:
    """Mean ± SEM of every measure of one ranker."""
    from scipy.stats import sem

    n = len(scores)
    found: dict[str, Any] = {"n": n, "mean_msr": scores["msr"].mean()}
    for name in MEASURES:
        values = scores[name].to_numpy(float)
        found[name] = {
            "mean": values.mean(),
            "sem": sem(values) if n > 1 else None,
            "sem_population_sd": np.std(values) / math.sqrt(n) if n > 1 else None,
        }
    errors = [f"{name}.{key}" for name in MEASURES for key in ("sem", "sem_population_sd")]
    return found | {"not_defined": {} if n > 1 else dict.fromkeys(errors, _ONE_CLAIM)}


def _notes(scores: pd.DataFrame, whole: dict[str, Any]) -> list[str]:
    """What a reader must know before the numbers."""
    n_claims = whole["n_claims"]
    notes = [
        f"{name}: {n_claims - own['n']} of {n_claims} claims have no score and are left out"
        for name, own in whole["table"].items()
        if own["n"] < n_claims
    ]
    if not whole["pairs"]:
        notes.append("one ranker only: there is nothing to compare it with")
    elif n_claims < 30:
        notes.append(f"{n_claims} claims are few: bootstrap intervals are too narrow below some 30")
    return notes
