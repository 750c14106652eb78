"""What every page of a study or of a run may print."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy as _

from studyapp.domain.markdown import as_html
from studyapp.domain.personal_links import takes_personal_links_only
from studyapp.domain.recruiting import recruits_by_id
from studyapp.models import Enrolment, Study
from studyapp.views.participant_language import page_language, speak, speak_to

#: Fixed texts, so that an address can name one without being echoed.
NOTICES = {
    "stale": _("This page was older than what is stored. It now shows where you are."),
    "answered": _("That trial was answered before; the first answer stays."),
    "stored": _("Your answer had arrived before and is stored."),
    "elsewhere": _(
        "More sentences were shown in another tab, so nothing was decided yet. "
        "They are all here now: please decide again."
    ),
    "moved": _("Your first place went to somebody else, so you were given another one."),
}


@lru_cache(maxsize=4096)
def run_url(study_code: str, token: str) -> SafeString:
    """The address of a run, to which its other addresses are added.

    Kept for a while, because a run asks for it at every click; an address made of letters, digits
    and slashes needs no escaping.
    """
    return mark_safe(reverse("run", args=(study_code, token)))


def link_leads_back(enrolment: Enrolment) -> bool:
    """Whether the link that was given out leads back to the run in any browser: by its id, or
    because it is the person's own."""
    study = enrolment.slot.study
    names_people = recruits_by_id(study) or takes_personal_links_only(study)
    return names_people and not enrolment.invitation


def way_back_values(enrolment: Enrolment) -> dict[str, Any]:
    """How to come back to a run: by the link that was given out, or by the run's own address."""
    if link_leads_back(enrolment):
        return {"link_leads_back": True}
    address = run_url(enrolment.slot.study.code, enrolment.token)
    return {"run_address": f"{settings.PUBLIC_URL}{address}"}


def study_values(study: Study) -> dict[str, Any]:
    """What any page of a study may print."""
    return {
        "study": study,
        "title": study.title,
        "contact": as_html(study.texts.get("contact", "")),
        **page_language(study.lang),
    }


def values_of(request: HttpRequest, study_code: str) -> dict[str, Any]:
    """What a page that knows only an address may print, in the study's language. One query.

    Nothing of a study that is still a draft, and only the browser's language where there is none.
    """
    study = Study.objects.filter(code=study_code).first()
    if study is None:
        return speak_to(request)
    speak(study)
    return page_language(study.lang) if study.is_draft else study_values(study)


def run_values(enrolment: Enrolment) -> dict[str, Any]:
    """What any page of a run may print."""
    study = enrolment.slot.study
    return study_values(study) | {"run_url": run_url(study.code, enrolment.token)}
