"""What the measurements compute besides times: packings, tables, and writing them."""

from __future__ import annotations

import pytest

from bench import open_claims, quality
from bench.__main__ import main as bench_main
from bench.llm_run import claims_like_real_ones, makespan
from bench.llm_server import Answered, server_process
from bench.quality import END, START, Result, replace_between, table_row
from rankers.metrics import score
from rankers.registry import build
from rankers.values import Claim
from tests.rankers import claim_files

DOCUMENT = f"# Title\n\n{START}\nold\n{END}\n\nThe end.\n"


@pytest.mark.parametrize(
    ("chains", "n_lanes", "end"),
    [([], 3, 0.0), ([2, 2, 2], 3, 2), ([1] * 7, 3, 3), ([3, 3, 2, 2, 2], 2, 7), ([5, 1, 1], 2, 5)],
)
def test_makespan_packs_the_longest_chains_first(chains, n_lanes, end):
    assert makespan(chains, n_lanes) == end


def test_the_server_process_logs_what_every_call_cost():
    claims = list(claims_like_real_ones(2))
    with server_process() as server:
        method = build("incremental_llm", params={"depth": 2}, llm=server.llm())
        usage = [method.rank_claim(claim).usage for claim in claims]
    assert [answered.claim for answered in server.log] == [
        claim.claim for claim in claims for _ in range(2)
    ]
    assert sum(one.prompt_tokens for one in server.log) == sum(one.prompt_tokens for one in usage)
    first, second = server.log[:2]
    assert first.cached_tokens == 0
    assert 0 < second.computed_tokens < 0.1 * first.computed_tokens


def test_each_server_process_starts_with_an_empty_cache():
    claim = next(claims_like_real_ones(1))
    logs: list[list[Answered]] = []
    for _ in range(2):
        with server_process() as server:
            build("incremental_llm", params={"depth": 1}, llm=server.llm()).rank_claim(claim)
        logs.append(server.log)
    assert logs[0] == logs[1]
    assert logs[0][0].cached_tokens == 0


def test_the_table_goes_between_the_markers_and_nothing_else_changes():
    expected = f"# Title\n\n{START}\n| a |\n| b |\n{END}\n\nThe end.\n"
    assert replace_between(DOCUMENT, "| a |\n| b |\n\n") == expected
    assert replace_between(expected, "| a |\n| b |") == expected


@pytest.mark.parametrize(
    "document",
    ["nothing", START, END, f"{END}\n{START}", f"{START}\n{START}\n{END}"],
)
def test_a_document_without_its_two_markers_is_refused_before_any_work(
    document, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(quality, "tables", lambda *_: pytest.fail("worked already"))
    path = tmp_path / "ranker.md"
    path.write_text(document)
    assert quality.main(["--write", str(path)]) == 1
    assert capsys.readouterr().err.startswith(f"{path}: the table needs one line {START}")
    assert path.read_text() == document


def test_a_document_that_is_not_there_is_refused_before_any_work(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(quality, "tables", lambda *_: pytest.fail("worked already"))
    assert quality.main(["--write", str(tmp_path / "none.md")]) == 1
    assert str(tmp_path / "none.md") in capsys.readouterr().err


def test_quality_ranks_the_open_files_and_writes_the_tables(tmp_path, capsys, monkeypatch):
    for name in open_claims.FILES:
        claim_files.write(tmp_path / f"{name}.jsonl", {}, {"id": "c2", "label": "refuted"})
    monkeypatch.setattr(open_claims, "DATA", tmp_path)
    path = tmp_path / "rankers.md"
    path.write_text(DOCUMENT)
    assert quality.main(["--write", str(path)]) == 0
    shown = capsys.readouterr().out.strip()
    assert path.read_text() == DOCUMENT.replace("old", shown)
    assert shown.count("`document_order`") == len(open_claims.FILES)
    heading = (
        "### fm2_open: 2 claims of 3.0 candidates "
        "(2 of IMSR 1, 0 of IMSR 2, 0 of IMSR 3+; 1 refuted)"
    )
    assert heading in shown


def test_missing_claims_are_named_with_what_to_do(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(open_claims, "DATA", tmp_path)
    assert quality.main([]) == 1
    assert "SUFFICE_SHARED_DATA" in capsys.readouterr().err
    assert bench_main(["prompt_tokens", "quality"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(": ")[0] for line in lines] == ["prompt_tokens", "quality"]
    assert all(f"not measured: {tmp_path}" in line for line in lines)


def test_a_row_holds_means_errors_and_parts():
    claims = [
        Claim("a", "A.", "supported", ("x", "y"), ((0,),)),
        Claim("b", "B.", "refuted", ("x", "y", "z"), ((0, 2),)),
    ]
    scores = [score((0, 1), ((0,),)), score((0, 1, 2), ((0, 2),))]
    cells = table_row(Result("order", scores, 0.004), claims).strip("| ").split(" | ")
    assert cells == [
        "`order`",
        "0.750 ± 0.250",
        "50.0 ± 50.0",
        "0.960 ± 0.040",
        "2.0",
        "1.000",
        "0.500",
        "–",
        "0.500",
        "2.00",
    ]
