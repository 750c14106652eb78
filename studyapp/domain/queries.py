"""Reads, named after the page or question they serve."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.db import connection
from django.db.models import Count, QuerySet, Value

from studyapp.enums import EnrolmentState, RunKind, TrialKind
from studyapp.errors import StudyError
from studyapp.models import Candidate, Claim, Enrolment, Study, Trial, Withdrawal


def study_by_slug(slug: str) -> Study:
    """The study of that slug. Raises StudyError naming the ones there are."""
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        slugs = ", ".join(Study.objects.order_by("slug").values_list("slug", flat=True)[:20])
        raise StudyError(f"no study {slug!r}; there {'are: ' + slugs if slugs else 'is none yet'}.")
    return study


def main_claims(study: Study) -> QuerySet[Claim]:
    """The claims that are ranked, scheduled and analysed: all but practice and attention."""
    return Claim.objects.filter(study=study, role=TrialKind.MAIN)


_TEXTS = (
    f"SELECT position, text, title FROM {Candidate._meta.db_table} "
    "WHERE claim_id = %s AND position IN"
)


@dataclass(frozen=True)
class Sentence:
    """One sentence on the page: its number in the order shown, text and where it comes from."""

    rank: int
    text: str
    title: str | None


def shown_sentences(trial: Trial, *, first: int = 1) -> list[Sentence]:
    """The sentences visible in a trial from rank ``first`` on, in display order: one query.

    Only the positions already shown are read, so nothing else can reach a page.
    """
    positions = trial.stimulus["order"][first - 1 : trial.n_steps]
    marks = ", ".join(["%s"] * len(positions))
    with connection.cursor() as cursor:
        cursor.execute(f"{_TEXTS} ({marks})", [trial.claim_id, *positions])
        by_position = {position: (text, title) for position, text, title in cursor.fetchall()}
    return [
        Sentence(rank, *by_position[position])
        for rank, position in enumerate(positions, start=first)
    ]


@dataclass(frozen=True)
class RunCounts:
    """How many runs of one study are in each state, by kind of run.

    Every run is in exactly one state; of withdrawn ones only a count is left, and it is among them.
    """

    by_kind: Mapping[str, Mapping[str, int]]

    def of(self, kind: str, *states: str) -> int:
        """Runs of a kind in any of ``states``; all of the kind where none is named."""
        counts = self.by_kind[kind]
        return sum(counts[state] for state in states or counts)

    @property
    def kinds(self) -> list[RunKind]:
        """Real runs always, the other kinds where there are any."""
        return [kind for kind in RunKind if kind == RunKind.REAL or self.of(kind)]


def run_counts(studies: Collection[int]) -> dict[int, RunCounts]:
    """The counts of each study, by primary key: one query.

    The list of studies, the study page, the monitor and the list of participants all count here.
    """
    counts = {
        study: {kind: dict.fromkeys(EnrolmentState.values, 0) for kind in RunKind.values}
        for study in studies
    }
    runs = (
        Enrolment.objects.filter(slot__study__in=studies)
        .order_by()
        .values("slot__study_id", "run_kind", "state")
        .annotate(n=Count("id"))
        .values_list("slot__study_id", "run_kind", "state", "n")
    )
    withdrawn = (
        Withdrawal.objects.filter(study__in=studies)
        .order_by()
        .values("study_id", "run_kind")
        .annotate(n=Count("id"), gone=Value(EnrolmentState.WITHDRAWN.value))
        .values_list("study_id", "run_kind", "gone", "n")
    )
    for study, kind, state, n in runs.union(withdrawn, all=True):
        counts[study][kind][state] += n
    return {study: RunCounts(by_kind) for study, by_kind in counts.items()}


def run_counts_of(study: Study) -> RunCounts:
    """The counts of one study: one query."""
    return run_counts([study.pk])[study.pk]
