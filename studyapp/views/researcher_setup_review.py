"""Setting up: what is missing or odd, what participants will see, and opening."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from studyapp.domain.lifecycle import opening_problems, opening_warnings
from studyapp.domain.preview import ShownSentence, TrialPreview, first_trials
from studyapp.domain.study_facts import StudyFacts
from studyapp.enums import Interface
from studyapp.models import Study
from studyapp.views.researcher_setup_pages import (
    STEPS,
    Counts,
    is_editable,
    setup_page,
    setup_view,
)
from studyapp.views.researcher_words import counted, listed

#: Sentences of a preview; a page of sixty would hide the next condition.
MAX_SENTENCES = 12
#: Where a problem is solved, by how it begins.
STEP_OF = {
    "no claims": "setup-claims",
    "practice claim": "setup-claims",
    "no condition": "setup-conditions",
    "a single condition": "setup-conditions",
    "no schedule": "setup-schedule",
    "schedule:": "setup-schedule",
    "the number of slots": "setup-schedule",
    "recruiting": "setup-recruiting",
    "sitting": "setup-sitting",
    "no code for": "setup-ending",
    "the code for": "setup-ending",
    "no completion code": "setup-ending",
    "participants are sent": "setup-ending",
    "the return address": "setup-ending",
    "claims labelled": "setup-sitting",
}


@setup_view("GET", "HEAD")
def review(request: HttpRequest, study: Study) -> HttpResponse:
    """Problems, remarks and previews; the button opens the study."""
    facts = StudyFacts(study)
    problems = opening_problems(study, facts) if study.is_draft else []
    warnings = opening_warnings(study, facts) if study.is_draft else []
    context = {
        "problems": [_with_link(study, problem) for problem in problems],
        "warnings": [_with_link(study, warning) for warning in warnings],
        "can_open": is_editable(study) and not problems,
        "previews": [_shown(preview) for preview in first_trials(study)],
    }
    claims = facts.claims
    n_claims = claims.n + claims.n_practice + claims.n_attention
    counts = Counts(n_claims, len(facts.conditions), facts.balance.n_slots)
    return setup_page(request, study, "review", context, counts=counts)


def _with_link(study: Study, text: str) -> dict[str, str]:
    """A problem, with the page on which it is solved."""
    titles = {step.url_name: step.title for step in STEPS}
    link = {"text": _sentence(text), "url": "", "title": ""}
    for start, url_name in STEP_OF.items():
        if text.startswith(start):
            url = reverse(url_name, args=[study.slug])
            return link | {"url": url, "title": titles[url_name]}
    if "precompute" in text or "ranking" in text:
        url = reverse("study-rankings", args=[study.slug])
        return link | {"url": url, "title": "Rankings"}
    return link


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _shown(preview: TrialPreview) -> dict[str, Any]:
    n_hidden = max(0, len(preview.sentences) - MAX_SENTENCES)
    is_incremental = preview.condition.interface == Interface.INCREMENTAL
    return {
        "name": preview.condition.name,
        "interface": preview.condition.get_interface_display(),
        "method": preview.condition.method,
        "claim_id": preview.claim.claim_id,
        "claim": preview.claim.text,
        "label": preview.claim.get_label_display(),
        "lang": preview.claim.lang,
        "sentences": [
            _sentence_row(sentence, is_incremental)
            for sentence in preview.sentences[:MAX_SENTENCES]
        ],
        "hidden": f"… and {counted(n_hidden, 'further sentence')}" if n_hidden else "",
        "sufficient": _sufficient(preview, is_incremental),
    }


def _sentence_row(sentence: ShownSentence, is_incremental: bool) -> dict[str, Any]:
    return {
        "text": sentence.text,
        "title": sentence.title or "",
        "gold": listed([f"gold set {number}" for number in sentence.gold_sets]),
        "is_later": is_incremental and sentence.rank > 1,
    }


def _sufficient(preview: TrialPreview, is_incremental: bool) -> str:
    if not preview.sentences:
        return "Nothing is stored for this claim yet: compute the rankings first."
    if preview.msr is None:
        return "What is shown holds no whole gold set."
    if is_incremental:
        return f"Sufficient after {counted(preview.msr, 'sentence')}."
    return f"{counted(len(preview.sentences), 'sentence')}, a whole gold set among them."
