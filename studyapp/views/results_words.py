"""A stored result in the words of the results page."""

from __future__ import annotations

from typing import Any

from studyapp.enums import Decision
from studyapp.views.researcher_words import counted, number


def review_words(content: dict[str, Any]) -> dict[str, Any]:
    """What is said above the two lists of what to look at, and the claims ready to print."""
    items, people = content["items"], content["people"]
    return {
        "items": _found(
            items,
            "claim",
            "claims",
            "Their annotation may be wrong: most readers disagree with it. Nothing was left out.",
        ),
        "people": _found(
            people,
            "person",
            "people",
            "A reason to look, not a verdict: nobody was left out.",
        ),
        "item_rows": [_item_row(row) for row in items["rows"]],
    }


def design_words(content: dict[str, Any]) -> dict[str, Any]:
    """How balanced the trials that count are."""
    balance = content["balance"]
    n_empty, n_more = balance["cells_empty"], balance["cells_with_more"]
    n_twice = balance["claims_seen_twice_by_a_participant"]
    return {
        "conditions": [
            {
                "name": name,
                "first": number(n),
                "position": _position(balance["mean_position"][name]),
            }
            for name, n in balance["participants_by_first_condition"].items()
        ],
        "lines": [
            f"{counted(balance['cells_with_one_trial'], 'cell')} of claim and condition "
            f"{'has' if balance['cells_with_one_trial'] == 1 else 'have'} one trial, "
            f"{number(n_more)} more than one; of the claims met so far {number(n_empty)} none yet.",
            *_planned(content.get("planned_cells")),
            f"Claims met twice by one person: {number(n_twice)}.",
        ],
    }


def _planned(cells: list[int] | None) -> list[str]:
    """How far the whole plan is; nothing where the stored result does not say it."""
    if not cells:
        return []
    planned, empty = cells
    return [f"Of all {counted(planned, 'planned cell')} {number(empty)} without a trial."]


def _found(listed: dict[str, Any], one: str, many: str, note: str) -> str:
    total = counted(listed["n_all"], one, many)
    if not listed["n"]:
        return f"None of {total} is listed."
    n_unlisted = listed["n"] - len(listed["rows"])
    first = f" The first {number(len(listed['rows']))} are shown." if n_unlisted else ""
    return f"{number(listed['n'])} of {total}.{first} {note}"


def _item_row(row: dict[str, Any]) -> dict[str, Any]:
    decisions = [
        f"{number(row[f'n_{decision.value}'])} {str(decision.label).lower()}"
        for decision in Decision
        if row[f"n_{decision.value}"]
    ]
    n = row["n_sufficient"]
    return {
        "claim_id": row["claim_id"],
        "text": row["text"],
        "gold_label": str(Decision(row["gold_label"]).label),
        "decisions": decisions,
        "agree": f"{number(row['n_agree_sufficient'])} of {number(n)}" if n else "–",
        "reason": row["reason"],
    }


def _position(value: float | None) -> str:
    return "not defined: no trial" if value is None else f"{value:.1f}"
