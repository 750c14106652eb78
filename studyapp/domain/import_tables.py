"""The tables of an export, checked by the analysis and read row by row."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from studyapp.errors import BadUpload

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]

#: The further files that an import with data reads.
DATA_FILES = ("trials.csv", "events.csv", "participants.csv", "questionnaire.csv")
#: Rows turned into Python values at once.
CHUNK = 2000


@dataclass(frozen=True)
class DataTables:
    """Typed tables of an export: people, trials in the order they began, events, answers."""

    participants: pd.DataFrame
    trials: pd.DataFrame
    events: pd.DataFrame
    questionnaire: pd.DataFrame


def read_tables(path: Path) -> DataTables:
    """Read and check the data of the export ``path`` as ``python -m analysis`` does.

    Raises BadUpload with every problem, each naming file, column and ids.
    """
    import analysis  # pandas takes half a second, which no page should wait for

    try:
        checked = analysis.read_export(path)
        people = _typed(path, "participants", "participant_id")
        answers = _typed(path, "questionnaire", "participant_id")
    except analysis.BadTable as error:
        raise BadUpload(error.problems) from None
    assert checked.events is not None
    return DataTables(
        participants=people,
        trials=checked.trials.sort_values(["started_at", "position"], kind="stable"),
        events=checked.events.sort_values(["trial_id", "seq"], kind="stable"),
        questionnaire=answers,
    )


def rows_of(frame: pd.DataFrame) -> Iterator[Row]:
    """The rows of a typed table; what is missing is None, and so is an empty text."""
    for start in range(0, len(frame), CHUNK):
        part = frame.iloc[start : start + CHUNK]
        cells = part.astype(object).where(part.notna(), None)
        for row in cells.to_dict("records"):
            yield {name: None if value == "" else value for name, value in row.items()}


def _typed(path: Path, name: str, key: str) -> pd.DataFrame:
    """One further table of the zip. Raises BadUpload or analysis.BadTable."""
    import tempfile

    import analysis
    from analysis.load import read_table
    from analysis.members import read_member, size_problems
    from analysis.typed import typed_table

    member = f"{name}.csv"
    with tempfile.TemporaryDirectory(prefix="suffice-import-") as folder:
        target = Path(folder) / member
        try:
            with zipfile.ZipFile(path) as archive:
                if too_large := size_problems(archive, [member], str(path)):
                    raise BadUpload(too_large)
                target.write_bytes(read_member(archive, member))
        except KeyError:
            raise BadUpload(f"{path}: {member} is not in the zip.") from None
        raw = read_table(target)
    frame, problems = typed_table(raw, analysis.columns_of(name), key, f"{path}: {member}")
    if problems:
        raise BadUpload(problems)
    return frame
