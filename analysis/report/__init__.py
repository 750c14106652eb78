"""A study's report: a page, its tables in four formats, its figures, and words for a paper."""

from analysis.report.build import build_report, report_files

__all__ = ["build_report", "report_files"]
