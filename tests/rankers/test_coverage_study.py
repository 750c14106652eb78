"""The tables of the coverage study, on results small enough to work out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from bench.coverage_study import FILES, Result, by_group, compared, main, study, validated
from rankers.values import Claim


def a_claim(number, label="supported", gold=((1,),)):
    candidates = ("The weather was fine.", f"The tower opened in 18{number}.", "It has a lift.")
    return Claim(f"c{number}", f"Tower {number} opened in 18{number}.", label, candidates, gold)


def a_result(name, *ranks):
    return Result(name, {"file": np.array(ranks)})


def test_a_variant_is_compared_claim_by_claim():
    line = compared(a_result("other", 1.0, 0.5, 0.5), a_result("default", 0.5, 0.5, 0.5))
    assert line == "| other | 0.667 (+0.167 ± 0.167) |"


def test_ranks_are_grouped_by_label_and_smallest_gold_set():
    claims = [a_claim(10), a_claim(11, "refuted", ((0, 1), (0, 1, 2)))]
    assert by_group(claims, np.array([1.0, 0.5])) == (
        "all 0.750 (2), refuted 0.500 (1), size 1 1.000 (1), size 2 0.500 (1), supported 1.000 (1)"
    )


def test_a_variant_is_chosen_without_the_claims_it_is_measured_on():
    # One claim makes the lucky variant the best of ten claims; without it, it is the worst.
    default, steady = a_result("default", *[0.4] * 10), a_result("words only", *[0.2] * 10)
    lucky = a_result("lucky", 5.0, *[0.1] * 9)
    (line,) = validated([default, steady, lucky], 3)
    # The fold of that claim (two claims) is measured with the default, the other four as lucky.
    mean = (2 * 0.4 + 8 * 0.1) / 10
    assert line.startswith(f"- file: MRR {mean:.3f} of held-out claims, {mean - 0.4:+.3f} ± ")


def test_the_study_measures_every_variant():
    claims = [a_claim(number) for number in range(10, 16)]
    lines = list(study(dict.fromkeys(FILES, claims), None))
    rows = [line.split(" | ")[0].removeprefix("| ") for line in lines if line.startswith("| ")]
    assert rows[2:4] == ["words only", "strictness 0"]
    assert {"weight 0.8", "repeat 0.9", "numbers 2.5", "nearby 0.5"} <= set(rows)
    assert lines[-1].startswith(
        "- fm2_open: MRR 1.000 of held-out claims, +0.000 ± 0.000 to default"
    )


def test_a_missing_file_is_named(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("sys.argv", ["coverage_study", "--data", str(tmp_path)])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 1
    assert "wice_open.jsonl" in capsys.readouterr().err
