"""What a participant takes back at the end: a code, and a way to where the study was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from studyapp.domain.mturk import ASSIGNMENT, SUBMIT_TO, submit_address
from studyapp.domain.recruiting import is_mturk, others_of, recruits_by_id
from studyapp.domain.return_addresses import (
    asked_parameters,
    asks_for_code,
    filled_address,
    is_recruiting_host,
    return_host,
)
from studyapp.enums import EnrolmentState, RecruitingSource, TrialKind
from studyapp.models import Claim, Enrolment, Study

#: Where a site wants people back, for a study without a return address of its own.
RETURN_DEFAULTS: dict[str, str] = {
    RecruitingSource.PROLIFIC: "https://app.prolific.com/submissions/complete?cc={code}",
}
#: States with a page that has a way back, and the settings of those before the last trial.
_EARLY = {
    EnrolmentState.SCREENED_OUT: ("screened_out_code", "screened_out_url"),
    EnrolmentState.FAILED_CHECKS: ("failed_checks_code", "failed_checks_url"),
}
EARLY_ENDS = tuple(_EARLY)
WITH_A_WAY_BACK = (EnrolmentState.COMPLETED, *EARLY_ENDS)


@dataclass(frozen=True)
class WayBack:
    """The end of one run: its code, and either an address or a form that leads back.

    ``return_to`` is an address ready to open; ``submit_to`` takes ``assignment`` and the code in a
    form. Whatever there is none of is empty.
    """

    code: str = ""
    return_to: str = ""
    submit_to: str = ""
    assignment: str = ""

    @property
    def leads_elsewhere(self) -> bool:
        """Whether the last page does more than say something."""
        return bool(self.return_to or self.submit_to)


def return_setting(study: Study, state: str = EnrolmentState.COMPLETED) -> str:
    """The address, with its places, that a run goes back to at an end; empty for none.

    Early ends use that of finished runs only where their own code tells the two apart.
    """
    return _setting(study, state, RETURN_DEFAULTS.get(study.recruiting_setting("source"), ""))


def _setting(study: Study, state: str, default: str) -> str:
    finished = study.sitting_setting("return_url") or default
    if state not in _EARLY:
        return str(finished)
    own = study.sitting_setting(_EARLY[EnrolmentState(state)][1])
    return str(own or (finished if asks_for_code(finished) else ""))


def code_for(study: Study, state: str) -> str:
    """The code of an end; empty where the study has none for it."""
    if state == EnrolmentState.COMPLETED:
        return study.completion_code
    return str(study.sitting_setting(_EARLY[EnrolmentState(state)][0]))


def way_back_of(run: Enrolment) -> WayBack:
    """What the last page of a run offers: at most one query beside the study's settings.

    Where links carry ids, whoever came without one was not sent by the recruiting site and is not
    sent to it.
    """
    if run.state not in WITH_A_WAY_BACK:
        return WayBack()
    study = run.slot.study
    code = code_for(study, run.state)
    given = others_of(run.participant_id) if recruits_by_id(study) else {}
    is_guest = recruits_by_id(study) and not given
    if is_mturk(study) and not is_guest:
        return _sent_back(given, code)
    address = _address_of_guests(study, run.state) if is_guest else return_setting(study, run.state)
    if not address or (asks_for_code(address) and not code):
        return WayBack(code)
    id_parameter = study.recruiting_setting("id_parameter")
    return WayBack(code, return_to=filled_address(address, code, given, id_parameter))


def _address_of_guests(study: Study, state: str) -> str:
    """The study's own address for those whom no site sent, unless it is one of such a site."""
    own = _setting(study, state, "")
    return "" if is_recruiting_host(return_host(own)) else own


def _sent_back(given: Mapping[str, str], code: str) -> WayBack:
    """The form of Mechanical Turk; none without a code, which would pay as if all were done."""
    if not code:
        return WayBack()
    submit_to = submit_address(given.get(SUBMIT_TO, ""))
    assignment = given.get(ASSIGNMENT, "")
    if not submit_to or not assignment:
        return WayBack(code)
    return WayBack(code, submit_to=submit_to, assignment=assignment)


def ending_problems(study: Study) -> list[str]:
    """Return addresses that ask for what no link brings."""
    id_parameter = study.recruiting_setting("id_parameter")
    kept = {id_parameter, *study.recruiting_setting("other_parameters")} - {""}
    problems = []
    for state in WITH_A_WAY_BACK:
        address = return_setting(study, state)
        missing = [name for name in asked_parameters(address, id_parameter) if name not in kept]
        if missing:
            problems.append(
                f"the return address asks for {', '.join(filter(None, missing)) or 'an id'}, which "
                "is no parameter that recruiting keeps"
            )
    return list(dict.fromkeys(problems)) + _equal_codes(study)


def _equal_codes(study: Study) -> list[str]:
    """Early ends whose code would pay as if all were done."""
    return [
        f"the code for those who {_WHO[state]} is the completion code: choose another one"
        for state in EARLY_ENDS
        if study.completion_code and code_for(study, state) == study.completion_code
    ]


def ending_warnings(study: Study) -> list[str]:
    """What is odd about the rules that end runs early, and about the ways back."""
    warnings = []
    if study.sitting_setting("practice_must_pass") and not _n_claims(study, TrialKind.PRACTICE):
        warnings.append("sitting: practice must be passed, but there is no practice claim")
    allowed = study.sitting_setting("attention_failures_allowed")
    if allowed is not None and allowed >= (n := _n_claims(study, TrialKind.ATTENTION)):
        warnings.append(
            f"sitting: {allowed} failed attention checks are allowed and there are {n}, so nobody "
            "is turned away"
        )
    if study.recruiting_setting("source") == RecruitingSource.SONA and not return_setting(study):
        warnings.append(
            "the return address is empty: SONA grants credit by the address that it shows for the "
            "study"
        )
    return warnings + _unmarked_ends(study)


def _n_claims(study: Study, role: str) -> int:
    return Claim.objects.filter(study=study, role=role).count()


def _unmarked_ends(study: Study) -> list[str]:
    """Early ends that can happen and have no code of their own where codes are asked for."""
    happens = {
        EnrolmentState.SCREENED_OUT: study.sitting_setting("practice_must_pass"),
        EnrolmentState.FAILED_CHECKS: study.sitting_setting("attention_failures_allowed")
        is not None,
    }
    return [
        f"no code for those who {_WHO[state]}: they have no way back"
        for state in EARLY_ENDS
        if happens[state]
        and not code_for(study, state)
        and (is_mturk(study) or asks_for_code(return_setting(study, state)))
    ]


_WHO = {
    EnrolmentState.SCREENED_OUT: "are screened out",
    EnrolmentState.FAILED_CHECKS: "fail the checks",
}
