"""A table as CSV, LaTeX and Markdown, names of any kind made harmless in each."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import replace

from analysis.report.table import Table

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "_%&#$"},
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "−": "$-$",
    "×": r"$\times$",
    "±": r"$\pm$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "κ": r"$\kappa$",
    "α": r"$\alpha$",
    "δ": r"$\delta$",
    "·": r"$\cdot$",
    "–": "--",
    "…": r"\dots{}",
}
#: Longer cells do not fit on one line beside others.
_LONG = 40
_LONG_NAME = 36
#: Cells of more characters than this in a row fill a line of footnotesize.
_WIDE = 70
_UNDEFINED = "not defined"
#: Between n/a and its mark; no text of a table holds it, since it is a control character.
_MARK = "\x00"
_IN_WORDS = {
    "Over-read (over_read_msr)": r"Over-read past the first sufficient prefix (over\_read\_msr)",
    "Over-read (over_read_min)": r"Over-read the smallest gold set (over\_read\_min)",
    "Over-read (over_read_msr), points": (
        r"Over-read past the first sufficient prefix (over\_read\_msr), points"
    ),
    "Over-read (over_read_msr) where a gold set was available": (
        r"Over-read past the first sufficient prefix (over\_read\_msr), gold set available"
    ),
}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~$&!])")
_BREAKS = re.compile(r"\s*[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+\s*")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")


def to_csv(table: Table) -> str:
    """Headings and cells; a text that a spreadsheet would run as a formula gets an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([neutral(heading) for heading in table.headings])
    writer.writerows([neutral(cell) for cell in row] for row in table.rows)
    return out.getvalue()


def neutral(cell: object) -> str:
    """Text that no spreadsheet takes for a formula."""
    text = str(cell)
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def to_latex(table: Table) -> str:
    r"""A ``table`` environment with booktabs rules; needs ``\usepackage{booktabs}`` alone.

    Columns of words, and of long cells, wrap in a share of the line, the others are set flush
    right. A cell that is not defined is n/a with a mark, and the note says why. A table whose
    columns are wide is set smaller, and goes over both columns of a page that has two.
    """
    table, reasons = _without_reasons(table)
    places = range(1, len(table.headings))
    wrapped = {n for n in places if n in table.texts or _longest(table, n) > _LONG}
    width = f"p{{{0.6 / max(len(wrapped), 1):.2f}\\linewidth}}"
    columns = "".join(width if place in wrapped else "r" for place in places)
    first = "p{0.28\\linewidth}" if _longest(table, 0) > _LONG_NAME else "l"
    flush = [_longest(table, n) for n in places if n not in wrapped]
    is_wide = bool(wrapped) or sum(flush) > _WIDE
    lines = [
        r"% Needs \usepackage{booktabs} in the preamble.",
        rf"\begin{{table{'*' * is_wide}}}",
        r"\centering"
        + (r"\scriptsize\setlength{\tabcolsep}{4pt}" if is_wide else r"\footnotesize"),
        f"\\caption{{{latex_text(table.title)}}}",
        f"\\label{{tab:{table.name.replace('_', '-')}}}",
        f"\\begin{{tabular}}{{{first}{columns}}}",
        r"\toprule",
        _latex_row(table.headings),
        r"\midrule",
        *[
            (r"\quad " if place in table.parts else "") + _latex_row(row)
            for place, row in enumerate(table.rows)
        ],
        r"\bottomrule",
        r"\end{tabular}",
    ]
    notes = [latex_text(table.note)] if table.note else []
    notes += [f"n/a\\textsuperscript{{{mark}}} {latex_text(why)}." for mark, why in reasons.items()]
    if notes:
        lines.append(f"\\par\\smallskip\\parbox{{\\linewidth}}{{{' '.join(notes)}}}")
    return "\n".join([*lines, rf"\end{{table{'*' * is_wide}}}"]) + "\n"


def _without_reasons(table: Table) -> tuple[Table, dict[str, str]]:
    """The table with n/a and a mark for every cell not defined, and the reason of each mark."""
    marks: dict[str, str] = {}
    rows = []
    for row in table.rows:
        cells = [row[0]]
        for place, cell in enumerate(row[1:], start=1):
            is_reason = cell.startswith(_UNDEFINED) and place not in table.texts
            if is_reason:
                mark = marks.setdefault(cell, _mark(len(marks)))
                cell = f"n/a{_MARK}{mark}"
            cells.append(cell)
        rows.append(tuple(cells))
    return replace(table, rows=tuple(rows)), {mark: why for why, mark in marks.items()}


def _mark(place: int) -> str:
    """a, b, … z, aa, ab, …"""
    return (_mark(place // 26 - 1) if place > 25 else "") + chr(ord("a") + place % 26)


def _longest(table: Table, place: int) -> int:
    return max((len(row[place]) for row in table.rows), default=0)


def _latex_row(cells: Sequence[str]) -> str:
    # A row that begins with a bracket would be read as the option of the row break before it.
    texts = [_latex_cell(cell) for cell in cells]
    texts[0] = _IN_WORDS.get(cells[0], texts[0])
    texts[0] = f"{{}}{texts[0]}" if texts[0].startswith(("[", "*")) else texts[0]
    return " & ".join(texts) + r" \\"


def _latex_cell(cell: str) -> str:
    """A cell; the mark of what is not defined is raised."""
    text, mark, sign = cell.partition(_MARK)
    return latex_text(text) + (f"\\textsuperscript{{{sign}}}" if mark else "")


def latex_text(text: str) -> str:
    """Plain text for LaTeX, on one line."""
    return "".join(_LATEX.get(sign, sign) for sign in one_line(text))


def to_markdown(table: Table) -> str:
    """A pipe table under its title, the note below."""
    marks = [
        "---" if place in table.texts or not place else "---:"
        for place in range(len(table.headings))
    ]
    lines = [
        f"**{markdown_text(table.title)}**",
        "",
        _markdown_row([markdown_text(heading) for heading in table.headings]),
        _markdown_row(marks),
        *[
            ("| – " if place in table.parts else "| ")
            + " | ".join(markdown_text(cell) for cell in row)
            + " |"
            for place, row in enumerate(table.rows)
        ],
    ]
    return "\n".join([*lines, *(["", markdown_text(table.note)] if table.note else [])]) + "\n"


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def markdown_text(text: str) -> str:
    """Plain text for Markdown, on one line: nothing in it is markup, a link or a cell's end."""
    return _MARKDOWN.sub(r"\\\1", one_line(text))


def one_line(text: str) -> str:
    """The text without line breaks and control characters."""
    return _CONTROLS.sub("", _BREAKS.sub(" ", text))
