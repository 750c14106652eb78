"""Texts of a study in Markdown: plain texts stay as they were, nothing dangerous gets through."""

from __future__ import annotations

import pytest

from studyapp.domain.markdown import as_html
from studyapp.domain.texts import with_default_texts


def test_a_plain_text_keeps_its_paragraphs_and_line_breaks() -> None:
    assert as_html("One\ntwo\n\nthree") == "<p>One<br />\ntwo</p>\n<p>three</p>\n"


def test_the_standard_texts_are_paragraphs_alone() -> None:
    for text in with_default_texts({}, "en").values():
        html = as_html(text)
        assert html.count("<p>") == (text.count("\n\n") + 1 if text else 0)
        assert "<" not in html.replace("<p>", "").replace("</p>", "").replace("<br />", "")


def test_lists_emphasis_and_headings_below_those_of_the_page() -> None:
    assert as_html("# About\n\n- **one**\n- two") == (
        "<h3>About</h3>\n<ul>\n<li><strong>one</strong></li>\n<li>two</li>\n</ul>\n"
    )


def test_headings_follow_on_the_heading_above_the_text() -> None:
    assert as_html("# A\n## B", below=1) == "<h2>A</h2>\n<h3>B</h3>\n"
    assert as_html("##### A") == "<h6>A</h6>\n"


def test_links_open_beside_the_study_and_tell_nobody_where_from() -> None:
    assert as_html("[ask](https://e.org) [us](mailto:a@e.org)") == (
        '<p><a href="https://e.org" target="_blank" rel="noopener noreferrer">ask</a> '
        '<a href="mailto:a@e.org">us</a></p>\n'
    )


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "a <b onclick=alert(1)>b</b>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "[x](//evil.example/)",
        "[x](/login/)",
        "![x](javascript:alert(1))",
        "[x]: vbscript:x\n\n[x]",
        "<javascript:alert(1)>",
    ],
)
def test_no_html_and_no_other_address_gets_through(text: str) -> None:
    html = as_html(text)
    for tag in ("<script", "<img", "<b", "<a "):
        assert tag not in html.replace("<blockquote", "").replace("<br", "")
    assert "href" not in html


def test_indented_lines_are_no_code() -> None:
    assert as_html("    Dear reader") == "<p>Dear reader</p>\n"
