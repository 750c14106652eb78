"""The methods section in words that a paper can take over, with the study's own numbers."""

from __future__ import annotations

import platform
import tomllib
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from analysis.comparison.compared import BY_KEY
from analysis.inclusion import REASON_TEXTS
from analysis.readers import readers_text
from analysis.report.comparison import inference_of
from analysis.report.data import ReportData, Source
from analysis.report.excluded import excluded_people, how_many_excluded
from analysis.report.people import who_took_part
from analysis.report.rule_checks import shown
from analysis.report.words import counted, listed, points
from analysis.trial_columns import CANT_DECIDE

_INTERFACES = {
    "incremental": "one sentence more a click",
    "all_at_once": "all sentences at once",
}
_ORDERS = {
    "blocked": "the conditions came in blocks, their order balanced over the places",
    "interleaved": "the conditions were interleaved",
}
_PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"
GEE_KEYS = frozenset(
    {
        "glm_participant_fixed_claim_clusters",
        "lpm_participant_fixed_claim_clusters",
        "lm_read_participant_fixed_claim_clusters",
        "glm_participant_clusters",
    }
)
_LINEAR = {"lmer_read": "sentences", "lmer_log_active": "the logarithm of time"}
_LIBRARIES = ("numpy", "pandas", "scipy", "statsmodels", "matplotlib")


def methods_text(data: ReportData) -> list[str]:
    """The paragraphs: participants and design; exclusions; measures; statistics; software."""
    paragraphs = [_people(data)]
    paragraphs += _designs(data)
    paragraphs += [_exclusions(data), _measures(data.document)]
    if data.contrast is not None and inference_of(data.document):
        paragraphs.append(_statistics(data))
    return [*paragraphs, _software(data)]


def _people(data: ReportData) -> str:
    design = data.design_set
    claims = design["claim_id"].nunique()
    per_person = design["participant_id"].value_counts()
    each = "" if per_person.empty else f", {_range(per_person.min(), per_person.max())} each"
    return (
        f"{_pooled(data)}{who_took_part(data)} The design set, on which the primary analysis "
        f"rests, holds {counted(len(design), 'trial')} of {readers_text(design)} on "
        f"{counted(claims, 'claim')}{each}{_available(data.document)}."
    )


def _available(document: Mapping[str, Any]) -> str:
    """What the available set has besides; empty where it is the same."""
    more = document["n_available_set"] - document["n_design_set"]
    if not more:
        return ""
    return (
        f"; the available set has {counted(more, 'trial')} more, of people whose place in the "
        "design another person holds (superseded)"
    )


def _pooled(data: ReportData) -> str:
    """How several exports became one table; empty for one."""
    if not data.is_pooled:
        return ""
    labels = [source.label for source in data.sources]
    return (
        f"The data come from {len(labels)} exports ({listed(labels)}) whose trials were pooled and "
        "weigh alike: claims of the same id are the same claim, participants of different exports "
        "are different people, and the export is no factor of the models. "
    )


def _range(low: int, high: int) -> str:
    return counted(low, "trial") if low == high else f"{low} to {high} trials"


def _designs(data: ReportData) -> list[str]:
    """A paragraph a design; exports of the same design share theirs."""
    labels: dict[str, list[str]] = {}
    for source in data.sources:
        labels.setdefault(_design(source), []).append(source.label)
    if not data.is_pooled:
        return list(labels)
    if len(labels) == 1:
        return [f"In every export: {text}" for text in labels]
    return [f"{listed(names)}: {text}" for text, names in labels.items()]


def _design(source: Source) -> str:
    """Conditions with their methods, the Latin square, the order, the options."""
    settings, study = source.settings, source.study
    n_claims = (
        study.get("n_claims")
        or source.scored.loc[
            (source.scored["trial_kind"] == "main").to_numpy(), "claim_id"
        ].nunique()
    )
    places = settings.subsets * settings.replications
    square = (
        f"{counted(n_claims, 'claim')} in {counted(settings.subsets, 'disjoint subset')} were "
        "assigned to conditions by a cyclic Latin square with "
        f"{counted(settings.replications, 'replication')} ({counted(places, 'place')}), so that "
        f"each claim was to be judged {_times(settings.replications)} under every condition and "
        "nobody met a claim twice"
    )
    if study.get("condition_policy") == "between":
        square = square.replace("cyclic Latin square", "design with one condition a participant")
    order = _ORDERS.get(str(study.get("order_policy")), "")
    return (
        f"{_conditions(source)} "
        f"{square[0].upper()}{square[1:]}; {settings.trials_per_participant} trials were planned a "
        f"participant{f', {order}' if order else ''}. Participants chose among "
        f"{listed([_option(option) for option in settings.response_options])}."
    )


def _times(n: int) -> str:
    return {1: "once", 2: "twice"}.get(n, f"{n} times")


def _conditions(source: Source) -> str:
    names = [_condition(item, source) for item in _items(source)]
    return f"The condition{' was' if len(names) == 1 else 's were'} {listed(names)}."


def _items(source: Source) -> list[Mapping[str, Any]]:
    """The conditions with what study.json says of them."""
    stated = {
        item.get("name"): item
        for item in source.study.get("conditions") or []
        if isinstance(item, Mapping)
    }
    return [stated.get(name, {"name": name}) for name in source.settings.conditions]


def _option(name: str) -> str:
    return "can't decide" if name == CANT_DECIDE else name.replace("_", " ")


def _condition(item: Mapping[str, Any], source: Source) -> str:
    """``ranking (one sentence more a click; method coverage, model …)``."""
    interface = source.document["interfaces"][item["name"]]
    method = [f"{key} {item[key]}" for key in ("method", "model", "embedder") if item.get(key)]
    parts = [_INTERFACES.get(str(interface), ""), ", ".join(method)]
    inside = "; ".join(part for part in parts if part)
    return f"{item['name']} ({inside})" if inside else str(item["name"])


def _exclusions(data: ReportData) -> str:
    """How many rows did not count, by reason, and whom the exclusion rule concerned."""
    document = data.document
    gone = {reason: n for reason, n in document["excluded"].items() if n}
    if not gone:
        return f"All recorded trials count. {_rule(data)}"
    reasons = listed([f"{n} ({REASON_TEXTS[reason]})" for reason, n in gone.items()])
    return (
        f"Of {counted(document['rows'], 'recorded trial')} {sum(gone.values())} are not in the "
        f"design set, each for the first reason that applies: {reasons}. In every place of "
        "the schedule only the trials of one participant count, the one with most of them. "
        f"{_rule(data)}"
    )


def _rule(data: ReportData) -> str:
    """The rule of exclusion that was fixed beforehand, and how many people it concerned."""
    rules = list(
        dict.fromkeys(
            shown(source.settings.preregistered.get("exclusion_rule")) for source in data.sources
        )
    )
    people = how_many_excluded((s, excluded_people(s.scored)) for s in data.sources)
    if rules == ["none"]:
        return f"No rule of exclusion was fixed beforehand; {people}."
    rule = f"The exclusion rule fixed beforehand was: {'; '.join(rules).rstrip('.')}."
    return f"{rule} By it or for other reasons, {people}."


def _measures(document: Mapping[str, Any]) -> str:
    unscorable = sum(m["n_trials"] - m["n_scorable"] for m in document["design_set"].values())
    out = (
        f" {counted(unscorable, 'trial')} whose gold label was no response option are out of these "
        "rates."
        if unscorable
        else ""
    )
    return (
        "A trial is a success when the decision is the gold label, wrong when another label was "
        f"chosen, and undecided when the participant could not decide.{out} Sentences are those "
        "read (revealed one by one) or shown (all at once). Required sentences are the size of the "
        "claim's smallest gold set. Over-reading is reported in two variants: over_read_msr, "
        "reading on past the first prefix of the order shown that holds a gold set, and "
        "over_read_min, reading more sentences than the smallest gold set has. Active time is the "
        "time to the decision without the time in which the page was hidden. Rates have Wilson 95 "
        "% intervals, which take trials for independent."
    )


def _statistics(data: ReportData) -> str:
    document, contrast = data.document, data.contrast
    assert contrast is not None
    block = inference_of(document)
    tested = (block.get("holm") or {}).get("family") or {}
    family = [key for key, p in tested.items() if key in BY_KEY and p is not None]
    sentences = [
        f"We compare {contrast.first} with {contrast.second} ({contrast.name}). Differences come "
        "from least squares on the condition alone; the standard error is the largest of those "
        "clustered by participant and claim, by participant, and by claim (Cameron, Gelbach and "
        "Miller, 2011), with t intervals on the smaller number of clusters less one as degrees of "
        "freedom. All tests are two-sided at .05."
    ]
    if family:
        names = listed([BY_KEY[key].label.lower() for key in family])
        sentences.append(f"p values are adjusted by Holm's method over {names}.")
    verdict = document.get("non_inferiority") or {}
    if verdict.get("margin") is not None:
        sentences.append(
            f"The margin of non-inferiority of success was {points(verdict['margin'])}; efficiency "
            "without harm asks for both non-inferior success and fewer sentences."
        )
    sentences.append(_companions(data))
    return " ".join([*sentences, few_people(block)]).strip()


def _companions(data: ReportData) -> str:
    """The further tests of which at least one gave a p, or an interval."""
    block = inference_of(data.document)
    tests = []
    if _has(block, BY_KEY, "mcnemar_exact_p"):
        tests.append("exact McNemar tests over claim pairs (these people, other claims)")
    if _has(block, [f"{key}_by_claim" for key in BY_KEY], "p", "wilcoxon_pratt_p"):
        tests.append("t and Wilcoxon signed-rank tests (Pratt) over claims")
    people = [f"{key}_by_participant" for key in BY_KEY]
    if _has(block, people, "p", "sign_flip_exact_p", "sign_flip_p"):
        tests.append("t and sign-flip tests over participants (other people, these claims)")
    drawn = block.get("crossed_bootstrap") or {}
    if _has(drawn, BY_KEY, "percentile95"):
        draws = max(found["B"] for found in drawn.values())
        tests.append(
            f"a crossed bootstrap of participants and claims ({draws:,} draws, percentile "
            "intervals)"
        )
    tests += _models(block)
    if not tests:
        return ""
    return f"Exploratory and unadjusted beside them: {listed(tests)}."


def _models(block: Mapping[str, Any]) -> list[str]:
    """The models that gave an estimate."""
    found = {key for key, value in block.items() if has_estimate(value)}
    models = []
    if found & GEE_KEYS:
        models.append(
            "GEE with independent errors and bias-reduced (Mancl and DeRouen) standard errors, "
            "clustered by claim or by participant"
        )
    linear = [name for key, name in _LINEAR.items() if key in found]
    if linear:
        models.append(
            f"linear mixed models of {listed(linear)} with crossed participants and claims (REML)"
        )
    if "glmer_success" in found:
        models.append(
            "a logistic mixed model of success with crossed participants and claims (Laplace "
            "approximation)"
        )
    return models


def has_estimate(found: Any) -> bool:
    """Whether a model's block holds an estimate and no reason for its absence."""
    keys = ("fixed", "log_odds_ratio", "risk_difference", "difference")
    return isinstance(found, Mapping) and any(found.get(key) is not None for key in keys)


def _has(blocks: Mapping[str, Any], keys: Iterable[str], *names: str) -> bool:
    """Whether one of the blocks has one of the values."""
    return any((blocks.get(key) or {}).get(name) is not None for key in keys for name in names)


def few_people(block: Mapping[str, Any]) -> str:
    """What five people and fewer can never show; empty for more, and where nobody is compared."""
    found = block.get("success_by_participant")
    n = found.get("n_participants") if isinstance(found, Mapping) else None
    if not n or n > 5:
        return ""
    return (
        f"With {counted(n, 'participant')} the smallest two-sided p of an exact sign-flip (or "
        f"Wilcoxon) test is {2 / 2**n:g}: such a test can never reach 0.05, and at least six "
        "participants are needed (0.03125)."
    )


def _software(data: ReportData) -> str:
    libraries = listed([f"{name} {_version(name)}" for name in _LIBRARIES])
    ran = sorted({str(s.study["software"]) for s in data.sources if s.study.get("software")})
    study = f"The study ran on {listed(ran)}. " if ran else ""
    first = ", that of the first export" if data.is_pooled else ""
    seed = f" The seed was {data.settings.planned.seed}{first}."
    return (
        f"{study}The analysis used suffice {_version('suffice')} with Python "
        f"{platform.python_version()}, {libraries}.{seed}"
    )


def _version(package: str) -> str:
    """A package's version; a copy that was never installed has none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return _source_version() if package == "suffice" else "(version unknown)"


def _source_version() -> str:
    """The version that the project file beside the source states."""
    try:
        project = tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]
        return f"{project['version']} (run from its source)"
    except (OSError, KeyError, tomllib.TOMLDecodeError):
        return "(run from its source)"
