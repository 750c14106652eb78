"""The report's page, section by section, from content that is already worked out."""

from __future__ import annotations

from html import escape

from analysis.readers import opening_lines
from analysis.report.comparison import inference_of
from analysis.report.content import Content
from analysis.report.data import ReportData
from analysis.report.html import (
    bullets,
    contents,
    details,
    figure_html,
    page,
    paragraph,
    section,
    table_html,
)
from analysis.report.table5 import table5

#: Figures that have no picture say why.
_NO_PICTURE = {
    "claim_slopes": "No claim was met under both conditions, so that no claim can be drawn.",
    "active_time": "No trial has an active time, so that none can be drawn.",
    "verified_within": "No trial counts, so that no share can be drawn.",
    "participant_differences": (
        "No participant has trials under both conditions, so that no difference can be drawn."
    ),
}


def report_page(data: ReportData, content: Content) -> str:
    """The whole page."""
    sections = {
        "Measures": _measures(data, content),
        "Comparison": _comparison(data, content),
        "Figures": _figures(data, content),
        "By export": _exports(data, content),
        "Order and learning": [_table(content, "by_quarter_table"), *_some(content, "learning")],
        "Which trials count": _inclusion(data, content),
        "Balance": _balance(data, content),
        "Methods, for a paper": [paragraph(text) for text in content.methods],
        "Fixed beforehand, and deviations": _deviations(content),
        "Limitations": _limitations(content),
        "Items and response quality": _review(content),
        "Groups": _groups(content),
        "Definitions": [details("All measures", _table(content, "definitions"))],
    }
    filled = {name: parts for name, parts in sections.items() if any(parts)}
    title = f"Report of study {data.document['study_id']}"
    body = [
        *_head(data, title),
        contents(list(filled)),
        *[section(name, *parts) for name, parts in filled.items()],
    ]
    return page(title, "\n".join(body))


def _head(data: ReportData, title: str) -> list[str]:
    document = data.document
    names = [str(source.study.get("title") or "") for source in data.sources]
    return [
        f"<h1>{escape(title)}</h1>",
        *[paragraph(line, "notice") for line in opening_lines(document)],
        paragraph("; ".join(dict.fromkeys(name for name in names if name))),
        paragraph(
            f"{document['rows']} trials in {', '.join(s.label for s in data.sources)}; "
            f"{document['n_design_set']} in the design set (primary), "
            f"{document['n_available_set']} in the available set, which adds the trials of people "
            "whose place in the design another person holds (superseded).",
            "muted",
        ),
        *[paragraph(notice, "notice") for notice in document["notices"]],
    ]


def _table(content: Content, name: str) -> str:
    return table_html(content.tables.get(name))


def _some(content: Content, prefix: str) -> list[str]:
    """The tables whose name begins with ``prefix``."""
    return [table_html(t) for name, t in content.tables.items() if name.startswith(prefix)]


def _measures(data: ReportData, content: Content) -> list[str]:
    """Table 5 in both sets; the meaning of a row opens at its name."""
    shown = []
    for block, name in (("design_set", "table5"), ("available_set", "table5_available_set")):
        meanings = [
            f"{row.definition}. Denominator: {row.denominator}."
            for row in table5(data.document, block)
        ]
        shown.append(table_html(content.tables.get(name), meanings))
    return [
        shown[0],
        details("The same for the available set", shown[1]),
        details("Intervals by crossed bootstrap", _table(content, "crossed_intervals")),
    ]


def _comparison(data: ReportData, content: Content) -> list[str]:
    if data.contrast is None:
        return [paragraph("The study has one condition: there is nothing to compare.")]
    if not inference_of(data.document):
        return []
    return [
        _table(content, "comparison"),
        *[paragraph(sentence, "verdict") for sentence in content.verdicts],
        details("In both sets", _table(content, "comparison_sets")),
        _table(content, "other_contrasts"),
        _table(content, "omnibus"),
        details("Companion tests, each with what it speaks of", _table(content, "companions")),
        details("Models", _table(content, "models")),
    ]


def _figures(data: ReportData, content: Content) -> list[str]:
    drawn = {picture.name for picture in content.pictures}
    compared = {"claim_slopes", "participant_differences"}
    absent = [
        paragraph(reason, "muted")
        for name, reason in _NO_PICTURE.items()
        if name not in drawn and not (name in compared and data.contrast is None)
    ]
    drawings = "\n".join(figure_html(picture) for picture in content.pictures)
    return [f'<div class="figures">\n{drawings}\n</div>' if drawings else "", *absent]


def _exports(data: ReportData, content: Content) -> list[str]:
    return [_table(content, "by_export"), _table(content, "comparison_by_export")]


def _inclusion(data: ReportData, content: Content) -> list[str]:
    rates = data.document["attention_pass_rates"]
    n_failed = sum(rate < 0.5 for rate in rates.values())
    checks = f"Attention checks: {n_failed} of {len(rates)} participants passed fewer than half"
    return [
        _table(content, "excluded"),
        details("Holders of the places", _table(content, "holders")),
        details(checks, _table(content, "attention")),
        _table(content, "sensitivity"),
    ]


def _balance(data: ReportData, content: Content) -> list[str]:
    empty = data.document["balance"]["cells_empty"]
    listed = details(
        f"Cells of the claims met so far without a trial: {empty}", _table(content, "empty_cells")
    )
    return [_table(content, "balance"), listed]


def _deviations(content: Content) -> list[str]:
    parts = []
    for label, (first, *rest) in content.deviations.items():
        name = f"{label}: " if len(content.deviations) > 1 else ""
        parts += [paragraph(f"{name}{first}", "notice" if rest else "verdict"), bullets(rest)]
    return [*parts, _table(content, "preregistered")]


def _limitations(content: Content) -> list[str]:
    if not content.limitations:
        return [paragraph("The data show none of those that a program looks for.")]
    return [bullets(content.limitations)]


def _review(content: Content) -> list[str]:
    listed = [_table(content, name) for name in ("review_items", "quality_people")]
    nothing = "" if any(listed) else "No claim and no participant has to be looked at."
    return [*listed, paragraph(nothing), _table(content, "agreement")]


def _groups(content: Content) -> list[str]:
    names = ("by_participant_id_table", "by_gold_label_table", "by_gold_min_size_table")
    found = [content.tables[name] for name in names if name in content.tables]
    return [details(table.title, table_html(table)) for table in found]
