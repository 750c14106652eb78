"""Figures: well-formed, the same bytes, their numbers in words and in a table."""

from __future__ import annotations

import re
import warnings
from xml.etree import ElementTree

import pandas as pd
import pytest

from analysis import sentences_read_svg
from analysis.comparison.contrast import Contrast
from analysis.plots.active_time import active_time
from analysis.plots.claim_slopes import claim_means, claim_slopes
from analysis.plots.participant_differences import differences, participant_differences
from analysis.plots.sentences_read import sentences_read
from analysis.plots.style import COLOURS, Picture, short
from analysis.plots.verified_within import verified_within
from tests.analysis.builders import selection_trial, study, trial, trials
from tests.analysis.reports import checked, full_study, source

CONDITIONS = ["ranking", "selection"]
INTERFACES = {"ranking": "incremental", "selection": "all_at_once"}
CONTRAST = Contrast("ranking", "selection")


def design_set(table: pd.DataFrame | None = None) -> pd.DataFrame:
    return source(full_study() if table is None else table).design_set


def pictures(trials_of: pd.DataFrame) -> list[Picture | None]:
    return [
        sentences_read(trials_of, CONDITIONS, INTERFACES),
        claim_slopes(trials_of, CONTRAST),
        active_time(trials_of, CONDITIONS),
        verified_within(trials_of, CONDITIONS),
        participant_differences(trials_of, CONTRAST),
    ]


def texts(svg: str) -> str:
    return " ".join(ElementTree.fromstring(svg).itertext())


def test_the_plot_is_well_formed_and_labels_its_panels() -> None:
    svg = sentences_read_svg(checked().trials, CONDITIONS, INTERFACES)
    shown = texts(svg)
    for words in (
        "ranking (n = 1)",
        "bars read, mean 3.00; dots required, mean 2.00",
        "selection (n = 1)",
        "bars shown, mean 2.00; dots required, mean 2.00",
    ):
        assert words in shown
    assert "date" not in svg.lower()


def test_every_figure_has_the_same_bytes_twice_and_names_no_date_or_maker() -> None:
    first, second = pictures(design_set()), pictures(design_set())
    for one, other in zip(first, second, strict=True):
        assert one is not None
        assert other is not None
        assert (one.svg, one.png) == (other.svg, other.png)
        assert one.png.startswith(b"\x89PNG")
        assert b"tEXt" not in one.png
        assert not re.search(r"<dc:|matplotlib\.org|\d{4}-\d\d-\d\d", one.svg)
        assert set(re.findall(r"#[0-9a-f]{6}\b", one.svg)) <= {*COLOURS.values(), "#ffffff"}
        ElementTree.fromstring(one.svg)


def test_ids_are_unique_over_all_figures() -> None:
    ids = [
        found
        for picture in pictures(design_set())
        if picture
        for found in re.findall(r'\bid="([^"]+)"', picture.svg)
    ]
    assert len(ids) == len(set(ids))
    assert ids


def test_claims_are_paired_and_counted_by_direction() -> None:
    means = claim_means(design_set(), CONTRAST)
    assert means.to_dict("index") == {
        claim: {"read_first": 3, "read_second": 2, "success_first": 1, "success_second": 0}
        for claim in ("001", "002")
    }
    picture = claim_slopes(design_set(), CONTRAST)
    assert picture is not None
    assert picture.words == (
        "Sentences of 2 claims: under ranking lower in 0, equal in 0, higher in 2. "
        "Share of success of 2 claims: under ranking lower in 0, equal in 0, higher in 2."
    )


def test_participants_differ_by_condition() -> None:
    assert differences(design_set(), CONTRAST).to_dict("index") == {
        person: {"success": 1.0, "read": 1.0} for person in ("P1", "P2")
    }
    picture = participant_differences(
        design_set(), CONTRAST, {"read": {"difference": 1.0, "ci95": [0.5, 1.5]}}
    )
    assert picture is not None
    assert "below, the overall 95 % interval" in texts(picture.svg)
    assert picture.words.startswith(
        "Difference in success of 2 participants: from 100.00 to 100.00 points, mean 100.00; "
        "above 0 in 2, below 0 in 0."
    )


def test_active_time_names_the_medians() -> None:
    picture = active_time(design_set(), CONDITIONS)
    assert picture is not None
    assert picture.words == (
        "ranking: median 14.9 s, half of the trials between 14.9 and 15.0 s; "
        "selection: median 15.0 s, half of the trials between 15.0 and 15.0 s."
    )
    assert list(picture.data["50 % within (s)"]) == [14.95, 15.0]


def test_trials_without_time_are_counted_and_not_drawn() -> None:
    table = full_study(active_ms=0, hidden_ms=20000)
    assert active_time(design_set(table), CONDITIONS) is None
    table.loc[0, ["active_ms", "hidden_ms"]] = ["5000", "15000"]
    picture = active_time(design_set(table), CONDITIONS)
    assert picture is not None
    assert picture.words == (
        "ranking: median 5.0 s, half of the trials between 5.0 and 5.0 s; selection: no trials. "
        "3 trials with an active time of 0 are not drawn."
    )


def test_the_shares_within_k_sentences() -> None:
    picture = verified_within(design_set(), CONDITIONS)
    assert picture is not None
    rows = picture.data.drop(columns=["Trials", "Scorable trials"]).to_numpy().tolist()
    assert rows == [
        ["ranking", 1, 0.0, 0.0],
        ["ranking", 2, 0.0, 0.0],
        ["ranking", 3, 100.0, 100.0],
        ["selection", 1, 0.0, 0.0],
        ["selection", 2, 0.0, 0.0],
        ["selection", 3, 0.0, 0.0],
    ]


def test_figures_that_the_data_do_not_allow_are_absent() -> None:
    nothing = design_set(full_study(simulated="true"))
    assert [picture is None for picture in pictures(nothing)] == [False, True, True, True, True]
    between = trials(trial(), selection_trial(participant_id="P2", slot=2))
    drawn = pictures(design_set(between))
    assert [picture is None for picture in drawn] == [False, True, False, False, True]


@pytest.mark.parametrize("name", ["a$b$c", "条件", "<b>&", "x" * 200, "a\x07b"])
def test_any_name_can_be_drawn_without_a_warning(name: str) -> None:
    table = trials(trial(condition=name), selection_trial(participant_id="P1"))
    scored = design_set_of(table, name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for picture in (
            sentences_read(scored, [name], {}),
            active_time(scored, [name]),
            verified_within(scored, [name]),
        ):
            assert picture is not None
            ElementTree.fromstring(picture.svg)


def design_set_of(table: pd.DataFrame, name: str) -> pd.DataFrame:
    return source(table, study(conditions=[name, "selection"])).design_set


def drawn_with(first: str, second: str) -> list[Picture | None]:
    """The five figures of a study whose conditions and people have other names."""
    renamed = full_study(people=4).replace({"ranking": first, "selection": second, "P1": first})
    names, contrast = [first, second], Contrast(first, second)
    scored = source(renamed, study(conditions=names, replications=2)).design_set
    return [
        sentences_read(scored, names, {}),
        claim_slopes(scored, contrast),
        active_time(scored, names),
        verified_within(scored, names),
        participant_differences(scored, contrast),
    ]


@pytest.mark.parametrize("letter", ["W", "条 "])
def test_long_names_are_shortened_in_figures_and_whole_in_captions(letter: str) -> None:
    first, second = f"A{letter * 300}-1", f"B{letter * 300}-2"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn = drawn_with(first, second)
    for picture in drawn:
        assert picture is not None
        shown = texts(picture.svg)
        assert "…" in shown
        assert max(map(len, shown.split("\n"))) < 300
        assert first in f"{picture.title} {picture.words}"
        assert not ({first, second} & set(shown.split()))


def test_short_keeps_both_ends_of_a_name() -> None:
    assert short("ranking") == "ranking"
    assert short("x" * 40) == "x" * 40
    assert short(f"{'a' * 300}-1", 10) == "aaaaaa…a-1"
