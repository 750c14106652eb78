"""Practice: which claim comes next, in which interface, and what is said afterwards."""

from __future__ import annotations

from dataclasses import dataclass

from studyapp.domain.queries import Sentence
from studyapp.domain.sitting import Done, Tries, done_of
from studyapp.enums import TrialKind, TrialState
from studyapp.models import Candidate, Claim, Condition, Enrolment, Slot, Trial


@dataclass(frozen=True)
class Feedback:
    """How the last practice trial went, for its participant. Labels of practice claims only.

    ``is_right`` is None where the study offers no right answer for the claim; ``n_left`` is how
    many tries are left for it, 0 once it is settled. ``is_settled``: whether the sentences that
    were read settle the claim; ``unread`` are the others, which an explanation may speak of.
    """

    trial: Trial
    decision: str
    label: str
    is_right: bool | None
    is_settled: bool
    unread: list[Sentence]
    explanation: str
    number: int
    n_all: int
    n_left: int

    @property
    def is_last(self) -> bool:
        """Whether the trials that count come next."""
        return self.number == self.n_all and not self.n_left


def next_practice(enrolment: Enrolment, done: Done) -> tuple[Claim, Condition] | None:
    """The practice claim to show next and how, or None when practice is over: three queries."""
    study = enrolment.slot.study
    most = study.sitting_setting("practice_tries")
    claims = Claim.objects.filter(study=study, role=TrialKind.PRACTICE).order_by("position")
    for index, claim in enumerate(claims):
        if _n_left(done.practice.get(claim.pk, Tries()), most):
            return claim, _condition_for(claim, index, enrolment.slot)
    return None


def feedback_of(enrolment: Enrolment) -> Feedback:
    """What to say about the last practice trial of a run; there must be one."""
    study = enrolment.slot.study
    done = done_of(enrolment)
    trial = (
        Trial.objects.select_related("claim", "condition", "verification_answer")
        .filter(enrolment=enrolment, kind=TrialKind.PRACTICE, state=TrialState.COMPLETED)
        .latest("pk")
    )
    trial.enrolment = enrolment
    answer = trial.verification_answer
    return Feedback(
        trial=trial,
        decision=answer.decision,
        label=trial.claim.label,
        is_right=answer.is_correct,
        is_settled=_is_settled(trial),
        unread=_unread(trial),
        explanation=str(trial.claim.meta.get("explanation") or ""),
        number=len(done.practice),
        n_all=study.n_practice,
        n_left=_n_left(done.practice[trial.claim_id], study.sitting_setting("practice_tries")),
    )


def conditions_met(slot: Slot) -> list[Condition]:
    """One condition for each interface that the slot's trials have, in the study's order."""
    by_interface: dict[str, Condition] = {}
    conditions = Condition.objects.filter(planned__slot=slot).distinct().order_by("position")
    for condition in conditions:
        by_interface.setdefault(condition.interface, condition)
    return list(by_interface.values())


def _is_settled(trial: Trial) -> bool:
    msr = trial.stimulus["msr"]
    return msr is not None and msr <= trial.n_steps


def _unread(trial: Trial) -> list[Sentence]:
    """The sentences of a practice trial that is over and that were not shown: one query.

    Of no other kind of trial, whose evidence stays unknown to its participant.
    """
    positions = trial.stimulus["order"][trial.n_steps :]
    if trial.kind != TrialKind.PRACTICE or trial.state != TrialState.COMPLETED or not positions:
        return []
    rows = Candidate.objects.filter(claim_id=trial.claim_id, position__in=positions)
    texts = {row.position: (row.text, row.title) for row in rows}
    return [
        Sentence(rank, *texts[position])
        for rank, position in enumerate(positions, start=trial.n_steps + 1)
    ]


def _n_left(tries: Tries, most: int) -> int:
    return 0 if tries.is_passed else max(0, most - tries.n)


def _condition_for(claim: Claim, index: int, slot: Slot) -> Condition:
    """The claim's own interface, else those of the slot in turn."""
    wanted = claim.meta.get("interface")
    if wanted:
        conditions = Condition.objects.filter(study_id=slot.study_id, interface=wanted)
        return conditions.order_by("position")[0]
    met = conditions_met(slot)
    return met[index % len(met)]
