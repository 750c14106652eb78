from __future__ import annotations

import subprocess
import sys
import warnings
from xml.etree import ElementTree

import matplotlib
import pytest
from matplotlib.figure import Figure

from rankers.errors import BadInput
from rankers.metrics import score, verified_at, verified_within
from rankers.plots import verification_figure


def _scores(*ranks):
    """Scores of claims whose only gold sentence stands at these ranks of 30."""
    return {str(i): score(range(30), [[rank - 1]]) for i, rank in enumerate(ranks)}


SCORES = {
    "bm25": _scores(1, 2, 2, 5, 17),
    "coverage/wordllama": _scores(1, 1, 2, 3, 11),
    "document_order": _scores(8, 9, 10, 25, 30),
}


@pytest.fixture
def drawn(monkeypatch):
    """The figures that are saved."""
    figures = []
    save = Figure.savefig

    def keep(self, *arguments, **options):
        figures.append(self)
        return save(self, *arguments, **options)

    monkeypatch.setattr(Figure, "savefig", keep)
    return figures


def _texts(svg):
    elements = ElementTree.fromstring(svg).iter()
    return ["".join(one.itertext()) for one in elements if one.tag.endswith("}text")]


@pytest.mark.parametrize(
    ("ending", "start"), [(".svg", b"<?xml"), (".PNG", b"\x89PNG"), (".pdf", b"%PDF")]
)
def test_the_ending_decides_the_format_and_the_bytes_are_the_same_again(ending, start):
    picture = verification_figure(SCORES, f"out{ending}")
    assert picture.startswith(start)
    assert verification_figure(SCORES, f"other{ending}") == picture


def test_settings_of_the_reader_change_nothing_and_are_kept():
    picture = verification_figure(SCORES, "out.svg")
    own = {"axes.linewidth": 5, "figure.facecolor": "red", "xtick.direction": "in"}
    with matplotlib.rc_context(own):
        assert verification_figure(SCORES, "out.svg") == picture
        assert {key: matplotlib.rcParams[key] for key in own} == own


def test_a_picture_holds_no_date_and_no_version():
    for ending in (".svg", ".pdf", ".png"):
        picture = verification_figure(SCORES, f"out{ending}")
        for word in (b"Date", b"Producer", matplotlib.__version__.encode()):
            assert word not in picture


def test_the_left_panel_shows_exact_shares_and_the_right_one_those_within(drawn):
    verification_figure(SCORES, "out.svg")
    left, right = drawn[0].axes
    for number, scores in enumerate(SCORES.values()):
        line, beyond = left.get_lines()[2 * number : 2 * number + 2]
        shares = [100 * share for share in verified_at(scores.values()).values()]
        assert [*line.get_ydata(), *beyond.get_ydata()] == shares
        assert list(line.get_xdata()) == list(range(1, 11))
        within = verified_within(scores.values(), range(1, 21))
        assert list(right.get_lines()[number].get_ydata()) == [100 * one for one in within.values()]


def test_the_right_panel_ends_where_all_is_verified(drawn):
    for ranks, last in (((1, 2), 10), ((1, 13), 13), ((1, 30), 20)):
        verification_figure({"bm25": _scores(*ranks)}, "out.svg")
        assert list(drawn[-1].axes[1].get_lines()[0].get_xdata()) == list(range(1, last + 1))


def test_points_on_the_edge_of_a_panel_are_whole(drawn):
    verification_figure({"bm25": _scores(3)}, "out.svg")
    for axis in drawn[0].axes:
        assert not any(line.get_clip_on() for line in axis.get_lines())


def test_axes_panels_and_rankers_are_named_in_words():
    texts = _texts(verification_figure(SCORES, "out.svg"))
    for text in (
        "Verified with exactly k sentences",
        "Verified within k sentences",
        "k, sentences read",
        "share of claims, %",
        "11+",
        *(f"{name} (n = 5)" for name in SCORES),
    ):
        assert text in texts


def test_a_name_is_shown_as_it_is():
    names = ["_hidden", "llm/$x^2$", "llm/<b>&[layout=paper]"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        picture = verification_figure(dict.fromkeys(names, _scores(1, 2)), "out.svg")
    assert [text for text in _texts(picture) if "(n = 2)" in text] == [
        f"{name} (n = 2)" for name in names
    ]


def test_no_two_of_many_rankers_look_alike(drawn):
    verification_figure({f"r{i}": _scores(1) for i in range(56)}, "out.png")
    lines = drawn[0].axes[1].get_lines()
    assert len({(line.get_color(), line.get_marker()) for line in lines}) == 56


def test_a_ranker_keeps_its_look_when_another_has_no_claims(drawn):
    verification_figure({**SCORES, "bm25": {}}, "out.png")
    verification_figure(SCORES, "out.png")
    few, all_ = [figure.axes[1].get_lines() for figure in drawn]
    assert [line.get_color() for line in few] == [line.get_color() for line in all_[1:]]


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(BadInput, match=r"out\.gif: a picture must end in \.svg, \.pdf, \.png"):
        verification_figure(SCORES, "out.gif")
    with pytest.raises(BadInput, match=r"out\.svg: nothing to draw"):
        verification_figure({"bm25": {}}, "out.svg")


def test_matplotlib_is_loaded_by_drawing_only():
    code = (
        "import sys, rankers.cli, rankers.plots;"
        "print(sorted({'matplotlib', 'scipy', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
