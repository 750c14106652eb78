"""``python -m analysis power``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analysis.cli import main
from analysis.power import Assumptions, Plan, power_document
from analysis.power.definitions import DEFINITIONS
from tests.analysis.builders import case_zip
from tests.shared_data import needs_data

SMALL = ("power", "--participants", "5,10", "--claims", "50", "--sims", "60")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    return json.loads(run(capsys, *SMALL, "--json", *arguments))


def test_the_text_shows_every_input_and_the_answers(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, *SMALL, "--margin", "0.05")
    for line in (
        "Power, before data: ranking - selection, 60 simulated studies a size",
        "Share of studies that find it (Monte-Carlo error)",
        "Fewest participants for power 0.80",
        "With 10 participants and 50 claims (20 trials each) a difference of",
        "claims only takes the participants for everybody",
    ):
        assert line in text
    shown = {line.split()[0]: line.split()[1:] for line in text.splitlines() if "  --" in line}
    assert shown["--margin"] == ["0.05", "given"]
    assert shown["--sd-participant-slope"] == ["0.3", "default"]
    assert shown["--required"] == ["1:0.44,2:0.34,3:0.14,4:0.06,5:0.02", "default"]
    assert len(shown) == 24


def test_the_same_input_gives_the_same_bytes_and_another_seed_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    first = run(capsys, *SMALL, "--json")
    assert run(capsys, *SMALL, "--json") == first
    assert run(capsys, *SMALL, "--json", "--seed", "3") != first
    assert "NaN" not in first


def test_the_document_has_every_number_with_its_error_and_its_definition(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = document(capsys)
    assert set(found["inputs"]) == set(found["sources"])
    cell = found["curve"][1]
    assert (cell["participants"], cell["claims"], cell["trials"]) == (10, 50, 200)
    assert cell["trials_per_participant"] == [20, 20]
    assert set(cell["outcomes"]) == set(found["definitions"]) == set(DEFINITIONS)
    power = cell["outcomes"]["power_success_two_way"]
    share = power["value"]
    assert power["monte_carlo_error"] == pytest.approx((share * (1 - share) / 60) ** 0.5)
    assert 0.7 < share <= 1
    assert found["curve"][0]["outcomes"]["power_success_two_way"]["value"] < share
    assert [d["difference"] for d in found["detectable_difference"]][1] > 0.1


def test_what_is_not_defined_is_null_with_a_reason(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(
        capsys, "--success", "0.8,0.8", "--participants", "2", "--claims", "5",
        "--most-participants", "5",
    )  # fmt: skip
    outcomes = found["curve"][0]["outcomes"]
    nulls = {
        *(f"curve.0.outcomes.{name}" for name, value in outcomes.items() if value is None),
        *(
            f"fewest_participants.0.{name}"
            for name, value in found["fewest_participants"][0].items()
            if value is None
        ),
    }
    assert "curve.0.outcomes.power_success_claims" in nulls
    assert "curve.0.outcomes.over_read_msr_rate_second" in nulls
    assert found["detectable_difference"][0]["difference"] is None
    assert set(found["not_defined"]) == nulls | {"detectable_difference.0.difference"}
    assert all(why.startswith("not defined, because") for why in found["not_defined"].values())
    assert len(found["notices"]) == 2
    assert "assumed equal" in found["notices"][0]
    assert "2 participants are no multiple of 5" in found["notices"][1]


def test_the_text_of_what_is_not_defined_holds_no_none(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(
        capsys, "power", "--participants", "2", "--claims", "5", "--sims", "50",
        "--interfaces", "incremental,incremental", "--most-participants", "4",
    )  # fmt: skip
    assert "no difference in success, up to 25 points above 74 %" in text
    assert "not with 4" in text
    assert "None" not in text
    assert "success, claims only" not in text
    assert "over_read_msr 2" in text


def test_an_oracle_never_reads_on(capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = document(capsys, "--reader", "oracle")["curve"][0]["outcomes"]
    assert outcomes["over_read_msr_rate_first"] == {"value": 0, "monte_carlo_error": 0}


def test_two_ranked_conditions_are_both_read_sentence_by_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = document(capsys, "--interfaces", "incremental,incremental")
    outcomes = found["curve"][0]["outcomes"]
    assert abs(outcomes["mean_read_difference"]["value"]) < 0.2
    assert outcomes["over_read_msr_rate_second"]["value"] == pytest.approx(0.1, abs=0.03)
    assert any("false alarms" in notice for notice in found["notices"])


def test_options_that_cannot_be_read_are_named_one_a_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = main(
        ["power", "--participants", "5,x", "--margin", "nan", "--success", "0.9", "--required", "2"]
    )
    printed = capsys.readouterr()
    assert (code, printed.out) == (1, "")
    assert printed.err.splitlines() == [
        "--participants: 'x' is no whole number",
        "--success: '0.9' is not two values with a comma between them",
        "--margin: 'nan' is no number",
        "--required: '2' is no size and share; write 1:0.5,2:0.5",
    ]


def test_numbers_that_make_no_study_are_named_one_a_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = main(
        [
            "power", "--participants", "1,100000", "--claims", "3,100", "--success", "1.2,0.8",
            "--margin", "0", "--sd-claim", "-1", "--required", "1:0.5,2:0.3", "--reader", "slow",
            "--stops", "0", "--early", "0.9", "--gives-up", "0.5", "--interfaces", "list,set",
            "--contrast", "a,a", "--sims", "5", "--seed", "-2", "--most-participants", "1",
        ]
    )  # fmt: skip
    printed = capsys.readouterr()
    assert (code, printed.out) == (1, "")
    assert printed.err.splitlines() == [
        "--participants: 1 is too few; give at least 2",
        "--claims: 3 is too few; 5 subsets need as many",
        "--participants: 100000 with 100 claims are 4,000,000 trials; at most 200,000 can be "
        "simulated",
        "--most-participants: 1 is too few; give at least 2",
        "--success: 1.2 is no rate above 0 and below 1",
        "--margin: 0 is not above 0 and below 1",
        "--interfaces: 'list' is none of incremental, all_at_once",
        "--interfaces: 'set' is none of incremental, all_at_once",
        "--contrast: 'a' and 'a' are not two names",
        "--sd-claim: -1 is no standard deviation from 0 to 10 (on the logit)",
        "--required: the shares sum to 0.8, not 1",
        "--reader: 'slow' is none of noisy, oracle",
        "--stops: 0 is no probability from 0.01 to 1",
        "--gives-up: with early stops more than 1; a reader does one or the other",
        "--sims: 5 is no number from 50 to 100,000",
        "--seed: -2 is below 0",
    ]


def test_an_unknown_option_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["power", "--people", "5"])
    assert exit_.value.code == 2
    assert "--people" in capsys.readouterr().err


@needs_data
@pytest.mark.data
def test_a_pilot_fills_in_what_is_not_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(case_zip("thirty_a", tmp_path))
    found = document(capsys, "--pilot", path, "--success", "0.9,0.7")
    sources = found["sources"]
    assert found["inputs"]["success"] == [0.9, 0.7]
    assert (sources["success"], sources["sd_claim_slope"]) == ("given", "pilot")
    assert (sources["sd_participant"], sources["sims"]) == ("default", "given")
    assert found["inputs"]["required"]["1"] == 0.33
    assert found["notices"][0].startswith(f"{path}: 30 participants, 100 claims, 1200 trials")


def test_a_pilot_that_is_no_export_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["power", "--pilot", str(tmp_path / "none.zip")]) == 1
    assert capsys.readouterr().err == f"{tmp_path / 'none.zip'}: no such file\n"
    assert main(["power", "--pilot", str(tmp_path)]) == 1
    assert capsys.readouterr().err == f"{tmp_path}: cannot be read (Is a directory)\n"


def test_progress_is_told_after_every_step() -> None:
    plan = Plan(participants=(5, 10), claims=(20, 30), most_participants=10, sims=50)
    steps: list[int] = []
    power_document(plan, Assumptions(), advance=lambda: steps.append(1))
    assert len(steps) == plan.steps
