"""What happened to a study after its opening: new versions of it, and looks at its results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.report.data import Source
from analysis.report.finding import NOT_FIXED, UNCHECKED, Finding, judged
from analysis.report.words import counted, listed

#: A reason is printed whole up to so many characters.
LONGEST_REASON = 300


def versions(source: Source) -> Finding:
    """The version of the study under which the trials ran."""
    if "study_version" not in source.scored.columns:
        return Finding("Study version", "one", "the trials name no version", UNCHECKED)
    trials = source.available_set
    names = trials["study_version"].astype(object)
    named = names[names.notna() & (names.astype(str) != "")].astype(str)
    counts = named.value_counts().sort_index()
    if counts.empty:
        return Finding("Study version", "one", "the trials name no version", UNCHECKED)
    shown = ", ".join(f"{name} ({n} trials)" for name, n in counts.items())
    deviations = [f"The study changed while it ran: {shown}."] if len(counts) > 1 else []
    return judged("Study version", "one", deviations, shown)


def changes(source: Source) -> Finding:
    """Every version that was published after the opening: what it changed, when and why."""
    subject = "Changes after the opening"
    history = versions_of(source.study)
    if not history:
        return Finding(subject, "none", "the export lists no versions", UNCHECKED)
    deviations = [_version_text(version) for version in history[1:]]
    return judged(subject, "none", deviations, "none was made")


def blindness(source: Source) -> Finding:
    """Whether the results were hidden while the study ran, and whether somebody lifted that."""
    subject = "Blind while running"
    if not source.study.get("blind"):
        found = "results could be looked at at any time"
        return Finding(subject, "none", found, NOT_FIXED)
    lifted = source.study.get("unblinded")
    deviations = (
        [f"Unblinded on {lifted.get('at')} by {_who(lifted.get('by'))}."]
        if isinstance(lifted, Mapping)
        else []
    )
    fixed = "results by condition hidden until the study is closed"
    return judged(subject, fixed, deviations, "they were not unblinded")


def versions_of(study: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The versions that study.json lists, in order of their numbers; none in an old export."""
    given = study.get("versions")
    known = [
        each
        for each in (given if isinstance(given, list) else [])
        if isinstance(each, Mapping) and _is_number(each.get("number"))
    ]
    return sorted(known, key=lambda each: int(each["number"]))


def frozen_at_opening(study: Mapping[str, Any]) -> Any:
    """What was frozen when the study opened: that of version 1 where versions are listed."""
    history = versions_of(study)
    first = history[0].get("hashes") if history else None
    return first if isinstance(first, Mapping) and first else study.get("frozen")


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _version_text(version: Mapping[str, Any]) -> str:
    reason = " ".join(str(version.get("reason") or "").split())
    if len(reason) > LONGEST_REASON:
        reason = reason[: LONGEST_REASON - 1] + "…"
    why = f"; the reason given: {reason.rstrip('.')}." if reason else "; no reason is given."
    when = version.get("created_at") or "an unknown time"
    return f"Version {version['number']} ({when}) changed {_settings(version)}{why}"


def _settings(version: Mapping[str, Any]) -> str:
    """The settings that a version changed, by name."""
    given = version.get("changes")
    named = [
        str(change["setting"])
        for change in (given if isinstance(given, list) else [])
        if isinstance(change, Mapping) and change.get("setting")
    ]
    if len(named) > 8:
        return f"{', '.join(named[:8])} and {counted(len(named) - 8, 'more setting')}"
    return listed(named) if named else "settings that are not named"


def _who(by: Any) -> str:
    """The role of who unblinded, with its article."""
    word = str(by or "somebody")
    if word == "somebody":
        return word
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"
