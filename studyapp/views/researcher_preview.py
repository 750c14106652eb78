"""The preview of one claim under one condition: the participant's page beside the gold sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_safe

from studyapp.access import researcher_only
from studyapp.domain.languages import interface_language
from studyapp.domain.preview import ShownSentence, TrialPreview, neighbours_of, preview_of
from studyapp.domain.queries import main_claims
from studyapp.enums import JobState
from studyapp.models import Claim, Condition, Enrolment, PrecomputeJob, Slot, Study, Trial
from studyapp.views.participant_language import decision_labels
from studyapp.views.participant_state import reveal_values
from studyapp.views.researcher_layout import page
from studyapp.views.researcher_words import counted, duration, listed, number

#: What the address may ask for: the trial as it begins, or with every sentence.
FIRST, ALL = "first", "all"


@dataclass(frozen=True)
class SentenceRow:
    """A sentence as only researchers see it, ready to print."""

    rank: str
    candidate: str
    gold: str
    origin: str
    score: str
    is_needed: bool


@dataclass(frozen=True)
class Link:
    """Another view of the preview, or another claim."""

    words: str
    url: str
    is_here: bool = False


@require_safe
@researcher_only
def rankings_preview(
    request: HttpRequest, slug: str, condition: str, position: int
) -> HttpResponse:
    """What a participant will see, side by side with what only researchers may."""
    study = request.study
    conditions = list(study.conditions.order_by("position"))
    shown = get_object_or_404(study.conditions, name=condition)
    claim = get_object_or_404(main_claims(study), position=position)
    claim.study = study
    preview = preview_of(shown, claim)
    wants_all = request.GET.get("shown") == ALL
    context = {
        "claim": claim,
        "condition": shown,
        "title": f"{claim.claim_id} under {shown.name}",
        "trial": _trial_values(study, preview, wants_all) if preview.sentences else None,
        "views": _views(study, preview, wants_all),
        "others": [
            Link(other.name, _url(study, other, position), other.pk == shown.pk)
            for other in conditions
        ],
        "facts": _facts(preview),
        "rows": [_row(sentence, preview.msr) for sentence in preview.sentences],
        "hidden": [_row(sentence, None) for sentence in preview.hidden_gold],
        "missing": "" if preview.sentences else _missing(shown, claim),
        **_way(study, shown, claim),
    }
    return page(request, "researcher/rankings_preview.html", context)


def _trial_values(study: Study, preview: TrialPreview, wants_all: bool) -> dict[str, Any]:
    """What the participants' templates print, from a trial that is nowhere stored."""
    order = [sentence.position for sentence in preview.sentences]
    is_whole = wants_all or not preview.condition.is_incremental
    trial = Trial(
        claim=preview.claim,
        condition=preview.condition,
        enrolment=Enrolment(slot=Slot(study=study)),
        stimulus={"order": order},
        n_steps=len(order) if is_whole else 1,
    )
    labels = decision_labels(interface_language(study.lang))
    options = study.response_options or ["supported", "refuted", "cant_decide"]
    return reveal_values(trial) | {
        "claim": preview.claim.text,
        "lang": preview.claim.lang,
        "confirms_decision": study.confirms_decision,
        "options": [(option, labels[option], False) for option in options],
    }


def _views(study: Study, preview: TrialPreview, wants_all: bool) -> list[Link]:
    """The states of the trial that can be looked at; a set has but one."""
    if not preview.condition.is_incremental or not preview.sentences:
        return []
    url = _url(study, preview.condition, preview.claim.position)
    return [
        Link("First sentence", url, not wants_all),
        Link(f"All {number(len(preview.sentences))} sentences", f"{url}?shown={ALL}", wants_all),
    ]


def _way(study: Study, condition: Condition, claim: Claim) -> dict[str, Any]:
    """Where the claim stands, and the addresses of the ones beside it."""
    place = neighbours_of(claim)
    return {
        "where": f"Claim {number(place.number)} of {number(place.n_claims)}",
        "previous_url": _url(study, condition, place.previous),
        "next_url": _url(study, condition, place.next),
    }


def _url(study: Study, condition: Condition, position: int | None) -> str:
    if position is None:
        return ""
    return reverse("rankings-preview", args=[study.slug, condition.name, position])


def _facts(preview: TrialPreview) -> list[tuple[str, str]]:
    claim, result = preview.claim, preview.result
    facts = [
        ("Label", claim.get_label_display()),
        ("Candidates", number(claim.n_candidates)),
        ("Smallest gold set", counted(claim.gold_min_size, "sentence")),
        ("Gold sets", "; ".join(_gold_words(preview))),
        ("Sufficient", _sufficient(preview)),
    ]
    if result is not None:
        facts += [
            ("Method", f"{result.method}/{result.model}" if result.model else result.method),
            ("Status", _status(preview)),
            ("Cost", _cost(result)),
        ]
    return facts


def _gold_words(preview: TrialPreview) -> list[str]:
    return [
        f"{n}: {listed([f's{member}' for member in members])}"
        for n, members in enumerate(preview.gold_sets, start=1)
    ]


def _sufficient(preview: TrialPreview) -> str:
    if not preview.sentences:
        return "not defined, because nothing is stored yet"
    if preview.msr is None:
        return "never: what is shown holds no whole gold set"
    if preview.condition.is_incremental:
        return f"after {counted(preview.msr, 'sentence')} (MSR {preview.msr})"
    return f"yes: a whole gold set is among the {counted(len(preview.sentences), 'sentence')}"


def _status(preview: TrialPreview) -> str:
    result = preview.result
    if result is None or result.status == "complete":
        return "complete"
    begin = getattr(result, "fallback_from", None)
    return "fallback" if begin is None else f"fallback from rank {begin} on"


def _cost(result: Any) -> str:
    if not result.n_calls:
        return f"no calls, {duration(result.seconds)}"
    cached = result.cached_prompt_tokens
    return (
        f"{counted(result.n_calls, 'call')}, {number(result.prompt_tokens)} prompt tokens "
        f"({'unknown' if cached is None else number(cached)} cached), "
        f"{number(result.completion_tokens)} completion tokens, {duration(result.seconds)}"
    )


def _row(sentence: ShownSentence, msr: int | None) -> SentenceRow:
    return SentenceRow(
        rank=number(sentence.rank) if sentence.rank else "not shown",
        candidate=f"s{sentence.position}",
        gold=listed([str(n) for n in sentence.gold_sets]) or "–",
        origin=sentence.origin or "–",
        score="–" if sentence.score is None else f"{sentence.score:.4g}",
        is_needed=msr is not None and 0 < sentence.rank <= msr,
    )


def _missing(condition: Condition, claim: Claim) -> str:
    """Why nothing can be shown."""
    job = PrecomputeJob.objects.filter(condition=condition, claim=claim).first()
    if job is not None and job.state == JobState.FAILED:
        return f"Preparing this claim failed: {job.error or 'no reason was recorded'}"
    if job is not None and job.state in (JobState.QUEUED, JobState.LEASED):
        return "This claim is still being prepared: look again in a while."
    return "Nothing is stored for this claim yet: prepare it on the rankings page."
