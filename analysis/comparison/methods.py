"""The methods of the comparison in words: what was done, for whom it speaks, what it assumes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.comparison.model_methods import model_methods
from analysis.settings import StudySettings

_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def methods(blocks: Mapping[str, Any], settings: StudySettings) -> dict[str, dict[str, Any]]:
    """An entry a method of the comparison, by its name.

    Each has ``blocks`` (the keys of the document that it fills), ``method``, ``population`` (whom
    the result speaks for), ``n`` (what was compared, by block), ``assumptions`` and ``library``.
    """
    inference = blocks["inference_design_set"]
    people = _people(inference["two_way"]["read"]["n_participants"])
    entries = {
        "two_way": _two_way(inference),
        "holm": _holm(inference, settings),
        "mcnemar": _mcnemar(inference, people),
        "by_claim": _by_claim(inference, people),
        "by_participant": _by_participant(inference),
        "non_inferiority": _non_inferiority(blocks),
        "equivalence": _equivalence(blocks),
    }
    entries |= model_methods(inference)
    if "left_out" not in blocks["omnibus"]:
        entries |= _omnibus(blocks, people)
    return entries


def _people(n: int) -> str:
    """``these five people``."""
    if n == 1:
        return "this one participant"
    return f"these {_WORDS[n] if n < len(_WORDS) else n} people"


def _of(inference: Mapping[str, Any], suffix: str) -> list[str]:
    return [key for key in inference if key.endswith(suffix)]


def _two_way(inference: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "blocks": ["two_way"],
        "method": (
            "Difference of the conditions' means (of rates for yes-or-no measures) by least "
            "squares on the condition alone; standard error: the largest of the one clustered by "
            "participant and by claim, by participant only and by claim only, each with its "
            "small-sample factor; t with min(participants, claims) - 1 degrees of freedom"
        ),
        "population": "other people and other claims like these",
        "n": {
            key: (
                f"{block['n_trials']} trials, {block['n_participants']} participants, "
                f"{block['n_claims']} claims"
            )
            for key, block in inference["two_way"].items()
        },
        "assumptions": (
            "trials that share neither participant nor claim are independent; with few people "
            "the interval errs on the wide side"
        ),
        "library": (
            "statsmodels: regression.linear_model.OLS, "
            "stats.sandwich_covariance.cov_cluster; scipy: stats.t"
        ),
    }


def _holm(inference: Mapping[str, Any], settings: StudySettings) -> dict[str, Any]:
    family = settings.planned.family
    n = sum(p is not None for p in inference["holm"]["family"].values())
    return {
        "blocks": ["holm"],
        "method": (
            "Holm's correction of the primary comparison's p over the family "
            f"{', '.join(family) or 'without members'}; every other p is exploratory and unadjusted"
        ),
        "population": "as the primary comparison",
        "n": {"holm": f"{n} tests"},
        "assumptions": "none beyond those of each test; the family was fixed beforehand",
        "library": "statsmodels: stats.multitest.multipletests(method='holm')",
    }


def _mcnemar(inference: Mapping[str, Any], people: str) -> dict[str, Any]:
    keys = ["success", "undecided", "over_read_msr"]
    return {
        "blocks": keys,
        "method": (
            "Exact two-sided McNemar test over claim pairs; paired difference of rates with the "
            "Bonett-Price interval; conditional odds ratio with Clopper-Pearson limits"
        ),
        "population": f"{people}, other claims",
        "n": {
            key: inference[key].get("left_out") or f"{inference[key]['n_pairs']} claim pairs"
            for key in keys
        },
        "assumptions": "claim pairs are independent, which people's own habits can break",
        "library": (
            "statsmodels: stats.contingency_tables.mcnemar(exact=True), "
            "stats.proportion.proportion_confint(method='beta'); Bonett-Price: own"
        ),
    }


def _by_claim(inference: Mapping[str, Any], people: str) -> dict[str, Any]:
    keys = _of(inference, "_by_claim")
    return {
        "blocks": keys,
        "method": (
            "Means of a claim under each condition, compared in pairs: t test with d_z, Wilcoxon's "
            "signed-rank test (zeros after Pratt; dropped, beside it) with the rank-biserial, and "
            "a percentile bootstrap over claims"
        ),
        "population": f"{people}, other claims",
        "n": {key: _count(inference[key], "n_claims", "claims") for key in keys},
        "assumptions": (
            "claims are independent; t: differences of about normal means; Wilcoxon: differences "
            "symmetric about their median"
        ),
        "library": (
            "scipy: stats.ttest_1samp, stats.wilcoxon(correction=False, method='asymptotic'), "
            "stats.bootstrap(method='percentile')"
        ),
    }


def _by_participant(inference: Mapping[str, Any]) -> dict[str, Any]:
    keys = _of(inference, "_by_participant")
    return {
        "blocks": keys,
        "method": (
            "Means of a participant under each condition, compared in pairs: t test with d_z, and "
            "sign flips of the differences, all of them up to 14 people and a seeded draw above; "
            "people with one condition only are left out"
        ),
        "population": "other people, these claims",
        "n": {key: _count(inference[key], "n_participants", "participants") for key in keys},
        "assumptions": (
            "people are independent; t: differences about normal; sign flips: differences "
            "symmetric about 0 if the conditions do not differ"
        ),
        "library": (
            "scipy: stats.ttest_1samp, stats.permutation_test(permutation_type='samples'); "
            "numpy above 14 people: own"
        ),
    }


def _count(block: Mapping[str, Any], key: str, units: str) -> str:
    if block[key] is None:
        return str(block["reason"])
    return f"{block[key]} {units} ({block['n_left_out']} with one condition only left out)"


def _non_inferiority(blocks: Mapping[str, Any]) -> dict[str, Any]:
    margin = blocks["non_inferiority"]["margin"]
    first = blocks["inference_design_set"]["two_way"]
    return {
        "blocks": ["non_inferiority"],
        "method": (
            "Non-inferior: the lower 95 % limit of the success difference is above "
            f"-{margin:g}; fewer read: the upper 95 % limit of the reading difference is below 0; "
            "the claim needs both, so neither is adjusted. A difference that is not significant "
            "is no proof of no harm"
        ),
        "population": "other people and other claims like these",
        "n": {
            "non_inferiority": (
                f"{first['success']['n_trials']} trials for success, "
                f"{first['read']['n_trials']} for reading"
            )
        },
        "assumptions": "those of the primary comparison; the margin was fixed beforehand",
        "library": "as the primary comparison",
    }


def _equivalence(blocks: Mapping[str, Any]) -> dict[str, Any]:
    block = blocks["equivalence"]
    return {
        "blocks": ["equivalence"],
        "method": (
            f"Two one-sided t tests of the success difference within {block['margin']:g} on "
            "either side, over claims and over participants; the larger p counts"
        ),
        "population": "other claims, and other people, each in turn",
        "n": {"equivalence": f"{block['n_claims']} claims, {block['n_participants']} participants"},
        "assumptions": "claims (people) are independent, their differences about normal",
        "library": "statsmodels: stats.weightstats.ttost_paired",
    }


def _omnibus(blocks: Mapping[str, Any], people: str) -> dict[str, dict[str, Any]]:
    """Entries for three and more conditions."""
    block = blocks["omnibus"]
    texts = {
        "cochran_q": (
            "Cochran's Q of yes-or-no measures over the claims with one trial of every condition",
            "statsmodels: stats.contingency_tables.cochrans_q",
        ),
        "friedman": (
            "Friedman's test of the claims' means under every condition",
            "scipy: stats.friedmanchisquare",
        ),
    }
    return {
        name: {
            "blocks": [f"omnibus.{name}"],
            "method": method,
            "population": f"{people}, other claims",
            "n": {
                key: str(one["reason"]) if one["n_claims"] is None else f"{one['n_claims']} claims"
                for key, one in block[name].items()
            },
            "assumptions": "claims are independent; enough claims for the chi-square distribution",
            "library": library,
        }
        for name, (method, library) in texts.items()
    }
