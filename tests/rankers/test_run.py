from __future__ import annotations

import json
import threading

import pytest

from rankers.base import Ranker
from rankers.bm25 import BM25
from rankers.errors import (
    BadInput,
    MissingDependency,
    PermanentError,
    SpendLimitReached,
    StoreError,
    TransportError,
)
from rankers.fixed import DocumentOrder
from rankers.resume import Output
from rankers.run import run
from rankers.top_k import TopK
from rankers.values import JUDGED, Ranking, Usage
from tests.rankers.claim_files import write


class Stub(Ranker):
    """Reading order, with the claims it was asked and those it fails on."""

    name = "stub"

    def __init__(self, failing=(), error=None):
        self.failing = set(failing)
        self.error = error or TransportError("busy")
        self.asked = []

    def rank(self, claim, candidates):
        self.asked.append(claim)
        if claim in self.failing:
            raise self.error
        n = len(candidates)
        return Ranking(tuple(range(n)), (JUDGED,) * n, usage=Usage(calls=1))


@pytest.fixture
def claims(tmp_path):
    return write(tmp_path / "claims.jsonl", *({"id": f"c{i}", "claim": f"C {i}"} for i in range(5)))


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out.jsonl"


def _lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_claim_gets_a_record(claims, out):
    report = run(BM25(), claims, out)
    assert [one["id"] for one in _lines(out)] == ["c0", "c1", "c2", "c3", "c4"]
    assert (report.n_claims, report.written, report.already_done, report.failed) == (5, 5, 0, 0)


def test_a_second_run_asks_nothing(claims, out):
    run(Stub(), claims, out)
    before = out.read_bytes()
    method = Stub()
    report = run(method, claims, out)
    assert method.asked == []
    assert (report.already_done, report.written) == (5, 0)
    assert out.read_bytes() == before


def test_a_limit_is_raised_by_resuming(claims, out):
    run(Stub(), claims, out, limit=2)
    method = Stub()
    assert run(method, claims, out).already_done == 2
    assert method.asked == ["C 2", "C 3", "C 4"]


def test_one_failing_claim_does_not_stop_the_others_and_is_asked_again(claims, out):
    report = run(Stub(failing={"C 1", "C 3"}), claims, out)
    assert (report.written, report.failed) == (5, 2)
    assert report.first_error == "c1: TransportError: busy"
    assert [one["status"] for one in _lines(out)].count("failed") == 2
    method = Stub(failing={"C 3"})
    assert run(method, claims, out).failed == 1
    assert method.asked == ["C 1", "C 3"]
    assert sorted(one["id"] for one in _lines(out)) == ["c0", "c1", "c2", "c3", "c4"]
    assert run(Stub(), claims, out).failed == 0


def test_a_defect_in_a_method_fails_its_claim_only(claims, out):
    report = run(Stub(failing={"C 0"}, error=KeyError("selected")), claims, out)
    assert (report.written, report.failed) == (5, 1)
    assert _lines(out)[0]["error"] == "KeyError: 'selected'"


def test_failed_records_outside_the_limit_stay_and_count(claims, out):
    run(Stub(failing={"C 4"}), claims, out)
    report = run(Stub(), claims, out, limit=2)
    assert (report.written, report.failed) == (0, 1)
    assert len(_lines(out)) == 5


def test_a_missing_dependency_ends_the_run_at_once(claims, out):
    method = Stub(failing={"C 0"}, error=MissingDependency("no key"))
    with pytest.raises(MissingDependency):
        run(method, claims, out)
    assert method.asked == ["C 0"]
    assert out.read_bytes() == b""


@pytest.mark.parametrize("cut", [b'{"id": "c4", "meth', '{"id": "é'.encode()[:-1], b"\x00\x00"])
def test_a_line_cut_off_by_a_crash_is_dropped_and_redone(claims, out, cut):
    run(Stub(), claims, out)
    kept = out.read_bytes().splitlines(keepends=True)[:4]
    out.write_bytes(b"".join(kept) + cut)
    method = Stub()
    run(method, claims, out)
    assert method.asked == ["C 4"]
    assert [one["id"] for one in _lines(out)] == ["c0", "c1", "c2", "c3", "c4"]


def test_a_whole_last_line_without_its_end_is_kept(claims, out):
    run(Stub(), claims, out, limit=3)
    out.write_bytes(out.read_bytes().rstrip(b"\n"))
    method = Stub()
    run(method, claims, out)
    assert method.asked == ["C 3", "C 4"]
    assert len(_lines(out)) == 5


def test_a_broken_line_in_the_middle_is_refused(claims, out):
    run(Stub(), claims, out)
    lines = out.read_bytes().splitlines(keepends=True)
    lines[1] = b"{}\n"
    out.write_bytes(b"".join(lines))
    with pytest.raises(BadInput, match="line 2: no ranking record"):
        run(Stub(), claims, out)


def test_another_method_is_refused_by_name(claims, out):
    run(BM25(), claims, out)
    before = out.read_bytes()
    with pytest.raises(BadInput, match='made by method "bm25", not "document_order"'):
        run(DocumentOrder(), claims, out)
    assert out.read_bytes() == before


def test_other_parameters_are_refused_by_name(claims, out):
    run(BM25(), claims, out)
    with pytest.raises(BadInput, match=r"made by parameter k1 1\.5, not 2\.0"):
        run(BM25(k1=2.0), claims, out)


def test_another_model_is_refused(claims, out):
    first, second = Stub(), Stub()
    first.model, second.model = "small", "large"
    run(first, claims, out)
    with pytest.raises(BadInput, match='made by model "small", not "large"'):
        run(second, claims, out)


def test_other_prompts_are_refused(claims, out):
    first, second = Stub(), Stub()
    first.prompt_version, second.prompt_version = "1", "2"
    run(first, claims, out)
    with pytest.raises(BadInput, match='prompt_version "1", not "2"'):
        run(second, claims, out)


def test_an_edited_sentence_is_another_claims_file(tmp_path, claims, out):
    run(BM25(), claims, out)
    changes = [{"id": f"c{i}", "claim": f"C {i}"} for i in range(5)]
    changes[2]["candidates"] = ["It is a tower!", "It opened in 1889.", "It is in Paris."]
    other = write(tmp_path / "other.jsonl", *changes)
    with pytest.raises(BadInput, match="made by another claims file"):
        run(BM25(), other, out)


def test_a_copy_of_the_claims_file_under_another_name_is_the_same(tmp_path, claims, out):
    run(BM25(), claims, out, limit=2)
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(b"\xef\xbb\xbf" + claims.read_bytes())
    assert run(BM25(), copy, out).already_done == 2


def test_without_the_note_records_themselves_are_compared(tmp_path, claims, out):
    run(BM25(), claims, out)
    note = out.with_name(out.name + ".run.json")
    for changes, message in (
        ({"id": "other"}, "line 1: claim 'c0' is not in this claims file"),
        ({"id": "c0", "candidates": ["x"], "gold_sets": [[0]]}, "had other candidates than the 1"),
    ):
        note.unlink(missing_ok=True)
        with pytest.raises(BadInput, match=message):
            run(BM25(), write(tmp_path / "other.jsonl", changes), out)
        assert not note.exists(), "a refused run leaves no note"
    with pytest.raises(BadInput, match="parameter b"):
        run(BM25(b=0.5), claims, out)
    assert run(BM25(), claims, out).already_done == 5
    assert json.loads(note.read_text())["method"] == "bm25"


def test_two_records_of_a_claim_are_refused(claims, out):
    run(BM25(), claims, out)
    out.write_bytes(out.read_bytes() + out.read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(BadInput, match="line 6: claim 'c0' has two records"):
        run(BM25(), claims, out)


def test_wrong_claims_are_refused_before_anything_is_asked(tmp_path, out):
    claims = write(tmp_path / "c.jsonl", {}, {"id": "b", "label": "x"})
    method = Stub()
    with pytest.raises(BadInput, match="line 2, label"):
        run(method, claims, out)
    assert method.asked == []
    assert not out.exists()


def test_an_output_folder_that_is_not_there_is_bad_input(claims, tmp_path):
    with pytest.raises(BadInput, match="cannot be written"):
        run(BM25(), claims, tmp_path / "none" / "out.jsonl")


def test_two_runs_cannot_write_to_one_file(claims, out):
    class Meddling(Stub):
        def rank(self, claim, candidates):
            with pytest.raises(BadInput, match="another run is writing"):
                run(Stub(), claims, out)
            return super().rank(claim, candidates)

    assert run(Meddling(), claims, out, limit=1).failed == 0


def test_claims_run_at_the_same_time_when_asked_to(claims, out):
    meeting = threading.Barrier(3, timeout=10)

    class Meeting(Stub):
        def rank(self, claim, candidates):
            if claim in ("C 0", "C 1", "C 2"):
                meeting.wait()
            return super().rank(claim, candidates)

    report = run(Meeting(), claims, out, concurrency=3)
    assert report.failed == 0
    assert sorted(one["id"] for one in _lines(out)) == ["c0", "c1", "c2", "c3", "c4"]


def test_paid_answers_are_synced_and_free_ones_only_written(claims, out, monkeypatch):
    seen = []
    write_line = Output.write

    def spy(self, line, *, sync):
        seen.append(sync)
        write_line(self, line, sync=sync)

    monkeypatch.setattr(Output, "write", spy)
    run(Stub(), claims, out, limit=1)
    run(BM25(), claims, out.with_name("free.jsonl"), limit=1)
    assert seen == [True, False]


def test_progress_counts_what_was_there(claims, out):
    run(Stub(), claims, out, limit=2)
    seen = []
    run(Stub(), claims, out, progress=seen.append)
    assert seen == [3, 4, 5]


def test_selectors_run_as_well(claims, out):
    run(TopK(BM25(), k=2), claims, out)
    assert all(len(one["selected"]) == 2 and one["order"] is None for one in _lines(out))
    assert run(TopK(BM25(), k=2), claims, out).already_done == 5


class Spender(Stub):
    """Answers so many claims; for every later one the limit is reached."""

    def __init__(self, allowed):
        super().__init__()
        self.allowed = allowed
        self.lock = threading.Lock()

    def rank(self, claim, candidates):
        with self.lock:
            if self.allowed == 0:
                raise SpendLimitReached("2 calls are spent")
            self.allowed -= 1
        return super().rank(claim, candidates)


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_spent_limit_stops_the_run_and_leaves_the_rest_to_the_next(claims, out, concurrency):
    report = run(Spender(2), claims, out, concurrency=concurrency)
    assert (report.written, report.failed, report.stopped) == (2, 0, "2 calls are spent")
    assert {one["status"] for one in _lines(out)} == {"complete"}
    again = run(Stub(), claims, out)
    assert (again.already_done, again.written, again.stopped) == (2, 3, None)


def test_claims_under_way_when_the_limit_is_reached_are_kept(claims, out):
    is_reached = threading.Event()

    class Slow(Spender):
        def rank(self, claim, candidates):
            if claim == "C 0":
                assert is_reached.wait(10)
                return Stub.rank(self, claim, candidates)
            try:
                return super().rank(claim, candidates)
            except SpendLimitReached:
                is_reached.set()
                raise

    report = run(Slow(2), claims, out, concurrency=2)
    assert report.stopped
    assert {one["id"] for one in _lines(out)} == {"c0", "c1", "c2"}


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_store_that_fails_ends_the_run_and_marks_no_claim_failed(claims, out, concurrency):
    with pytest.raises(StoreError, match="disk is full"):
        run(
            Stub(failing={"C 2"}, error=StoreError("the disk is full")),
            claims,
            out,
            concurrency=concurrency,
        )
    assert "failed" not in {one["status"] for one in _lines(out)}
    assert run(Stub(), claims, out).failed == 0
    assert len(_lines(out)) == 5


@pytest.mark.parametrize(
    "text",
    [
        b"my only notes, no line end",
        b'{"id": "valuable", "but": "no record"}',
        b'{"c1": {"claim": {"candidate snippets": []}}}',
        b'{"id": "cut',  # it may be ours, but nothing says so
    ],
)
def test_a_file_of_somebody_else_is_refused_and_left_alone(claims, out, text):
    out.write_bytes(text)
    with pytest.raises(BadInput, match="choose another -o file"):
        run(BM25(), claims, out)
    assert out.read_bytes() == text
    assert not out.with_name(out.name + ".run.json").exists()


def test_a_score_that_json_cannot_hold_fails_its_claim_only(claims, out):
    class Infinite(Stub):
        def rank(self, claim, candidates):
            n = len(candidates)
            score = float("inf") if claim == "C 1" else 1.0
            return Ranking(tuple(range(n)), (JUDGED,) * n, scores=(score,) * n)

    report = run(Infinite(), claims, out)
    assert (report.written, report.failed) == (5, 1)
    assert report.first_error == "c1: ValueError: a score is not a finite number"


def test_half_a_character_in_an_error_is_written_out(claims, out):
    assert run(Stub(failing={"C 0"}, error=TransportError("bad \ud800")), claims, out).failed == 1
    assert _lines(out)[0]["error"] == "TransportError: bad \\ud800"


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_server_that_is_gone_stops_the_run(tmp_path, out, concurrency):
    rows = ({"id": f"c{i}", "claim": f"C {i}"} for i in range(60))
    claims = write(tmp_path / "many.jsonl", *rows)
    everything = {f"C {i}" for i in range(60)}
    report = run(Stub(failing=everything), claims, out, concurrency=concurrency)
    assert report.stopped.endswith("claims in a row failed with busy")
    assert 20 <= report.written <= 20 + 2 * concurrency
    assert run(Stub(), claims, out).failed == 0
    assert len(_lines(out)) == 60


def test_failures_with_answers_between_them_stop_nothing(tmp_path, out):
    rows = ({"id": f"c{i}", "claim": f"C {i}"} for i in range(60))
    claims = write(tmp_path / "many.jsonl", *rows)
    failing = {f"C {i}" for i in range(60) if i % 10}
    report = run(Stub(failing=failing), claims, out)
    assert (report.written, report.failed, report.stopped) == (60, 54, None)


@pytest.mark.parametrize(
    ("status", "stops"), [(401, True), (404, True), (400, False), (413, False)]
)
def test_a_refusal_of_a_claim_stops_nothing_and_one_of_the_key_does(tmp_path, out, status, stops):
    # Thirty claims that are too long for the model must not keep the others from being asked.
    rows = ({"id": f"c{i}", "claim": f"C {i}"} for i in range(60))
    claims = write(tmp_path / "many.jsonl", *rows)
    refused = PermanentError("no", status)
    report = run(Stub(failing={f"C {i}" for i in range(30)}, error=refused), claims, out)
    assert (report.written, bool(report.stopped)) == ((20, True) if stops else (60, False))
