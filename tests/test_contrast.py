"""The contrast of every pair of colours that meet on a page, computed from the custom properties.

The formula is that of WCAG 2.2 (relative luminance and contrast ratio).
"""

from __future__ import annotations

import re
from functools import cache
from itertools import product

import pytest

from tests.shared_data import ROOT

BASE = ROOT / "static" / "css" / "base.css"
SCHEMES = ("light", "dark")

#: Text of any size: 4.5 (WCAG 1.4.3); what is read for long: 7 (1.4.6).
READ = [("ink", "paper"), ("ink", "surface"), ("ink", "new")]
WORDS = [
    *product(("muted", "accent", "good", "bad", "unsure"), ("paper", "surface")),
    ("muted", "new"),
    ("on-accent", "accent"),
]
#: Borders of controls, and the ring of the focus: 3 (1.4.11).
SHAPES = [*product(("control", "focus", "accent"), ("paper", "surface")), ("focus", "new")]


@cache
def colours(scheme: str) -> dict[str, str]:
    """The colours of base.css by name; the dark ones stand over the light ones."""
    blocks = re.findall(r":root \{(.*?)\}", BASE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 2
    found: dict[str, str] = {}
    for block in blocks[: 1 if scheme == "light" else 2]:
        found |= dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block))
    return found


def luminance(colour: str) -> float:
    """Relative luminance of ``#rrggbb``, 0 to 1."""
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = [
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
        for channel in channels
    ]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(scheme: str, one: str, other: str) -> float:
    """The ratio of two named colours, 1 to 21."""
    known = colours(scheme)
    dark, light = sorted((luminance(known[one]), luminance(known[other])))
    return (light + 0.05) / (dark + 0.05)


def too_low(pairs: list[tuple[str, str]], least: float) -> dict[tuple[str, str, str], float]:
    """The pairs below ``least``, by scheme, with what they have."""
    return {
        (scheme, *pair): round(contrast(scheme, *pair), 2)
        for scheme, pair in product(SCHEMES, pairs)
        if contrast(scheme, *pair) < least
    }


def test_the_formula_gives_the_known_ratios() -> None:
    assert luminance("#000000") == 0
    assert luminance("#ffffff") == pytest.approx(1)
    # A well-known grey: the darkest step that is just enough on white.
    assert (1.05) / (luminance("#767676") + 0.05) == pytest.approx(4.54, abs=0.005)


def test_what_is_read_for_long_has_seven() -> None:
    assert too_low(READ, 7) == {}


def test_all_words_have_four_and_a_half() -> None:
    assert too_low(WORDS, 4.5) == {}


def test_most_pairs_of_words_have_seven() -> None:
    n_pairs = len(SCHEMES) * len(READ + WORDS)
    assert len(too_low(READ + WORDS, 7)) < n_pairs / 2


def test_controls_and_the_focus_have_three() -> None:
    assert too_low(SHAPES, 3) == {}


def test_every_colour_is_one_of_the_pairs_or_a_hairline() -> None:
    paired = {name for pair in READ + WORDS + SHAPES for name in pair}
    assert set(colours("light")) == set(colours("dark")) == paired | {"line"}


def test_participants_pages_name_no_colour_of_their_own_and_no_colour_of_an_outcome() -> None:
    text = (ROOT / "static" / "css" / "participant.css").read_text(encoding="utf-8")
    assert re.findall(r"#[0-9a-f]{3,8}\b(?=[;, ])|\brgba?\(", text) == []
    assert re.findall(r"var\(--(good|bad|unsure)\)", text) == []
