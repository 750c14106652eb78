from __future__ import annotations

import csv
import io

from rankers.formats.csv import OPTIONAL, REQUIRED
from tests.rankers.claim_files import problems, rows

HEADER = "claim_id,claim,label,candidate,gold_sets\n"
GOOD = HEADER + "a,A claim.,supported,One.,1\na,A claim.,supported,Two.,1;2\n"


def _claims(text):
    return [row.claim for row in rows(text.encode(), "csv") if row.claim is not None]


def test_rows_of_a_claim_become_one_claim():
    (claim,) = _claims(
        HEADER
        + "a,A claim.,refuted,One.,2\n"
        + "a,A claim.,refuted,Two.,\n"
        + "a,A claim.,refuted,Three.,1; 2\n"
        + "a,A claim.,refuted,Four.,1\n"
    )
    assert claim.candidates == ("One.", "Two.", "Three.", "Four.")
    assert claim.gold_sets == ((2, 3), (0, 2))
    assert (claim.id, claim.claim, claim.label, claim.titles) == ("a", "A claim.", "refuted", None)


def test_optional_columns_in_any_order():
    text = (
        "lang,title,claim_id,candidate,gold_sets,label,claim,license,source\n"
        "fr,T,a,One.,1,supported,C.,CC0,S\nfr,,a,Two.,,supported,C.,CC0,S\n"
    )
    (claim,) = _claims(text)
    assert claim.titles == ("T", None)
    assert (claim.lang, claim.license, claim.source) == ("fr", "CC0", "S")


def test_bom_and_crlf_give_the_same_claims():
    plain = rows(GOOD.encode(), "csv")
    windows = rows(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode(), "csv")
    assert [row.claim for row in windows] == [row.claim for row in plain]
    assert plain[0].claim is not None


def test_values_that_look_like_nothing_stay_text():
    (claim,) = _claims(HEADER + "001,NA,supported,null,1\n001,NA,supported,None,\n")
    assert (claim.id, claim.claim, claim.candidates) == ("001", "NA", ("null", "None"))
    assert "unknown label 'None'" in problems((HEADER + "a,NA,None,x,1\n").encode(), "csv")[0]


def test_a_round_trip_through_a_csv_writer_keeps_every_sign():
    texts = ['a "quoted", text', "two\nlines\n\nhere", "=1+1", "-1", "@x", "日本 🙂", "end"]
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(REQUIRED)
    for i, text in enumerate(texts):
        writer.writerow(["-3", "x\n& <b>", "supported", text, "1" if i == 2 else ""])
    (claim,) = _claims(stream.getvalue())
    assert claim.candidates == tuple(texts)
    assert (claim.id, claim.claim, claim.gold_sets) == ("-3", "x\n& <b>", ((2,),))


def test_line_numbers_are_right_after_cells_with_line_breaks():
    text = HEADER + 'a,C.,supported,"one\n\ntwo",1\n\nb,C.,maybe,x,1\n'
    assert problems(text.encode(), "csv") == [
        "line 6, label: unknown label 'maybe': write one of supported, refuted, partially_supported"
    ]


def test_rows_of_a_claim_must_follow_each_other():
    text = HEADER + "a,C.,supported,x,1\nb,D.,supported,y,1\na,C.,supported,z,\n"
    assert problems(text.encode(), "csv") == [
        "line 4, claim_id: duplicate id 'a', first on line 2; "
        "the rows of a claim must follow each other"
    ]


def test_rows_of_a_claim_must_agree():
    text = HEADER + "a,C.,supported,x,1\na,Other.,refuted,y,\n"
    assert problems(text.encode(), "csv") == [
        "line 3, claim: differs from line 2, where claim 'a' starts",
        "line 3, label: differs from line 2, where claim 'a' starts",
    ]


def test_problems_of_rows():
    text = (
        HEADER
        + "a,C.,supported,x,one\n"
        + "b,,supported,x,1\n"
        + ",C.,supported,x,1\n"
        + "d,C.,supported,x\n"
        + "e,C.,supported,x\x00,1\n"
        + "f,C.,supported,x,1.0\n"
    )
    found = problems(text.encode(), "csv")
    assert [one.split(":")[0] for one in found] == [
        "line 2, gold_sets",
        "line 4, claim_id",
        "line 4, claim",
        "line 5",
        "line 6, candidates[0]",
        "line 7, gold_sets",
    ]
    assert "4 cells where the header has 5" in found[3]
    assert "U+0000" in found[4]


def test_headers_that_cannot_be_used():
    assert "no header" in problems(b"", "csv")[0]
    assert (
        "missing columns: claim, label, candidate, gold_sets"
        in problems(b"claim_id,text\n", "csv")[0]
    )
    assert "separate columns by commas" in problems(b"claim_id;claim;label\n", "csv")[0]
    assert (
        "columns named twice: claim" in problems((HEADER.strip() + ",claim\n").encode(), "csv")[0]
    )


def test_unknown_columns_are_noticed_once():
    found = rows((HEADER.strip() + ",note\na,C.,supported,x,1,n\n").encode(), "csv")
    assert [str(one) for row in found for one in row.notices] == [
        "line 1: unknown columns ignored: 'note'"
    ]
    assert found[1].claim.id == "a"


def test_bytes_that_are_no_utf8_name_their_line():
    text = HEADER.encode() + b"a,C.,supported,caf\xe9,1\nb,C.,supported,x,1\n"
    found = rows(text, "csv")
    (problem,) = [one for row in found for one in row.problems]
    assert str(problem).startswith("line 2: not UTF-8")
    assert found[-1].claim.id == "b"


def test_an_unclosed_quote_is_reported_where_it_opens():
    text = GOOD + 'b,C.,supported,"never closed,1\nc,C.,supported,x,1\n'
    assert problems(text.encode(), "csv")[0].startswith("line 4: not CSV")


def test_what_the_source_allows_is_left_out_by_reason():
    text = (
        HEADER
        + "a,C.,,x,1\n"
        + "b,C.,supported,x,\n"
        + "c,C.,supported,,1\nc,C.,supported,y,1;2\nc,C.,supported,z,3\n"
    )
    found = rows(text.encode(), "csv")
    assert [row.left_out for row in found] == ["unlabelled", "no_gold_set", None]
    assert found[2].claim.candidates == ("y", "z")
    assert found[2].claim.gold_sets == ((0,), (1,))
    assert {one.kind for one in found[2].notices} == {"empty_candidates", "reduced_gold_sets"}


def test_a_claim_without_end_is_refused():
    row = "a,C.,supported," + "x" * 100_000 + ",1\n"
    found = problems((HEADER + row * 60).encode(), "csv")
    assert len(found) == 1
    assert "claim 'a' is longer than 5,000,000 bytes" in found[0]


def test_a_sentence_beyond_the_csv_modules_own_limit_is_read():
    (claim,) = _claims(HEADER + "a,C.,supported," + "x" * 200_000 + ",1\n")
    assert len(claim.candidates[0]) == 200_000


def test_the_columns_are_those_of_the_product():
    assert REQUIRED == ("claim_id", "claim", "label", "candidate", "gold_sets")
    assert OPTIONAL == ("title", "source", "license", "lang")
