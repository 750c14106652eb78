"""Cells that a spreadsheet program shows as they are, instead of running or rounding them.

A program that opens a CSV file takes a cell that begins like a formula for one, and turns ``007``
into 7. A leading apostrophe makes it text. Cells of numeric columns are left alone, so that they
stay numbers.
"""

from __future__ import annotations

import re

#: How a formula begins, in the wide forms of East Asian keyboards too.
_FORMULA = frozenset("=+-@＝＋－＠")
#: Characters that begin a cell of their own, or a line, when a cell is pasted.
_BREAKS = frozenset("\t\r\n")
#: Signs that are not seen and that programs pass over.
_UNSEEN = "\ufeff\u200b\u200e\u200f\0"
#: Digits that a program would not show again as they were: leading zeros, more of them than a
#: number keeps, powers of ten.
_CHANGED = re.compile(r"0[0-9]+([.,][0-9]*)?|[0-9]{16,}|[0-9]+([.,][0-9]+)?[eE][0-9]+")

#: The kinds of the codebook that hold numbers or truth values.
NUMERIC_KINDS = frozenset({"int", "bool", "float"})
#: A number as forms of participants keep it.
_NUMBER = re.compile(r"[+-]?[0-9]{1,12}([.][0-9]{1,6})?")


def without_formula(text: str) -> str:
    """``text`` with an apostrophe before it where a program would run it as a formula."""
    return f"'{text}" if _runs(text) else text


def safe_text(text: str) -> str:
    """``text`` with an apostrophe before it where a program would not take it for text."""
    if text[:1].isalpha():  # nearly every cell, and no beginning of a formula or a number
        return text
    return f"'{text}" if _runs(text) or _CHANGED.fullmatch(text.strip()) else text


def _runs(text: str) -> bool:
    """Whether the first sign that is seen begins a formula, or the text a cell of its own."""
    first = next((sign for sign in text if sign.isprintable() and sign != " "), "")
    return first in _FORMULA or text.lstrip(f" \u00a0\u3000{_UNSEEN}")[:1] in _BREAKS


def is_number(text: str) -> bool:
    """Whether an answer to a question for a number is one, which no program can mistake."""
    return bool(_NUMBER.fullmatch(text))
