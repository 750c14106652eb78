"""The rules of a sitting that end a run early: practice that is never right, checks that fail."""

from __future__ import annotations

from studyapp.domain.run_ends import FAIL_CHECKS, SCREEN_OUT, End
from studyapp.enums import TrialKind, TrialState
from studyapp.models import Trial, VerificationAnswer


def end_after(trial: Trial) -> End | None:
    """How the run ends after a trial just decided, or None where it goes on.

    A query for a practice or an attention trial of a study with such a rule, else none.
    """
    if trial.kind == TrialKind.PRACTICE and _has_used_up_its_tries(trial):
        return SCREEN_OUT
    if trial.kind == TrialKind.ATTENTION and _is_one_failure_too_many(trial):
        return FAIL_CHECKS
    return None


def _has_used_up_its_tries(trial: Trial) -> bool:
    """Whether the practice claim had to be answered rightly and every try of it was wrong."""
    study = trial.enrolment.slot.study
    if not study.sitting_setting("practice_must_pass"):
        return False
    tries = Trial.objects.filter(
        enrolment_id=trial.enrolment_id,
        claim_id=trial.claim_id,
        kind=TrialKind.PRACTICE,
        state=TrialState.COMPLETED,
    ).values_list("verification_answer__is_correct", flat=True)
    # None: the study offers no right answer for this claim, so nobody fails it.
    is_never_right = all(is_correct is False for is_correct in tries)
    return is_never_right and len(tries) >= study.sitting_setting("practice_tries")


def _is_one_failure_too_many(trial: Trial) -> bool:
    allowed = trial.enrolment.slot.study.sitting_setting("attention_failures_allowed")
    if allowed is None:
        return False
    n_wrong = VerificationAnswer.objects.filter(
        trial__enrolment_id=trial.enrolment_id,
        trial__kind=TrialKind.ATTENTION,
        is_correct=False,
    ).count()
    return n_wrong > allowed
