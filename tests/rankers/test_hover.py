from __future__ import annotations

import html
import json
import os
import unicodedata
from collections import Counter

import pytest

from rankers.convert import Bounds, convert, pages_for
from rankers.errors import BadInput
from rankers.formats import Page, load_pages, read_claims
from tests.rankers.wiki_files import hover_claim, hover_database, hover_introductions, jsonl
from tests.shared_data import DATA, needs_data

PAGES = {
    "Tower": "It is a tower.[SENT] It opened in 1889.[SENT]",
    "City": "A city.[SENT] It has a tower.",
}


def source_of(tmp_path, *claims):
    path = tmp_path / "hover.json"
    path.write_text(json.dumps(list(claims)), encoding="utf-8")
    return path


def converted(tmp_path, claims, wiki, **options):
    """The claims of a conversion, and its report."""
    source, out = source_of(tmp_path, *claims), tmp_path / "out.jsonl"
    pages = pages_for([source], "hover", [wiki])
    report = convert([source], out, "hover", pages=pages, **options)
    return list(read_claims(out)), report


@pytest.fixture
def wiki(tmp_path):
    return hover_database(tmp_path / "wiki.db", PAGES)


def test_supporting_facts_are_the_one_gold_set_over_their_pages(tmp_path, wiki):
    [found], report = converted(tmp_path, [hover_claim(("Tower", 1), ("City", 1))], wiki)
    assert found.id == "hover-u1"
    assert found.candidates == (
        "A city.",
        "It has a tower.",
        "It is a tower.",
        "It opened in 1889.",
    )
    assert found.titles == ("City", "City", "Tower", "Tower")
    assert found.gold_sets == ((1, 3),)
    assert (found.label, found.source) == ("supported", "HoVer")
    assert "CC BY-SA 4.0" in found.license
    assert found.meta == {"num_hops": 2, "hpqa_id": "5a"}
    assert (report.left_out, report.notices) == (Counter(), Counter())


def test_the_published_introductions_give_the_same(tmp_path, wiki):
    sentences = {title: text.split("[SENT]") for title, text in PAGES.items()}
    hover_introductions(tmp_path / "abstracts" / "AA" / "wiki_00.bz2", sentences)
    claims = [hover_claim(("Tower", 1), ("City", 1))]
    assert (
        converted(tmp_path, claims, tmp_path / "abstracts")[0]
        == converted(tmp_path, claims, wiki)[0]
    )


def test_not_supported_is_read_as_refuted_with_a_notice(tmp_path, wiki):
    claims = [hover_claim(("City", 0), label="NOT_SUPPORTED")]
    [found], report = converted(tmp_path, claims, wiki)
    assert found.label == "refuted"
    assert report.notices == {"two_way_label": 1}


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        (hover_claim(("City", 0), ("Nowhere", 0)), "page_missing"),
        (hover_claim(("City", 0), ("Tower", 2)), "sentence_missing"),
        (hover_claim(("City", 7)), "sentence_missing"),
        (hover_claim(("City", 0), label=None), "unlabelled"),
        ({"uid": "u", "claim": "Of the test file."}, "unlabelled"),
        (hover_claim(), "no_gold_set"),
    ],
)
def test_claims_are_left_out_by_reason(tmp_path, wiki, claim, reason):
    kept = hover_claim(("City", 0), uid="kept")
    [found], report = converted(tmp_path, [claim, kept], wiki)
    assert (found.id, report.left_out) == ("hover-kept", {reason: 1})


@pytest.mark.parametrize("stored", ['Caf\u00e9 & "Z"', 'Cafe\u0301 &amp; "Z"'])
@pytest.mark.parametrize("named", ["Caf\u00e9 &amp; &quot;Z&quot;", 'Cafe\u0301 & "Z"'])
def test_titles_are_compared_without_escapes_and_normal_forms(tmp_path, stored, named):
    text = "R&amp;D.[SENT] 1 &lt; 2."
    page = Page('Caf\u00e9 & "Z"', {0: "R&D.", 1: "1 < 2."})
    source = source_of(tmp_path, hover_claim((named, 1)))
    database = hover_database(tmp_path / "wiki.db", {stored: text})
    packed = hover_introductions(tmp_path / "wiki_00.bz2", {stored: text.split("[SENT]")})
    assert load_pages([source], "hover", [database]) == {page.title: page}
    assert load_pages([source], "hover", [packed]) == {page.title: page}


def test_of_pages_with_one_title_the_exact_one_with_sentences_is_taken(tmp_path):
    twins = {"Cafe\u0301": "Wrong.[SENT]", "Caf\u00e9": "Right.[SENT]"}
    halves = {"A & B": "[SENT] ", "A &amp; B": "Right too.[SENT]"}
    database = hover_database(tmp_path / "wiki.db", {**twins, **halves, "C": " "})
    lines = hover_introductions(tmp_path / "wiki_00.bz2", {"C": ["Last."]})
    source = source_of(tmp_path, hover_claim(("Caf\u00e9", 0), ("A & B", 0), ("C", 0)))
    assert load_pages([source], "hover", [database, lines]) == {
        "Caf\u00e9": Page("Caf\u00e9", {0: "Right."}),
        "A & B": Page("A & B", {0: "Right too."}),
        "C": Page("C", {0: "Last."}),
    }


def test_a_database_of_running_text_is_refused_as_sentences_could_only_be_guessed(tmp_path):
    plain = hover_database(tmp_path / "plain.db", {"City": "A city. It has a tower."})
    with pytest.raises(BadInput) as caught:
        converted(tmp_path, [hover_claim(("City", 1))], plain)
    [problem] = caught.value.problems
    assert "plain.db: its pages do not mark where sentences end (no [SENT])" in problem
    assert "abstracts, files wiki_*.bz2" in problem
    assert not (tmp_path / "out.jsonl").exists()


def test_needed_pages_of_one_sentence_each_are_fine_where_others_have_marks(tmp_path):
    database = hover_database(tmp_path / "wiki.db", {"One": "One.", **PAGES})
    [found], _ = converted(tmp_path, [hover_claim(("One", 0))], database)
    assert found.candidates == ("One.",)


def test_the_database_is_opened_read_only(tmp_path, wiki):
    os.chmod(wiki, 0o444)
    before = (wiki.read_bytes(), sorted(path.name for path in tmp_path.iterdir()))
    source = source_of(tmp_path, hover_claim(("City", 0)))
    assert set(load_pages([source], "hover", [wiki])) == {"City"}
    (tmp_path / "hover.json").unlink()
    assert before == (wiki.read_bytes(), sorted(path.name for path in tmp_path.iterdir()))


def test_a_page_without_text_is_missing(tmp_path):
    database = hover_database(tmp_path / "wiki.db", {"None": None, **PAGES})
    with pytest.raises(BadInput, match="all claims are left out: 1 page_missing"):
        converted(tmp_path, [hover_claim(("None", 0))], database)


def test_a_database_of_another_kind_is_refused(tmp_path):
    database = hover_database(tmp_path / "wiki.db", PAGES, table="pages")
    with pytest.raises(BadInput, match=r"wiki.db: no such table: documents; .* documents\(id"):
        converted(tmp_path, [hover_claim(("City", 0))], database)


def test_full_pages_instead_of_introductions_are_refused(tmp_path):
    record = {"title": "City", "text": [["City"], ["A city."]]}
    dump = jsonl(tmp_path / "wiki_00.jsonl", record)
    with pytest.raises(BadInput, match=r"line 1: text: no list of sentences, in page 'City'"):
        converted(tmp_path, [hover_claim(("City", 0))], dump)


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ([], "claim 1: must be a JSON object"),
        (hover_claim(("City", 0), uid=" "), "claim 1, uid: missing or no text"),
        (hover_claim(("City", 0), claim=None), "hover-u1, claim: missing or no text"),
        (hover_claim(("City", 0), label=1), "hover-u1, label: no text"),
        (hover_claim(("City", 0), label="MAYBE"), "hover-u1, label: unknown label 'MAYBE'"),
        (hover_claim(supporting_facts=None), "hover-u1, supporting_facts: missing or no list"),
        (hover_claim(("City", True)), "hover-u1, supporting_facts: missing or no list"),
        (hover_claim(supporting_facts=[["City"]]), "hover-u1, supporting_facts: missing or no"),
    ],
)
def test_broken_claims_are_problems(tmp_path, wiki, claim, message):
    with pytest.raises(BadInput) as caught:
        converted(tmp_path, [claim], wiki)
    [problem] = caught.value.problems
    assert message in problem


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff", "not UTF-8"),
        (b"[{", "is the file cut off?"),
        (b"{}", "must be a JSON list of claims"),
    ],
)
def test_broken_files_are_problems(tmp_path, wiki, data, message):
    source = tmp_path / "hover.json"
    source.write_bytes(data)
    pages = pages_for([source], "hover", [wiki])
    with pytest.raises(BadInput, match=message):
        convert([source], tmp_path / "out.jsonl", "hover", pages=pages)


def test_repeated_ids_are_problems(tmp_path, wiki):
    with pytest.raises(BadInput, match="hover-u1, uid: duplicate id 'hover-u1'"):
        converted(tmp_path, [hover_claim(("City", 0))] * 2, wiki)


@needs_data
def test_the_sample_converts_with_hops_to_choose_by(tmp_path):
    source = DATA / "original" / "hover_sample.json"
    claims = json.loads(source.read_text())
    last: Counter[str] = Counter()
    for claim in claims:
        for title, number in claim["supporting_facts"]:
            last[title] = max(last[title], number)
    # Each page has one sentence more than is named, and an empty one before it.
    pages = {
        unicodedata.normalize("NFD", html.escape(title, quote=False)): "[SENT]".join(
            [f"{title} {number}." for number in range(most + 1)] + [" ", "The end."]
        )
        for title, most in last.items()
    }
    wiki, out = hover_database(tmp_path / "wiki.db", pages), tmp_path / "out.jsonl"
    found = pages_for([source], "hover", [wiki])
    report = convert([source], out, "hover", pages=found)
    assert (report.written, report.left_out) == (30, Counter())
    assert report.notices == {"two_way_label": 15}
    for claim, given in zip(read_claims(out), claims, strict=True):
        named = {f"{title} {number}." for title, number in given["supporting_facts"]}
        [gold] = claim.gold_sets
        assert {claim.candidates[i] for i in gold} == named
        assert claim.titles == tuple(sorted(claim.titles))
        assert set(claim.titles) == {title for title, _ in given["supporting_facts"]}

    report = convert([source], out, "hover", pages=found, sample=12, stratify=["hops", "label"])
    drawn = Counter((claim.meta["num_hops"], claim.label) for claim in read_claims(out))
    assert drawn == {(hops, label): 2 for hops in (2, 3, 4) for label in ("supported", "refuted")}
    report = convert([source], out, "hover", pages=found, bounds=Bounds(max_pages=3))
    wide = sum(len({title for title, _ in one["supporting_facts"]}) > 3 for one in claims)
    assert report.left_out == {"too_many_pages": wide}
    assert wide > 0
