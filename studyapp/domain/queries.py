"""Reads, named after the page or question they serve."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection
from django.db.models import Count, Q, QuerySet

from studyapp.enums import EnrolmentState, TrialKind, TrialState
from studyapp.errors import StudyError
from studyapp.models import Candidate, Claim, Enrolment, Study, Trial


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


def runs_of(study: Study) -> QuerySet[Enrolment]:
    """Every run of a study with its slot, participant and number of finished main trials."""
    done = Q(trials__state=TrialState.COMPLETED, trials__kind=TrialKind.MAIN)
    return (
        Enrolment.objects.filter(slot__study=study)
        .select_related("slot", "participant")
        .annotate(n_done=Count("trials", filter=done))
        .order_by("run_kind", "slot__replication", "slot__number", "pk")
    )


def run_counts(study: Study, run_kind: str) -> dict[str, int]:
    """How many runs are in each state, plus the withdrawn ones, of which only a count stays."""
    counts = dict.fromkeys(EnrolmentState.values, 0)
    rows = (
        Enrolment.objects.filter(slot__study=study, run_kind=run_kind)
        .values_list("state")
        .annotate(n=Count("id"))
        .order_by()
    )
    counts |= dict(rows)
    counts[EnrolmentState.WITHDRAWN] += study.withdrawals.filter(run_kind=run_kind).count()
    return counts
