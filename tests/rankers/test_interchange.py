from __future__ import annotations

import io
import json
import tracemalloc

import pytest

from rankers.errors import BadInput
from rankers.formats import SeenIds, claim_digest, read_claims, read_rows, write_claims
from rankers.formats.gold import minimal_sets
from rankers.formats.rows import MAX_CLAIM_BYTES
from rankers.values import Claim
from tests.rankers.claim_files import GOOD, line, problems, rows, write
from tests.shared_data import DATA, needs_data


def test_a_good_line_gives_its_claim():
    data = line(
        titles=["A", None, "B"], source="s", license="CC0", lang="de", meta={"page": 3, "x": [None]}
    )
    (row,) = rows(data)
    assert row.claim == Claim(
        id="c1",
        claim="The tower opened in 1889.",
        label="supported",
        candidates=("It is a tower.", "It opened in 1889.", "It is in Paris."),
        gold_sets=((1,),),
        titles=("A", None, "B"),
        source="s",
        license="CC0",
        lang="de",
        meta={"page": 3, "x": [None]},
    )
    assert (row.line, row.problems, row.notices) == (1, (), ())


def test_bom_crlf_blank_lines_and_a_missing_last_line_end_are_tolerated():
    second = line(id="c2").rstrip(b"\n")
    data = b"\xef\xbb\xbf" + line().replace(b"\n", b"\r\n") + b"\r\n   \n" + second
    assert [(row.line, row.claim.id) for row in rows(data)] == [(1, "c1"), (4, "c2")]


def test_text_is_kept_as_it_is():
    text = 'NA\n\n x < y & <b>"q"</b> \u202eabc é e\u0301 '
    (row,) = rows(line(id="001", claim=text, candidates=["null", "null", text]))
    assert (row.claim.id, row.claim.claim) == ("001", text)
    assert row.claim.candidates == ("null", "null", text)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (line(label="true"), "line 1, label: unknown label 'true'"),
        (line(label="Supported"), "line 1, label: unknown label 'Supported'"),
        (line(label=...), "line 1, label: missing"),
        (line(claim="  "), "line 1, claim: empty"),
        (line(claim=None), "line 1, claim: must be text, not null"),
        (line(claim=7), "line 1, claim: must be text in quotes, not a number"),
        (line(id=12), "line 1, id: must be text in quotes, not a number"),
        (line(id=""), "line 1, id: empty"),
        (line(candidates=["a", " ", "c"]), "line 1, candidates[1]: empty candidate"),
        (line(candidates=["a", 2, "c"]), "line 1, candidates[1]: must be text, not a number"),
        (line(candidates=[]), "line 1, candidates: no candidates"),
        (line(candidates="abc"), "line 1, candidates: must be a list, not text"),
        (line(candidates=...), "line 1, candidates: missing"),
        (line(gold_sets=[[0], [3]]), "line 1, gold_sets[1]: index 3 is out of range"),
        (line(gold_sets=[[-1]]), "line 1, gold_sets[0]: index -1 is out of range"),
        (line(gold_sets=[[True]]), "line 1, gold_sets[0]: True is not a position"),
        (line(gold_sets=[[1.0]]), "line 1, gold_sets[0]: 1.0 is not a position"),
        (line(gold_sets=[["s1"]]), "line 1, gold_sets[0]: 's1' is not a position"),
        (line(gold_sets=[[1], []]), "line 1, gold_sets[1]: empty gold set"),
        (line(gold_sets=[[]]), "line 1, gold_sets[0]: empty gold set"),
        (line(gold_sets=[]), "line 1, gold_sets: no gold set"),
        (line(gold_sets=[1]), "line 1, gold_sets[0]: must be a list of positions, not a number"),
        (line(titles=["a"]), "line 1, titles: 1 titles for 3 candidates"),
        (line(titles=[]), "line 1, titles: 0 titles for 3 candidates"),
        (line(titles=[1, None, None]), "line 1, titles[0]: must be text or null"),
        (line(meta=[]), "line 1, meta: must be an object, not a list"),
        (line(lang=4), "line 1, lang: must be text in quotes"),
        (line(candidates=["a\x00b", "b", "c"]), "line 1, candidates[0]: holds U+0000"),
        (line(id="a\x00"), "line 1, id: holds U+0000"),
        (line(meta={"k": [{"\x00": 1}]}), "line 1, meta: holds U+0000"),
        (line(claim="x\ud800"), "line 1, claim: holds half a character (\\ud800"),
        (b"[1]\n", "line 1: must be a JSON object, not a list"),
        (b"hello\n", "line 1: not JSON"),
        (line()[:-20], "it ends in the middle, is the file cut off?"),
        (b'{"id": "a", "id": "b"}\n', "line 1: not usable JSON: the key 'id' occurs twice"),
        (b'{"meta": {"a": 1, "a": 1}}\n', "the key 'a' occurs twice"),
        (b'{"meta": NaN}\n', "line 1: not JSON: NaN"),
        (b'{"meta": 1e999}\n', "too large"),
        (b'{"meta": ' + b"9" * 5000 + b"}\n", "too many digits"),
        (b"[" * 100_000 + b"\n", "nested too deeply"),
        ("{'é'}\n".encode("latin-1"), "line 1: not UTF-8 (byte 0xE9 at position 3)"),
        ('{"claim": "声明"}\n'.encode("gb2312"), "line 1: not UTF-8"),
        (json.dumps(GOOD).encode("utf-16"), "line 1: not UTF-8 but UTF-16"),
        (line() + line(claim="Other."), "line 2, id: duplicate id 'c1', first on line 1"),
    ],
)
def test_each_problem_is_named_with_line_and_field(data, expected):
    assert any(expected in problem for problem in problems(data)), problems(data)


def test_a_line_with_a_problem_yields_no_claim_and_all_its_problems():
    (row,) = rows(line(label="x", claim="", candidates=[], gold_sets=[]))
    assert row.claim is None
    assert [one.field for one in row.problems] == ["claim", "label", "candidates", "gold_sets"]


def test_good_lines_around_a_bad_one_keep_their_numbers():
    found = rows(line(id="a") + b"\n" + b"\xff\xfe\xfa\n" + line(id="b"))
    assert [(row.line, row.claim and row.claim.id) for row in found] == [
        (1, "a"),
        (3, None),
        (4, "b"),
    ]


def test_gold_sets_are_reduced_to_minimal_ones_with_a_notice():
    (row,) = rows(line(gold_sets=[[2, 1], [1, 2], [0, 1, 2], [0, 0]]))
    assert row.claim.gold_sets == ((1, 2), (0,))
    assert [str(one) for one in row.notices] == [
        "line 1, gold_sets: 4 gold sets reduced to the 2 minimal ones"
    ]
    assert row.given_sets == ((1, 2), (0, 1, 2), (0,))


def test_minimal_sets_keep_the_order_of_first_appearance():
    given = [[3, 5, 1], [5], [2, 4], [4, 2], [2, 4, 9], [1, 3]]
    assert minimal_sets(given) == ((5,), (2, 4), (1, 3))


def test_unknown_fields_are_noticed():
    (row,) = rows(line(gold=[[0]]))
    assert row.claim is not None
    assert "unknown fields ignored: 'gold'" in str(row.notices[0])


def test_an_overlong_line_is_refused_without_being_held():
    class Endless(io.RawIOBase):
        """A line of 400 MB, made as it is read, then a good one."""

        left = 400

        def readable(self):
            return True

        def readinto(self, buffer):
            if self.left < 0:
                return 0
            data = b"x" * min(len(buffer), 1_000_000) if self.left else b"\n" + line()
            buffer[: len(data)] = data
            self.left -= 1
            return len(data)

    tracemalloc.start()
    found = list(read_rows(io.BufferedReader(Endless(), 1_000_000)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert str(found[0].problems[0]).startswith("line 1: longer than 5,000,000 bytes")
    assert (found[1].line, found[1].claim.id) == (2, "c1")
    assert peak < 6 * MAX_CLAIM_BYTES


def test_memory_does_not_grow_with_the_texts():
    big = ["word " * 2000] * 10

    def stream(n):
        return io.BytesIO(b"".join(line(id=str(i), candidates=big) for i in range(n)))

    peaks = []
    for n in (30, 300):
        data = stream(n)
        tracemalloc.start()
        assert sum(row.claim is not None for row in read_rows(data)) == n
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # 27 MB more text; only the ids stay.
    assert peaks[1] - peaks[0] < 300_000


def test_one_hostile_line_cannot_flood_the_messages():
    (row,) = rows(line(gold_sets=[[9]] * 5000))
    assert len(row.problems) == 101
    assert "not listed" in str(row.problems[-1])


def test_ids_that_repeat_between_files_name_both(tmp_path):
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    write(first, {}), write(second, {"id": "z"}, {})
    seen = SeenIds()
    list(read_rows(first, seen=seen))
    found = [str(one) for row in read_rows(second, seen=seen) for one in row.problems]
    assert found == [f"line 2, id: duplicate id 'c1', first on line 1 of {first}"]


def test_read_claims_raises_with_every_problem_and_the_file_name(tmp_path):
    path = write(tmp_path / "c.jsonl", {}, {"id": "b", "label": "x"}, {"id": "c", "claim": ""})
    yielded = []
    with pytest.raises(BadInput) as caught:
        yielded.extend(read_claims(path))
    assert caught.value.problems == [
        f"{path}: line 2, label: unknown label 'x': "
        "write one of supported, refuted, partially_supported",
        f"{path}: line 3, claim: empty",
    ]
    assert [claim.id for claim in yielded] == ["c1"]


def test_a_missing_file_and_an_unknown_format_are_bad_input(tmp_path):
    with pytest.raises(BadInput, match=r"nothing\.jsonl: cannot be read"):
        list(read_claims(tmp_path / "nothing.jsonl"))
    with pytest.raises(BadInput, match="unknown format 'xml': choose one of interchange, csv"):
        list(read_claims(tmp_path, "xml"))


def test_what_is_written_reads_back_equal():
    claims = [
        row.claim
        for row in rows(
            line(meta={"a": "é\u2028"}, titles=[None, "t", None], license="x")
            + line(id="c2", claim='"quoted"\n\ttext', lang="ar")
        )
    ]
    stream = io.StringIO()
    assert write_claims(claims, stream) == 2
    assert [row.claim for row in rows(stream.getvalue().encode())] == claims


def test_digests_are_equal_for_equal_content_only():
    (one,), (same,), (other,) = (
        rows(data)
        for data in (
            line(meta={"a": 1, "b": 2}),
            line(meta={"b": 2, "a": 1}, gold_sets=[[1], [1, 2]]),
            line(meta={"a": 1, "b": 2}, label="refuted"),
        )
    )
    assert claim_digest(one.claim) == claim_digest(same.claim) != claim_digest(other.claim)


@needs_data
@pytest.mark.parametrize("name", ["wice_open", "wice_long_open", "fm2_open"])
def test_the_open_files_read_with_their_own_minimal_sets(name):
    path = DATA / f"{name}.jsonl"
    with path.open() as stream:
        records = [json.loads(text) for text in stream]
    claims = list(read_claims(path))
    assert len(claims) == len(records)
    for claim, record in zip(claims, records, strict=True):
        given = record["gold_sets"]
        minimal = record["meta"].get("minimal_set_positions", range(len(given)))
        assert claim.gold_sets == tuple(tuple(sorted(given[i])) for i in minimal)
        assert list(claim.candidates) == record["candidates"]
