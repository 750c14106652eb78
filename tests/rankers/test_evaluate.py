from __future__ import annotations

import csv
import io
import json
import os

import pytest

from rankers.bm25 import BM25
from rankers.cli import main
from rankers.compare import compare
from rankers.errors import BadInput, TransportError
from rankers.evaluate import CSV_COLUMNS, evaluate, write_csv
from rankers.fixed import DocumentOrder
from rankers.records import failed_record, record_line, to_record
from rankers.tables import report
from rankers.top_k import TopK
from rankers.values import Ranking, Selection
from tests.rankers.claim_files import write
from tests.shared_data import DATA, needs_data

# Three candidates each; gold sets of size 1, 1, 2 and 3.
CLAIMS = [
    {"id": "a", "gold_sets": [[2]]},
    {"id": "b", "gold_sets": [[1]], "label": "refuted"},
    {"id": "c", "gold_sets": [[0, 2]]},
    {"id": "d", "gold_sets": [[0, 1, 2]], "label": "refuted"},
]


@pytest.fixture
def claims(tmp_path):
    return write(tmp_path / "claims.jsonl", *CLAIMS)


def _file(path, *records):
    path.write_text("".join(record_line(record) for record in records))
    return path


def _record(claim_id, order=(0, 1, 2), method=None):
    return to_record(claim_id, method or DocumentOrder(), Ranking.judged(order), 0.0)


def test_the_summary_by_hand(claims, tmp_path):
    path = _file(tmp_path / "r.jsonl", *(_record(one["id"]) for one in CLAIMS))
    # MSR 3, 2, 3, 3; IMSR 1, 1, 2, 3; RR 1/3, 1/2, 1/2, 1.
    summary = evaluate(claims, [path]).summary()
    assert list(summary) == ["document_order"]
    result = summary["document_order"]
    assert result["all"]["n"] == 4
    assert result["all"]["mean_msr"] == 2.75
    assert result["all"]["mrr"]["mean"] == pytest.approx((1 / 3 + 1 / 2 + 1 / 2 + 1) / 4)
    assert result["all"]["sr"]["mean"] == 0.25
    assert result["gold_min_size=1"]["n"] == 2
    assert result["gold_min_size=2"]["mrr"] == {"mean": 0.5, "sem": None}
    assert result["gold_min_size=3+"]["sr"]["mean"] == 1.0
    assert result["label=refuted"]["mean_msr"] == 2.5
    assert "label=partially_supported" not in result
    assert [result["verified_within"][k] for k in ("1", "2", "3", "20")] == [0.0, 0.25, 1.0, 1.0]
    assert [result["verified_at"][k] for k in ("1", "2", "3", "11+")] == [0.0, 0.25, 0.75, 0.0]
    assert result["left_out"] == {}
    assert list(result) == [
        "all",
        "gold_min_size=1",
        "gold_min_size=2",
        "gold_min_size=3+",
        "label=refuted",
        "label=supported",
        "verified_at",
        "verified_within",
        "left_out",
    ]


def test_claims_without_a_ranking_and_failed_ones_are_left_out_by_reason(claims, tmp_path):
    failed = failed_record("b", DocumentOrder(), TransportError("busy"), 0)
    path = _file(tmp_path / "r.jsonl", _record("a"), failed)
    result = evaluate(claims, [path]).summary()["document_order"]
    assert result["left_out"] == {"failed": 1, "no_ranking": 2}
    assert result["all"]["n"] == 1


def test_a_file_of_failures_has_means_of_none(claims, tmp_path):
    failed = failed_record("b", DocumentOrder(), TransportError("busy"), 0)
    summary = evaluate(claims, [_file(tmp_path / "r.jsonl", failed)]).summary()
    result = summary["document_order"]
    assert result["all"] == {
        "n": 0,
        "mean_msr": None,
        "mrr": {"mean": None, "sem": None},
        "sr": {"mean": None, "sem": None},
        "ndcg": {"mean": None, "sem": None},
    }
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    row = report(summary).splitlines()[2]
    assert row.split(maxsplit=6) == [
        "document_order",
        "0",
        *"––––",
        "1 failed, 3 without a ranking",
    ]


def test_names_carry_model_and_differing_parameters(claims, tmp_path):
    paths = [
        _file(tmp_path / f"{i}.jsonl", _record("a", method=BM25(k1=k1, b=b)))
        for i, (k1, b) in enumerate([(1.5, 0.75), (1.5, 0.5)])
    ]
    assert list(evaluate(claims, paths).summary()) == ["bm25[b=0.75]", "bm25[b=0.5]"]
    method = DocumentOrder()
    method.model = "gpt"
    path = _file(tmp_path / "m.jsonl", _record("a", method=method))
    assert list(evaluate(claims, [*paths, path]).summary())[2] == "document_order/gpt"


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        # One setting is enough, and a chosen one comes before what follows from it.
        (
            [
                ({"layout": "paper", "seed_order": "document_order"}, "2"),
                ({"layout": "stable", "seed_order": "coverage(k=1)"}, "1"),
                ({"layout": "other", "seed_order": "bm25"}, "3"),
            ],
            ["[layout=paper]", "[layout=stable]", "[layout=other]"],
        ),
        # The prompt tells all three apart, the parameter does not.
        (
            [({"a": 1, "fallback": "x"}, "1"), ({"a": 1}, "2"), ({"a": 2}, "3")],
            ["[prompt_version=1]", "[prompt_version=2]", "[prompt_version=3]"],
        ),
        # No single setting is enough.
        (
            [
                ({"a": 1, "batch": 4, "same": True}, "1"),
                ({"a": 1, "batch": 5, "same": True}, "1"),
                ({"a": 2, "batch": 5, "same": True}, "2"),
            ],
            ["[a=1,batch=4]", "[a=1,batch=5]", "[a=2,batch=5]"],
        ),
        # What follows from others is shown where nothing else differs.
        (
            [({"seed_order": order}, "1") for order in ("x", "y", "z")],
            ["[seed_order=x]", "[seed_order=y]", "[seed_order=z]"],
        ),
    ],
)
def test_names_show_the_fewest_settings_that_tell_rankers_apart(claims, tmp_path, settings, names):
    paths = []
    for i, (params, version) in enumerate(settings):
        record = {**_record("a"), "params": params, "prompt_version": version}
        paths.append(_file(tmp_path / f"{i}.jsonl", record))
    found = list(evaluate(claims, paths).summary())
    assert found == [f"document_order{name}" for name in names]


def test_many_differing_settings_are_all_shown(claims, tmp_path):
    paths = []
    for i in range(2):
        params = {f"p{n:02}": i for n in range(40)}
        paths.append(_file(tmp_path / f"{i}.jsonl", {**_record("a"), "params": params}))
    first = next(iter(evaluate(claims, paths).summary()))
    assert first.count("=") == 40


def test_control_characters_of_names_are_shown_escaped(claims, tmp_path, capsys):
    record = {**_record("a"), "method": "a,b\n\x1b[31m", "model": "x\u202ey\x9b"}
    paths = [
        str(_file(tmp_path / f"{i}.jsonl", {**record, "params": {"k\r": f"{i}\x07"}}))
        for i in range(2)
    ]
    figure = tmp_path / "out.svg"
    assert main(["evaluate", str(claims), *paths, "--plot", str(figure)]) == 0
    names = [rf"a,b\n\x1b[31m/x\u202ey\x9b[k\r={i}\x07]" for i in range(2)]
    out = capsys.readouterr().out
    assert all(name in out for name in names)
    assert all(one.isprintable() for one in out.replace("\n", ""))
    picture = figure.read_text(encoding="utf-8")
    assert all(f"{name} (n = 1)" in picture for name in names)
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(picture)


def test_two_files_of_the_same_method_and_parameters_are_refused(claims, tmp_path):
    paths = [_file(tmp_path / f"{i}.jsonl", _record("a")) for i in range(2)]
    with pytest.raises(BadInput, match=r"0\.jsonl and .*1\.jsonl both hold document_order"):
        evaluate(claims, paths)


def test_a_file_of_several_methods_is_taken_apart(claims, tmp_path):
    path = _file(
        tmp_path / "r.jsonl", _record("a"), {**_record("a", method=BM25()), "condition": "x"}
    )
    assert list(evaluate(claims, [path]).summary()) == ["document_order", "bm25"]


def test_selections_are_noted_and_refused_alone(claims, tmp_path):
    selection = to_record("a", TopK(BM25()), Selection((0,), 3), 0)
    path = _file(tmp_path / "r.jsonl", _record("a"), selection)
    result = evaluate(claims, [path])
    assert list(result.summary()) == ["document_order"]
    assert "1 selections have no order" in result.notes[0]
    path = _file(tmp_path / "s.jsonl", selection, {**selection, "id": "b"})
    with pytest.raises(BadInput) as caught:
        evaluate(claims, [path])
    assert caught.value.problems == [
        f"no rankings to evaluate in {path}: its 2 records are selections, which have no order"
    ]
    empty = _file(tmp_path / "e.jsonl")
    with pytest.raises(BadInput) as caught:
        evaluate(claims, [path, empty])
    assert caught.value.problems[1] == f"no rankings to evaluate in {empty}: it has no records"


def test_records_that_do_not_fit_name_their_line(claims, tmp_path):
    path = _file(tmp_path / "r.jsonl", _record("a"), _record("b", (1, 0)))
    with pytest.raises(BadInput, match=r"r\.jsonl: line 2: claim 'b' does not fit"):
        evaluate(claims, [path])


def test_a_claim_ranked_twice_is_refused(claims, tmp_path):
    path = _file(tmp_path / "r.jsonl", _record("a"), _record("a"))
    with pytest.raises(BadInput, match="line 2: claim 'a' is on line 1 too"):
        evaluate(claims, [path])


def test_rankings_of_other_claims_are_noted_or_refused(claims, tmp_path):
    path = _file(tmp_path / "r.jsonl", _record("a"), _record("z"))
    assert "1 rankings of document_order are for claims" in evaluate(claims, [path]).notes[0]
    path = _file(tmp_path / "q.jsonl", _record("z"))
    with pytest.raises(BadInput, match="none of its claims is in"):
        evaluate(claims, [path])


def test_the_csv_has_a_row_for_each_claim_and_ranker(claims, tmp_path):
    path = _file(tmp_path / "r.jsonl", _record("a"), _record("d"))
    stream = io.StringIO()
    write_csv(evaluate(claims, [path]), stream)
    found = list(csv.DictReader(io.StringIO(stream.getvalue())))
    assert found[1] == {
        "claim_id": "d",
        "ranker": "document_order",
        "imsr": "3",
        "msr": "3",
        "rr": "1.0",
        "sr": "1",
        "ndcg": "1.0",
        "label": "refuted",
        "n_candidates": "3",
    }
    assert float(found[0]["rr"]) == 1 / 3
    # What reads the table counts on the first seven.
    assert CSV_COLUMNS[:7] == ("claim_id", "ranker", "imsr", "msr", "rr", "sr", "ndcg")


def test_a_comparison_is_in_the_summary_of_the_first(claims, tmp_path):
    paths = _three_rankers(tmp_path)
    result = evaluate(claims, paths)
    for pair in (("bm25", "document_order"), ("bm25", "top")):
        result.comparisons[pair] = compare(result, *pair, draws=200)
    summary = result.summary()
    assert list(summary["bm25"]["compared_with"]) == ["document_order", "top"]
    assert "compared_with" not in summary["document_order"]
    assert summary["bm25"]["compared_with"]["top"] == compare(result, "bm25", "top", draws=200)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def _three_rankers(tmp_path):
    """Files of document_order for all claims, bm25 (reversed) for all, and top for the first."""
    top = DocumentOrder()
    top.name = "top"
    return [
        _file(tmp_path / "d.jsonl", *(_record(one["id"]) for one in CLAIMS)),
        _file(tmp_path / "b.jsonl", *(_record(one["id"], (2, 1, 0), BM25()) for one in CLAIMS)),
        _file(tmp_path / "t.jsonl", _record("a", (2, 0, 1), top)),
    ]


def test_the_command_writes_all_it_is_asked_for(claims, tmp_path, capsys):
    paths = [str(path) for path in _three_rankers(tmp_path)]
    table, figure = tmp_path / "out.csv", tmp_path / "out.svg"
    command = ["evaluate", str(claims), *paths, "--csv", str(table), "--plot", str(figure)]
    compared = ["--compare", "bm25", "document_order", "--compare", "bm25", "top"]
    assert main([*command, *compared, "--draws", "150", "--seed", "4", "--json"]) == 0
    captured = capsys.readouterr()
    result = evaluate(claims, paths)
    for pair in (("bm25", "document_order"), ("bm25", "top")):
        result.comparisons[pair] = compare(result, *pair, draws=150, seed=4)
    assert json.loads(captured.out) == result.summary()
    assert captured.err == ""
    assert len(table.read_text().splitlines()) == 1 + 4 + 4 + 1
    assert b"document_order (n = 4)" in figure.read_bytes()


def test_the_command_prints_the_tables(claims, tmp_path, capsys):
    paths = [str(path) for path in _three_rankers(tmp_path)]
    assert main(["evaluate", str(claims), *paths, "--compare", "bm25", "top"]) == 0
    result = evaluate(claims, paths)
    result.comparisons["bm25", "top"] = compare(result, "bm25", "top")
    assert capsys.readouterr().out == report(result.summary()) + "\n"


def test_a_comparison_that_cannot_be_made_leaves_no_file(claims, tmp_path, capsys):
    paths = [str(path) for path in _three_rankers(tmp_path)]
    before = sorted(tmp_path.iterdir())
    outputs = ["--csv", str(tmp_path / "out.csv"), "--plot", str(tmp_path / "out.svg")]
    assert main(["evaluate", str(claims), *paths, *outputs, "--compare", "bm25", "bm26"]) == 1
    assert capsys.readouterr() == (
        "",
        "no ranker named 'bm26' to compare: there are 'document_order', 'bm25', 'top'\n",
    )
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("option", ["--csv", "--plot"])
@pytest.mark.parametrize("name", ["claims.jsonl", "d.jsonl"])
@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_an_output_that_is_an_input_is_refused(claims, tmp_path, capsys, option, name, link):
    paths = [str(path) for path in _three_rankers(tmp_path)]
    output = tmp_path / "out.svg"
    link(tmp_path / name, output)
    before = (tmp_path / name).read_bytes()
    assert main(["evaluate", str(claims), *paths, option, str(output)]) == 1
    assert f"{output}: is the input {tmp_path / name}, which" in capsys.readouterr().err
    assert (tmp_path / name).read_bytes() == before


@pytest.mark.parametrize(
    ("table", "figure", "message"),
    [
        ("out.csv", "folder.svg", "folder.svg: is a folder"),
        ("folder.svg", "out.svg", "folder.svg: is a folder"),
        ("out.csv", "none/out.svg", "out.svg: cannot be written: there is no folder"),
        ("folder.svg/../out.svg", "out.svg", "out.svg: is the output"),
    ],
)
def test_outputs_are_written_both_or_not_at_all(claims, tmp_path, capsys, table, figure, message):
    paths = [str(path) for path in _three_rankers(tmp_path)]
    (tmp_path / "folder.svg").mkdir()
    before = sorted(tmp_path.iterdir())
    outputs = ["--csv", f"{tmp_path}/{table}", "--plot", f"{tmp_path}/{figure}"]
    assert main(["evaluate", str(claims), *paths, *outputs]) == 1
    assert message in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before


def test_a_device_is_no_output(claims, tmp_path, capsys):
    paths = [str(path) for path in _three_rankers(tmp_path)]
    assert main(["evaluate", str(claims), *paths, "--csv", os.devnull]) == 1
    assert "is no regular file" in capsys.readouterr().err


def test_an_output_behind_a_link_is_replaced_and_the_link_stays(claims, tmp_path):
    paths = [str(path) for path in _three_rankers(tmp_path)]
    (tmp_path / "real.csv").write_text("old")
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "real.csv")
    assert main(["evaluate", str(claims), *paths, "--csv", str(link)]) == 0
    assert link.is_symlink()
    assert (tmp_path / "real.csv").read_text().startswith("claim_id,ranker,")


def test_a_figure_of_nothing_leaves_no_file(claims, tmp_path, capsys):
    failed = failed_record("b", DocumentOrder(), TransportError("busy"), 0)
    path = _file(tmp_path / "r.jsonl", failed)
    before = sorted(tmp_path.iterdir())
    outputs = ["--csv", str(tmp_path / "out.csv"), "--plot", str(tmp_path / "out.svg")]
    assert main(["evaluate", str(claims), str(path), *outputs]) == 1
    assert "nothing to draw" in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before


def test_options_of_a_comparison_without_one_are_noted(claims, tmp_path, capsys):
    paths = [str(path) for path in _three_rankers(tmp_path)]
    assert main(["evaluate", str(claims), *paths, "--draws", "500", "--seed", "0"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "--draws 500 is not used without --compare and is ignored",
        "--seed 0 is not used without --compare and is ignored",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--plot", "out.gif"], "must end in .svg, .pdf, .png, unlike 'out.gif'"),
        (["--plot", "svg"], "must end in .svg, .pdf, .png, unlike 'svg'"),
        (["--compare", "bm25"], "expected 2 arguments"),
        (["--draws", "99"], "must be at least 100, not 99"),
        (["--draws", "many"], "invalid"),
        (["--seed", "-1"], "must be at least 0, not -1"),
    ],
)
def test_wrong_options_exit_2_and_say_why(options, message, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["evaluate", "claims.jsonl", "r.jsonl", *options])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


@needs_data
@pytest.mark.data
@pytest.mark.parametrize("name", ["wice", "wice_long", "fm2"])
def test_the_command_agrees_with_the_independent_values(name, tmp_path, capsys):
    """Ranks and evaluates on the command line; means of embedded methods agree to 1e-3."""
    claims, paths = str(DATA / f"{name}_open.jsonl"), []
    for method in ("document_order", "bm25", "similarity", "incremental_similarity"):
        paths.append(str(tmp_path / f"{method}.jsonl"))
        assert main(["rank", claims, "--method", method, "-o", paths[-1]]) == 0
    capsys.readouterr()
    assert main(["evaluate", claims, *paths, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = json.loads((DATA / "expected.json").read_text())["sets"][name]["methods"]
    for ranker, summary in found.items():
        tolerance = 1e-3 if "similarity" in ranker else 1e-9
        assert {key.replace("gold_min_size", "optimal_size") for key in summary} == {
            *expected[ranker],
            "verified_at",
            "left_out",
        }
        for key, wanted in expected[ranker].items():
            result = summary[key.replace("optimal_size", "gold_min_size")]
            if key == "verified_within":
                assert result == pytest.approx(wanted, abs=tolerance)
                continue
            assert result["n"] == wanted["n"]
            assert result["mean_msr"] == pytest.approx(wanted["mean_msr"], rel=tolerance)
            for measure in ("mrr", "sr", "ndcg"):
                assert result[measure] == pytest.approx(wanted[measure], abs=tolerance)
