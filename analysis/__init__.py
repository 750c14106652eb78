"""Statistics on exported studies: tables in, measures and reports out."""

from analysis.columns import FORMAT_VERSION, codebook, columns_of, names_of
from analysis.definitions import definitions
from analysis.document import build_document, measure_document, scored_trials, to_json
from analysis.errors import BadTable
from analysis.load import Tables, check_tables, read_export, read_files
from analysis.measures import BREAKDOWNS, measures_by, score_trials
from analysis.plots.sentences_read import sentences_read_svg
from analysis.report import build_report
from analysis.report.table5 import TableRow, table5, table5_headings
from analysis.review import item_review, quality_flags
from analysis.settings import StudySettings, parse_settings

__all__ = [
    "BREAKDOWNS",
    "FORMAT_VERSION",
    "BadTable",
    "StudySettings",
    "TableRow",
    "Tables",
    "build_document",
    "build_report",
    "check_tables",
    "codebook",
    "columns_of",
    "definitions",
    "item_review",
    "measure_document",
    "measures_by",
    "names_of",
    "parse_settings",
    "quality_flags",
    "read_export",
    "read_files",
    "score_trials",
    "scored_trials",
    "sentences_read_svg",
    "table5",
    "table5_headings",
    "to_json",
]
