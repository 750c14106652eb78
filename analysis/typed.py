"""From cells of text (or of a data frame) to the types that the codebook promises.

Everything is read as text first, so that a claim id ``001`` or a comment ``NA`` stays what it is;
only the columns that are numbers, times or truth values are converted, here.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.column import Column
from analysis.errors import name_ids

#: From here on floats leave out whole numbers.
_LIMIT = 2**53
_TRUE = frozenset({"true", "1"})
_FALSE = frozenset({"false", "0", ""})


def typed_table(
    raw: pd.DataFrame, columns: tuple[Column, ...], key: str, source: str
) -> tuple[pd.DataFrame, list[str]]:
    """Convert a table; unknown further columns are kept as they are.

    Strings and lists become text (empty = missing), categories become categoricals with NaN for
    missing, ints ``int64`` or ``Int64``, times ``datetime64[ms, UTC]``, bools ``bool``; an absent
    optional bool column is added as false. ``key`` is the column that names a row in messages.
    Returns the table and the problems found, one line each.
    """
    absent = [c.name for c in columns if c.name not in raw.columns and not c.optional]
    if absent:
        return raw, [f"{source}: column {name}: missing; export the study again" for name in absent]
    frame = raw.reset_index(drop=True).copy(deep=False)
    keys = _text(frame[key])
    problems: list[str] = []
    for column in columns:
        if column.name not in frame.columns:
            if column.kind == "bool":
                frame[column.name] = False
            continue
        values, wrong, expected = _convert(frame[column.name], column)
        if wrong.any():
            cell = _text(frame[column.name])[wrong].iloc[0]
            problems.append(
                f"{source}: column {column.name}: {cell!r} is not {expected}, in {key} "
                f"{name_ids(keys[wrong])}"
            )
        frame[column.name] = values
    return frame, problems


def milliseconds(times: pd.Series) -> np.ndarray:
    """Times as float milliseconds since 1970 UTC, NaN where missing."""
    values = times.astype("int64").to_numpy().astype(float)
    values[times.isna().to_numpy()] = np.nan
    return values


def floats(numbers: pd.Series) -> np.ndarray:
    """A whole-number column as floats, NaN where missing."""
    return numbers.to_numpy(dtype=float, na_value=np.nan)


def _text(values: pd.Series) -> pd.Series:
    """Cells as text; missing ones are empty."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(object)
    cells = values.astype(object)
    missing = cells.isna()
    if missing.any():
        cells = cells.where(~missing, "")
    is_text = pd.api.types.infer_dtype(cells, skipna=False) in ("string", "empty")
    return cells if is_text else cells.map(str)


def _convert(values: pd.Series, column: Column) -> tuple[pd.Series, pd.Series, str]:
    """The converted column, which rows are wrong, and what was expected there."""
    if column.kind == "int":
        converted, wrong, expected = _ints(values, column)
    elif column.kind == "time":
        converted, wrong, expected = _times(values)
    elif column.kind == "bool":
        converted, wrong, expected = _bools(values)
    elif column.kind == "category" and column.allowed:
        converted, wrong, expected = _categories(values, column)
    else:
        text = _text(values)
        return text, (text == "") & (not column.may_be_empty), "a value, and may not be empty"
    if not column.may_be_empty:
        wrong = wrong | converted.isna()
    return converted, wrong, expected


def _ints(values: pd.Series, column: Column) -> tuple[pd.Series, pd.Series, str]:
    """Whole numbers, at least ``column.minimum``; 4.0 passes, since tables with gaps write it."""
    if pd.api.types.is_numeric_dtype(values.dtype):
        numbers = pd.Series(floats(values), index=values.index)
        empty = numbers.isna()
    else:
        text = _text(values)
        empty = text == ""
        # Most columns hold few different numbers: each is read once.
        codes, different = pd.factorize(text)
        read = pd.to_numeric(pd.Series(different), errors="coerce").to_numpy(dtype=float)
        numbers = pd.Series(read[codes], index=values.index)
    whole = (numbers.abs() < _LIMIT) & (numbers == np.floor(numbers))
    expected = "a whole number below 2**53"
    if column.minimum is not None:
        whole &= numbers >= column.minimum
        expected += f" of at least {column.minimum}"
    wrong = ~whole & ~empty
    good = numbers.where(whole)
    if whole.all():
        return good.astype("int64"), wrong, expected
    return good.astype("Int64"), wrong, expected


def _times(values: pd.Series) -> tuple[pd.Series, pd.Series, str]:
    """UTC times in milliseconds. A text without Z is refused: nobody knows its zone."""
    if isinstance(values.dtype, pd.DatetimeTZDtype):
        return (
            values.dt.tz_convert("UTC").dt.as_unit("ms"),
            pd.Series(False, index=values.index),
            "a UTC time",
        )
    text = _text(values)
    empty = text == ""
    in_utc = text.str.endswith(("Z", "+00:00"))
    times = pd.to_datetime(text.where(in_utc), format="ISO8601", utc=True, errors="coerce")
    wrong = times.isna() & ~empty
    return times.dt.as_unit("ms"), wrong, "a UTC time such as 2026-03-02T09:00:00.591Z"


def _bools(values: pd.Series) -> tuple[pd.Series, pd.Series, str]:
    """Truth values; an empty cell is false."""
    if pd.api.types.is_bool_dtype(values.dtype) and not values.isna().any():
        return values.astype(bool), pd.Series(False, index=values.index), "true or false"
    text = _text(values).str.strip().str.lower()
    return text.isin(_TRUE), ~text.isin(_TRUE | _FALSE), "true or false"


def _categories(values: pd.Series, column: Column) -> tuple[pd.Series, pd.Series, str]:
    """Categoricals over the allowed values, missing for an empty cell."""
    text = _text(values)
    converted = pd.Series(pd.Categorical(text, categories=list(column.allowed)), index=values.index)
    wrong = converted.isna() & (text != "")
    return converted, wrong, f"one of {', '.join(column.allowed)}"
