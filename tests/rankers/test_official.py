from __future__ import annotations

import io
import json

import pytest

from rankers.errors import BadInput
from rankers.formats import read_claims, read_rows, write_official_ranking
from tests.rankers.claim_files import problems, rows
from tests.shared_data import DATA, needs_data


def _record(candidates=("a", "b", "a", "c"), groups=(("b",),), label="supported"):
    return {
        "candidate snippets": list(candidates),
        "gold": {"num selected snippets": 1, "gold snippets groups": [list(one) for one in groups]},
        "label": label,
    }


def _data(document):
    return json.dumps(document).encode()


def test_further_claims_of_an_instance_are_numbered():
    document = {"i": {"C one.": _record(), "C two.": _record()}, "j": {"C one.": _record()}}
    claims = [row.claim for row in rows(_data(document), "official")]
    assert [(claim.id, claim.claim) for claim in claims] == [
        ("i", "C one."),
        ("i#2", "C two."),
        ("j", "C one."),
    ]


def test_a_number_that_is_taken_is_a_problem():
    document = {"i": {"C one.": _record(), "C two.": _record()}, "i#2": {"C.": _record()}}
    assert "i#2, id: duplicate id 'i#2'" in problems(_data(document), "official")[0]


def test_a_repeated_text_takes_its_first_unused_position_with_a_notice():
    groups = [("a",), ("a", "c"), ("c", "a", "a")]
    (row,) = rows(_data({"i": {"C.": _record(groups=groups)}}), "official")
    assert row.given_sets == ((0,), (0, 3), (0, 2, 3))
    assert [one.kind for one in row.notices] == ["repeated_text", "reduced_gold_sets"]


def test_more_copies_than_candidates_and_unknown_texts_are_problems():
    found = problems(_data({"i": {"C.": _record(groups=[("a", "a", "a"), ("zzz",)])}}), "official")
    assert found[0].startswith(
        "i, gold snippets groups[0]: the gold sentence 'a' occurs less often"
    )
    assert found[1].startswith(
        "i, gold snippets groups[1]: the gold sentence 'zzz' is no candidate"
    )


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("SUPPORTS", "supported"),
        ("Supported", "supported"),
        ("REFUTES", "refuted"),
        ("refuted", "refuted"),
        ("NOT_SUPPORTED", "refuted"),
        ("partially supported", "partially_supported"),
    ],
)
def test_labels_are_mapped(label, expected):
    (row,) = rows(_data({"i": {"C.": _record(label=label)}}), "official")
    assert row.claim.label == expected


def test_labels_without_a_right_answer():
    (row,) = rows(_data({"i": {"C.": _record(label="NOT ENOUGH INFO")}}), "official")
    assert row.left_out == "not_enough_info"
    assert (
        "label: unknown label 'odd'"
        in problems(_data({"i": {"C.": _record(label="odd")}}), "official")[0]
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff", "not UTF-8"),
        (b'{"i": {"C.": ', "is the file cut off?"),
        (b"[]", "must be a JSON object of instances"),
        (b'{"i": []}', "i: must be an object of claim texts"),
        (b'{"i": {"C.": {}}}', "i, candidate snippets: missing"),
        (b'{"i": {}, "i": {}}', "the key 'i' occurs twice"),
    ],
)
def test_broken_files_are_problems(data, message):
    assert any(message in one for one in problems(data, "official"))


@needs_data
def test_the_sample_gives_the_claims_of_the_open_file():
    known = {claim.id: claim for claim in read_claims(DATA / "wice_open.jsonl")}
    path = DATA / "original" / "evidence_ranking_official_sample.json"
    claims = [row.claim for row in read_rows(path, "official")]
    assert len(claims) == 20
    for claim in claims:
        for name in ("claim", "label", "candidates", "gold_sets"):
            assert getattr(claim, name) == getattr(known[claim.id], name)


def test_a_ranking_is_written_as_prefixes():
    (row,) = rows(_data({"i": {"C.": _record(groups=[("b", "c")])}}), "official")
    stream = io.StringIO()
    assert write_official_ranking([row.claim], {"i": [3, 0, 2, 1]}, stream) == 1
    assert json.loads(stream.getvalue()) == {
        "i": {
            "C.": {
                "1": {"selected snippets": ["c"]},
                "2": {"selected snippets": ["c", "a"]},
                "3": {"selected snippets": ["c", "a", "a"]},
                "4": {"selected snippets": ["c", "a", "a", "b"]},
                "gold": {"num selected snippets": 2, "gold snippets groups": [["b", "c"]]},
                "label": "supported",
            }
        }
    }


def test_further_claims_go_back_under_their_instance():
    document = {"i": {"C one.": _record(), "C two.": _record()}}
    claims = [row.claim for row in rows(_data(document), "official")]
    stream = io.StringIO()
    orders = {claim.id: range(4) for claim in claims}
    assert write_official_ranking(claims, orders, stream) == 2
    assert list(json.loads(stream.getvalue())["i"]) == ["C one.", "C two."]


def test_a_partial_order_is_refused():
    (row,) = rows(_data({"i": {"C.": _record()}}), "official")
    with pytest.raises(BadInput, match="i: the order does not fit 4 candidates"):
        write_official_ranking([row.claim], {"i": [0, 1]}, io.StringIO())
