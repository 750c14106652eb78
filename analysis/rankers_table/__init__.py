"""Rankers compared over claims, from the table of ``python -m rankers evaluate --csv``."""

from analysis.rankers_table.document import compare_rankers

__all__ = ["compare_rankers"]
