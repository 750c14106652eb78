"""The report of one study, or of several pooled ones: one page, its tables and its figures."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pandas as pd
from tqdm import tqdm

from analysis.document import to_json
from analysis.errors import BadTable
from analysis.load import Tables, read_export
from analysis.readers import nothing_counts_line
from analysis.report.content import Content, content_of
from analysis.report.data import ReportData, report_data
from analysis.report.formats import neutral, to_csv, to_latex, to_markdown
from analysis.report.page import report_page
from analysis.report.table import Table
from analysis.report.tables import table5_csv

PAGE = "report.html"
#: Where files of a kind go.
_FOLDERS = {
    ".csv": "tables",
    ".tex": "tables",
    ".md": "tables",
    ".svg": "figures",
    ".png": "figures",
}


def build_report(
    exports: Sequence[Path],
    out_dir: Path,
    *,
    include_simulated: bool = False,
    warn: Callable[[str], None] | None = None,
) -> Path:
    """Write a study's report into ``out_dir`` and return the path of its page.

    Files: ``report.html`` (self-contained), ``measures.json`` (exact values), ``methods.txt``,
    every table as ``.csv``, ``.tex`` and ``.md`` and ``by_<column>.csv`` with all measures of every
    breakdown in ``tables/``, every figure as ``.svg`` and ``.png`` in ``figures/``. The same
    exports give the same bytes. The page comes last: where it is, the report is whole. Several
    exports are pooled and shown one by one as well. Raises BadTable for a bad export, and for
    exports that cannot be pooled; nothing is written then. ``warn`` is given a line for every
    export of which no trial counts, since all are simulated or pilot runs.
    """
    if not exports:
        raise BadTable("no export given; name at least one EXPORT.zip")
    bar = tqdm(exports, desc="reading exports", disable=not sys.stderr.isatty())
    tables = [read_export(path) for path in bar]
    data = report_data([path.stem for path in exports], tables, include_simulated)
    for source in data.sources if warn else ():
        if warn and (nothing := nothing_counts_line(source.document)):
            warn(f"{source.label}: {nothing}")
    files = _files(data)
    try:
        return _write(files, out_dir)
    except OSError as error:
        raise BadTable(f"{out_dir}: cannot be written ({error.strerror})") from error


def _write(files: dict[str, bytes], out_dir: Path) -> Path:
    """Write the files into their folders, the page last and at one stroke; its path."""
    page = out_dir / PAGE
    page.unlink(missing_ok=True)
    for name, file in files.items():
        if name != PAGE:
            path = out_dir / _FOLDERS.get(Path(name).suffix, "") / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file)
    partial = page.with_suffix(".part")
    try:
        partial.write_bytes(files[PAGE])
        partial.replace(page)
    finally:
        partial.unlink(missing_ok=True)
    return page


def report_files(
    names: Sequence[str], exports: Sequence[Tables], include_simulated: bool = False
) -> dict[str, bytes]:
    """The report's files by name, without folders (see ``build_report``)."""
    return _files(report_data(names, exports, include_simulated))


def _files(data: ReportData) -> dict[str, bytes]:
    content = content_of(data)
    texts = {
        PAGE: report_page(data, content),
        "measures.json": to_json(data.document),
        "methods.txt": "\n\n".join(content.methods) + "\n",
        **_tables(data, content),
        **{f"{picture.name}.svg": picture.svg for picture in content.pictures},
        **{f"by_{by}.csv": _breakdown_csv(table) for by, table in data.breakdowns.items()},
    }
    pictures = {f"{picture.name}.png": picture.png for picture in content.pictures}
    return {name: _encoded(text) for name, text in texts.items()} | pictures


def _encoded(text: str) -> bytes:
    """UTF-8; half of a surrogate pair, which a name in study.json may hold, becomes a mark."""
    return text.encode("utf-8", "replace")


def _tables(data: ReportData, content: Content) -> Mapping[str, str]:
    """Every table in three formats; the CSV of Table 5 has keys and definitions as well."""
    keyed = {
        table.name: table
        for table in (table5_csv(data.document), table5_csv(data.document, "available_set"))
    }
    files: dict[str, str] = {}
    for name, table in content.tables.items():
        files |= _formats(table, keyed.get(name, table))
    return files


def _formats(table: Table, for_csv: Table) -> dict[str, str]:
    return {
        f"{table.name}.csv": to_csv(for_csv),
        f"{table.name}.tex": to_latex(table),
        f"{table.name}.md": to_markdown(table),
    }


def _breakdown_csv(table: pd.DataFrame) -> str:
    """All measures of every group; an empty cell is not defined."""
    flat = table.reset_index()
    for name in flat.columns:
        if name.startswith("n_"):
            flat[name] = flat[name].astype(int)
        elif flat[name].dtype == object:
            flat[name] = flat[name].map(neutral)
    return flat.to_csv(index=False, lineterminator="\n", float_format="%.12g")
