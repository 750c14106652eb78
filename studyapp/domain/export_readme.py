"""What the README of an export says of its files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from studyapp.domain.export_settings import FORMAT_VERSION

if TYPE_CHECKING:
    from studyapp.domain.export import Shape

_FILES = """\
Suffice study export, format version {version}

study.json          settings, texts, conditions, hashes of what was frozen, the whole schedule
claims.csv          the claims, one row each; practice and attention claims have that role
claims.jsonl        the claims with their candidate sentences, in the interchange format
rankings.jsonl      the ranking or selection of every claim and condition
participants.csv    people by pseudonym, with status and times
questionnaire.csv   what they answered after their last trial, one row an answer
trials.csv          one row a trial
events.csv          one row an event: start, every reveal, page hidden and visible, decision
codebook.csv        every column of the tables: type, unit, allowed values, meaning
"""
_JSON_TABLES = """\
tables/             the same tables as JSON Lines: numbers as numbers, null for an empty cell
"""
_SPREADSHEETS = """\
spreadsheet/        copies of the tables to open in a spreadsheet program{bom}. A text
                    that it would take for a formula, or change as a number, has an apostrophe
                    before it; numbers are as they are. Compute with the tables above, not these.
"""
_BOM = ", marked as UTF-8"
_NOTES = """
Text is UTF-8, times are UTC with milliseconds, an empty cell is a missing value. A sentence is
named by its position among the claim's candidates: s0, s1, ...

Practice and attention trials are included and marked in trial_kind; the measures leave them out.
Pilot runs are included and marked pilot = true; the measures leave them out. Simulated runs
{simulated}. Nothing is here of people who withdrew but their number (withdrawn in study.json).
Claims keep the source and licence stated with them.
"""
_DEIDENTIFIED = """
This export is de-identified:
- participant_id, trial_id and event_id are keyed hashes: the same in every de-identified export of
  this study, others in other studies, and not to be turned back without the server's key.
- Every participant begins at 2000-01-01T00:00:00.000Z; all differences between the times of one
  participant are kept. Rows are in the order of the places, not of time; slot_order in trials.csv
  says who began first in a place that several people filled.
- What participants wrote is left out: the reasons in trials.csv, and in questionnaire.csv the
  answers to questions for text and for numbers without a smallest and a largest one.
- study.json has no contact, no codes, no address to return to, nothing of recruiting, and none of
  the study's own dates.
The measures are those of the raw export. Intervals found by resampling differ within their random
error, since people are drawn in the order of their names.
"""
_COMMANDS = """
Recompute the numbers:   python -m analysis report EXPORT.zip -o DIR
Run the study again:     python manage.py import_study EXPORT.zip --slug NEW
"""


def readme(include_simulated: bool, shape: Shape) -> str:
    """The text of README.txt."""
    simulated = "are included and marked simulated = true" if include_simulated else "are left out"
    parts = [
        _FILES.format(version=FORMAT_VERSION),
        _JSON_TABLES if shape.jsonl else "",
        _SPREADSHEETS.format(bom=_BOM if shape.has_bom else "") if shape.spreadsheet else "",
        _NOTES.format(simulated=simulated),
        _DEIDENTIFIED if shape.deidentified else "",
        _COMMANDS,
    ]
    return "".join(parts)
