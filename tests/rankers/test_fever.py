from __future__ import annotations

import gzip
import tracemalloc
from collections import Counter

import pytest

from rankers.cli import main
from rankers.convert import Bounds, convert, pages_for
from rankers.errors import BadInput
from rankers.formats import Page, load_pages, read_claims, read_rows
from tests.rankers.wiki_files import fever_claim, fever_page, jsonl


def converted(tmp_path, claims, pages, **options):
    """The claims of a conversion, and its report."""
    source = jsonl(tmp_path / "claims.jsonl", *claims)
    jsonl(tmp_path / "wiki" / "wiki-001.jsonl", *pages)
    out = tmp_path / "out.jsonl"
    found = pages_for([source], "fever", [tmp_path / "wiki"])
    report = convert([source], out, "fever", pages=found, **options)
    return list(read_claims(out)), report


TOWER = fever_page("Old_Tower_-LRB-Paris-RRB-", "It is a tower .", "It opened in 1889 .", "")
CITY = fever_page("City", "A city .", "It has a tower .")


def test_evidence_groups_become_gold_sets_over_the_sentences_of_their_pages(tmp_path):
    claim = fever_claim([(TOWER["id"], 1)], [(TOWER["id"], 0), ("City", 1)])
    [found], report = converted(tmp_path, [claim], [TOWER, CITY])
    assert found.id == "fever-1"
    assert found.candidates == (
        "A city .",
        "It has a tower .",
        "It is a tower .",
        "It opened in 1889 .",
    )
    assert found.titles == ("City", "City", "Old Tower (Paris)", "Old Tower (Paris)")
    assert found.gold_sets == ((3,), (1, 2))
    assert (found.label, found.source) == ("supported", "FEVER")
    assert "CC BY-SA 3.0" in found.license
    assert (report.written, report.left_out, report.notices) == (1, Counter(), Counter())


def test_groups_that_repeat_under_other_annotation_ids_count_once(tmp_path):
    both = [("City", 0), (TOWER["id"], 1)]
    claim = fever_claim(both, both[::-1], [*both, both[0]])
    [found], report = converted(tmp_path, [claim], [TOWER, CITY], keep_supersets=True)
    assert found.gold_sets == ((0, 3),)
    assert report.notices == Counter()


def test_supersets_are_kept_only_when_asked_for(tmp_path):
    claim = fever_claim([("City", 0)], [("City", 0), ("City", 1)])
    [found], report = converted(tmp_path, [claim], [CITY])
    assert found.gold_sets == ((0,),)
    assert report.notices == {"reduced_gold_sets": 1}
    _, report = converted(tmp_path, [claim], [CITY], keep_supersets=True)
    [row] = read_rows(tmp_path / "out.jsonl")
    assert row.given_sets == ((0,), (0, 1))
    assert report.notices == Counter()


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        (fever_claim([(None, None)], label="NOT ENOUGH INFO"), "not_enough_info"),
        ({"id": 7, "claim": "Of the test file."}, "unlabelled"),
        (fever_claim([("Nowhere", 0)]), "page_missing"),
        (fever_claim([("Nowhere", 0)], [("City", 9)]), "page_missing"),
        (fever_claim([("City", 9)]), "sentence_missing"),
        (fever_claim([(TOWER["id"], 2)]), "sentence_missing"),
        (fever_claim([("City", 0), ("City", -1)]), "sentence_missing"),
        (fever_claim(), "no_gold_set"),
        (fever_claim([("City", 0), (None, None)]), "no_gold_set"),
    ],
)
def test_claims_are_left_out_by_reason(tmp_path, claim, reason):
    kept = fever_claim([("City", 0)], id=2)
    [found], report = converted(tmp_path, [claim, kept], [TOWER, CITY])
    assert (found.id, report.left_out) == ("fever-2", {reason: 1})


def test_a_set_that_cannot_be_completed_goes_whole_and_its_other_pages_stay(tmp_path):
    claim = fever_claim([(TOWER["id"], 1), ("Nowhere", 0)], [("City", 1)])
    [found], report = converted(tmp_path, [claim], [TOWER, CITY])
    assert found.gold_sets == ((1,),)
    assert found.titles == ("City", "City", "Old Tower (Paris)", "Old Tower (Paris)")
    assert report.notices == {"unreachable_sets": 1}


def test_the_oddities_of_lines(tmp_path):
    lines = "\n".join(
        [
            "0\tThe first sentence .\tanchor\ttarget",
            "1\t",
            "3\tA sentence that a line break",
            "cuts in two .\tan anchor that",
            "is cut too\ttarget",
            "\tno number",
            "1984\tA large number .",
            "3\tA number again .",
            "which is left out",
            "5",
            "4\t  ",
        ]
    )
    page = {"id": "Odd", "text": "", "lines": lines}
    claim = fever_claim([("Odd", 0), ("Odd", 3), ("Odd", 1984)])
    [found], _ = converted(tmp_path, [claim], [page])
    assert found.candidates == (
        "The first sentence .",
        "A sentence that a line break cuts in two .",
        "A large number .",
    )
    assert found.gold_sets == ((0, 1, 2),)


def test_escapes_are_shown_as_readers_know_them_and_other_dashes_stay(tmp_path):
    text = "He -LRB- the `` King '' -RRB- said -LSB- sic -RSB- : -LCB-a-RCB- -LRB -X- ."
    page = fever_page("A-COLON-_B_-LRB-film-RRB-", text)
    [found], _ = converted(tmp_path, [fever_claim([(page["id"], 0)])], [page])
    assert found.candidates == ('He ( the " King " ) said [ sic ] : {a} -LRB -X- .',)
    assert found.titles == ("A: B (film)",)


def test_pages_are_found_whatever_their_normal_form_and_escapes(tmp_path):
    composed, decomposed = 'Caf\u00e9_"Z"', 'Cafe\u0301_"Z"'
    claims = [fever_claim([(composed, 0)]), fever_claim([(decomposed, 0)], id=2)]
    found, _ = converted(tmp_path, claims, [fever_page(decomposed, "Coffee .")])
    assert [claim.titles for claim in found] == [('Caf\u00e9 "Z"',)] * 2


def test_an_empty_first_page_does_no_harm(tmp_path):
    empty = {"id": "", "text": "", "lines": ""}
    [found], _ = converted(tmp_path, [fever_claim([("City", 0)])], [empty, CITY])
    assert found.titles == ("City", "City")


@pytest.mark.parametrize(
    "line",
    [
        '{"meta": {"id": "City"}, "id": "Fake", "lines": "0\\tWrong ."}',
        '{"id": "Fake", "lines": "0\\tWrong .", "meta": {"id": "City"}}',
    ],
)
def test_an_inner_id_does_not_stand_for_its_page(tmp_path, line):
    [found], _ = converted(tmp_path, [fever_claim([("City", 0)])], [line, CITY])
    assert found.candidates == ("A city .", "It has a tower .")


def test_an_inner_id_does_not_hide_its_page(tmp_path):
    line = '{"meta": {"id": "Zed"}, "id" : "City", "lines": "0\\tRight ."}'
    [found], _ = converted(tmp_path, [fever_claim([("City", 0)])], [line])
    assert found.candidates == ("Right .",)


def test_a_page_with_a_wanted_inner_id_and_none_of_its_own_is_refused(tmp_path):
    with pytest.raises(BadInput, match="line 1: id: missing or no text"):
        converted(tmp_path, [fever_claim([("City", 0)])], ['{"meta": {"id": "City"}}'])


@pytest.mark.parametrize("ending", ['", "lines": ""}', None])
def test_an_endless_title_takes_little_memory(tmp_path, ending):
    long = '{"id": "' + "a" * 20_000_000
    source = jsonl(tmp_path / "claims.jsonl", fever_claim([("City", 0)]))
    dump = jsonl(tmp_path / "wiki-001.jsonl", long + (ending or ""), CITY)
    tracemalloc.start()
    try:
        if ending:
            assert set(load_pages([source], "fever", [dump])) == {"City"}
        else:
            with pytest.raises(BadInput, match=r"line 1: not JSON.*cut off"):
                load_pages([source], "fever", [dump])
        assert tracemalloc.get_traced_memory()[1] < 120_000_000
    finally:
        tracemalloc.stop()


COMPOSED, DECOMPOSED = "Caf\u00e9", "Cafe\u0301"


@pytest.mark.parametrize(
    "pages",
    [
        [fever_page("City", ""), fever_page("City", "Right .")],
        [fever_page("City", "Right ."), fever_page("City", "Second .")],
        [fever_page(DECOMPOSED, "Wrong ."), fever_page(COMPOSED, "Right .")],
        [fever_page(COMPOSED, "Right ."), fever_page(DECOMPOSED, "Wrong .")],
        [fever_page(COMPOSED, ""), fever_page(DECOMPOSED, "Right .")],
        [fever_page(DECOMPOSED, "Right ."), fever_page(COMPOSED, "")],
    ],
)
def test_of_pages_with_one_name_the_exact_one_with_sentences_is_taken(tmp_path, pages):
    [found], _ = converted(tmp_path, [fever_claim([(pages[0]["id"], 0)])], pages)
    assert found.candidates == ("Right .",)


def test_only_needed_pages_are_kept_and_reading_stops_when_all_are_found(tmp_path):
    source = jsonl(tmp_path / "claims.jsonl", fever_claim([("City", 0)]))
    dump = jsonl(tmp_path / "wiki-001.jsonl", TOWER, CITY, "damaged, but never read")
    pages = load_pages([source], "fever", [dump])
    assert pages == {"City": Page("City", {0: "A city .", 1: "It has a tower ."})}


def test_a_dump_may_be_files_or_folders_compressed_or_not(tmp_path):
    source = jsonl(
        tmp_path / "claims.jsonl", fever_claim([("City", 0)]), fever_claim([(TOWER["id"], 0)], id=2)
    )
    first = jsonl(tmp_path / "wiki" / "wiki-001.jsonl", TOWER)
    second = jsonl(tmp_path / "city.jsonl", CITY)
    packed = tmp_path / "more" / "wiki-002.jsonl.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(second.read_bytes()))
    for wiki in ([first, second], [first.parent, packed.parent]):
        assert set(load_pages([source], "fever", wiki)) == {"City", TOWER["id"]}


def test_claims_of_several_files_share_one_pass_over_the_dump(tmp_path):
    first = jsonl(tmp_path / "a.jsonl", fever_claim([("City", 0)]))
    second = jsonl(tmp_path / "b.jsonl", fever_claim([(TOWER["id"], 0)], id=2))
    dump = jsonl(tmp_path / "wiki-001.jsonl", TOWER, CITY)
    out = tmp_path / "out.jsonl"
    pages = load_pages([first, second], "fever", [dump])
    assert convert([first, second], out, "fever", pages=pages).written == 2


def test_bounds_leave_claims_out_and_count_them(tmp_path):
    claims = [
        fever_claim([("City", 0)], id=1),
        fever_claim([("City", 0), (TOWER["id"], 0)], id=2),
        fever_claim([("One", 0)], id=3),
    ]
    pages = [TOWER, CITY, fever_page("One", "One .")]
    found, report = converted(tmp_path, claims, pages, bounds=Bounds(max_pages=1))
    assert [claim.id for claim in found] == ["fever-1", "fever-3"]
    assert report.left_out == {"too_many_pages": 1}
    found, report = converted(tmp_path, claims, pages, bounds=Bounds(2, 3))
    assert [claim.id for claim in found] == ["fever-1"]
    assert report.left_out == {"too_few_candidates": 1, "too_many_candidates": 1}


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ("{", "line 1: not JSON"),
        ("[]", "line 1: must be a JSON object"),
        (fever_claim([("City", 0)], id=None), "line 1, id: missing, or neither"),
        (fever_claim([("City", 0)], id=True), "line 1, id: missing, or neither"),
        (fever_claim([("City", 0)], claim=3), "line 1, claim: missing or no text"),
        (fever_claim([("City", 0)], claim=" "), "line 1, claim: empty"),
        (fever_claim([("City", 0)], label=3), "line 1, label: no text"),
        (fever_claim([("City", 0)], label="TRUE"), "line 1, label: unknown label 'TRUE'"),
        (fever_claim(evidence=None), "line 1, evidence: missing or no list"),
        (fever_claim(evidence=[[["City", 0]]]), "line 1, evidence[0]: must be a list of"),
        (fever_claim([("City", "0")]), "line 1, evidence[0]: must be a list of"),
        (fever_claim([("City", None)]), "line 1, evidence[0]: must be a list of"),
    ],
)
def test_broken_claims_are_problems_and_nothing_is_written(tmp_path, claim, message):
    with pytest.raises(BadInput) as caught:
        converted(tmp_path, [claim], [CITY])
    [problem] = caught.value.problems
    assert message in problem
    assert not (tmp_path / "out.jsonl").exists()


def test_repeated_ids_are_problems(tmp_path):
    claim = fever_claim([("City", 0)])
    with pytest.raises(BadInput, match="line 2, id: duplicate id 'fever-1', first on line 1"):
        converted(tmp_path, [claim, claim], [CITY])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("no JSON", "wiki-001.jsonl: line 2: not JSON"),
        ('{"id": "City", "lines": "0\\tA city .', "line 2: not JSON.*cut off.*downloaded whole?"),
        ('{"id": "City", "text": "A city ."}', "line 2: lines: missing or no text, in page 'City'"),
        ('{"title": "City"}', "line 2: id: missing or no text"),
    ],
)
def test_a_damaged_dump_is_refused_with_its_place(tmp_path, line, message):
    with pytest.raises(BadInput, match=message):
        converted(tmp_path, [fever_claim([("City", 0)])], [TOWER, line])
    assert not (tmp_path / "out.jsonl").exists()


def test_a_packed_file_that_is_cut_off_is_refused(tmp_path):
    source = jsonl(tmp_path / "claims.jsonl", fever_claim([("City", 0)]))
    packed = tmp_path / "wiki-001.jsonl.gz"
    packed.write_bytes(gzip.compress(b"{}" * 1000)[:-12])
    with pytest.raises(BadInput, match=r"wiki-001.jsonl.gz: cannot be read"):
        load_pages([source], "fever", [packed])


def test_where_the_dump_is_must_be_said_and_right(tmp_path, capsys):
    source = str(jsonl(tmp_path / "claims.jsonl", fever_claim([("City", 0)])))
    (tmp_path / "empty").mkdir()
    out = str(tmp_path / "out.jsonl")
    for wiki, message in (
        ([], "format fever needs --wiki"),
        (["--wiki", str(tmp_path / "empty")], "no Wikipedia file in this folder: wiki-*.jsonl"),
        (["--wiki", str(tmp_path / "none")], "no such file or folder"),
    ):
        assert main(["convert", source, "--format", "fever", *wiki, "-o", out]) == 1
        assert message in capsys.readouterr().err
    assert main(["convert", source, "--format", "wice", "--wiki", out, "-o", out]) == 1
    assert "--wiki is for the formats fever, hover, not wice" in capsys.readouterr().err
    with pytest.raises(BadInput, match="format fever needs the pages of its Wikipedia"):
        list(read_rows(source, "fever"))


def test_wrong_options_are_refused_before_the_dump_is_read(tmp_path, capsys):
    source = str(jsonl(tmp_path / "claims.jsonl", fever_claim([("City", 0)])))
    wiki = str(jsonl(tmp_path / "wiki-001.jsonl", "damaged"))
    arguments = ["convert", source, "--format", "fever", "--wiki", wiki, "--stratify", "label"]
    assert main([*arguments, "-o", str(tmp_path / "out.jsonl")]) == 1
    assert capsys.readouterr().err == "--stratify needs --sample N\n"


def test_the_command_converts_and_says_what_was_left_out(tmp_path, capsys):
    claims = [fever_claim([("City", 0)]), fever_claim([("Nowhere", 0)], id=2)]
    source = str(jsonl(tmp_path / "claims.jsonl", *claims))
    wiki = [
        str(jsonl(tmp_path / f"wiki-00{i}.jsonl", page)) for i, page in enumerate((TOWER, CITY))
    ]
    out = str(tmp_path / "out.jsonl")
    assert main(["convert", source, "--format", "fever", "--wiki", *wiki, "-o", out]) == 0
    assert capsys.readouterr().out.splitlines() == [f"{out}: 1 claims", "left out: 1 page_missing"]
