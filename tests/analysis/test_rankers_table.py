"""Rankers over claims: R's values, pairs over common claims, what is refused."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis import BadTable
from analysis.cli import main
from analysis.rankers_table import compare_rankers
from analysis.rankers_table.pairs import Bootstrap
from analysis.text_table import read_text_table
from rankers.compare import bca_interval
from tests.analysis.builders import CASES, assert_agrees, expected
from tests.shared_data import needs_data

FILE = CASES / "agreement_a" / "ranker_metrics.csv"


@pytest.fixture(autouse=True)
def _no_warning() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def scores(**excess: list[int | None]) -> pd.DataFrame:
    """Rankers with the sentences beyond the smallest gold set, claim by claim; None: no score.

    Claim i has a smallest gold set of i % 3 + 1.
    """
    rows = [
        {
            "claim_id": f"c{place}",
            "ranker": ranker,
            "imsr": place % 3 + 1,
            "msr": place % 3 + 1 + more,
            "rr": 1 / (more + 1),
            "sr": int(more == 0),
            "ndcg": 1 / np.log2(2 + more),
        }
        for ranker, values in excess.items()
        for place, more in enumerate(values)
        if more is not None
    ]
    return pd.DataFrame(rows)


@needs_data
@pytest.mark.data
def test_the_table_and_all_pairs_agree_with_the_independent_values() -> None:
    found, wanted = compare_rankers(read_text_table(FILE)), expected("agreement_a")["rankers"]
    assert_agrees(found["table"], wanted["table"])
    assert_agrees(found["pairs"], wanted["pairs"])
    for pair, other in zip(found["pairs"], wanted["pairs"], strict=True):
        for name in ("wilcoxon_pratt_p", "sr_mcnemar_exact_p", "holm_p", "t_p"):
            assert pair[name] == pytest.approx(other[name], rel=1e-6)
        assert pair["not_defined"] == {}
    assert found["rankers"] == list(wanted["table"])


@needs_data
@pytest.mark.data
def test_the_interval_is_the_bootstrap_of_claims() -> None:
    """Its half width is near 1.96 times the limit of the bootstrap's standard error."""
    for pair in compare_rankers(read_text_table(FILE))["pairs"]:
        low, high = pair["rr_ci95"]
        assert low < pair["mean_difference_rr"] < high
        assert (high - low) / 2 == pytest.approx(1.96 * pair["claim_bootstrap_se_limit"], rel=0.05)


def test_the_interval_is_that_of_the_other_package() -> None:
    """``rankers.compare`` computes BCa by its own code."""
    rng = np.random.default_rng(3)
    d = rng.choice([-0.5, 0, 0, 0.25, 1], size=80)
    drawn = rng.choice(d, size=(9999, 80)).mean(axis=1)
    found = Bootstrap.of_claims(80, seed=1).interval(d)
    assert found == pytest.approx(list(bca_interval(d, drawn)), abs=0.01)


def test_printed_standard_errors_of_the_paper() -> None:
    """statistics.md 7: 62.9 % of 1000 claims has 1.5, and 68.0 % of 500 has 2.1, not 2.0."""
    for share, n, printed in ((0.629, 1000, 1.5), (0.551, 1000, 1.6), (0.68, 500, 2.1)):
        hits = round(share * n)
        found = compare_rankers(scores(one=[0] * hits + [1] * (n - hits)))["table"]["one"]["sr"]
        assert round(100 * found["sem"], 1) == printed
        assert found["mean"] == pytest.approx(share)


def test_claims_missing_for_one_ranker_are_left_out_of_its_pairs_only() -> None:
    found = compare_rankers(
        scores(a=[0, 1, 2, 0, 3], b=[0, 0, None, 1, None], c=[1, 0, 0, 2, 0]),
    )
    assert {name: own["n"] for name, own in found["table"].items()} == {"a": 5, "b": 3, "c": 5}
    sizes = {tuple(pair["pair"]): (pair["n"], pair["n_left_out"]) for pair in found["pairs"]}
    assert sizes == {("a", "b"): (3, 2), ("a", "c"): (5, 0), ("b", "c"): (3, 2)}
    assert "b: 2 of 5 claims have no score and are left out" in found["notes"]
    common = compare_rankers(scores(a=[0, 1, None, 0], b=[0, 0, None, 1]))["pairs"][0]
    ab = found["pairs"][0] | {"holm_p": None, "n_left_out": 0}
    assert ab == common | {"holm_p": None}


def test_differences_are_second_minus_first() -> None:
    one, other = (
        compare_rankers(scores(**{first: values[first], second: values[second]}))["pairs"][0]
        for values in ({"good": [0, 0, 0, 1], "bad": [1, 2, 0, 1]},)
        for first, second in (("bad", "good"), ("good", "bad"))
    )
    assert one["mean_difference_rr"] == -other["mean_difference_rr"] > 0
    assert (one["sr_gain"], one["sr_loss"]) == (other["sr_loss"], other["sr_gain"]) == (2, 0)
    assert one["sr_mcnemar_exact_p"] == 0.5
    assert one["wilcoxon_pratt_p"] == other["wilcoxon_pratt_p"]
    assert one["n_nonzero"] == 2


def test_sizes_of_gold_sets_are_compared_apart() -> None:
    table = scores(a=[0, 1, 2, 0, 1, 0], b=[1, 0, 0, 0, 2, 1])
    found = compare_rankers(table)
    assert list(found["by_imsr"]) == ["1", "2", "3+"]
    for size, own in found["by_imsr"].items():
        alone = compare_rankers(table[table["imsr"] == int(size[0])])
        assert own["table"] == alone["table"]
        assert own["pairs"] == [
            {key: value for key, value in pair.items() if key != "holm_p"}
            for pair in alone["pairs"]
        ]


def test_one_ranker_has_a_table_and_no_pairs() -> None:
    found = compare_rankers(scores(only=[0, 1, 0]))
    assert found["pairs"] == []
    assert found["table"]["only"]["rr"]["mean"] == pytest.approx(5 / 6)
    assert found["notes"] == ["one ranker only: there is nothing to compare it with"]


def assert_reasons(pair: dict[str, Any]) -> None:
    missing = {key for key, value in pair.items() if value is None}
    assert missing == set(pair["not_defined"])
    assert all(why.startswith("not defined, because") for why in pair["not_defined"].values())


def test_rankers_that_never_differ_have_no_test_and_say_so() -> None:
    found = compare_rankers(scores(a=[0, 1, 2], b=[0, 1, 2], c=[1, 0, 0]))
    same = found["pairs"][0]
    assert same["mean_difference_rr"] == 0
    assert (same["wilcoxon_pratt_p"], same["holm_p"], same["rr_ci95"]) == (None, None, None)
    assert same["sr_mcnemar_exact_p"] == 1
    assert_reasons(same)
    # What was not tested does not count for the others.
    others = [pair["wilcoxon_pratt_p"] for pair in found["pairs"][1:]]
    holm = [pair["holm_p"] for pair in found["pairs"][1:]]
    assert holm == pytest.approx([min(1, 2 * p) for p in others])


def test_rankers_without_a_common_claim_and_single_claims_say_so() -> None:
    apart = compare_rankers(scores(a=[0, None], b=[None, 1]))
    assert apart["pairs"][0]["n"] == 0
    assert_reasons(apart["pairs"][0])
    assert apart["table"]["a"]["rr"] == {"mean": 1, "sem": None, "sem_population_sd": None}
    assert set(apart["table"]["a"]["not_defined"]) >= {"rr.sem", "ndcg.sem_population_sd"}
    single = compare_rankers(scores(a=[0], b=[1]))["pairs"][0]
    assert (single["mean_difference_rr"], single["rr_ci95"]) == (-0.5, None)
    assert_reasons(single)


def test_the_same_difference_on_every_claim_has_no_interval() -> None:
    pair = compare_rankers(scores(a=[0] * 8, b=[1] * 8))["pairs"][0]
    assert (pair["mean_difference_rr"], pair["rr_ci95"], pair["t_p"]) == (-0.5, None, None)
    assert pair["wilcoxon_pratt_p"] < 0.01
    assert_reasons(pair)


def test_very_many_claims_get_fewer_draws_and_the_percentile_interval() -> None:
    assert Bootstrap.of_claims(200, 0) == Bootstrap(9999, 0, "BCa")
    assert Bootstrap.of_claims(50_000, 0) == Bootstrap(1000, 0, "percentile")
    assert Bootstrap.of_claims(1_000_000, 0).draws == 999


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"imsr": 0}, "row 0: column imsr: '0' is not a whole number of at least 1"),
        ({"msr": 1.5}, "row 0: column msr: '1.5' is not a whole number"),
        ({"imsr": 2, "msr": 1}, "row 0: column msr: '1' is less than imsr"),
        ({"rr": 0.7}, "row 0: column rr: '0.7' is not 1 / (msr - imsr + 1)"),
        ({"rr": "x"}, "row 0: column rr: 'x' is not a number"),
        ({"rr": ""}, "row 0: column rr: '' is not a number"),
        ({"ndcg": float("nan")}, "row 0: column ndcg: '' is not a number"),
        ({"ndcg": 1.2}, "row 0: column ndcg: '1.2' is not above 0 and at most 1"),
        ({"sr": 0}, "row 0: column sr: '0' is not 1 where msr = imsr, else 0"),
        ({"ranker": ""}, "row 0: column ranker: '' may not be empty"),
        ({"claim_id": "c1"}, "row 1: column claim_id: 'c1' was scored for the same ranker"),
        ({"imsr": 2, "msr": 2}, "column imsr: rankers disagree about it, in claim c0"),
    ],
)
def test_bad_scores_are_refused(change: dict[str, Any], words: str) -> None:
    table = scores(a=[0, 1], b=[0, 1]).astype(object)
    for column, value in change.items():
        table.loc[0, column] = value
    with pytest.raises(BadTable) as caught:
        compare_rankers(table)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty; the first line must name the columns"),
        (b"claim_id,ranker,imsr,msr,rr,sr,ndcg\n", "no row below the header"),
        (b"claim_id,ranker,imsr,msr,rr,sr,ndcg\nc,\xff,1,1,1,1,1\n", "not UTF-8"),
        (b"claim_id,ranker,imsr,msr,rr,sr\nc,a,1,1,1,1\n", "column ndcg: missing"),
        (b"claim_id,ranker,imsr,msr,rr,sr,ndcg\nc,a,1,1,1,1,one\n", "line 2: column ndcg: 'one'"),
    ],
)
def test_a_bad_file_is_refused_in_one_line(
    content: bytes, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "scores.csv"
    path.write_bytes(content)
    assert main(["rankers", str(path)]) == 1
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert words in shown.err
    assert shown.err.startswith(f"{path}: ")


def test_what_evaluate_writes_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from rankers.cli import main as rankers_main

    claims = Path(__file__).resolve().parents[2] / "fixtures" / "demo_claims.jsonl"
    files = []
    for method in ("document_order", "bm25"):
        files.append(str(tmp_path / f"{method}.jsonl"))
        assert rankers_main(["rank", str(claims), "--method", method, "-o", files[-1]]) == 0
    path = tmp_path / "scores.csv"
    capsys.readouterr()
    assert rankers_main(["evaluate", str(claims), *files, "--csv", str(path), "--json"]) == 0
    evaluated = json.loads(capsys.readouterr().out)
    assert main(["rankers", str(path), "--json", "--seed", "4"]) == 0
    document = json.loads(capsys.readouterr().out)
    for name, own in document["table"].items():
        assert own["rr"]["mean"] == pytest.approx(evaluated[name]["all"]["mrr"]["mean"])
        assert own["sr"]["sem"] == pytest.approx(evaluated[name]["all"]["sr"]["sem"])
    assert main(["rankers", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "second - first" in shown
    assert "Method: mean and SEM" in shown


@needs_data
@pytest.mark.data
def test_the_same_file_gives_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for _ in range(2):
        assert main(["rankers", str(FILE), "--json"]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
