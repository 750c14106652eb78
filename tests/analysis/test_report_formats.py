"""Tables as CSV, LaTeX and Markdown: the same cells, whatever names they hold."""

from __future__ import annotations

import csv
import re

import pytest

from analysis.report.formats import (
    latex_text,
    markdown_text,
    neutral,
    to_csv,
    to_latex,
    to_markdown,
)
from analysis.report.table import Table, make_table
from tests.analysis.builders import study, trial, trials
from tests.analysis.reports import files

#: A condition's name that is markup in every format.
NASTY = r'a_b%c&d#e$f{g}h~i^j\k<b>l</b>|m`n`"o" *p* [q](r)' + "\nnext"


def table(*rows: tuple[str, ...], **options: object) -> Table:
    width = len(rows[0])
    return make_table("small", "A & B", [f"h{n}" for n in range(width)], rows, **options)


def parse_latex(text: str) -> list[list[str]]:
    """The rows of a LaTeX table as its reader sees them; raises for what would not compile."""
    stack: list[str] = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if kind == "begin":
            stack.append(name)
        else:
            assert stack.pop() == name
    assert stack == []
    columns = re.search(r"\\begin\{tabular\}\{((?:[lr]|p\{[\d.]+\\linewidth\})+)\}", text)
    assert columns is not None
    n_columns = len(re.findall(r"[lr]|p\{[^}]*\}", columns[1]))
    depth = 0
    for sign in re.sub(r"\\[{}]", "", text):
        depth += (sign == "{") - (sign == "}")
        assert depth >= 0
    assert depth == 0
    body = text.split("\\toprule\n")[1].split("\\bottomrule")[0].replace("\\midrule\n", "")
    rows = [line.removesuffix(r" \\") for line in body.strip().split("\n")]
    cells = [re.split(r"(?<!\\)&", row) for row in rows]
    assert {len(row) for row in cells} == {n_columns}
    bare = re.sub(r"\$[-\\a-z]+\$|\\[a-z]+(\{\})?|\\[_%&#$\{\}]", "", " ".join(rows))
    assert not set(bare) & set(r"_%#$^~\<>|"), bare
    return [[cell.strip() for cell in row] for row in cells]


def test_every_format_holds_the_same_cells() -> None:
    small = table(("one", "94/100, 94.0 % [87.5, 97.2]"), ("two", "−1.37"))
    assert to_csv(small) == 'h0,h1\none,"94/100, 94.0 % [87.5, 97.2]"\ntwo,−1.37\n'
    assert parse_latex(to_latex(small)) == [
        ["h0", "h1"],
        ["one", r"94/100, 94.0 \% [87.5, 97.2]"],
        ["two", "$-$1.37"],
    ]
    assert to_markdown(small) == (
        "**A \\& B**\n\n| h0 | h1 |\n| --- | ---: |\n"
        "| one | 94/100, 94.0 % \\[87.5, 97.2\\] |\n| two | −1.37 |\n"
    )


def test_names_that_are_markup_are_text_in_latex() -> None:
    assert latex_text("a_b%c&d#e$f{g}") == r"a\_b\%c\&d\#e\$f\{g\}"
    assert latex_text("~^\\<|>") == (
        r"\textasciitilde{}\textasciicircum{}\textbackslash{}\textless{}\textbar{}\textgreater{}"
    )
    nasty = table((NASTY, NASTY), note=NASTY)
    assert len(parse_latex(to_latex(nasty))) == 2
    assert "\nnext" not in to_latex(nasty)


def test_a_row_that_begins_with_a_bracket_is_no_option_of_the_line_break() -> None:
    rows = parse_latex(to_latex(table(("[1, 2]", "x"), ("*", "y"))))
    assert [row[0] for row in rows[1:]] == ["{}[1, 2]", "{}*"]


def test_a_column_of_long_cells_wraps() -> None:
    text = to_latex(
        table(("one", "a long text of words that would never fit beside a number", "1"))
    )
    assert r"\begin{tabular}{lp{0.60\linewidth}r}" in text
    assert r"\begin{table*}" in text


def test_what_is_not_defined_is_marked_and_explained_below_the_latex_table() -> None:
    why = "not defined, because all sentences were shown at once"
    text = to_latex(table(("one", why, "1"), ("two", why, "not defined, because"), note="Rates."))
    assert text.startswith("% Needs \\usepackage{booktabs}")
    assert parse_latex(text)[1:] == [
        ["one", r"n/a\textsuperscript{a}", "1"],
        ["two", r"n/a\textsuperscript{a}", r"n/a\textsuperscript{b}"],
    ]
    assert r"\begin{tabular}{lrr}" in text
    assert rf"{{Rates. n/a\textsuperscript{{a}} {why}. n/a\textsuperscript{{b}}" in text


def test_the_paper_table_names_over_reading_in_words() -> None:
    text = files()["table5.tex"].decode()
    assert r"Over-read past the first sufficient prefix (over\_read\_msr) &" in text
    assert "n/a" in text
    assert "because" not in text.split("\\bottomrule")[0]


def test_names_that_are_markup_are_text_in_markdown() -> None:
    assert markdown_text("a|b`c`_d_\r\n\n<i>[x](y)") == r"a\|b\`c\`\_d\_ \<i\>\[x\](y)"
    lines = to_markdown(table((NASTY, NASTY))).splitlines()
    assert len(lines) == 5
    assert len(re.findall(r"(?<!\\)\|", lines[-1])) == 3


@pytest.mark.parametrize("start", ["=1+1", "+1", "-1", "@x", "\tx", "\rx"])
def test_no_cell_is_a_formula_for_a_spreadsheet(start: str) -> None:
    assert neutral(start) == f"'{start}"
    assert next(csv.reader([to_csv(table((start.strip(), "1"))).splitlines()[1]]))[0][:1] in "'x"


def test_a_negative_number_stays_a_number_for_its_reader() -> None:
    assert to_csv(table(("a", "−0.25"))).endswith("a,−0.25\n")


def test_a_whole_report_survives_a_name_that_is_markup() -> None:
    rows = trials(trial(condition=NASTY), trial(trial_id="t2", claim_id="b", condition="plain"))
    written = files(rows, study(conditions=[NASTY, "plain"]))
    names = [name for name in written if name.endswith(".tex")]
    assert {"table5.tex", "comparison.tex", "preregistered.tex"} <= set(names)
    for name in names:
        parse_latex(written[name].decode())
    for name in written:
        if name.endswith(".md"):
            lines = written[name].decode().splitlines()
            counts = {len(re.findall(r"(?<!\\)\|", line)) for line in lines if line[:1] == "|"}
            assert len(counts) == 1, name
    html = written["report.html"].decode()
    assert "<b>l</b>" not in html
    assert "&lt;b&gt;l&lt;/b&gt;" in html
