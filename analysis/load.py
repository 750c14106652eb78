"""Read an export, check it, and refuse what disagrees (statistics.md 1.1)."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from analysis.checks import check_events, check_trials
from analysis.columns import FORMAT_VERSION, columns_of
from analysis.errors import BadTable
from analysis.members import read_member, size_problems
from analysis.settings import StudySettings, parse_settings
from analysis.trial_columns import SLOT_ORDER
from analysis.typed import typed_table

#: The files of an export that are read here.
_NAMES = ("trials.csv", "events.csv", "study.json")
#: Read where it is there.
_PEOPLE = "participants.csv"
#: What zipfile raises for other files, damaged contents, unknown compression, and passwords.
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


@dataclass(frozen=True)
class Tables:
    """A checked export: typed trials sorted by ``trial_id``, events (or None) and settings.

    ``study`` is the content of study.json that the settings were read from; ``end_reasons`` are
    those of participants.csv by participant, empty where a run has none or the file is not there.
    """

    trials: pd.DataFrame
    events: pd.DataFrame | None
    settings: StudySettings
    study: Mapping[str, Any] = field(default_factory=dict)
    end_reasons: Mapping[str, str] = field(default_factory=dict)


def check_tables(
    trials: pd.DataFrame,
    events: pd.DataFrame | None,
    study: Mapping[str, Any],
    *,
    sources: tuple[str, str, str] = ("trials.csv", "events.csv", "study.json"),
) -> Tables:
    """Type and check tables with the columns of the codebook, as text or already typed.

    ``sources`` are the names that messages use. Row order does not matter: the result is sorted.
    Raises BadTable listing every problem, each naming file, column and trial ids.
    """
    trials_source, events_source, study_source = sources
    settings = parse_settings(study, study_source)
    expected = columns_of("trials", has_moved_times=SLOT_ORDER.name in trials.columns)
    typed, problems = typed_table(trials, expected, "trial_id", trials_source)
    typed_events = None
    if events is not None:
        typed_events, more = typed_table(events, columns_of("events"), "event_id", events_source)
        problems += more
    if not problems:
        problems = check_trials(typed, settings, trials_source)
    if not problems and typed_events is not None:
        problems = check_events(typed, typed_events, events_source, trials_source)
    if problems:
        raise BadTable(problems)
    typed = typed.sort_values("trial_id", kind="stable").reset_index(drop=True)
    return Tables(typed, typed_events, settings, study)


def read_files(trials: Path, study: Path, events: Path | None = None) -> Tables:
    """Read and check trials.csv, study.json and, if given, events.csv. Raises BadTable."""
    return check_tables(
        read_table(trials),
        None if events is None else read_table(events),
        read_study(study),
        sources=(str(trials), str(events), str(study)),
    )


def read_export(path: Path) -> Tables:
    """Read and check an EXPORT.zip. Raises BadTable naming the zip and the file inside it.

    A file beyond the limits of ``analysis.members`` is refused before anything is read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            inside = set(archive.namelist())
            absent = [n for n in _NAMES if n not in inside]
            if absent:
                raise BadTable([f"{path}: {name} is not in the zip" for name in absent])
            read = [*_NAMES, *({_PEOPLE} & inside)]
            if problems := size_problems(archive, read, str(path)):
                raise BadTable(problems)
            tables = {
                name: _parse_table(io.BytesIO(read_member(archive, name)), f"{path}: {name}")
                for name in ("trials.csv", "events.csv")
            }
            study = _parse_study(read_member(archive, "study.json"), f"{path}: study.json")
            ends = _end_reasons(archive, path) if _PEOPLE in inside else {}
    except FileNotFoundError as error:
        raise BadTable(f"{path}: no such file") from error
    except OSError as error:
        raise BadTable(f"{path}: cannot be read ({error.strerror})") from error
    except _DAMAGED as error:
        raise BadTable(
            f"{path}: not a zip file of ours, or damaged or encrypted; export the study again"
        ) from error
    sources = (f"{path}: trials.csv", f"{path}: events.csv", f"{path}: study.json")
    checked = check_tables(tables["trials.csv"], tables["events.csv"], study, sources=sources)
    return replace(checked, end_reasons=ends)


def _end_reasons(archive: zipfile.ZipFile, path: Path) -> dict[str, str]:
    """How the runs ended, by participant; only the words of a report rest on it."""
    content = read_member(archive, _PEOPLE)
    people = _parse_table(io.BytesIO(content), f"{path}: {_PEOPLE}")
    if not {"participant_id", "end_reason"} <= set(people.columns):
        return {}
    return dict(zip(people["participant_id"], people["end_reason"], strict=True))


def read_table(path: Path) -> pd.DataFrame:
    """A CSV file as text cells, nothing converted and nothing taken for missing."""
    try:
        with path.open("rb") as stream:
            return _parse_table(stream, str(path))
    except OSError as error:
        raise BadTable(f"{path}: cannot be read ({error.strerror})") from error


def read_study(path: Path) -> Mapping[str, Any]:
    """A study.json as a mapping; its format version must be one this package knows."""
    try:
        return _parse_study(path.read_bytes(), str(path))
    except OSError as error:
        raise BadTable(f"{path}: cannot be read ({error.strerror})") from error


def _parse_table(stream: BinaryIO, source: str) -> pd.DataFrame:
    as_text: dict[str, Any] = {
        "dtype": str,
        "keep_default_na": False,
        "na_filter": False,
        "encoding": "utf-8-sig",
    }
    try:
        # pandas would rename a second column of the same name and go on.
        header = pd.read_csv(stream, header=None, nrows=1, **as_text).iloc[0]
        twice = sorted(set(header[header.duplicated()]))
        if twice:
            raise BadTable(
                [f"{source}: line 1: the column {name!r} occurs twice" for name in twice]
            )
        stream.seek(0)
        return pd.read_csv(stream, **as_text)
    except UnicodeDecodeError as error:
        raise BadTable(f"{source}: not UTF-8 ({error.reason}); save it as UTF-8") from error
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise BadTable(f"{source}: not a comma-separated table: {error}") from error


def _parse_study(content: bytes, source: str) -> Mapping[str, Any]:
    try:
        study = json.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise BadTable(f"{source}: not UTF-8 ({error.reason})") from error
    except json.JSONDecodeError as error:
        raise BadTable(f"{source}: line {error.lineno}: not JSON ({error.msg})") from error
    except (ValueError, RecursionError) as error:
        raise BadTable(f"{source}: a number too long or lists too deep to be read") from error
    version = str(study.get("format_version", FORMAT_VERSION)) if isinstance(study, dict) else "1"
    if version != FORMAT_VERSION:
        raise BadTable(
            f"{source}: format_version: {version} is not {FORMAT_VERSION}, the one read here"
        )
    return study
