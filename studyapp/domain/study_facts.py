"""What a study holds, counted once for all who ask on one page: cards, problems, remarks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from django.db.models import Count, Sum

from studyapp.domain.balance import Balance, counted_balance, stored_cells
from studyapp.domain.progress import ConditionProgress, progress_of
from studyapp.domain.spending import Account, account_of
from studyapp.enums import Label, TrialKind
from studyapp.models import Claim, Condition, Study


@dataclass(frozen=True)
class ClaimCounts:
    """What the main claims are, counted: by label, by size of the smallest gold set, by licence.

    ``n_practice`` and ``n_attention`` are the claims kept for other trials, ``other_labels``
    the labels these have.
    """

    n: int
    by_label: dict[str, int]
    by_gold_size: dict[int, int]
    mean_candidates: float
    by_license: dict[str, int]
    n_practice: int
    n_attention: int
    other_labels: frozenset[str]


def claim_counts(study: Study) -> ClaimCounts:
    """Count a study's claims in one query."""
    labels: Counter[str] = Counter()
    sizes: Counter[int] = Counter()
    licenses: Counter[str] = Counter()
    roles: Counter[str] = Counter()
    other_labels: set[str] = set()
    n_candidates = 0
    groups = (
        Claim.objects.filter(study=study)
        .values_list("role", "label", "gold_min_size", "license")
        .annotate(n=Count("id"), candidates=Sum("n_candidates"))
        .order_by()
    )
    for role, label, size, license_text, n, candidates in groups:
        roles[role] += n
        if role != TrialKind.MAIN:
            other_labels.add(label)
            continue
        labels[label] += n
        sizes[size] += n
        licenses[license_text or ""] += n
        n_candidates += candidates
    n_claims = labels.total()
    return ClaimCounts(
        n=n_claims,
        by_label={label: labels[label] for label in Label.values if labels[label]},
        by_gold_size=dict(sorted(sizes.items())),
        mean_candidates=n_candidates / n_claims if n_claims else 0.0,
        by_license={text or "not said": n for text, n in sorted(licenses.items())},
        n_practice=roles[TrialKind.PRACTICE],
        n_attention=roles[TrialKind.ATTENTION],
        other_labels=frozenset(other_labels),
    )


class StudyFacts:
    """The facts of one study, each read when it is first asked for and then kept."""

    def __init__(self, study: Study):
        self.study = study

    @cached_property
    def claims(self) -> ClaimCounts:
        return claim_counts(self.study)

    @cached_property
    def conditions(self) -> list[Condition]:
        return list(self.study.conditions.order_by("position"))

    @cached_property
    def account(self) -> Account:
        return account_of(self.study)

    @cached_property
    def progress(self) -> list[ConditionProgress]:
        return progress_of(self.study, self.conditions, self.claims.n, self.account)

    @cached_property
    def balance(self) -> Balance:
        """The balance of the schedule, without the sizes of its subsets."""
        names = [condition.name for condition in self.conditions]
        cells = stored_cells(self.study)
        return counted_balance(cells, names, self.claims.n, self.study.n_replications)
