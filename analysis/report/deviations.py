"""What was fixed before the data held against what the data show, export by export."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.report.data import Source
from analysis.report.finding import DEVIATION, KEPT, Finding
from analysis.report.plan_checks import PLAN_CHECKS
from analysis.report.rule_checks import RULE_CHECKS, others
from analysis.report.table import Table, make_table
from analysis.report.words import counted, listed


def findings_of(source: Source) -> list[Finding]:
    """Every check of one export, in fixed order."""
    checked = [check(source) for check in (*RULE_CHECKS, *PLAN_CHECKS)]
    return [*checked, *others(source)]


def deviations_table(by_export: dict[str, list[Finding]]) -> Table:
    """A row a check; several exports one after the other."""
    rows = [
        [*([label] if len(by_export) > 1 else []), f.subject, f.fixed, f.found, f.verdict]
        for label, findings in by_export.items()
        for f in findings
    ]
    headings = ["What", "Fixed beforehand", "Found", "Verdict"]
    if len(by_export) > 1:
        headings = ["Export", *headings]
    title = "Fixed beforehand, and found"
    return make_table("preregistered", title, headings, rows, texts=range(1, len(headings)))


def deviations_text(findings: Sequence[Finding]) -> list[str]:
    """A sentence on how many deviations there are, then one sentence a deviation."""
    found = [finding for finding in findings if finding.verdict == DEVIATION]
    kept = [finding.subject.lower() for finding in findings if finding.verdict == KEPT]
    if not found:
        checked = f": {listed(kept)}" if kept else "; none can be checked"
        return [f"No deviation found among those that can be checked{checked}."]
    lines = [f"{counted(len(found), 'deviation')} found among what can be checked."]
    return lines + [f"{finding.subject}: {finding.found}" for finding in found]
