"""Play whole runs of a study through its pages."""

from __future__ import annotations

from collections.abc import Callable

from studyapp.domain.join_forms import invite
from studyapp.domain.places import places_of
from studyapp.enums import EnrolmentState, Interface, RunKind, TrialKind
from studyapp.errors import StudyError
from studyapp.models import Enrolment, Study, Trial
from studyapp.participant_forms import QUESTION_PREFIX
from studyapp.protocols.verification import CONFIDENCE_SCALE
from studyapp.simulation.pages import Page, Visitor
from studyapp.simulation.readers import (
    POLICIES,
    Stimulus,
    confidence,
    questionnaire_answer,
)


def free_simulated_seats(study: Study) -> int:
    """How many simulated participants the study still has room for."""
    places = places_of(study, RunKind.SIMULATED)
    return places.free + places.extra_free


def simulate(
    study: Study,
    *,
    participants: int,
    policy: str,
    seed: int,
    base_url: str,
    on_trial: Callable[[], None] = lambda: None,
) -> int:
    """Play ``participants`` whole runs one after another; returns the number of main trials played.

    Practice and attention trials, breaks and the questionnaire are gone through as well. Raises
    StudyError when the study is not open, has no room, or a page is not what it should be.
    """
    if not study.is_open:
        raise StudyError("The study is not open: open it first (open_study).")
    free = free_simulated_seats(study)
    if participants > free:
        raise StudyError(
            f"The study has room for {free} more simulated participants, {participants} are "
            "wanted. Add replications with: schedule."
        )
    n_trials = 0
    for number in range(1, participants + 1):
        visitor = Visitor(base_url)
        try:
            n_trials += _play_run(study, visitor, number, policy, seed, on_trial)
        finally:
            visitor.close()
    return n_trials


def _play_run(
    study: Study,
    visitor: Visitor,
    number: int,
    policy: str,
    seed: int,
    on_trial: Callable[[], None],
) -> int:
    page = visitor.get(f"/p/{study.code}/?run={invite(study, RunKind.SIMULATED)}")
    page = visitor.submit(page, "join", consent="yes")
    page = visitor.submit(page, "begin")
    n_trials = 0
    while "decide" in page.forms:
        page, kind = _play_trial(study, visitor, page, number, policy, seed)
        if kind == TrialKind.MAIN:
            n_trials += 1
            on_trial()
        if "begin" in page.forms:  # after a practice trial, and at a break
            page = visitor.submit(page, "begin")
    if "questionnaire" in page.forms:
        page = visitor.submit(page, "questionnaire", **_answers(study, number, seed))
    token = page.url.rstrip("/").rsplit("/", 1)[-1]
    state = Enrolment.objects.filter(token=token).values_list("state", flat=True).first()
    if state != EnrolmentState.COMPLETED:
        raise StudyError(f"Participant {number} stopped after {n_trials} trials: {page.url}")
    return n_trials


def _play_trial(
    study: Study, visitor: Visitor, page: Page, number: int, policy: str, seed: int
) -> tuple[Page, str]:
    """Play the open trial; the page that follows, and the kind of trial it was."""
    code = page.forms["decide"].action.rstrip("/").rsplit("/", 2)[-2]
    trial = Trial.objects.select_related("claim", "condition").get(code=code)
    stimulus = _stimulus(study, trial)
    behaviour = POLICIES[policy](stimulus, number, seed)
    for _ in range(behaviour.n_read - trial.n_steps):
        page = visitor.submit(page, "reveal")
    chosen = {"decision": behaviour.decision}
    if (point := confidence(stimulus, number, seed)) is not None:
        chosen["confidence"] = str(point)
    return visitor.submit(page, "decide", **chosen), trial.kind


def _answers(study: Study, number: int, seed: int) -> dict[str, str]:
    return {
        QUESTION_PREFIX + question["name"]: questionnaire_answer(question, number, seed)
        for question in study.sitting_setting("questionnaire")
    }


def _stimulus(study: Study, trial: Trial) -> Stimulus:
    return Stimulus(
        claim_id=trial.claim.claim_id,
        condition=trial.condition.name,
        label=trial.claim.label,
        n_available=len(trial.stimulus["order"]),
        msr=trial.stimulus["msr"],
        is_incremental=trial.condition.interface == Interface.INCREMENTAL,
        options=tuple(study.response_options),
        points=() if study.sitting_setting("confidence") == "off" else CONFIDENCE_SCALE,
    )
