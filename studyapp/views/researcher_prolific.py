"""A study at Prolific: the connection, what differs there, and what was asked and refused."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from studyapp.access import researcher_only
from studyapp.domain.prolific_calls import ask_again, calls_of, fill_outbox, run_call, run_due
from studyapp.domain.prolific_setup import (
    has_token,
    link_of,
    set_up,
    try_connection,
    webhook_address,
    webhook_secrets,
)
from studyapp.domain.prolific_submissions import SESSION, differing
from studyapp.domain.prolific_sync import sync
from studyapp.domain.recruiting import PROLIFIC, study_link
from studyapp.enums import CallKind, JobState
from studyapp.errors import StudyError
from studyapp.forms_prolific import ProlificForm
from studyapp.models import ProlificLink, RecruiterCall, RecruiterSubmission, Study
from studyapp.recruiters.prolific_errors import ProlificError
from studyapp.views.researcher_card import manage
from studyapp.views.researcher_layout import page
from studyapp.views.researcher_words import ago, counted, moment, number

#: More calls than a page needs; the refused ones come first.
MAX_CALLS = 200


@require_http_methods(["GET", "HEAD", "POST"])
@researcher_only
def study_prolific(request: HttpRequest, slug: str) -> HttpResponse:
    """The whole page; a POST stores the connection."""
    study, link = request.study, link_of(request.study)
    form = ProlificForm(request.POST or None, initial=ProlificForm.initial_of(study, link))
    if request.method != "POST":
        return _prolific_page(request, link, form)
    if not form.is_valid():
        return _prolific_page(request, link, form, status=422)
    try:
        set_up(study, **form.cleaned_data)
    except StudyError as error:
        return _prolific_page(request, link, form, refused=error.problems, status=error.status)
    messages.success(request, "The connection to Prolific is saved.")
    return redirect("study-prolific", study.slug)


@require_POST
@researcher_only
def prolific_test(request: HttpRequest, slug: str) -> HttpResponse:
    """Ask Prolific for the study and say what it answers."""
    try:
        found = try_connection(request.study)
    except StudyError as error:
        return _with_stored_form(request, error)
    names = "; ".join(f"{each.name or each.id} ({each.status or 'no status'})" for each in found)
    messages.success(request, f"Prolific answers. It knows: {names}.")
    return redirect("study-prolific", request.study.slug)


@require_POST
@researcher_only
def prolific_sync(request: HttpRequest, slug: str) -> HttpResponse:
    """Read the submissions now, and do what follows."""
    study = request.study
    try:
        synced = sync(study)
    except StudyError as error:
        return _with_stored_form(request, error)
    fill_outbox(study, timezone.now())
    run_due(study)
    messages.success(
        request,
        f"{counted(synced.n_listed, 'submission')} read, {number(synced.n_unmatched)} without a "
        f"run here; {counted(synced.n_ended, 'run')} ended.",
    )
    return redirect("study-prolific", study.slug)


@require_POST
@researcher_only
def prolific_call_retry(request: HttpRequest, slug: str, call_id: int) -> HttpResponse:
    """Do a refused call once more, now."""
    try:
        call = ask_again(request.study, call_id)
    except StudyError as error:
        raise Http404(str(error)) from None
    run_call(call.pk)
    call.refresh_from_db()
    kind = call.get_kind_display()
    if call.state in (JobState.DONE, JobState.LEASED):
        # A worker may have been quicker, and be asking at this moment.
        messages.success(request, f"{kind}: {call.answer or 'under way'}.")
        return redirect("study-prolific", request.study.slug)
    later = "It is tried again later." if call.state == JobState.QUEUED else ""
    return _with_stored_form(request, ProlificError(f"{kind}: {call.error} {later}".strip()))


def _with_stored_form(request: HttpRequest, error: StudyError) -> HttpResponse:
    link = link_of(request.study)
    form = ProlificForm(initial=ProlificForm.initial_of(request.study, link))
    # A fault of Prolific is no fault of this server.
    status = error.status if error.status < 500 else 422
    return _prolific_page(request, link, form, not_done=error.problems, status=status)


def _prolific_page(
    request: HttpRequest,
    link: ProlificLink,
    form: ProlificForm,
    *,
    refused: list[str] | None = None,
    not_done: list[str] | None = None,
    status: int = 200,
) -> HttpResponse:
    study, now = request.study, timezone.now()
    calls = list(calls_of(study)[:MAX_CALLS])
    asked = {call.submission_id: call for call in calls}
    context = {
        "form": form,
        "refused": refused,
        "not_done": not_done,
        "missing": _missing(study, link),
        "link": study_link(study),
        "webhook": webhook_address(study),
        "can_ask": bool(link.study_ids) and has_token(study),
        "facts": _facts(study, link, now),
        "sync_error": link.sync_error,
        "submissions": [_submission_row(row, link, asked.get(row.pk)) for row in differing(study)],
        "nothing_differs": _nothing_differs(link),
        "calls": [_call_row(call) for call in calls],
        "command": manage("prolific", study.slug),
    }
    return page(request, "researcher/prolific.html", context, status)


def _missing(study: Study, link: ProlificLink) -> list[str]:
    """What the connection still lacks, one sentence each."""
    missing = []
    if study.recruiting_setting("id_parameter") not in PROLIFIC:
        missing.append(
            "The study's link does not carry PROLIFIC_PID, so nobody's run can be told from "
            "another's. It is set on the setting-up page for recruiting, before the study opens."
        )
    elif SESSION not in study.recruiting_setting("other_parameters"):
        missing.append(
            f"The study's link does not carry {SESSION}: people are matched by their id alone, "
            "once Prolific's list has been read."
        )
    if not link.study_ids:
        missing.append("Prolific's id of the study is not given yet.")
    if not has_token(study):
        missing.append(
            "This server has no token, so Prolific cannot be asked: whoever runs the server sets "
            "PROLIFIC_API_TOKEN."
        )
    if not webhook_secrets(study):
        missing.append(
            "This server has no secret for the webhook, so no message is believed: whoever runs "
            "the server sets PROLIFIC_WEBHOOK_SECRET. Reading the list works without."
        )
    return missing


def _facts(study: Study, link: ProlificLink, now: datetime) -> list[tuple[str, str]]:
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


def _nothing_differs(link: ProlificLink) -> str:
    if link.synced_at or link.last_message_at:
        return "Nothing: every submission that is known says the same as its run here."
    return "Nothing is known of any submission yet."


def _submission_row(
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
            else "Give the screen-out code above, or ask the person to return."
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


def _call_row(call: RecruiterCall) -> dict[str, Any]:
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
