"""Agreement of people who judged the same claims of a study (statistics.md 6)."""

from __future__ import annotations

from typing import Any

import pandas as pd

from analysis.agreement.alpha import alpha_block
from analysis.agreement.draws import DRAWS
from analysis.agreement.ratings import Ratings
from analysis.plain import plain

_ONE_JUDGEMENT = (
    "not defined, because no claim was judged by two people under this condition; that takes two "
    "or more replications"
)

_ABOUT = {
    "method": "Krippendorff's alpha of decisions, nominal; percentile bootstrap over claims",
    "assumptions": "claims are a sample; people judged alone; a claim with one judgement "
    "carries no information",
    "library": "own code, numpy and scipy.sparse; tested against NLTK",
}


def agreement_of_trials(
    design_set: pd.DataFrame, *, seed: int = 0, draws: int = DRAWS, across_studies: bool = False
) -> dict[str, Any]:
    """How far people agree who judged the same claim under the same condition.

    ``design_set``: scored trials of the design set (``study_id``, ``claim_id``, ``participant_id``,
    ``condition``, ``decision``). Gives ``conditions``, in sorted order: nominal alpha of decisions
    over claims, ``cant_decide`` a decision like any other, with ``ci95`` (percentile bootstrap
    over claims), ``observed_agreement`` (share of pairs of judgements of a claim that agree),
    counts, and ``not_defined``. ``across_studies``: judgements of a claim are taken together where
    studies share it, with the same id, label and gold sets (``gold_label``, ``gold_sets``); else
    claims of two studies are different claims. With one
    replication of one study nothing is defined, and says so.
    """
    decided = design_set[design_set["decision"].notna().to_numpy()]
    names = decided["condition"].astype(str)
    return plain(
        {
            "conditions": {
                condition: _of_condition(
                    decided[(names == condition).to_numpy()], seed, draws, across_studies
                )
                for condition in sorted(set(names))
            },
            "draws": draws,
            "seed": seed,
            **_ABOUT,
        }
    )


def _of_condition(
    trials: pd.DataFrame, seed: int, draws: int, across_studies: bool
) -> dict[str, Any]:
    ratings = _ratings(trials, across_studies)
    per_item = ratings.per_item
    alpha, interval, reason = alpha_block(ratings, "nominal", seed, draws)
    if not (per_item > 1).any():
        reason = _ONE_JUDGEMENT
    agreed = _observed(ratings)
    missing = {"alpha_nominal": alpha, "ci95": interval, "observed_agreement": agreed}
    return {
        **missing,
        "n_claims": len(ratings.items),
        "n_claims_with_two": int((per_item > 1).sum()),
        "n_participants": len(ratings.raters),
        "n_decisions": len(ratings.item),
        "not_defined": {name: reason for name, value in missing.items() if value is None},
    }


def _ratings(trials: pd.DataFrame, across_studies: bool) -> Ratings:
    """Decisions as ratings of claims, which are told apart by study or by their annotation."""
    apart = ["gold_label", "gold_sets"] if across_studies else ["study_id"]
    claims = trials["claim_id"].astype(str)
    for column in apart:
        claims = trials[column].astype(str) + "\n" + claims
    item, items = pd.factorize(claims, sort=True)
    rater, raters = pd.factorize(trials["participant_id"].astype(str), sort=True)
    label, labels = pd.factorize(trials["decision"].astype(str), sort=True)
    return Ratings(tuple(items), tuple(raters), tuple(labels), None, False, item, rater, label)


def _observed(ratings: Ratings) -> float | None:
    """Share of pairs of judgements of one claim that agree, over all pairs."""
    counts = ratings.counts()
    pairs = (ratings.per_item * (ratings.per_item - 1)).sum()
    agreed = float(counts.power(2).sum() - len(ratings.item))
    return agreed / float(pairs) if pairs else None
