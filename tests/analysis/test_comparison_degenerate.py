"""Data that cannot answer: nothing fails, and every gap says why."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.comparison.table import comparison_headings, comparison_notes, comparison_table
from tests.analysis.builders import trial
from tests.analysis.compared_studies import BLOCKS, answer, compared, square, undefined

PRIMARY = "inference_design_set.two_way."

BOTH = ("ranking", "selection")


def spoilt(**changes: Any) -> list[dict[str, str]]:
    return [row | {key: str(value) for key, value in changes.items()} for row in square(4, 8)]


CASES: dict[str, tuple[list[dict[str, str]], str]] = {
    "no trial counts": ([trial(simulated="true")], "no trial of condition ranking"),
    "no trial of a condition": (
        [row for row in square(4, 8) if row["condition"] == "ranking"],
        "no trial of condition selection",
    ),
    "one trial": ([trial()], "no trial of condition selection"),
    "one participant": (
        [answer(1, n, BOTH[n % 2], n_read=n % 3 + 2) for n in range(1, 9)],
        "all trials are of one participant",
    ),
    "one claim": (
        [answer(n, 1, BOTH[n % 2], n_read=n % 3 + 2) for n in range(1, 9)],
        "all trials are of one claim",
    ),
    "all answers the same": (
        spoilt(
            decision="supported",
            n_read=3,
            active_ms=9000,
            decided_at="2026-03-02T09:00:09.000Z",
        ),
        "all trials of a condition have the same value",
    ),
    "the condition decides": (
        [row | {"n_read": "4" if row["condition"] == "ranking" else "2"} for row in square(4, 8)],
        "all trials of a condition have the same value",
    ),
    "one person a condition": (
        [answer(1 + n % 2, n, BOTH[n % 2], n_read=n % 3 + 2) for n in range(1, 9)],
        "a condition was met with one participant only",
    ),
    "nothing can be scored": (
        spoilt(gold_label="partially_supported"),
        "no trial of condition ranking",
    ),
    "no time": (
        spoilt(active_ms=0, decided_at=trial()["started_at"]),
        "active time of 0",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_every_gap_has_its_reason(name: str) -> None:
    rows, reason = CASES[name]
    document = compared(rows)
    gaps = undefined(document)
    reasons = document["not_defined"]
    assert gaps <= set(reasons)
    assert all(reasons[path].startswith("not defined, because ") for path in gaps)
    own = [reasons[path] for path in gaps if path.startswith(PRIMARY)]
    assert any(reason in text for text in own)
    assert len(comparison_table(document)) >= 5
    assert all(isinstance(note, str) for note in comparison_notes(document))


def test_no_spread_still_has_a_difference() -> None:
    document = compared(CASES["the condition decides"][0])
    read = document["inference_design_set"]["two_way"]["read"]
    assert (read["difference"], read["p"], read["ci95"]) == (2.0, None, None)
    assert document["inference_design_set"]["holm"]["adjusted"]["read"] is None
    assert document["non_inferiority"]["fewer_read"] is None
    assert "the same value" in document["not_defined"]["non_inferiority.fewer_read"]
    row = next(row for row in comparison_table(document) if row.key == "read")
    assert row.difference == (
        "+2.00; interval and p not defined, because all trials of a condition have the same value"
    )


def test_measures_that_cannot_be_tested_do_not_count_for_holm() -> None:
    holm = compared(CASES["no time"][0])["inference_design_set"]["holm"]
    assert holm["family"]["log_active"] is None
    tested = sorted(p for p in holm["family"].values() if p is not None)
    assert len(tested) == 4
    assert min(p for p in holm["adjusted"].values() if p is not None) == min(1.0, 4 * tested[0])


def test_one_condition_leaves_the_comparison_out_with_a_reason() -> None:
    rows = [row for row in square(4, 8) if row["condition"] == "ranking"]
    document = compared(rows, conditions=["ranking"])
    why = "not defined, because the study has one condition only"
    assert all(document[name] == {"left_out": why} for name in BLOCKS)
    assert {document["not_defined"][name] for name in BLOCKS} == {why}
    assert document["not_defined"]["comparison_plan.contrast"] == why
    assert document["methods"] == {}
    assert (comparison_table(document), comparison_headings(document)) == ([], [])
    assert comparison_notes(document) == []


def test_one_condition_a_participant_is_compared_without_pairs_of_people() -> None:
    rows = [
        answer(1 + claim % 2 + 2 * side, claim, BOTH[side], n_read=2 + (claim + side) % 3)
        for claim in range(1, 9)
        for side in (0, 1)
    ]
    document = compared(rows)
    inference = document["inference_design_set"]
    assert inference["two_way"]["read"]["df"] == 3
    people = inference["read_by_participant"]
    assert (people["n_participants"], people["n_left_out"], people["p"]) == (0, 4, None)
    path = "inference_design_set.read_by_participant.p"
    assert "nobody has trials" in document["not_defined"][path]
    assert inference["read_by_claim"]["n_claims"] == 8


def test_several_trials_of_a_cell_form_no_pair_but_count_in_means() -> None:
    rows = [*square(4, 8), answer(3, 8, "ranking", n_read=2), answer(4, 8, "ranking", n_read=4)]
    rows = [row for row in rows if row["trial_id"] != "t-1-1-8-ranking"]
    inference = compared(rows)["inference_design_set"]
    assert (inference["pairs_complete"], inference["pairs_repeated"]) == (7, 1)
    assert inference["success"]["n_pairs"] == 7
    assert inference["read_by_claim"]["n_claims"] == 8


def test_one_person_with_both_conditions_is_told_what_one_can_show() -> None:
    rows = [answer(1, n, BOTH[n % 2], n_read=n % 3 + 2) for n in range(1, 9)]
    people = compared(rows)["inference_design_set"]["read_by_participant"]
    assert people["sign_flip_exact_p"] == 1.0
    assert people["sign_flip_least_p"] == 1.0
    assert (people["t"], people["p"], people["ci95"]) == (None, None, None)


@pytest.mark.parametrize(
    ("first", "second"),
    [("reason", "left_out"), ("reasons", "not_defined"), ("design_set", "left_out")],
)
def test_conditions_named_like_a_marker_of_the_document_are_conditions(
    first: str, second: str
) -> None:
    # Everybody meets the first condition first: there is no order of blocks to describe.
    plain = [
        row | {"position": str(int(row["position"]) + 8 * (row["condition"] == "selection"))}
        for row in square(4, 8)
    ]
    names = {"ranking": first, "selection": second, "P1": "left_out", "P2": "reason"}
    own = [
        row | {key: names.get(row[key], row[key]) for key in ("condition", "participant_id")}
        for row in plain
    ]
    wanted = compared(plain, conditions=list(BOTH))["not_defined"]
    document = compared(own, conditions=[first, second])
    assert sorted(document["not_defined"].values()) == sorted(wanted.values())
    assert undefined(document) <= set(document["not_defined"])
    assert f"learning.block_order.read.groups.{second}.mean" in document["not_defined"]
    found = document["inference_design_set"]["read_by_participant"]["differences"]
    assert set(found) == {"left_out", "reason", "P3", "P4"}
