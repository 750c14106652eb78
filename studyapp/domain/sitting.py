"""What comes next in a run, told from its rows alone.

Practice first, each claim until it is right or its tries are used up; then the main trials, with
attention trials spread evenly between them and a break now and then; then the questionnaire. There
is no state to keep: what was done says what follows, so a reload, a second tab or a lost answer
cannot lose the place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from studyapp.enums import TrialKind, TrialState
from studyapp.models import Enrolment, Slot, Study, Trial


class Stage(StrEnum):
    """Where a run stands that has begun and has no trial open."""

    FEEDBACK = "feedback"
    BREAK = "break"
    QUESTIONNAIRE = "questionnaire"
    RESUME = "resume"


class Step(StrEnum):
    """What follows once practice is over."""

    MAIN = "main"
    ATTENTION = "attention"
    END = "end"


@dataclass(frozen=True, slots=True)
class Plan:
    """One participant's trials after practice, in numbers."""

    n_main: int
    n_attention: int = 0
    break_every: int = 0

    @property
    def n_trials(self) -> int:
        """Main and attention trials together: what a participant sees as the number of trials."""
        return self.n_main + self.n_attention

    def attention_after(self, index: int) -> int:
        """The main position that attention trial ``index`` (from 1) follows; the same for all."""
        return max(1, index * self.n_main // (self.n_attention + 1))

    def n_attention_by(self, position: int) -> int:
        """How many attention trials come up to the one or ones after main ``position``."""
        return sum(
            self.attention_after(index) <= position for index in range(1, self.n_attention + 1)
        )

    def number_of_main(self, position: int) -> int:
        """The number a participant sees on a main trial.

        Attention trials are counted like all others: a number left out or shown twice would tell
        which trial was one.
        """
        return position + self.n_attention_by(position - 1) if self.n_attention else position

    def number_of_attention(self, index: int) -> int:
        """The number a participant sees on an attention trial."""
        return self.attention_after(index) + index

    def step(self, n_main: int, n_attention: int) -> Step:
        """What follows after so many trials."""
        if n_attention < self.n_attention_by(n_main):
            return Step.ATTENTION
        return Step.MAIN if n_main < self.n_main else Step.END

    def has_break_after(self, position: int) -> bool:
        """Whether a break lies between main ``position`` and the next one."""
        if not self.break_every:
            return False
        return 0 < position < self.n_main and position % self.break_every == 0


@dataclass(slots=True)
class Tries:
    """The finished tries of one practice claim."""

    n: int = 0
    is_passed: bool = False


@dataclass(slots=True)
class Done:
    """What a run has behind it. ``practice`` has the tries by claim, in the order of meeting."""

    n_main: int = 0
    n_attention: int = 0
    practice: dict[int, Tries] = field(default_factory=dict)
    last_kind: str | None = None
    last_state: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a trial stands, in the words of its page."""

    word: str
    number: int
    n_all: int

    def __str__(self) -> str:
        return f"{self.word} {self.number} of {self.n_all}"


def plan_of(slot: Slot) -> Plan:
    """The numbers of a slot and its study."""
    study = slot.study
    return Plan(slot.n_trials, study.n_attention, study.sitting_setting("break_every"))


def done_of(enrolment: Enrolment) -> Done:
    """Read what a run has behind it: one query."""
    rows = (
        Trial.objects.filter(enrolment=enrolment)
        .order_by("pk")
        .values_list("kind", "state", "position", "claim_id", "verification_answer__is_correct")
    )
    done = Done()
    for kind, state, position, claim_id, is_correct in rows:
        done.last_kind, done.last_state = kind, state
        if kind == TrialKind.MAIN:
            done.n_main = max(done.n_main, position)
        elif kind == TrialKind.ATTENTION:
            done.n_attention += 1
        elif state == TrialState.COMPLETED:
            tries = done.practice.setdefault(claim_id, Tries())
            tries.n += 1
            # None: the study offers no right answer for this claim, so no try can do better.
            tries.is_passed = tries.is_passed or is_correct is not False
    return done


def stage_of(enrolment: Enrolment) -> Stage:
    """Where a run stands that has begun and has no trial open: one query, none in a plain study."""
    study = enrolment.slot.study
    if not has_stages(study):
        return Stage.RESUME
    done = done_of(enrolment)
    plan = plan_of(enrolment.slot)
    if done.last_kind == TrialKind.PRACTICE and done.last_state == TrialState.COMPLETED:
        return Stage.FEEDBACK
    step = plan.step(done.n_main, done.n_attention)
    if step == Step.END and study.sitting_setting("questionnaire"):
        return Stage.QUESTIONNAIRE
    if step == Step.MAIN and plan.has_break_after(done.n_main):
        return Stage.BREAK
    return Stage.RESUME


def has_stages(study: Study) -> bool:
    """Whether a study has anything but main and attention trials, one following the other."""
    return bool(
        study.n_practice
        or study.sitting_setting("break_every")
        or study.sitting_setting("questionnaire")
    )


def place_of(trial: Trial) -> Place:
    """Where a trial stands for its participant. A main trial takes no query, the others one."""
    slot = trial.enrolment.slot
    if trial.kind == TrialKind.MAIN:
        plan = plan_of(slot)
        return Place("Trial", plan.number_of_main(trial.position), plan.n_trials)
    alike = Trial.objects.filter(enrolment_id=trial.enrolment_id, kind=trial.kind).order_by()
    if trial.kind == TrialKind.PRACTICE:
        n_met = alike.values("claim_id").distinct().count()
        return Place("Practice", n_met, slot.study.n_practice)
    plan = plan_of(slot)
    return Place("Trial", plan.number_of_attention(alike.count()), plan.n_trials)
