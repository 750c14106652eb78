"""What must not change a comparison of conditions, and what turns with its direction."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.comparison.by_claim import by_claim
from analysis.comparison.by_participant import by_participant
from analysis.comparison.clustered import two_way
from analysis.comparison.contrast import Contrast
from analysis.comparison.crossed_bootstrap import crossed_bootstrap
from analysis.comparison.mcnemar import mcnemar_blocks
from analysis.comparison.pairs import claim_pairs
from analysis.inclusion import exclusion_reasons
from tests.analysis.studies import EXAMPLES, Study, other_ids, scored, studies

#: How values of a comparison turn with its contrast; what is not named stays.
SIGNED = {
    "difference",
    "mean_difference",
    "differences",
    "risk_difference",
    "estimate",
    "t",
    "d_z",
    "d_z_corrected",
    "rank_biserial_drop_zeros",
}
LIMITS = {"ci95", "percentile95", "bonett_price95"}
#: Odds ratios turn into their inverse, and what is undefined of them changes places.
ODDS = {"odds_ratio_conditional", "odds_ratio_exact95", "reasons"}


def comparison(design_set: pd.DataFrame, contrast: Contrast) -> dict[str, Any]:
    """Every closed-form block of the comparison, and both bootstraps."""
    pairs = claim_pairs(design_set, contrast)
    blocks = {
        "two_way": two_way(design_set, contrast),
        "pairs": pairs.counts(),
        "crossed_bootstrap": crossed_bootstrap(design_set, contrast, 5, draws=100),
    }
    blocks |= mcnemar_blocks(pairs, contrast)
    blocks |= by_claim(design_set, contrast, 5)
    return blocks | by_participant(design_set, contrast, 5)


def turned(value: Any, key: str = "") -> Any:
    """What the contrast the other way round must give; differences by person keep their key."""
    if isinstance(value, dict):
        return {k: turned(v, key if key in SIGNED else k) for k, v in value.items()}
    if value is None:
        return None
    if key in LIMITS:
        return [-value[1], -value[0]]
    return -value if key in SIGNED else value


def without(value: Any, names: set[str]) -> Any:
    """The blocks without these keys, at any depth."""
    if not isinstance(value, dict):
        return value
    return {key: without(one, names) for key, one in value.items() if key not in names}


def without_names(text: str) -> str:
    return text.replace("ranking", "one").replace("selection", "one")


def assert_close(actual: Any, wanted: Any, path: str = "") -> None:
    """Equal in everything, numbers up to rounding."""
    if isinstance(wanted, dict):
        assert set(actual) == set(wanted), path
        for key, value in wanted.items():
            assert_close(actual[key], value, f"{path}.{key}")
    elif wanted is None:
        assert actual is None, path
    elif isinstance(wanted, str):
        # Where both conditions lack something, the first of them is named.
        assert without_names(actual) == without_names(wanted), path
    else:
        assert actual == pytest.approx(wanted, rel=1e-7, abs=1e-9), path


@EXAMPLES
@given(studies(), st.booleans())
def test_a_turned_contrast_turns_signs_and_limits_and_nothing_else(
    study: Study, is_single: bool
) -> None:
    rows = scored(study)
    if is_single:
        rows = rows[(rows["replication"] == 1).to_numpy()]
    design_set = rows[(exclusion_reasons(rows) == "").to_numpy()]
    one = comparison(design_set, Contrast("ranking", "selection"))
    other = comparison(design_set, Contrast("selection", "ranking"))
    assert_close(without(other, ODDS), turned(without(one, ODDS)))


@EXAMPLES
@given(studies())
def test_other_ids_leave_the_comparison(study: Study) -> None:
    contrast = Contrast("ranking", "selection")
    blocks = []
    for one in (study, other_ids(study, keeps_order=False)):
        rows = scored(one)
        design_set = rows[(exclusion_reasons(rows) == "").to_numpy()]
        pairs = claim_pairs(design_set, contrast)
        blocks.append({"two_way": two_way(design_set, contrast), "pairs": pairs.counts()})
        blocks[-1] |= mcnemar_blocks(pairs, contrast)
    assert_close(*(without(one, {"reasons"}) for one in blocks))
