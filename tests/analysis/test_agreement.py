"""Agreement: what is not defined says why, bad tables are refused, known small tables agree."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis import BadTable, check_tables, scored_trials
from analysis.agreement import (
    agreement_of_trials,
    cohen,
    fleiss,
    krippendorff,
    mann_whitney,
    preferences,
)
from analysis.cli import main
from tests.analysis.builders import study, trial, trials


@pytest.fixture(autouse=True)
def _no_warning() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def wide(*rows: str) -> pd.DataFrame:
    """Items i0, i1, … with a letter a rater; a dot is a missing rating."""
    cells = [[cell.replace(".", "") for cell in row.split()] for row in rows]
    table = pd.DataFrame(cells, columns=[f"rater{place + 1}" for place in range(len(cells[0]))])
    return table.assign(item=[f"i{place}" for place in range(len(cells))])


def choices(*rows: str) -> pd.DataFrame:
    cells = [[*row.split(), f"p{place}"] for place, row in enumerate(rows)]
    return pd.DataFrame(cells, columns=["claim_id", "choice", "participant_id"])


def scores(**groups: list[float]) -> pd.DataFrame:
    rows = [(name, value) for name, values in groups.items() for value in values]
    return pd.DataFrame(rows, columns=["group", "score"])


def assert_reasons(document: dict[str, Any], *path: str) -> None:
    """Every None has a reason, and every reason a None."""
    missing = {key for key, value in document.items() if value is None}
    own = {key for key in document.get("not_defined", {}) if "." not in key}
    assert missing == own, path
    assert all(why.startswith("not defined, because") for why in document["not_defined"].values())


def test_one_category_leaves_kappa_undefined() -> None:
    table = wide("yes yes", "yes yes", "yes yes")
    found = cohen(table)
    assert (found["kappa"], found["ase"], found["ci95"]) == (None, None, None)
    assert found["observed_agreement"] == 1
    assert found["marginals"] == {"rater1": {"yes": 1}, "rater2": {"yes": 1}}
    assert_reasons(found)
    assert fleiss(table)["fleiss_kappa"] is None
    assert_reasons(fleiss(table))
    assert krippendorff(table)["alpha_nominal"] is None
    assert_reasons(krippendorff(table))


def test_perfect_agreement_has_no_interval_that_would_claim_certainty() -> None:
    table = wide("1 1", "2 2", "3 3", "1 1")
    found = cohen(table)
    assert (found["kappa"], found["ase"], found["ci95"]) == (1, None, None)
    assert found["quadratic"] == {"kappa": 1, "ase": None, "ci95": None}
    assert_reasons(found)
    assert {"linear.ase", "quadratic.ci95"} <= set(found["not_defined"])
    other = krippendorff(table)
    assert (other["alpha"], other["ci95"]) == (1, None)
    assert "every draw gives the same" in other["not_defined"]["alpha_ordinal_ci95"]


def test_a_rater_with_one_label_has_a_kappa_of_0_and_no_error() -> None:
    found = cohen(wide("1 1", "1 2", "1 1", "1 2"))
    assert (found["kappa"], found["ase"], found["spearman"]) == (0, None, None)
    assert_reasons(found)


def test_items_without_both_ratings_are_left_out_and_counted() -> None:
    found = cohen(wide("a a", "b b", "a .", ". b", "a b", ". ."))
    assert (found["n_items"], found["n_items_left_out"]) == (3, 3)
    assert found["observed_agreement"] == pytest.approx(2 / 3)


def test_weights_count_steps_of_the_scale_not_of_the_labels_in_use() -> None:
    """On 1 to 5 the labels 2 and 5 are three steps apart, though nobody gave a 3 or a 4."""
    table = wide("1 1", "2 5", "5 5", "2 2", "1 2", "5 2")
    found = cohen(table)
    assert found["labels"] == ["1", "2", "3", "4", "5"]
    values = table[["rater1", "rater2"]].astype(float).to_numpy()
    apart = np.abs(values[:, 0] - values[:, 1]).mean()
    by_chance = np.abs(np.subtract.outer(values[:, 0], values[:, 1])).mean()
    assert found["linear"]["kappa"] == pytest.approx(1 - apart / by_chance, abs=1e-10)


def test_words_are_weighted_in_the_order_given_and_not_without_one() -> None:
    words = wide("low mid", "mid mid", "high high", "low low", "mid high")
    numbers = wide("1 2", "2 2", "3 3", "1 1", "2 3")
    found = cohen(words, "linear", order=["low", "mid", "high"])
    assert found["kappa"] == cohen(numbers, "linear")["kappa"] == found["linear"]["kappa"]
    alpha = krippendorff(words, order=["low", "mid", "high"])
    assert alpha["alpha"] == krippendorff(numbers, "ordinal")["alpha"]
    assert "linear" not in cohen(words)
    for refused in (
        lambda: cohen(words, "linear"),
        lambda: krippendorff(words, "ordinal"),
        lambda: krippendorff(words, "interval", order=["low", "mid", "high"]),
    ):
        with pytest.raises(BadTable, match="need"):
            refused()
    with pytest.raises(
        BadTable, match="row 2, 4: column label: 'high' is not in the order low, mid"
    ):
        cohen(words, order=["low", "mid"])


def test_alpha_of_the_textbook_table() -> None:
    """Four observers, twelve units: Krippendorff, "Computing Krippendorff's Alpha-Reliability",
    2011, section C: nominal .743, ordinal .815, interval .849.
    """
    observers = [
        "1 2 3 3 2 1 4 1 2 . . .",
        "1 2 3 3 2 2 4 1 2 5 . 3",
        ". 3 3 3 2 3 4 2 2 5 1 .",
        "1 2 3 3 2 4 4 1 2 5 1 .",
    ]
    units = [" ".join(unit) for unit in zip(*(row.split() for row in observers), strict=True)]
    found = krippendorff(wide(*units))
    assert round(found["alpha_nominal"], 3) == 0.743
    assert round(found["alpha_ordinal"], 3) == 0.815
    assert round(found["alpha_interval"], 3) == 0.849
    assert (found["n_items"], found["n_items_with_two"], found["n_ratings"]) == (12, 11, 41)


def test_items_with_one_rating_carry_nothing() -> None:
    rows = ["1 2 .", "2 2 3", "1 1 1"]
    alone = [". 3 .", "3 . .", ". . 1"]
    found, more = krippendorff(wide(*rows)), krippendorff(wide(*rows, *alone))
    for level in ("nominal", "ordinal", "interval"):
        assert more[f"alpha_{level}"] == found[f"alpha_{level}"]
        assert more[f"alpha_{level}_ci95"] == found[f"alpha_{level}_ci95"]
    nothing = krippendorff(wide(*alone))
    assert nothing["alpha"] is None
    assert "no item has two ratings" in nothing["not_defined"]["alpha_nominal"]


def test_interval_alpha_does_not_depend_on_origin_or_unit() -> None:
    rng = np.random.default_rng(5)
    truth = rng.normal(size=30)
    table = pd.DataFrame({f"rater{r}": (truth + rng.normal(size=30)).round(3) for r in (1, 2, 3)})
    table["item"] = range(30)
    moved = table.assign(**{name: 1e6 + 3 * table[name] for name in table.columns[:3]})
    one, other = (krippendorff(each, "interval", draws=200) for each in (table, moved))
    assert other["alpha"] == pytest.approx(one["alpha"], abs=1e-8)
    assert other["ci95"] == pytest.approx(one["ci95"], abs=1e-8)


def test_the_seed_decides_the_interval_and_nothing_else() -> None:
    table = wide(*["a b", "a a", "b b", "b a", "a a", "b b"] * 4)
    first, again, other = (krippendorff(table, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first["alpha"] == other["alpha"]
    assert first["ci95"] != other["ci95"]


def test_the_bootstrap_draws_items_as_plain_resampling_does() -> None:
    """Each drawn alpha is the alpha of the drawn table."""
    from analysis.agreement.alpha import alphas
    from analysis.agreement.ratings import read_ratings

    table = wide("1 2 2", "3 3 .", "1 1 2", "4 4 3", "2 2 2")
    ratings = read_ratings(table)
    drawn = [0, 0, 3, 1, 4]
    weights = np.bincount(drawn, minlength=5)[None, :].astype(float)
    resampled = table.iloc[drawn].assign(item=[f"d{place}" for place in range(5)])
    for level in ("nominal", "ordinal", "interval"):
        alpha = alphas(ratings.counts(), weights, level, ratings.values)[0]
        assert alpha == pytest.approx(krippendorff(resampled, level)["alpha"], abs=1e-10)


def test_drawing_kinds_of_items_is_drawing_items() -> None:
    """The interval is that of resampling the items one by one."""
    from analysis.agreement.fleiss_kappa import fleiss_of
    from analysis.agreement.ratings import read_ratings

    rng = np.random.default_rng(8)
    truth = rng.integers(1, 5, 40)
    noisy = [np.where(rng.random(40) < 0.7, truth, rng.integers(1, 5, 40)) for _ in range(3)]
    table = pd.DataFrame({f"rater{r + 1}": column for r, column in enumerate(noisy)})
    table["item"] = [f"i{place}" for place in range(40)]
    counts, once = read_ratings(table).counts().toarray(), np.ones((1, 40))
    drawn = [fleiss_of(counts[rng.integers(0, 40, 40)], once)[0] for _ in range(4000)]
    wanted = np.quantile(drawn, [0.025, 0.975])
    assert fleiss(table)["ci95"] == pytest.approx(list(wanted), abs=0.02)


def test_unequal_numbers_of_ratings_are_refused_and_sent_to_alpha() -> None:
    with pytest.raises(
        BadTable, match="items have 1 to 2 ratings, and Fleiss' kappa needs as many"
    ):
        fleiss(wide("a b", "a ."))
    with pytest.raises(BadTable, match="every item has one rating"):
        fleiss(wide("a .", ". b"))
    with pytest.raises(BadTable, match="3 raters, and Cohen's kappa compares two"):
        cohen(wide("a b a"))


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (pd.DataFrame({"item": ["a"], "label": ["x"]}), "no ratings; give the columns item, rater"),
        (pd.DataFrame({"rater": ["a"], "label": ["x"]}), "column item: missing"),
        (pd.DataFrame({"item": ["a"], "rater": ["r"]}), "column label: missing"),
        (wide("a b").assign(item=""), "row 0: column item: '' names no item"),
        (pd.concat([wide("a b"), wide("b a")], ignore_index=True), "row 1: column item: 'i0' has"),
        (
            pd.DataFrame({"item": ["a", "a"], "rater": ["r", "r"], "label": ["x", "y"]}),
            "row 1: column item: 'a' was rated by the same rater before",
        ),
        (pd.DataFrame({"item": ["a"], "rater": [""], "label": ["x"]}), "names no rater"),
        (wide(". .", ". ."), "no rating; every label is empty"),
    ],
)
def test_bad_ratings_are_refused(table: pd.DataFrame, words: str) -> None:
    with pytest.raises(BadTable) as caught:
        krippendorff(table)
    assert words in str(caught.value)
    assert str(caught.value).startswith("ratings: ")


def test_a_claim_has_one_vote_however_many_people_judged_it() -> None:
    table = choices(
        *["c1 suggested"] * 5, "c2 current", "c3 current", "c4 current", "c4 suggested", "c5 unsure"
    )
    found = preferences(table)
    assert found["claim_majority"]["suggested"] == 1
    assert found["claim_majority"]["current"] == 2
    assert found["claim_majority"]["tied_or_none"] == 2
    assert found["claim_majority"]["two_tail"] == 1
    assert found["sign_test_annotations"]["n"] == 9
    assert found["shares"]["unsure"] == 0.1


def test_without_a_preference_the_tests_are_not_defined() -> None:
    found = preferences(choices("c1 neither", "c2 unsure", "c2 neither"))
    for block in ("sign_test_annotations", "claim_majority"):
        assert (found[block]["n"], found[block]["one_tail"], found[block]["two_tail"]) == (
            0,
            None,
            None,
        )
        assert_reasons(found[block])
    assert found["counts"] == {"suggested": 0, "current": 0, "neither": 2, "unsure": 1}
    assert found["notes"] == ["no annotation chose suggested", "no annotation chose current"]
    assert found["shares"]["suggested"] == 0


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        ((None, None), "say which two choices are compared, --first and --second; there are a, b"),
        (("a", None), "name two different choices"),
        (("a", "a"), "name two different choices"),
        (("n", "a"), "a choice cannot be called n"),
    ],
)
def test_which_choices_are_compared_is_said_and_not_guessed(
    pair: tuple[str | None, str | None], words: str
) -> None:
    with pytest.raises(BadTable) as caught:
        preferences(choices("c1 a", "c2 b"), *pair)
    assert words in str(caught.value)


def test_bad_preferences_are_refused() -> None:
    table = choices("c1 suggested", "c2 current").assign(annotation="a1", claim_id=["", "c2"])
    with pytest.raises(BadTable) as caught:
        preferences(table)
    assert caught.value.problems == [
        "preferences: row 0: column claim_id: '' may not be empty",
        "preferences: row 1: column annotation: 'a1' occurs twice",
    ]


def test_few_scores_without_ties_are_tested_exactly() -> None:
    found = mann_whitney(scores(a=[1, 2, 3], b=[4, 5, 6]))
    assert (found["U_x"], found["p_method"]) == (0, "exact")
    assert found["p"] == pytest.approx(2 / 20)  # two of the 20 ways to choose three ranks of six
    assert (found["common_language"], found["rank_biserial"]) == (0, -1)
    assert found["common_language_ci95"] is None
    assert_reasons(found)
    tied = mann_whitney(scores(a=[1, 2, 3], b=[3, 5, 6]))
    assert (tied["p_method"], tied["p"]) == ("asymptotic", tied["p_continuity"])
    many = mann_whitney(scores(a=list(range(51)), b=[0.5, 1.5, 70.5]), draws=50)
    assert many["p_method"] == "asymptotic"


def test_the_drawn_share_is_that_of_all_pairs() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.integers(0, 9, 40), rng.integers(2, 11, 30)
    found = mann_whitney(scores(x=list(x), y=list(y)), draws=4000)
    shares = []
    for _ in range(4000):
        apart = np.subtract.outer(rng.choice(x, 40), rng.choice(y, 30))
        shares.append((apart > 0).mean() + (apart == 0).mean() / 2)
    assert found["common_language_ci95"] == pytest.approx(
        list(np.quantile(shares, [0.025, 0.975])), abs=0.015
    )


def test_equal_scores_and_single_scores_say_what_is_not_defined() -> None:
    found = mann_whitney(scores(a=[2, 2], b=[2, 2, 2]))
    assert (found["p"], found["p_method"], found["common_language"]) == (None, None, 0.5)
    assert_reasons(found)
    single = mann_whitney(scores(a=[1], b=[2]))
    assert (single["p"], single["common_language_ci95"]) == (1, None)
    assert_reasons(single)


@pytest.mark.parametrize(
    ("table", "first", "words"),
    [
        (scores(a=[1], b=[2], c=[3]), None, "two groups are compared, not 3: a, b, c"),
        (scores(a=[1, 2]), None, "two groups are compared, not 1: a"),
        (scores(a=[1], b=[2]), "d", "no group 'd'; there are a and b"),
        (pd.DataFrame({"group": ["a", "b"], "score": ["1", "x"]}), None, "'x' is not a number"),
        (pd.DataFrame({"group": ["a", ""], "score": ["1", "2"]}), None, "may not be empty"),
        (pd.DataFrame({"group": ["a", "b"], "score": ["1", "inf"]}), None, "'inf' is not a number"),
    ],
)
def test_bad_scores_are_refused(table: pd.DataFrame, first: str | None, words: str) -> None:
    with pytest.raises(BadTable) as caught:
        mann_whitney(table, first)
    assert words in str(caught.value)


def design_set(*rows: dict[str, str], **settings: Any) -> pd.DataFrame:
    return scored_trials(check_tables(trials(*rows), None, study(**settings)))


def judgement(claim: str, person: int, decision: str) -> dict[str, str]:
    return trial(
        trial_id=f"t{claim}{person}",
        claim_id=claim,
        participant_id=f"P{person}",
        replication=person,
        decision=decision,
    )


def test_one_replication_gives_no_agreement_and_says_so() -> None:
    found = agreement_of_trials(design_set(judgement("a", 1, "supported")))
    block = found["conditions"]["ranking"]
    assert (block["alpha_nominal"], block["ci95"], block["observed_agreement"]) == (None,) * 3
    assert_reasons(block)
    assert "two or more replications" in block["not_defined"]["alpha_nominal"]


def test_people_who_judged_the_same_claims_are_compared() -> None:
    decisions = {"a": "ss", "b": "rr", "c": "sr", "d": "cc", "e": "s"}
    words = {"s": "supported", "r": "refuted", "c": "cant_decide"}
    rows = [
        judgement(claim, person, words[letter])
        for claim, letters in decisions.items()
        for person, letter in enumerate(letters, start=1)
    ]
    found = agreement_of_trials(design_set(*rows, replications=2))["conditions"]["ranking"]
    same = krippendorff(wide("s s", "r r", "s r", "c c", "s ."))
    assert found["alpha_nominal"] == same["alpha"]
    assert found["ci95"] == same["ci95"]
    assert found["observed_agreement"] == 0.75
    counts = ("n_claims", "n_claims_with_two", "n_participants", "n_decisions")
    assert [found[name] for name in counts] == [5, 4, 2, 9]
    assert found["not_defined"] == {}


def test_without_trials_there_is_no_condition() -> None:
    empty = design_set(judgement("a", 1, "supported")).iloc[:0]
    assert agreement_of_trials(empty)["conditions"] == {}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty; the first line must name the columns"),
        (b"\n\n", "empty; the first line"),
        (b"item,rater,label\n", "no row below the header"),
        (b"item,rater,rater\na,b,c\n", "line 1: the column 'rater' occurs twice"),
        (b"item,rater,label\na,b\n", "line 2: 2 cells where the header has 3"),
        (b"item,rater,label\n\na,r1,\xe9\n", "not UTF-8"),
        (b'item,rater,label\na,r1,"x\n', "line 2: not a comma-separated table"),
        (b"item,rater,label\n\na,r1,x\na,r1,y\n", "line 4: column item: 'a' was rated by the same"),
    ],
)
def test_a_bad_file_is_refused_with_one_line_a_problem(
    content: bytes, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ratings.csv"
    path.write_bytes(content)
    assert main(["agreement", str(path), "--kind", "alpha"]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"{path}: ")
    assert words in shown.err
    assert shown.err.count("\n") == 1


def test_a_byte_order_mark_blank_lines_and_crlf_are_tolerated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["item,rater,label", "a,r1,x", "", "a,r2,y", "b,r1,x", "b,r2,x", ""]
    texts = []
    for mark, end in (("", "\n"), ("\ufeff", "\r\n")):
        path = tmp_path / "ratings.csv"
        path.write_bytes((mark + end.join(rows)).encode())
        assert main(["agreement", str(path), "--kind", "fleiss", "--seed", "7"]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]


def test_an_option_that_the_kind_does_not_use_is_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("item,rater1,rater2\na,x,y\nb,x,x\n")
    arguments = ["agreement", str(path), "--kind", "cohen", "--level", "nominal", "--seed", "1"]
    assert main(arguments) == 0
    assert capsys.readouterr().err == (
        "--level is not used by --kind cohen; ignored\n"
        "--seed is not used by --kind cohen; ignored\n"
    )


def printed(text: str, kind: str, folder: Path, *options: str) -> int:
    """The exit status of the command on a file with this text."""
    path = folder / "ratings.csv"
    path.write_text(text)
    return main(["agreement", str(path), "--kind", kind, *options])


@pytest.mark.parametrize("kind", ["cohen", "fleiss", "alpha"])
def test_labels_and_raters_named_like_a_marker_are_names(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "item,rater,label\n1,not_defined,not_defined\n1,b,n\n2,not_defined,n\n2,b,n\n3,b,n\n"
    text += "3,not_defined,n\n"
    assert printed(text, kind, tmp_path) == 0
    shown = capsys.readouterr().out
    lines = [line for line in shown.splitlines() if ": " in line]
    assert not [line for line in lines if line.startswith(("marginals", "counts"))]
    assert kind == "alpha" or "not_defined" in shown


def test_a_choice_named_like_a_marker_is_a_choice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "claim_id,participant_id,choice\n1,1,suggested\n2,1,not_defined\n"
    assert printed(text, "preference", tmp_path) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["not_defined", "1/2,", "50.0", "%"] in [row[:4] for row in rows]


def test_choices_that_may_be_misspelt_are_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["c1 suggested", "c2 Suggested", "c3 Suggested", "c4 suggestd", "c5 current"]
    notes = preferences(choices(*rows, "c6 neither", "c7 unsure"))["notes"]
    none_of = "which is none of suggested, current, neither, unsure: counted in the shares, not in "
    none_of += "the tests; correct the table if it is misspelt"
    assert notes == [
        f"2 annotations chose 'Suggested', {none_of}",
        f"1 annotation chose 'suggestd', {none_of}",
    ]
    text = "claim_id,participant_id,choice\n1,1,suggested\n2,1,current\n3,1,suggestd\n"
    assert printed(text, "preference", tmp_path, "--json") == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["notes"] == notes[1:]
    assert shown.err == f"{tmp_path / 'ratings.csv'}: {notes[1]}\n"


@pytest.mark.parametrize("cell", ["1_0", "\u0663", "inf", "nan", "0x10", "1e999"])
def test_what_is_no_number_in_a_trial_table_is_none_here(cell: str) -> None:
    with pytest.raises(BadTable, match="is not a number"):
        mann_whitney(pd.DataFrame({"group": ["a", "b"], "score": ["1", cell]}))
    raw = trials(trial(n_read=cell))
    with pytest.raises(BadTable, match="column n_read"):
        check_tables(raw, None, study())
    labels = pd.DataFrame({"item": ["i", "i"], "rater": ["r", "s"], "label": ["1", cell]})
    assert krippendorff(labels, draws=10)["level"] == "nominal"
    with pytest.raises(BadTable, match="needs labels that are numbers"):
        krippendorff(labels, "interval", order=["1", cell], draws=10)


@pytest.mark.parametrize("cell", ["+1", "1.", ".5", "-2e-3", "01", "1E+2"])
def test_numbers_are_read_in_every_usual_form(cell: str) -> None:
    found = mann_whitney(pd.DataFrame({"group": ["a", "b"], "score": [cell, "7"]}))
    assert found["median_x"] == float(cell)


def test_numbers_as_large_as_any_give_no_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    large = ["1e308", "-1e308", "5e307", "5e307", "1.5e308", "1e308"]
    documents = []
    for numbers in (large, [str(float(one) / 5e307) for one in large]):
        ratings = "".join(f"{n // 2},r{n % 2},{x}\n" for n, x in enumerate(numbers))
        assert printed(f"item,rater,label\n{ratings}", "alpha", tmp_path, "--json") == 0
        alpha = json.loads(capsys.readouterr().out)
        scores = "".join(f"{'ab'[n % 2]},{x}\n" for n, x in enumerate(numbers))
        assert printed(f"group,score\n{scores}", "mannwhitney", tmp_path, "--json") == 0
        documents.append((alpha["alpha_interval"], json.loads(capsys.readouterr().out)))
    (huge, of_huge), (small, of_small) = documents
    assert huge == small is not None
    assert (of_huge["median_x"], of_small["median_x"]) == (1e308, 2)
    assert of_huge["p"] == of_small["p"] is not None


def test_labels_that_no_difference_tells_apart_say_so() -> None:
    table = pd.DataFrame(
        {"item": list("aabb"), "rater": list("rsrs"), "label": ["1e-320", "2e-320"] * 2}
    )
    found = krippendorff(table, order=["1e-320", "2e-320", "1e308"], draws=10)
    assert found["alpha_interval"] is None
    assert "too close to each other" in found["not_defined"]["alpha_interval"]
    assert found["alpha_nominal"] is not None


def test_the_median_of_the_largest_scores_is_finite() -> None:
    found = mann_whitney(scores(a=["1e308", "1.2e308"], b=["1", "2"]))
    assert found["median_x"] == 1.1e308
