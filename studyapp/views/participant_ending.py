"""The last page of a run: what it says, the code, and the way back to where it was found."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.utils.translation import gettext as _

from studyapp.domain.endings import WITH_A_WAY_BACK, WayBack, way_back_of
from studyapp.domain.markdown import as_html
from studyapp.domain.return_addresses import return_host
from studyapp.domain.sitting import plan_of
from studyapp.domain.texts import with_default_texts
from studyapp.enums import EnrolmentState
from studyapp.models import Enrolment, Study
from studyapp.views.htmx import Region
from studyapp.views.participant_values import run_values

#: How long the last page stays before it leads back by itself, not counting the time to read it:
#: time enough to find the link that keeps it (WCAG 2.2.1).
RETURN_SECONDS = 20
#: A careful reader's.
WORDS_A_SECOND = 3


def needs_whole_page(enrolment: Enrolment) -> bool:
    """Whether the run has ended on a page that leads elsewhere by itself or by a form.

    Only a whole page can: it brings a refresh, or a policy that allows the form's address.
    """
    return enrolment.state in WITH_A_WAY_BACK and way_back_of(enrolment).leads_elsewhere


def finished_region(enrolment: Enrolment, *, stays: bool = False) -> Region:
    """The end of a whole run."""
    study = enrolment.slot.study
    texts = ("completion", "debriefing")
    context = run_values(enrolment) | {
        "completion": as_html(study.texts.get("completion", ""), below=1),
        "debriefing": as_html(study.texts.get("debriefing", "")),
        "n_trials": plan_of(enrolment.slot).n_trials,
        **_way_back_values(way_back_of(enrolment), [study.texts.get(name, "") for name in texts]),
        "stays": stays,
    }
    return Region("participant/_finished.html", context)


def ended_early_region(enrolment: Enrolment, *, stays: bool = False) -> Region:
    """The end of a run that a rule of the sitting, or a researcher, ended before its last trial."""
    study = enrolment.slot.study
    text = _text_of(study, enrolment.state)
    context = run_values(enrolment) | {
        "heading": _("The study ends here for you"),
        "text": as_html(text, below=1),
        **_way_back_values(way_back_of(enrolment), [text]),
        "stays": stays,
    }
    return Region("participant/_ended_early.html", context)


def allow_its_form(response: HttpResponse, region: Region) -> HttpResponse:
    """Let the page's policy allow the one address outside that its form goes to, if any."""
    if submit_to := region.context.get("submit_to"):
        response.form_target = submit_to  # type: ignore[attr-defined]
    return response


def _text_of(study: Study, state: str) -> str:
    name = "screened_out" if state == EnrolmentState.SCREENED_OUT else "failed_checks"
    return with_default_texts(study.texts, study.lang)[name]


def _way_back_values(way: WayBack, texts: list[str]) -> dict[str, Any]:
    """Where the page leads in the end, and after how many seconds: time enough to read it."""
    n_words = sum(len(text.split()) for text in texts)
    return {
        "code": way.code,
        "return_to": way.return_to,
        "return_host": return_host(way.return_to),
        "return_seconds": RETURN_SECONDS + n_words // WORDS_A_SECOND,
        "submit_to": way.submit_to,
        "assignment": way.assignment,
    }
