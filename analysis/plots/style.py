"""What the figures share: colours, type, and saving as SVG and PNG with the same bytes each time.

Lines differ in dash and marker and bear their names, so that nothing rests on colour. matplotlib
is loaded by whoever draws, not by whoever imports the package.
"""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ACCENT = "#1f5a6b"
INK = "#1f2328"
MUTED = "#5b6470"
PAPER = "#fbfaf7"
LINE = "#d9d6ce"
BAD = "#9b2c2c"
GOOD = "#1b6b43"
UNSURE = "#5c5470"

#: Every colour that a figure uses, by the name that a page may give another value.
COLOURS = {
    "accent": ACCENT,
    "ink": INK,
    "muted": MUTED,
    "paper": PAPER,
    "line": LINE,
    "bad": BAD,
    "good": GOOD,
    "unsure": UNSURE,
}

#: Colour, dash and marker of the first, second, … condition.
LINES: tuple[tuple[str, Any, str], ...] = (
    (ACCENT, "-", "o"),
    (BAD, (0, (5, 2)), "s"),
    (UNSURE, (0, (1, 1.5)), "^"),
    (GOOD, (0, (6, 2, 1, 2)), "D"),
    (INK, (0, (3, 1, 1, 1, 1, 1)), "v"),
)

#: Inches: the width of a text column, so that a figure needs no scaling on paper or phone.
WIDTH = 5.4
DOTS_PER_INCH = 200

_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 11,
    "axes.titlesize": 11,
    "axes.labelsize": 11,
    "figure.labelsize": 11,
    "axes.titlelocation": "left",
    "text.parse_math": False,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
}
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class Picture:
    """A drawn figure: file stem, title, the numbers in a sentence and as a table, both drawings.

    ``data`` has readable column names; an absent number is NaN.
    """

    name: str
    title: str
    words: str
    data: pd.DataFrame
    svg: str
    png: bytes


def draw(name: str, height: float, paint: Callable[[Figure], None]) -> tuple[str, bytes]:
    """``paint`` a figure of ``height`` inches; returns a standalone SVG without date and a PNG."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with rc_context({**_STYLE, "svg.hashsalt": f"suffice {name}"}), warnings.catch_warnings():
        # Names in scripts that the font lacks are boxes in the PNG; the SVG has them as text.
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        FigureCanvasAgg(figure)
        paint(figure)
        svg, png = io.StringIO(), io.BytesIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(svg, format="svg", transparent=True, metadata=nothing)
        figure.savefig(
            png, format="png", dpi=DOTS_PER_INCH, facecolor="white", metadata={"Software": None}
        )
    return _own_ids(svg.getvalue(), name), png.getvalue()


def _own_ids(svg: str, name: str) -> str:
    """Ids that stay unique when several figures stand in one page."""
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    return re.sub(r'(href="#|url\(#)', rf"\g<1>{name}-", svg)


def label(text: str, width: int = 52) -> str:
    """A study's own name or a sentence for a figure, wrapped, without control characters."""
    clean = _UNPRINTABLE.sub(" ", text)
    return "\n".join(textwrap.wrap(clean, width)) or clean


def short(name: str, most: int = 40) -> str:
    """A study's own name for a figure, a long one without its middle; captions have it whole."""
    if len(name) <= most:
        return name
    end = most // 3
    return f"{name[: most - end - 1]}…{name[-end:]}"


def line_of(place: int) -> tuple[str, Any, str]:
    """Colour, dash and marker of the condition at ``place``."""
    return LINES[place % len(LINES)]
