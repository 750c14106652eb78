"""The list of studies and the study page, put together from their cards."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from studyapp.access import studies_for
from studyapp.domain.queries import RunCounts, run_counts
from studyapp.domain.study_facts import StudyFacts
from studyapp.enums import EnrolmentState, RunKind, TrialKind
from studyapp.forms import CloseForm
from studyapp.models import Claim, Condition, Ranking, Selection, Slot, Study
from studyapp.views import researcher_preparation as preparation
from studyapp.views import researcher_running as running
from studyapp.views.researcher_card import Card, SetupLink, Tone
from studyapp.views.researcher_people import people_card, people_of
from studyapp.views.researcher_precompute import PrecomputeStatus, precompute_status
from studyapp.views.researcher_running import OpeningStatus
from studyapp.views.researcher_schedule import schedule_card
from studyapp.views.researcher_words import moment, number

#: The page that does in the browser what a card of a draft is about.
SETUP_PAGES = {
    "claims": SetupLink("setup-claims", "Upload or change claims"),
    "conditions": SetupLink("setup-conditions", "Add or change conditions"),
    "schedule": SetupLink("setup-schedule", "Lay out the schedule"),
    "opening": SetupLink("setup-review", "Review the study"),
}


@dataclass(frozen=True)
class StudyRow:
    """One study of the list, ready to print."""

    slug: str
    title: str
    state: str
    state_label: str
    claims: str
    conditions: str
    rankings: str
    participants: str
    created: str


def study_rows(user: AbstractBaseUser | AnonymousUser) -> list[StudyRow]:
    """The list of a researcher's studies, newest first: two queries."""
    studies = list(_with_counts(studies_for(user)))
    counts = run_counts([study.pk for study in studies])
    return [_study_row(study, counts[study.pk]) for study in studies]


def _with_counts(studies: QuerySet[Study]) -> QuerySet[Any]:
    def n(rows: QuerySet[Any], path: str) -> Coalesce:
        counts = rows.filter(**{path: OuterRef("pk")}).order_by().values(path)
        return _or_zero(counts.annotate(n=Count("pk")).values("n"))

    seats = Slot.objects.filter(study=OuterRef("pk")).order_by().values("study")
    return studies.annotate(
        n_claims=n(Claim.objects.filter(role=TrialKind.MAIN), "study"),
        n_conditions=n(Condition.objects.all(), "study"),
        n_rankings=n(Ranking.objects.all(), "condition__study"),
        n_selections=n(Selection.objects.all(), "condition__study"),
        n_seats=_or_zero(seats.annotate(n=Sum("target")).values("n")),
    )


def _or_zero(query: QuerySet[Any]) -> Coalesce:
    return Coalesce(Subquery(query, output_field=IntegerField()), 0)


def _study_row(study: Any, counts: RunCounts) -> StudyRow:
    wanted = study.n_claims * study.n_conditions
    stored = study.n_rankings + study.n_selections
    return StudyRow(
        slug=study.slug,
        title=study.title,
        state=study.state,
        state_label=study.get_state_display(),
        claims=number(study.n_claims),
        conditions=number(study.n_conditions),
        rankings=f"{number(stored)} of {number(wanted)}" if wanted else "–",
        participants=_completed(study, counts),
        created=moment(study.created_at),
    )


def _completed(study: Any, counts: RunCounts) -> str:
    simulated = counts.of(RunKind.SIMULATED, EnrolmentState.COMPLETED)
    if simulated and not counts.of(RunKind.REAL):
        return f"{number(simulated)} simulated"
    completed = counts.of(RunKind.REAL, EnrolmentState.COMPLETED)
    return f"{number(completed)} of {number(study.n_seats)}" if study.n_seats else "–"


@dataclass(frozen=True)
class NextStep:
    """The card to go on with."""

    anchor: str
    title: str


@dataclass(frozen=True)
class StudyPage:
    """The study page: its cards in the order of the work, and the card to go on with."""

    cards: list[Card]
    next: NextStep | None
    precompute: PrecomputeStatus
    refused: list[str] = field(default_factory=list)


def study_page(
    study: Study, *, refused: list[str] | None = None, close_form: CloseForm | None = None
) -> StudyPage:
    """Read every card: the same number of queries whatever the study holds."""
    facts = StudyFacts(study)
    claims, conditions = facts.claims, facts.conditions
    precompute = precompute_status(study, rows=facts.progress, account=facts.account)
    people = people_of(study)
    completed = running.completed_trials(study)
    cards = [
        preparation.claims_card(study, claims),
        preparation.conditions_card(study, conditions),
        preparation.rankings_card(study, precompute),
        schedule_card(study, claims.n, conditions, facts.balance),
        running.opening_card(study, running.opening_status(study, people, close_form, facts)),
        people_card(study, people),
        running.measures_card(study, completed),
        running.export_card(study, claims.n, completed),
    ]
    if study.is_draft:
        cards = [replace(card, setup=SETUP_PAGES.get(card.anchor)) for card in cards]
    return StudyPage(
        cards=cards,
        next=next((NextStep(card.anchor, card.title) for card in cards if _calls(card.tone)), None),
        precompute=precompute,
        refused=refused or [],
    )


def next_after_precompute(precompute: PrecomputeStatus, opening: OpeningStatus) -> NextStep:
    """The card to go on with when the last job of a draft has ended."""
    if _calls(precompute.tone):
        return NextStep("rankings", "Rankings")
    if opening.can_open:
        return NextStep("opening", "Opening")
    return NextStep("schedule", "Schedule")


def _calls(tone: Tone) -> bool:
    return tone in (Tone.NEXT, Tone.PROBLEM)
