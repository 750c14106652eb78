"""How many claims are verified by how many sentences, as a picture: the same bytes for the same
scores.

The figures of the evidence-ranking paper side by side: on the left the share of claims verified
with exactly k sentences (Figure 3), on the right the share verified within k (Figure 8).
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankers.errors import BadInput
from rankers.metrics import AT, BEYOND, Score, verified_at, verified_within

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: File endings and what is written for them.
FORMAT_OF = {".svg": "svg", ".pdf": "pdf", ".png": "png"}
#: The right panel ends where every claim is verified, but not before or after these ranks.
SHORTEST, LONGEST = AT[-1], 20

# Colours that stay apart with the common kinds of colour blindness (Okabe and Ito; their yellow is
# too pale for lines on white). Seven colours and eight shapes: 56 rankers before a pair repeats.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#000000", "#cc79a7", "#e69f00", "#56b4e9")
# Shapes with their sizes, so that a star is no smaller than a disc.
_SHAPES = (("o", 6.5), ("s", 6), ("^", 7), ("D", 6), ("v", 7), ("P", 8), ("X", 8), ("*", 10.5))
_DASHES = ("-", "--", ":", "-.")
#: Where all later ranks stand on the left: apart from the line of single ranks.
_BEYOND_AT = AT[-1] + 2

_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "suffice",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#d9dce0",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.4,
}
#: Fields that hold a time or a version; None leaves them out.
_UNDATED = {
    "svg": dict.fromkeys(("Date", "Creator", "Format", "Type")),
    "pdf": dict.fromkeys(("CreationDate", "Creator", "Producer")),
    "png": {"Software": None},
}


@dataclass(frozen=True)
class _Line:
    """One ranker: its name with n, its shares in per cent, and how it is drawn."""

    label: str
    exactly: list[float]
    within: list[float]
    look: dict[str, Any]


def verification_figure(scores: Mapping[str, Mapping[str, Score]], path: str | Path) -> bytes:
    """Return the picture of ``scores[name][claim id]`` in the format of the ending of ``path``.

    Rankers without scores are left out; raises BadInput when none has any, and for an ending that
    is not in ``FORMAT_OF``.
    """
    ending = Path(path).suffix.lower()
    if ending not in FORMAT_OF:
        raise BadInput(f"{path}: a picture must end in {', '.join(FORMAT_OF)}")
    lines = _lines(scores)
    if not lines:
        raise BadInput(f"{path}: nothing to draw, as no ranker has a scored claim")
    return _drawn(lines, FORMAT_OF[ending])


def _lines(scores: Mapping[str, Mapping[str, Score]]) -> list[_Line]:
    found_at = [one.msr or 0 for by_claim in scores.values() for one in by_claim.values()]
    within = range(1, min(max(SHORTEST, *found_at), LONGEST) + 1) if found_at else range(0)
    lines = []
    for number, (name, by_claim) in enumerate(scores.items()):
        if not by_claim:
            continue
        lines.append(
            _Line(
                f"{name} (n = {len(by_claim)})",
                [100 * share for share in verified_at(by_claim.values()).values()],
                [100 * share for share in verified_within(by_claim.values(), within).values()],
                _look(number),
            )
        )
    return lines


def _look(number: int) -> dict[str, Any]:
    """How the line of one ranker is drawn; ``number`` from 0."""
    marker, size = _SHAPES[number % len(_SHAPES)]
    return {
        "color": _COLOURS[number % len(_COLOURS)],
        "linestyle": _DASHES[number // len(_COLOURS) % len(_DASHES)],
        "marker": marker,
        "markersize": size,
        "markeredgecolor": "white",
        "markeredgewidth": 0.7,
        "clip_on": False,
    }


def _drawn(lines: list[_Line], file_format: str) -> bytes:
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # the reader's own settings would change the bytes
        matplotlib.rcParams.update(_STYLE)
        columns = _legend_columns(lines)
        height = 3.4 + 0.2 * -(-len(lines) // columns)
        figure = Figure(figsize=(9.6, height), layout="constrained")
        FigureCanvasAgg(figure)
        left, right = figure.subplots(1, 2)
        _draw_exactly(left, lines)
        _draw_within(right, lines)
        _add_legend(figure, left, lines, columns)
        buffer = io.BytesIO()
        figure.savefig(buffer, format=file_format, dpi=160, metadata=_UNDATED[file_format])
    return buffer.getvalue()


def _draw_exactly(axis: Axes, lines: list[_Line]) -> None:
    axis.set_title("Verified with exactly k sentences")
    for line in lines:
        axis.plot(AT, line.exactly[:-1], **line.look)
        # Many ranks in one: a point of its own, which no line leads to.
        axis.plot([_BEYOND_AT], line.exactly[-1:], **line.look)
    axis.set_xticks([*AT, _BEYOND_AT], [*map(str, AT), BEYOND])
    axis.set_xlabel("k, sentences read")
    axis.set_ylabel("share of claims, %")
    axis.set_ylim(bottom=0)


def _draw_within(axis: Axes, lines: list[_Line]) -> None:
    axis.set_title("Verified within k sentences")
    last = len(lines[0].within)
    for line in lines:
        axis.plot(range(1, last + 1), line.within, **line.look)
    axis.set_xticks(range(1, last + 1) if last <= 12 else [1, *range(5, last + 1, 5)])
    axis.set_xlabel("k, sentences read")
    axis.set_ylabel("share of claims, %")
    axis.set_ylim(0, 100)


def _add_legend(figure: Figure, axis: Axes, lines: list[_Line], columns: int) -> None:
    """A legend below both panels; a name is shown as it is, ``$`` and leading ``_`` included."""
    handles = axis.get_lines()[::2]
    legend = figure.legend(
        handles,
        [str(number) for number in range(len(lines))],
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        handlelength=3,
    )
    for text, line in zip(legend.get_texts(), lines, strict=True):
        text.set_parse_math(False)
        text.set_text(line.label)


def _legend_columns(lines: list[_Line]) -> int:
    """As many columns as fit below the panels, where some 120 characters do."""
    longest = max(len(line.label) for line in lines)
    return max(1, min(4, len(lines), 120 // (longest + 8)))
