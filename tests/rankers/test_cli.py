from __future__ import annotations

import json
import subprocess
import sys

import pytest

from rankers.cli import main
from tests.rankers.claim_files import line, write

COMMANDS = (
    *("methods", "convert", "describe", "rank", "select", "evaluate"),
    *("export-official", "import-official"),
)


@pytest.fixture
def claims(tmp_path):
    return str(write(tmp_path / "c.jsonl", *({"id": f"c{i}", "claim": f"C {i}"} for i in range(3))))


@pytest.fixture
def out(tmp_path):
    return str(tmp_path / "out.jsonl")


def test_it_runs_as_a_module_with_nothing_but_data_in_a_pipe(claims, out):
    command = [sys.executable, "-m", "rankers", "rank", claims, "--method", "bm25", "-o", out]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "3 claims" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    assert command in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["rank"],
        ["rank", "c.jsonl", "--method", "bm25", "-o", "o", "--concurrency", "0"],
        ["rank", "c.jsonl", "--method", "bm25", "-o", "o", "--limit", "x"],
        ["convert", "--format", "xml", "a", "-o", "b"],
        ["evaluate", "c.jsonl", "r.jsonl", "--plot", "f.gif"],
        ["rank", "c.jsonl", "--method", "llm", "-o", "o", "--price", "1,2"],
        ["rank", "c.jsonl", "--method", "llm", "-o", "o", "--max-cost", "0"],
    ],
)
def test_wrong_usage_exits_2(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert capsys.readouterr().err


def test_methods_lists_all_and_as_json(capsys):
    assert main(["methods"]) == 0
    assert "coverage: ranker" in capsys.readouterr().out
    assert main(["methods", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {"name", "kind", "needs", "params"} == set(listed[0])


def test_rank_then_evaluate(claims, out, tmp_path, capsys):
    assert main(["rank", claims, "--method", "bm25", "--param", "k1=1.2", "-o", out]) == 0
    capsys.readouterr()
    table = tmp_path / "t.csv"
    assert main(["evaluate", claims, out, "--json", "--csv", str(table)]) == 0
    assert json.loads(capsys.readouterr().out)["bm25"]["all"]["n"] == 3
    assert table.read_text().startswith(
        "claim_id,ranker,imsr,msr,rr,sr,ndcg,label,n_candidates\nc0,bm25,1,"
    )
    assert main(["evaluate", claims, out]) == 0
    assert "bm25" in capsys.readouterr().out


def test_select_writes_selections(claims, out, capsys):
    assert main(["select", claims, "--method", "top_k", "--param", "k=2", "-o", out]) == 0
    with open(out) as stream:
        assert [len(json.loads(text)["selected"]) for text in stream] == [2, 2, 2]


def test_the_wrong_command_for_a_method_names_the_right_one(claims, out, capsys):
    assert main(["rank", claims, "--method", "top_k", "-o", out]) == 1
    assert capsys.readouterr().err == "top_k is a selector: use python -m rankers select\n"
    assert main(["select", claims, "--method", "bm25", "-o", out]) == 1
    assert capsys.readouterr().err == "bm25 is a ranker: use python -m rankers rank\n"


def test_an_option_that_is_not_used_is_noted_and_ignored(claims, out, capsys):
    assert main(["rank", claims, "--method", "bm25", "--model", "gpt", "-o", out]) == 0
    assert capsys.readouterr().err == "--model gpt is not used by bm25 and is ignored\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "bm26"], "unknown method 'bm26'"),
        (["--method", "bm25", "--param", "k1"], "parameter 'k1': write it as key=value"),
        (["--method", "bm25", "--param", "b=7"], "method bm25: parameter b must be"),
        (["--method", "similarity", "--embedder", "x"], "unknown embedder 'x'"),
    ],
)
def test_bad_options_exit_1_with_a_line_each(claims, out, capsys, arguments, message):
    assert main(["rank", claims, *arguments, "-o", out]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_bad_claims_exit_1_with_a_line_for_each_problem(tmp_path, out, capsys):
    path = tmp_path / "c.jsonl"
    path.write_bytes(line(label="x") + line(id="b", claim=""))
    assert main(["rank", str(path), "--method", "bm25", "-o", out]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_a_dry_run_counts_and_writes_nothing(claims, out, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    before = sorted(path.name for path in tmp_path.iterdir())
    arguments = ["rank", claims, "--method", "incremental_llm", "--limit", "2", "--dry-run"]
    assert main([*arguments, "-o", out]) == 0
    said = capsys.readouterr().out
    assert "2 claims, 0 were there, 2 to ask" in said
    assert "LLM calls: 4 without retries" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_dry_run_counts_what_is_there(claims, out, capsys):
    main(["rank", claims, "--method", "bm25", "--limit", "2", "-o", out])
    capsys.readouterr()
    assert main(["rank", claims, "--method", "bm25", "--dry-run", "-o", out]) == 0
    assert "3 claims, 2 were there, 1 to ask, no LLM calls" in capsys.readouterr().out


def test_claims_that_fail_make_the_exit_status_1_until_they_do_not(
    claims, out, capsys, monkeypatch
):
    from rankers.bm25 import BM25

    def broken(self, claim, candidates):
        raise RuntimeError("broken")

    with monkeypatch.context() as patch:
        patch.setattr(BM25, "rank", broken)
        assert main(["rank", claims, "--method", "bm25", "-o", out]) == 1
    error = capsys.readouterr().err
    assert error.startswith("3 claims failed (c0: RuntimeError: broken)")
    assert main(["rank", claims, "--method", "bm25", "-o", out]) == 0


def test_resuming_with_another_method_exits_1(claims, out, capsys):
    main(["rank", claims, "--method", "bm25", "-o", out])
    capsys.readouterr()
    assert main(["rank", claims, "--method", "random", "-o", out]) == 1
    assert 'method "bm25", not "random"' in capsys.readouterr().err


def test_convert_reports_counts(tmp_path, out, capsys):
    path = tmp_path / "c.csv"
    path.write_text(
        "claim_id,claim,label,candidate,gold_sets\n"
        "a,C.,supported,x,1;2\nb,C.,supported,x,\nc,C.,,x,1\n"
    )
    assert main(["convert", "--format", "csv", str(path), "-o", out]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{out}: 1 claims",
        "left out: 1 no_gold_set",
        "left out: 1 unlabelled",
        "notice: 1 claims with gold sets reduced to the minimal ones",
    ]


def test_describe_as_text_and_json(claims, capsys):
    assert main(["describe", claims]) == 0
    assert "Number of Instances" in capsys.readouterr().out
    assert main(["describe", claims, claims, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["n"], found["files"][claims]["n"]) == (6, 3)


def test_a_flood_of_problems_is_cut_and_counted(tmp_path, out, capsys):
    path = tmp_path / "c.jsonl"
    path.write_bytes(b"".join(line(id=f"c{i}", label="x") for i in range(3000)))
    arguments = ["convert", "--format", "interchange", str(path), "-o", out]
    assert main(arguments) == 1
    *shown, last = capsys.readouterr().err.splitlines()
    assert [one.split(",")[0] for one in shown] == [f"{path}: line {i}" for i in range(1, 21)]
    assert last == "… and 2980 more; python -m rankers --all-problems … lists them"
    assert main(["--all-problems", *arguments]) == 1
    *shown, last = capsys.readouterr().err.splitlines()
    assert len(shown) == 1000
    assert last == f"{path}: and 2000 more problems"


def test_twenty_problems_are_all_shown(tmp_path, out, capsys):
    path = tmp_path / "c.jsonl"
    path.write_bytes(b"".join(line(id=f"c{i}", label="x") for i in range(20)))
    assert main(["rank", str(path), "--method", "bm25", "-o", out]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 20


def test_a_file_that_is_not_there_is_one_line(capsys):
    assert main(["describe", "nowhere.jsonl"]) == 1
    assert capsys.readouterr().err == "nowhere.jsonl: cannot be read: No such file or directory\n"


def test_a_method_without_its_model_is_refused_and_leaves_no_file(
    claims, out, tmp_path, capsys, monkeypatch
):
    monkeypatch.delenv("OPENAI_MODEL", raising=False)
    assert main(["rank", claims, "--method", "incremental_llm", "-o", out]) == 1
    assert "OPENAI_MODEL" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["c.jsonl"]
