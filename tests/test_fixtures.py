"""The demo study's claims and settings, and the examples in the upload guide."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections import Counter
from itertools import groupby
from typing import Any

import pytest

from rankers.base import Ranker
from rankers.bm25 import BM25
from rankers.fixed import DocumentOrder
from rankers.formats import read_rows, to_interchange
from rankers.metrics import aggregate, score
from studyapp.domain.sitting_settings import sitting_problems
from tests.shared_data import ROOT

FIXTURES = ROOT / "fixtures"
FIELDS = [
    "id",
    "claim",
    "label",
    "candidates",
    "gold_sets",
    "titles",
    "source",
    "license",
    "lang",
    "meta",
]


def _read_claims(name: str = "demo_claims.jsonl") -> list[dict[str, Any]]:
    text = (FIXTURES / name).read_bytes().decode("utf-8")
    assert text.endswith("\n")
    return [json.loads(line) for line in text.removesuffix("\n").split("\n")]


CLAIMS = _read_claims()
PRACTICE = _read_claims("demo_practice.jsonl")
ATTENTION = _read_claims("demo_attention.jsonl")
STUDY = json.loads((FIXTURES / "demo_study.json").read_text(encoding="utf-8"))
README = (FIXTURES / "README.md").read_text(encoding="utf-8")

each_claim = pytest.mark.parametrize("claim", CLAIMS, ids=[claim["id"] for claim in CLAIMS])
every_claim = pytest.mark.parametrize(
    "claim", ALL := [*CLAIMS, *PRACTICE, *ATTENTION], ids=[claim["id"] for claim in ALL]
)


def _gold_min_size(claim: dict[str, Any]) -> int:
    return min(len(gold_set) for gold_set in claim["gold_sets"])


def _mrr(ranker: Ranker) -> float:
    scores = [
        score(ranker.rank(claim["claim"], claim["candidates"]).order, claim["gold_sets"])
        for claim in CLAIMS
    ]
    mean: float = aggregate(scores)["mrr"]["mean"]
    return mean


def _strings(value: Any) -> list[str]:
    """Every string inside a JSON value, keys of objects included."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for pair in value.items() for part in pair for text in _strings(part)]
    if isinstance(value, list):
        return [text for part in value for text in _strings(part)]
    return []


def _twinned(claim: dict[str, Any]) -> bool:
    return len(set(claim["candidates"])) < len(claim["candidates"])


def test_the_demo_has_enough_claims_with_unique_ids_and_texts() -> None:
    assert len(CLAIMS) >= 25
    assert [claim["id"] for claim in CLAIMS] == [f"demo-{n:03d}" for n in range(1, len(CLAIMS) + 1)]
    assert len({claim["claim"].casefold() for claim in CLAIMS}) == len(CLAIMS)


def test_labels_are_balanced_overall_and_among_the_first_ten() -> None:
    labels = Counter(claim["label"] for claim in CLAIMS)
    assert set(labels) == {"supported", "refuted"}
    assert abs(labels["supported"] - labels["refuted"]) <= 2
    first = Counter(claim["label"] for claim in CLAIMS[:10])
    assert abs(first["supported"] - first["refuted"]) <= 2


def test_sizes_and_numbers_of_gold_sets_cover_one_to_four() -> None:
    assert Counter(map(_gold_min_size, CLAIMS)) == {1: 11, 2: 10, 3: 6, 4: 3}
    assert {len(claim["gold_sets"]) for claim in CLAIMS} == {1, 2, 3, 4}


def test_the_label_cannot_be_told_from_length_or_size() -> None:
    for size in (1, 2, 3, 4):
        labels = {claim["label"] for claim in CLAIMS if _gold_min_size(claim) == size}
        assert labels == {"supported", "refuted"}
    means = [
        sum(len(claim["claim"]) for claim in CLAIMS if claim["label"] == label)
        / sum(claim["label"] == label for claim in CLAIMS)
        for label in ("supported", "refuted")
    ]
    assert max(means) < 1.25 * min(means)


def test_some_gold_sets_of_one_claim_differ_in_size() -> None:
    assert any(len({len(s) for s in claim["gold_sets"]}) > 1 for claim in CLAIMS)


@each_claim
def test_fields_are_those_of_the_interchange_format(claim: dict[str, Any]) -> None:
    assert list(claim) == FIELDS
    assert claim["lang"] == "en"
    assert claim["license"] == "Apache-2.0"
    assert claim["source"] == "Suffice demo study, written for this project"
    assert set(claim["meta"]) <= {"topic"}
    assert 8 <= len(claim["candidates"]) <= 20
    assert len(claim["titles"]) == len(claim["candidates"])


@every_claim
def test_every_string_is_clean(claim: dict[str, Any]) -> None:
    for text in _strings(claim):
        assert text
        assert text == text.strip()
        assert unicodedata.is_normalized("NFC", text)
        assert not any(unicodedata.category(char).startswith("C") for char in text), text
        assert "  " not in text


@every_claim
def test_gold_sets_are_ascending_in_range_and_none_contains_another(claim: dict[str, Any]) -> None:
    gold_sets = claim["gold_sets"]
    assert 1 <= len(gold_sets) <= 4
    for gold_set in gold_sets:
        assert gold_set
        assert all(type(position) is int for position in gold_set)
        assert gold_set == sorted(set(gold_set))
        assert 0 <= gold_set[0] <= gold_set[-1] < len(claim["candidates"])
    as_sets = [set(gold_set) for gold_set in gold_sets]
    for i, one in enumerate(as_sets):
        assert not any(one <= other for j, other in enumerate(as_sets) if i != j)


@each_claim
def test_the_gold_sentences_are_not_simply_the_first_ones(claim: dict[str, Any]) -> None:
    gold = {position for gold_set in claim["gold_sets"] for position in gold_set}
    assert gold != set(range(len(gold)))
    assert len(claim["candidates"]) >= len(gold) + 5


def test_most_claims_need_more_than_the_first_sentences_of_the_page() -> None:
    waits = [
        min(max(gold_set) for gold_set in claim["gold_sets"]) + 1 - _gold_min_size(claim)
        for claim in CLAIMS
    ]
    assert sum(wait > 0 for wait in waits) >= 0.9 * len(waits)


def test_shared_words_help_a_ranker_but_do_not_give_the_evidence_away() -> None:
    lexical, reading_order = _mrr(BM25()), _mrr(DocumentOrder())
    assert reading_order < 0.3
    assert reading_order + 0.1 < lexical < 0.6


@each_claim
def test_candidates_stand_page_by_page(claim: dict[str, Any]) -> None:
    pages = [title for title, _ in groupby(claim["titles"])]
    assert len(pages) == len(set(pages))
    assert 2 <= len(pages) <= 5


@every_claim
def test_a_twin_of_a_gold_sentence_makes_a_gold_set_of_its_own(claim: dict[str, Any]) -> None:
    candidates = claim["candidates"]
    listed = {frozenset(gold_set) for gold_set in claim["gold_sets"]}
    for gold_set in claim["gold_sets"]:
        for member in gold_set:
            for twin in range(len(candidates)):
                if candidates[twin] == candidates[member]:
                    assert frozenset(gold_set) - {member} | {twin} in listed


def test_several_claims_have_the_same_sentence_twice_and_the_guide_names_them() -> None:
    twinned = [claim["id"] for claim in CLAIMS if _twinned(claim)]
    assert len(twinned) >= 2
    assert re.findall(r"`(demo-\d{3})`", README) == twinned


def test_the_claim_is_not_among_its_own_candidates() -> None:
    for claim in CLAIMS:
        assert claim["claim"].casefold() not in {text.casefold() for text in claim["candidates"]}


def test_word_overlap_alone_often_misses_the_evidence() -> None:
    """The candidate that shares the most words with the claim is often not in any gold set."""
    misses = 0
    for claim in CLAIMS:
        words = set(re.findall(r"\w+", claim["claim"].casefold()))
        overlap = [
            len(words & set(re.findall(r"\w+", text.casefold()))) for text in claim["candidates"]
        ]
        gold = {position for gold_set in claim["gold_sets"] for position in gold_set}
        misses += overlap.index(max(overlap)) not in gold
    assert misses >= len(CLAIMS) / 4


def test_there_is_a_practice_claim_for_each_interface_with_what_is_said_afterwards() -> None:
    assert [claim["meta"]["interface"] for claim in PRACTICE] == ["incremental", "all_at_once"]
    assert {claim["label"] for claim in PRACTICE} == {"supported", "refuted"}
    for claim in PRACTICE:
        [gold_set] = claim["gold_sets"]
        explained = claim["meta"]["explanation"]
        # A sentence is named by its number on the page, which for practice is that of the file.
        assert {position + 1 for position in gold_set} <= set(
            map(int, re.findall(r"\d", explained))
        )
        assert len(claim["candidates"]) > max(gold_set) + 1


def test_the_attention_check_is_answered_by_the_sentence_that_is_there_from_the_start() -> None:
    [claim] = ATTENTION
    assert claim["gold_sets"] == [[0]]
    assert list(claim) == FIELDS


def test_no_id_or_text_of_a_claim_is_there_twice() -> None:
    for field in ("id", "claim"):
        assert len({claim[field].casefold() for claim in ALL}) == len(ALL)


def test_the_sitting_of_the_demo_is_one_that_a_study_takes() -> None:
    assert sitting_problems(STUDY["sitting"]) == []
    n_trials = 2 * len(CLAIMS) // STUDY["subsets"]
    assert 0 < STUDY["sitting"]["break_every"] < n_trials
    assert {"scale", "choice", "text"} == {q["kind"] for q in STUDY["sitting"]["questionnaire"]}


def test_the_study_has_the_settings_that_create_study_reads() -> None:
    assert set(STUDY) == {
        "format_version",
        "title",
        "texts",
        "completion_code",
        "sitting",
        "subsets",
        "replications",
        "seed",
        "order_policy",
        "conditions",
        "non_inferiority_margin",
        "preregistered",
    }
    assert STUDY["format_version"] == "1"
    names = [condition["name"] for condition in STUDY["conditions"]]
    assert names == ["ranking", "selection"]
    assert STUDY["preregistered"]["reference_condition"] in names
    assert {c["interface"] for c in STUDY["conditions"]} == {"incremental", "all_at_once"}
    assert len(CLAIMS) >= STUDY["subsets"] * len(names)
    assert 0 < STUDY["non_inferiority_margin"] < 1
    assert STUDY["preregistered"]["time_cap_s"] > 0


def test_the_study_texts_are_plain_text_in_short_paragraphs() -> None:
    assert set(STUDY["texts"]) == {
        "welcome",
        "consent",
        "instructions",
        "completion",
        "debriefing",
        "contact",
    }
    for name, text in STUDY["texts"].items():
        assert unicodedata.is_normalized("NFC", text)
        assert not re.search(r"[<>*#_`!]|\]\(", text), name
        for paragraph in text.split("\n\n"):
            assert paragraph == paragraph.strip()
            assert "\n" not in paragraph
            assert 0 < len(paragraph) <= 500, (name, paragraph)


def _block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", README, re.DOTALL)
    assert found, f"the guide has no {language} example"
    return found.group(1)


def test_the_two_examples_in_the_guide_are_the_same_claim() -> None:
    example = json.loads(_block("json"))
    rows = list(csv.DictReader(io.StringIO(_block("csv"))))
    sets: dict[str, list[int]] = {}
    for position, row in enumerate(rows):
        for number in filter(None, row["gold_sets"].split(";")):
            sets.setdefault(number, []).append(position)
    assert {row["claim_id"] for row in rows} == {example["id"]}
    assert {row["claim"] for row in rows} == {example["claim"]}
    assert {row["label"] for row in rows} == {example["label"]}
    assert [row["candidate"] for row in rows] == example["candidates"]
    assert [row["title"] for row in rows] == example["titles"]
    assert [sets[number] for number in sorted(sets)] == example["gold_sets"]


def test_the_guide_explains_every_field_of_the_format() -> None:
    for field in FIELDS:
        assert f"| `{field}` |" in README


@pytest.mark.parametrize(
    ("name", "claims"),
    [("demo_claims", CLAIMS), ("demo_practice", PRACTICE), ("demo_attention", ATTENTION)],
)
def test_the_reader_takes_the_demo_claims_without_a_problem_or_a_notice(
    name: str, claims: list[dict[str, Any]]
) -> None:
    rows = list(read_rows(FIXTURES / f"{name}.jsonl"))
    assert [row for row in rows if row.problems or row.notices or row.left_out] == []
    assert [to_interchange(row.claim) for row in rows if row.claim] == claims


def test_the_csv_example_reads_as_the_json_example() -> None:
    example = json.loads(_block("json"))
    (row,) = read_rows(io.BytesIO(_block("csv").encode()), "csv")
    assert (row.problems, row.notices, row.left_out) == ((), (), None)
    assert row.claim is not None
    read = to_interchange(row.claim)
    for field in ("id", "claim", "label", "candidates", "gold_sets", "titles", "lang"):
        assert read[field] == example[field]
