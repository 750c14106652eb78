"""The codebook covers every column, and says something about each."""

from __future__ import annotations

import pandas as pd
import pytest

from analysis import FORMAT_VERSION, codebook, names_of
from tests.analysis.builders import CASES, TRIAL_CASES
from tests.shared_data import needs_data


@needs_data
@pytest.mark.data
@pytest.mark.parametrize("case", TRIAL_CASES)
@pytest.mark.parametrize("table", ["trials", "events"])
def test_every_column_of_a_case_has_a_codebook_row_in_file_order(case: str, table: str) -> None:
    header = pd.read_csv(CASES / case / f"{table}.csv", nrows=0).columns.tolist()
    names = names_of(table)
    assert header == [name for name in names if name in header]
    rows = codebook().query("table == @table")
    assert set(header) <= set(rows["name"])


def test_the_codebook_says_something_about_every_column() -> None:
    book = codebook()
    assert not book.duplicated(["table", "name"]).any()
    for column in ("type", "meaning", "missing", "origin", "format_version"):
        assert (book[column] != "").all(), column
    assert set(book["format_version"]) == {FORMAT_VERSION}
    derived = book[book["origin"] == "derived"]
    assert (derived["formula"] != "").all()
    assert {"n_read", "gold_min_size", "msr", "hidden_ms", "active_ms"} <= set(derived["name"])
    assert (book.loc[book["origin"] == "recorded", "formula"] == "").all()


def test_an_unknown_table_is_refused() -> None:
    with pytest.raises(ValueError, match="no table 'people'"):
        names_of("people")
