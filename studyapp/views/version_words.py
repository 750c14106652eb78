"""Changes between versions in words: old beside new, with what differs in a text marked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from studyapp.domain.version_changes import Change
from studyapp.setup_forms_version import label_of

#: Words of a text that are still compared one by one; beyond, lines are.
MAX_WORDS = 3000
#: Fewer equal words than these between two changes count as changed.
_ISLAND = 3


@dataclass(frozen=True)
class Piece:
    """A stretch of a text; ``is_changed``: it is on this side only."""

    text: str
    is_changed: bool


@dataclass(frozen=True)
class ChangeRow:
    """One setting ready to print: its value before and after, in pieces."""

    setting: str
    label: str
    old: list[Piece]
    new: list[Piece]
    is_text: bool


def change_rows(changes: list[Change]) -> list[ChangeRow]:
    """Every change, ready to print."""
    return [_row(change) for change in changes]


def short_list(changes: list[Change]) -> list[str]:
    """The settings that changed, by what the pages call them."""
    return [label_of(change.setting) for change in changes]


def _row(change: Change) -> ChangeRow:
    old, new = shown(change.old), shown(change.new)
    before, after = _compared(old, new)
    is_text = change.setting.startswith("texts.")
    return ChangeRow(change.setting, label_of(change.setting), before, after, is_text)


def shown(value: Any) -> str:
    """A value as a page prints it; empty for nothing."""
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, list):
        return "\n".join(_question(item) if isinstance(item, dict) else str(item) for item in value)
    return "" if value is None else str(value)


def _question(question: dict[str, Any]) -> str:
    """One question of a questionnaire on one line."""
    parts = [
        str(question.get("kind", "")),
        " | ".join(map(str, question.get("options", []))),
        " ".join(
            f"{word} {question[end]}"
            for word, end in (("from", "min"), ("to", "max"))
            if end in question
        ),
        "must be answered" if question.get("required") else "",
    ]
    details = "; ".join(part for part in parts if part)
    return f"{question.get('name')}: {question.get('text')} ({details})"


def _compared(old: str, new: str) -> tuple[list[Piece], list[Piece]]:
    """Both sides cut into what is the same and what is not."""
    before, after = re.findall(r"\s+|\S+", old), re.findall(r"\s+|\S+", new)
    if len(before) + len(after) > MAX_WORDS:
        before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    left: list[Piece] = []
    right: list[Piece] = []
    codes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    for place, (kind, a, b, c, d) in enumerate(codes):
        # A word or two that happen to be the same between two changes only confuse the eye.
        is_island = 0 < place < len(codes) - 1 and len("".join(before[a:b]).split()) < _ISLAND
        is_changed = kind != "equal" or is_island
        _add(left, "".join(before[a:b]), is_changed)
        _add(right, "".join(after[c:d]), is_changed)
    return left, right


def _add(pieces: list[Piece], text: str, is_changed: bool) -> None:
    """One more piece, grown together with one of its kind before it."""
    if not text:
        return
    if pieces and pieces[-1].is_changed == is_changed:
        text = pieces.pop().text + text
    pieces.append(Piece(text, is_changed))
