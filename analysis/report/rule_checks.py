"""Were the pre-registered rules applied: exclusion, cap, reference, margin, family, options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.comparison.compared import FAMILY
from analysis.errors import name_ids
from analysis.report.comparison import inference_of
from analysis.report.data import Source
from analysis.report.excluded import excluded_people, how_many_excluded
from analysis.report.finding import KEPT, NOT_FIXED, UNCHECKED, Finding, judged
from analysis.report.words import counted, listed

#: The default rule: who passes fewer than this share of the attention checks is excluded.
PASS_RATE = 0.5

#: Keys of the pre-registered settings that the checks here read.
READ_KEYS = frozenset(
    {
        "exclusion_rule",
        "time_cap_s",
        "reference",
        "reference_condition",
        "contrast",
        "margin",
        "non_inferiority_margin",
        "family",
        "conditions",
        "response_options",
    }
)
_KEYS = {m.key for m in FAMILY}
_FAMILY_NAMES = {name: m.key for m in FAMILY for name in (m.column, m.key)}


def exclusion(source: Source) -> Finding:
    """Attention checks failed and counted, or passed and excluded all the same.

    People are excluded for other reasons too, so nothing here says that it was the rule. A rule
    in words is checked as its default, fewer than half of the checks passed; as a number, or an
    object with ``min_attention_pass_rate``, it is checked as written.
    """
    rule = source.settings.preregistered.get("exclusion_rule")
    least = _least_rate(rule)
    excluded = excluded_people(source.counted_kinds)
    people = how_many_excluded([(source, excluded)])
    if rule is None and not excluded:
        return Finding("Exclusion rule", "none", "nobody was excluded", NOT_FIXED)
    rates = _pass_rates(source.counted_kinds)
    failed = sorted(p for p, r in rates.items() if r < least and p in _counted(source))
    passed = sorted(p for p in excluded if rates.get(p, 0.0) >= least)
    unknown = sorted(p for p in excluded if p not in rates)
    deviations = []
    if rule is None:
        deviations.append(f"{people}, though no rule was fixed.")
    if failed:
        deviations.append(
            f"Not excluded: {name_ids(failed)} passed fewer than {100 * least:g} % of the "
            "attention checks and still count."
        )
    if rule is not None and passed:
        deviations.append(
            f"Excluded with {100 * least:g} % or more of the attention checks passed: "
            f"{name_ids(passed)}."
        )
    if rule is not None and unknown:
        deviations.append(f"Excluded without having met an attention check: {name_ids(unknown)}.")
    if not rates and not excluded:
        return Finding("Exclusion rule", shown(rule), "there were no attention checks", UNCHECKED)
    kept = f"{people}, everybody who counts passed {100 * least:g} % or more"
    return judged("Exclusion rule", shown(rule), deviations, kept)


def _least_rate(rule: Any) -> float:
    """The least share of attention checks to be passed that a rule asks for."""
    if isinstance(rule, Mapping):
        rule = rule.get("min_attention_pass_rate")
    is_share = isinstance(rule, int | float) and not isinstance(rule, bool) and 0 < rule <= 1
    return float(rule) if is_share else PASS_RATE


def _pass_rates(scored: pd.DataFrame) -> dict[str, float]:
    """Share of attention checks passed by everybody who met any, excluded people too."""
    checks = scored[(scored["trial_kind"] == "attention").to_numpy()]
    passed = checks["decision"].astype(object) == checks["gold_label"].astype(object)
    rates = passed.groupby(checks["participant_id"].astype(str)).mean()
    return {str(person): float(rate) for person, rate in rates.items()}


def _counted(source: Source) -> set[str]:
    return set(source.available_set["participant_id"].astype(str))


def time_cap(source: Source) -> Finding:
    """Trials longer than the cap: the primary analysis keeps them, the sensitivity row does not."""
    cap = source.settings.time_cap_s
    if cap is None:
        return Finding("Time cap", "none", "times are analysed as they are", NOT_FIXED)
    long = source.design_set[(source.design_set["active_s"] > cap).to_numpy()]
    by = long["condition"].value_counts()
    where = ", ".join(f"{c} {int(by.get(c, 0))}" for c in source.settings.conditions)
    over = f"{counted(len(long), 'trial')} of the design set took longer ({where})."
    note = "The primary analysis keeps their time; the sensitivity row sets it to the cap."
    deviations = [f"{over} {note}"] if len(long) else []
    return judged("Time cap", f"{cap:g} s", deviations, "no trial of the design set took longer")


def reference(source: Source) -> Finding:
    """The contrast of the study against the reference condition, or contrast, fixed beforehand."""
    fixed = source.settings.preregistered
    wanted = fixed.get("reference_condition", fixed.get("reference"))
    stated = fixed.get("contrast")
    contrast = source.settings.planned.contrast
    used = "nothing" if contrast is None else contrast.name
    if wanted is None and stated is None:
        return Finding("Reference and contrast", "none", f"the report compares {used}", NOT_FIXED)
    deviations = []
    if stated is not None and stated != used:
        deviations.append(f"The report compares {used}, not {stated}.")
    if wanted is not None and (contrast is None or contrast.second != wanted):
        deviations.append(f"The report compares {used}; the reference fixed was {wanted}.")
    fixed_text = "; ".join(shown(value) for value in (wanted, stated) if value is not None)
    return judged("Reference and contrast", fixed_text, deviations, f"the report compares {used}")


def margin(source: Source) -> Finding:
    """The margin of the settings against the one among the pre-registered settings."""
    fixed = source.settings.preregistered
    wanted = fixed.get("non_inferiority_margin", fixed.get("margin"))
    used = source.document.get("non_inferiority") or {}
    value = used.get("margin", source.study.get("non_inferiority_margin"))
    if wanted is None and source.study.get("non_inferiority_margin") is None:
        found = "the default" if value is None else f"the default, {value}"
        return Finding("Non-inferiority margin", "none", found, NOT_FIXED)
    stated = source.study.get("non_inferiority_margin") if wanted is None else wanted
    # Compared as they are: a whole number of many digits is no float.
    same = isinstance(stated, int | float) and stated == value
    deviations = [] if same else [f"The report uses {value}."]
    return judged("Non-inferiority margin", shown(stated), deviations, f"the report uses {value}")


def family(source: Source) -> Finding:
    """The family of tests that p is adjusted over against the one fixed beforehand."""
    wanted = source.settings.preregistered.get("family")
    holm = inference_of(source.document).get("holm") or {}
    used = [m.key for m in FAMILY if m.key in (holm.get("family") or {})]
    if not used:
        return Finding("Family of tests", shown(wanted), "nothing was compared", UNCHECKED)
    if wanted is None:
        return Finding("Family of tests", "none", f"adjusted over {listed(used)}", NOT_FIXED)
    names = [str(name) for name in wanted] if isinstance(wanted, list) else [str(wanted)]
    keys = {_FAMILY_NAMES.get(name, name) for name in names}
    stated = ", ".join([m.key for m in FAMILY if m.key in keys] + sorted(keys - _KEYS))
    deviations = []
    if keys - set(used):
        deviations.append(f"Not tested: {listed(sorted(keys - set(used)))}.")
    if set(used) - keys:
        deviations.append(f"Tested in addition: {listed(sorted(set(used) - keys))}.")
    untested = [key for key in used if holm["family"][key] is None]
    if untested:
        deviations.append(f"No p could be worked out for {listed(untested)}.")
    return judged("Family of tests", stated, deviations, f"adjusted over {listed(used)}")


def offered(source: Source) -> Finding:
    """Conditions and response options against those among the pre-registered settings."""
    fixed = source.settings.preregistered
    settings = source.settings
    now = {"conditions": settings.conditions, "response_options": settings.response_options}
    stated = {key: fixed[key] for key in now if isinstance(fixed.get(key), list)}
    if not stated:
        if source.study.get("frozen") and source.study.get("opened_at"):
            opened = source.study["opened_at"]
            frozen = f"conditions, claims, rankings and schedule, when the study opened ({opened})"
            return Finding("Conditions and options", frozen, listed(settings.conditions), KEPT)
        return Finding("Conditions and options", "none", listed(settings.conditions), NOT_FIXED)
    deviations = [
        f"{key}: now {listed(now[key])}."
        for key, value in stated.items()
        if sorted(map(str, value)) != sorted(now[key])
    ]
    fixed_text = "; ".join(shown(value) for value in stated.values())
    return judged("Conditions and options", fixed_text, deviations, "the same")


def others(source: Source) -> list[Finding]:
    """What else was fixed: shown, and not judged by a program."""
    fixed = source.settings.preregistered
    return [
        Finding(key, shown(value), "for readers to judge", UNCHECKED)
        for key, value in sorted(fixed.items())
        if key not in READ_KEYS
    ]


def shown(value: Any) -> str:
    """A pre-registered value as text; ``none`` for none."""
    if value is None:
        return "none"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {item}" for key, item in sorted(value.items()))
    return str(value)


RULE_CHECKS = (exclusion, time_cap, reference, margin, family, offered)
