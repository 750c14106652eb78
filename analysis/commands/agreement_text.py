"""The documents of ``analysis.agreement`` for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.commands.numbers import NOTHING, interval, number, p_value, share
from analysis.commands.text import aligned

Rows = list[list[str]]

#: Blocks with reasons of their own; the keys of other blocks are names of labels and raters.
_WITH_REASONS = ("sign_test_annotations", "claim_majority")


def agreement_text(document: Mapping[str, Any]) -> str:
    """Figures first, then why some are missing, then method, assumptions and library."""
    rows = _ROWS[document["kind"]](document)
    width = max(map(len, rows))
    lines = aligned([row + [""] * (width - len(row)) for row in rows])
    lines.append("")
    lines += [f"{', '.join(names)}: {why}" for why, names in _reasons(document).items()]
    lines += [f"Note: {note}" for note in document.get("notes", [])]
    lines += [f"{name.capitalize()}: {document[name]}." for name in ("method", "assumptions")]
    lines.append(f"Library: {document['library']}.")
    return "\n".join(lines) + "\n"


def _cohen(document: Mapping[str, Any]) -> Rows:
    rows = [["Cohen's kappa", "kappa", "standard error", "95 %"]]
    blocks = [name for name in ("unweighted", "linear", "quadratic") if name in document]
    for name in blocks or ["unweighted"]:
        block = document.get(name, document)
        error = number(block["ase"])
        rows.append([name, number(block["kappa"]), error, interval(block["ci95"])])
    agreed = round(document["observed_agreement"] * document["n_items"])
    rows += [[], ["observed agreement", share(agreed, document["n_items"])]]
    rows += [
        ["Fleiss' kappa", number(document["fleiss_kappa"])],
        ["Krippendorff's alpha, nominal", number(document["krippendorff_nominal"])],
    ]
    if "spearman" in document:
        rows.append(["Spearman's rank correlation", number(document["spearman"])])
    rows += [[], ["share of labels", *document["labels"]]]
    for rater in document["raters"]:
        marginal = document["marginals"][rater]
        rows.append([rater, *(f"{100 * marginal[label]:.1f} %" for label in document["labels"])])
    rows += [[], ["items with both ratings", str(document["n_items"])]]
    return [*rows, ["items left out", str(document["n_items_left_out"])]]


def _fleiss(document: Mapping[str, Any]) -> Rows:
    observed = 100 * document["observed_agreement"]
    rows = [
        ["Fleiss' kappa", number(document["fleiss_kappa"]), interval(document["ci95"])],
        ["Krippendorff's alpha, nominal", number(document["krippendorff_nominal"])],
        ["observed agreement of pairs", f"{observed:.1f} %"],
        *(
            [f"share of {label}", f"{100 * of:.1f} %"]
            for label, of in document["marginals"].items()
        ),
    ]
    return rows + _counts(document, "n_items", "ratings_per_item", "n_raters", "n_ratings")


def _alpha(document: Mapping[str, Any]) -> Rows:
    levels = [name for name in ("nominal", "ordinal", "interval") if f"alpha_{name}" in document]
    levels.sort(key=lambda name: name != document["level"])
    rows = [["Krippendorff's alpha", "alpha", "95 %"]]
    for name in levels:
        limits = interval(document[f"alpha_{name}_ci95"])
        rows.append([name, number(document[f"alpha_{name}"]), limits])
    rows.append([])
    return rows + _counts(document, "n_items", "n_items_with_two", "n_raters", "n_ratings")


def _preference(document: Mapping[str, Any]) -> Rows:
    rows = [["choice", "share", "Wilson 95 %", "Goodman 95 %"]]
    for name, count in document["counts"].items():
        limits = [interval(document[key][name]) for key in ("wilson95", "goodman95")]
        rows.append([name, share(count, document["n"]), *limits])
    first, second = document["first"], document["second"]
    rows += [[], ["sign test", f"{first} : {second}", "p, two-tailed", f"p, {first} more often"]]
    claims, annotations = document["claim_majority"], document["sign_test_annotations"]
    votes = (
        ("one vote a claim (primary)", claims, (claims[first], claims[second])),
        (
            "annotations (descriptive)",
            annotations,
            (document["counts"][first], document["counts"][second]),
        ),
    )
    for name, block, (wins, losses) in votes:
        p_values = [p_value(block["two_tail"]), p_value(block["one_tail"])]
        rows.append([name, f"{wins} : {losses}", *p_values])
    rows.append(["claims tied or without a preference", str(claims["tied_or_none"])])
    rows.append([])
    return rows + _counts(document, "n", "n_claims", "n_participants")


def _mann_whitney(document: Mapping[str, Any]) -> Rows:
    x, y = document["x"], document["y"]
    return [
        ["group", "n", "median"],
        [x, str(document["n_x"]), f"{document['median_x']:g}"],
        [y, str(document["n_y"]), f"{document['median_y']:g}"],
        [],
        [f"U of {x}", f"{document['U_x']:g}"],
        ["p, two-sided", p_value(document["p"]), document["p_method"] or NOTHING],
        [
            f"share of pairs in which {x} is higher",
            number(document["common_language"]),
            interval(document["common_language_ci95"]),
        ],
        ["rank-biserial", number(document["rank_biserial"])],
    ]


def _counts(document: Mapping[str, Any], *names: str) -> Rows:
    return [[_COUNT_LABELS[name], str(document[name])] for name in names]


def _reasons(document: Mapping[str, Any]) -> dict[str, list[str]]:
    """What is not defined, by reason."""
    found: dict[str, list[str]] = {}
    for name, why in document.get("not_defined", {}).items():
        found.setdefault(why, []).append(name)
    for block in _WITH_REASONS:
        for name, why in document.get(block, {}).get("not_defined", {}).items():
            found.setdefault(why, []).append(f"{block}.{name}")
    return found


_COUNT_LABELS = {
    "n": "annotations",
    "n_claims": "claims",
    "n_participants": "participants",
    "n_items": "items",
    "n_items_with_two": "items with two ratings or more",
    "n_raters": "raters",
    "n_ratings": "ratings",
    "ratings_per_item": "ratings an item",
}
_ROWS = {
    "cohen": _cohen,
    "fleiss": _fleiss,
    "alpha": _alpha,
    "preference": _preference,
    "mannwhitney": _mann_whitney,
}
