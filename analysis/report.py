"""The report of one study, or of several pooled ones: one page and its tables."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from analysis.document import document_of, to_json
from analysis.errors import BadTable
from analysis.inclusion import exclusion_reasons
from analysis.load import Tables, read_export
from analysis.measures import BREAKDOWNS, measures_by
from analysis.plots import sentences_read_svg
from analysis.pool import pool
from analysis.report_page import report_page
from analysis.table5 import table5, table5_headings

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def build_report(
    exports: Sequence[Path], out_dir: Path, *, include_simulated: bool = False
) -> Path:
    """Write a study's report into ``out_dir`` and return the path of its page.

    Files: ``report.html`` (self-contained), ``table5.csv`` (the same table), ``measures.json``
    (exact values), ``sentences_read.svg``, and ``by_<column>.csv`` for every breakdown. The same
    exports give the same bytes. Several exports are pooled and shown one by one as well. Raises
    BadTable for a bad export, and for exports that cannot be pooled.
    """
    if not exports:
        raise BadTable("no export given; name at least one EXPORT.zip")
    bar = tqdm(exports, desc="reading exports", disable=not sys.stderr.isatty())
    tables = [read_export(path) for path in bar]
    files = report_files([path.stem for path in exports], tables, include_simulated)
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (out_dir / name).write_bytes(content.encode())
    except OSError as error:
        raise BadTable(f"{out_dir}: cannot be written ({error.strerror})") from error
    return out_dir / "report.html"


def report_files(
    names: Sequence[str], exports: Sequence[Tables], include_simulated: bool = False
) -> dict[str, str]:
    """The report's files as text, by name."""
    labels, scored, settings = pool(names, exports)
    document = document_of(scored, settings, include_simulated)
    reasons = exclusion_reasons(scored, include_simulated=include_simulated)
    design_set = scored[(reasons == "").to_numpy()]
    plot = sentences_read_svg(design_set, document["conditions"], document["interfaces"])
    by_label = dict(zip(labels, exports, strict=True))
    singles = {
        label: document_of(
            scored[(scored["export"] == label).to_numpy()], tables.settings, include_simulated
        )
        for label, tables in by_label.items()
    }
    if len(exports) > 1:
        document["by_export"] = {
            label: {block: single[block] for block in ("excluded", "design_set")}
            for label, single in singles.items()
        }
    registered = {label: tables.settings.preregistered for label, tables in by_label.items()}
    breakdowns = {by: measures_by(design_set, [by, "condition"]) for by in (*BREAKDOWNS, "quarter")}
    return {
        "report.html": report_page(document, singles, registered, breakdowns, plot),
        "table5.csv": _table5_csv(document),
        "measures.json": to_json(document),
        "sentences_read.svg": plot,
        **{f"by_{by}.csv": _breakdown_csv(table) for by, table in breakdowns.items()},
    }


def _table5_csv(document: Mapping[str, Any]) -> str:
    """The table of the report as CSV: key, label, one column a condition, definition."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    headings = [_neutral(heading) for heading in table5_headings(document)]
    writer.writerow(["measure", "label", *headings, "denominator", "definition"])
    for row in table5(document):
        writer.writerow([row.key, row.label, *row.cells, row.denominator, row.definition])
    return out.getvalue()


def _breakdown_csv(table: pd.DataFrame) -> str:
    """All measures of every group; an empty cell is not defined."""
    flat = table.reset_index()
    for name in flat.columns:
        if name.startswith("n_"):
            flat[name] = flat[name].astype(int)
        elif flat[name].dtype == object:
            flat[name] = flat[name].map(_neutral)
    return flat.to_csv(index=False, lineterminator="\n", float_format="%.12g")


def _neutral(cell: object) -> str:
    """A study's own name that no spreadsheet takes for a formula."""
    text = str(cell)
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
