"""A table as CSV, LaTeX and Markdown, names of any kind made harmless in each."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

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
    right.
    """
    places = range(1, len(table.headings))
    wrapped = {n for n in places if n in table.texts or _longest(table, n) > _LONG}
    width = f"p{{{0.6 / max(len(wrapped), 1):.2f}\\linewidth}}"
    columns = "l" + "".join(width if place in wrapped else "r" for place in places)
    lines = [
        r"\begin{table}",
        r"\centering\footnotesize",
        f"\\caption{{{latex_text(table.title)}}}",
        f"\\label{{tab:{table.name.replace('_', '-')}}}",
        f"\\begin{{tabular}}{{{columns}}}",
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
    if table.note:
        lines.append(f"\\par\\smallskip\\parbox{{\\linewidth}}{{{latex_text(table.note)}}}")
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _longest(table: Table, place: int) -> int:
    return max((len(row[place]) for row in table.rows), default=0)


def _latex_row(cells: Sequence[str]) -> str:
    # A row that begins with a bracket would be read as the option of the row break before it.
    texts = [latex_text(cell) for cell in cells]
    texts[0] = f"{{}}{texts[0]}" if texts[0].startswith(("[", "*")) else texts[0]
    return " & ".join(texts) + r" \\"


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
