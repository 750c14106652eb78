"""Power before data: studies simulated by assumptions, and what their tests find (statistics.md 5).

``power_document`` is all of it; ``detectable_difference`` and ``sentence`` are quick enough to
answer while a study is being planned.
"""

from analysis.power.assumptions import Assumptions, Reading
from analysis.power.detectable import QUICK_SIMS, detectable_difference, sentence
from analysis.power.document import Plan, power_document
from analysis.power.pilot import pilot_values
from analysis.power.search import TARGET

__all__ = [
    "QUICK_SIMS",
    "TARGET",
    "Assumptions",
    "Plan",
    "Reading",
    "detectable_difference",
    "pilot_values",
    "power_document",
    "sentence",
]
