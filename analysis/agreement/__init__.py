"""Agreement, preferences and independent groups (statistics.md 6)."""

from analysis.agreement.alpha import krippendorff
from analysis.agreement.cohen_kappa import cohen
from analysis.agreement.fleiss_kappa import fleiss
from analysis.agreement.of_trials import agreement_of_trials
from analysis.agreement.preference import preferences, sign_test
from analysis.agreement.two_groups import mann_whitney

__all__ = [
    "agreement_of_trials",
    "cohen",
    "fleiss",
    "krippendorff",
    "mann_whitney",
    "preferences",
    "sign_test",
]
