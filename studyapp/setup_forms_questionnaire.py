"""The editor of the questionnaire: a list of questions that works by plain form posts.

Every row is a group of fields ``q-NUMBER-FIELD``. The buttons of a row move or remove it in what
was posted; nothing is stored until the whole list is saved.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from studyapp.domain.sitting_settings import MAX_QUESTIONS, QUESTION_KINDS, sitting_problems
from studyapp.setup_forms import plain_lines

FIELDS = ("name", "kind", "text", "required", "options", "min", "max")
KIND_LABELS = {
    "choice": "Choice: one of several answers",
    "scale": "Scale: one of a row of numbers",
    "text": "Text: an answer in words",
    "number": "Number",
}
#: A new question of each kind.
NEW = {
    "choice": {"options": "Yes\nNo"},
    "scale": {"min": "1", "max": "7"},
    "text": {},
    "number": {"min": "0"},
}
_ACTION = re.compile(r"(up|down|remove)-([0-9]{1,3})")
_WHOLE = re.compile(r"-?[0-9]{1,9}")
_NUMBER = re.compile(r"-?[0-9]{1,9}(\.[0-9]{1,6})?")


@dataclass
class QuestionRow:
    """One question as it was typed, with what is wrong with it."""

    values: dict[str, str]
    errors: list[str] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """Its kind, one of ``QUESTION_KINDS``."""
        return self.values["kind"]


def rows_of(questions: list[dict[str, Any]]) -> list[QuestionRow]:
    """The rows of a stored questionnaire."""
    return [QuestionRow(_as_typed(question)) for question in questions]


def rows_posted(data: Mapping[str, str]) -> list[QuestionRow]:
    """The rows that a form sent, in its order; a kind that there is not becomes a text."""
    rows = []
    for number in range(1, MAX_QUESTIONS + 1):
        if f"q-{number}-kind" not in data:
            break
        values = {name: plain_lines(data.get(f"q-{number}-{name}", "")) for name in FIELDS}
        if values["kind"] not in QUESTION_KINDS:
            values["kind"] = "text"
        rows.append(QuestionRow(values))
    return rows


def changed_rows(rows: list[QuestionRow], do: str, kind: str) -> list[QuestionRow]:
    """The rows after a button: ``add``, ``up-N``, ``down-N`` or ``remove-N`` (N from 1)."""
    rows = list(rows)
    if do == "add" and kind in QUESTION_KINDS and len(rows) < MAX_QUESTIONS:
        return [*rows, QuestionRow(dict.fromkeys(FIELDS, "") | NEW[kind] | {"kind": kind})]
    match = _ACTION.fullmatch(do)
    if match is None or not 1 <= int(match[2]) <= len(rows):
        return rows
    row = rows.pop(int(match[2]) - 1)
    if match[1] != "remove":
        place = int(match[2]) - 1 + (-1 if match[1] == "up" else 1)
        rows.insert(min(max(place, 0), len(rows)), row)
    return rows


def checked_questions(rows: list[QuestionRow]) -> tuple[list[dict[str, Any]], list[str]]:
    """The questions as they are stored, and problems that belong to no row.

    What is wrong with one question is added to its row.
    """
    questions = [_question(row.values) for row in rows]
    others = []
    for problem in sitting_problems({"questionnaire": questions}):
        match = re.fullmatch(r"sitting\.questionnaire, number ([0-9]+): (.*)", problem, re.DOTALL)
        if match and match[2] == "name '' is there twice":
            continue  # it says already that a name is missing
        if match:
            rows[int(match[1]) - 1].errors.append(f"{match[2][:1].upper()}{match[2][1:]}.")
        else:
            others.append(problem.partition(": ")[2][:1].upper() + problem.partition(": ")[2][1:])
    return questions, others


def _question(values: Mapping[str, str]) -> dict[str, Any]:
    kind = values["kind"]
    question: dict[str, Any] = {"name": values["name"].strip(), "text": values["text"].strip(),
                                "kind": kind, "required": values["required"] == "yes"}  # fmt: skip
    if kind == "choice":
        lines = values["options"].split("\n")
        question["options"] = [line.strip() for line in lines if line.strip()]
    elif kind == "scale":
        question |= {name: _read(values[name], _WHOLE, int) for name in ("min", "max")}
    elif kind == "number":
        question |= {
            name: _read(values[name], _NUMBER, float)
            for name in ("min", "max")
            if values[name].strip()
        }
    return question


def _read(text: str, pattern: re.Pattern[str], kind: type) -> Any:
    """The number in a text; the text itself where it is none, for the check to name."""
    text = text.strip()
    if not pattern.fullmatch(text):
        return text
    number = kind(text)
    return int(number) if number == int(number) else number


def _as_typed(question: Mapping[str, Any]) -> dict[str, str]:
    typed = {name: str(question.get(name, "")) for name in ("name", "kind", "text", "min", "max")}
    return typed | {
        "required": "yes" if question.get("required", False) else "",
        "options": "\n".join(question.get("options", [])),
    }
