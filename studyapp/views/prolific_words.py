"""What the page of Prolific says: what is missing, what happened, and what a row means."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from studyapp.domain.prolific_setup import has_token, webhook_secrets
from studyapp.domain.prolific_submissions import SESSION
from studyapp.domain.recruiting import PROLIFIC
from studyapp.enums import CallKind, JobState
from studyapp.models import ProlificLink, RecruiterCall, RecruiterSubmission, Study
from studyapp.views.researcher_words import ago, counted, moment, number


def missing(study: Study, link: ProlificLink) -> list[str]:
    """What the connection still lacks, one sentence each."""
    lacks = []
    if study.recruiting_setting("id_parameter") not in PROLIFIC:
        lacks.append(
            "The study's link does not carry PROLIFIC_PID, so nobody's run can be told from "
            "another's. It is set on the setting-up page for recruiting, before the study opens."
        )
    elif SESSION not in study.recruiting_setting("other_parameters"):
        lacks.append(
            f"The study's link does not carry {SESSION}: people are matched by their id alone, "
            "once Prolific's list has been read."
        )
    shown = study.sitting_setting("screened_out_code")
    if shown and link.screen_out_code and shown != link.screen_out_code:
        lacks.append(
            "Two codes for screened-out people differ: participants take back the one of the "
            "set-up page Codes and return, and the one below is sent to Prolific. Empty one of "
            "the two, or make them the same."
        )
    if not link.study_ids:
        lacks.append("Prolific's id of the study is not given yet.")
    if not has_token(study):
        lacks.append(
            "This server has no token, so Prolific cannot be asked: whoever runs the server sets "
            "PROLIFIC_API_TOKEN."
        )
    if not webhook_secrets(study):
        lacks.append(
            "This server has no secret for the webhook, so no message is believed: whoever runs "
            "the server sets PROLIFIC_WEBHOOK_SECRET. Reading the list works without."
        )
    return lacks


def facts(study: Study, link: ProlificLink, now: datetime) -> list[tuple[str, str]]:
    """What happened so far, as pairs of a word and what it says."""
    read = "never"
    if link.synced_at:
        read = (
            f"{ago(link.synced_at, now)}: {counted(link.n_listed, 'submission')}, "
            f"{number(link.n_unmatched)} without a run here"
        )
    taken = "none"
    if link.last_message_at:
        taken = (
            f"{number(link.n_messages)}, the last {ago(link.last_message_at, now)}; "
            f"{number(link.n_messages_unmatched)} about people who are not here"
        )
    minutes = study.recruiting_setting("return_after_minutes")
    after = f"after {counted(study.lease_minutes + minutes, 'minute')} without a sign"
    return [
        ("List read", read),
        ("Messages taken", taken),
        ("Messages refused", number(link.n_messages_refused)),
        ("Asked back", after if minutes else "never"),
    ]


def nothing_differs(link: ProlificLink) -> str:
    if link.synced_at or link.last_message_at:
        return "Nothing: every submission that is known says the same as its run here."
    return "Nothing is known of any submission yet."


def submission_row(
    row: RecruiterSubmission, link: ProlificLink, call: RecruiterCall | None
) -> dict[str, str]:
    run = row.enrolment
    return {
        "participant": run.participant.code,
        "slot": str(run.slot),
        "ours": run.get_state_display(),
        "theirs": row.get_status_display(),
        "since": moment(row.status_at) if row.status_at else "",
        "advice": _advice_of(call) or _advice(run.state, row.status, bool(link.screen_out_code)),
    }


def _advice_of(call: RecruiterCall | None) -> str:
    """What is being done about a difference already, if anything is."""
    if call is None:
        return ""
    kind = call.get_kind_display()
    if call.is_refused:
        return f"{kind} refused: the reason is below."
    if call.state != JobState.DONE:
        return f"{kind} is on its way to Prolific."
    if call.kind == CallKind.REQUEST_RETURN:
        return "The person has been asked to return it at Prolific."
    return "Prolific has been told; its list will say so."


def _advice(ours: str, theirs: str, has_code: bool) -> str:
    """What a researcher may do about a difference."""
    if ours == "screened_out" and theirs in ("reserved", "active"):
        return (
            "The screen-out will be told to Prolific."
            if has_code
            else "Give the screen-out code on this page, or ask the person to return."
        )
    return _ADVICE.get((ours, theirs)) or _BY_STATUS.get(theirs, "Compare the two.")


_ADVICE = {
    ("completed", "active"): "Finished here; the code has not been entered at Prolific yet.",
    ("completed", "returned"): "Finished here and given back there: the data stay, nobody is paid.",
    ("completed", "timed_out"): "Finished here, but too late there: approve it at Prolific.",
    (
        "rejected",
        "awaiting_review",
    ): "Rejected here only: reject it at Prolific, or tell the person.",
}
_BY_STATUS = {
    "reserved": "The run has ended here; the person still holds the place at Prolific.",
    "active": "The run has ended here; the person still holds the place at Prolific.",
    "awaiting_review": "Handed in at Prolific without being finished here: review it there.",
    "approved": "Paid at Prolific although it was not finished here.",
}


def call_row(call: RecruiterCall) -> dict[str, Any]:
    run = call.submission.enrolment
    return {
        "id": call.pk,
        "title": _call_title(call),
        "kind": call.get_kind_display(),
        "participant": run.participant.code,
        "slot": str(run.slot),
        "asked": moment(call.asked_at),
        "says": call.error or call.answer,
        "tries": number(call.n_attempts),
        "is_refused": call.is_refused,
    }


def _call_title(call: RecruiterCall) -> str:
    """The call and how it stands: ``Screen-out refused``."""
    kind = call.get_kind_display()
    if call.state == JobState.QUEUED and call.n_attempts:
        return f"{kind}, tried again later"
    how = {JobState.QUEUED: "waiting", JobState.LEASED: "under way", JobState.DONE: "done"}
    return f"{kind} refused" if call.is_refused else f"{kind} {how[JobState(call.state)]}"
