"""The recruiting page: the links to give out, those of single people, and pilot runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from studyapp.access import researcher_only
from studyapp.domain.link_lists import (
    CHUNK,
    csv_of_links,
    link_counts,
    links_of,
    make_links,
    make_pilot_link,
    n_forgotten,
    renew_link,
    revoke_link,
    state_words,
)
from studyapp.domain.mturk import external_question
from studyapp.domain.personal_links import address_of, takes_link, takes_personal_links_only
from studyapp.domain.recruiting import is_mturk, recruits_by_id, study_link
from studyapp.enums import Role, RunKind, StudyState
from studyapp.errors import StudyError
from studyapp.link_forms import LinkFilterForm, NewLinksForm
from studyapp.models import PersonalLink, Study
from studyapp.views.researcher_card import manage
from studyapp.views.researcher_layout import page
from studyapp.views.researcher_recruiting import arrivals_content, id_note
from studyapp.views.researcher_words import counted, moment, number

#: Links on one page.
PAGE = 100


@require_safe
@researcher_only(read=Role.EDITOR)
def study_recruiting(request: HttpRequest, slug: str) -> HttpResponse:
    """The links of the study, and where the people behind personal ones stand.

    Names are shown to editors only: viewers see everything without a name.
    """
    return _recruiting_page(request)


@require_POST
@researcher_only
def links_make(request: HttpRequest, slug: str) -> HttpResponse:
    """Make a link for everybody named, or say what is wrong and make none."""
    form = NewLinksForm(request.POST, request.FILES)
    try:
        made = make_links(request.study, form.people())
    except StudyError as error:
        typed = request.POST.get("names", "")
        return _recruiting_page(
            request, refused=error.problems, typed=typed, status=max(error.status, 422)
        )
    known = f"; {counted(made.n_known, 'person', 'people')} had one" if made.n_known else ""
    messages.success(request, f"{counted(made.n_new, 'link')} made{known}.")
    return redirect("study-recruiting", request.study.slug)


@require_POST
@researcher_only
def pilot_link(request: HttpRequest, slug: str) -> HttpResponse:
    """Make a link for one pilot run and show it, this once."""
    try:
        link = make_pilot_link(request.study)
    except StudyError as error:
        return _recruiting_page(request, refused=error.problems, status=error.status)
    return _recruiting_page(request, pilot_link=link)


@require_POST
@researcher_only
def link_revoke(request: HttpRequest, slug: str, link_id: int) -> HttpResponse:
    """Let a link open nothing any more."""
    return _change(
        request,
        lambda: revoke_link(request.study, link_id),
        "The link of {name} is revoked: it opens nothing any more.",
    )


@require_POST
@researcher_only
def link_renew(request: HttpRequest, slug: str, link_id: int) -> HttpResponse:
    """Replace a link by a new one."""
    return _change(
        request,
        lambda: renew_link(request.study, link_id),
        "{name} has a new link; the old one opens nothing any more.",
    )


@require_safe
@researcher_only(read=Role.EDITOR)
def links_csv(request: HttpRequest, slug: str) -> HttpResponse | StreamingHttpResponse:
    """The links that are shown, as a table to send mails from."""
    chosen = LinkFilterForm.chosen(request.GET)
    links = links_of(request.study, state=chosen["state"], name=chosen["name"])
    lines = csv_of_links(request.study, links.iterator(CHUNK))
    response = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="links-{slug}.csv"'
    return response


def _change(request: HttpRequest, change: Callable[[], PersonalLink], done: str) -> HttpResponse:
    try:
        link = change()
    except StudyError as error:
        return _recruiting_page(request, refused=error.problems, status=error.status)
    messages.success(request, done.replace("{name}", link.name))
    return redirect("study-recruiting", request.study.slug)


def _recruiting_page(
    request: HttpRequest,
    *,
    refused: list[str] | None = None,
    typed: str = "",
    pilot_link: str = "",
    status: int = 200,
) -> HttpResponse:
    study = request.study
    counts = link_counts(study)
    context = {
        "refused": refused,
        "typed": typed,
        "pilot_link": pilot_link,
        "public": _public_values(study),
        "by_id": recruits_by_id(study),
        "arrivals": arrivals_content(study, timezone.now()),
        "is_closed": study.state == StudyState.CLOSED,
        "takes_real": takes_link(study, RunKind.REAL),
        "counts": [(state, number(n)) for state, n in counts.items() if n],
        "n_links": number(sum(counts.values())),
        "n_forgotten": number(n_forgotten(study)),
        "command": manage("personal_links", study.slug, "people.csv", "-o", "links.csv"),
        "pilot_command": manage("pilot_link", study.slug),
        **_list_values(request, counts),
    }
    return page(request, "researcher/recruiting.html", context, status)


def _public_values(study: Study) -> dict[str, Any]:
    """What there is to say of the link that everybody gets; empty where nobody does."""
    if takes_personal_links_only(study):
        return {}
    link = study_link(study)
    return {
        "link": link,
        "note": id_note(study),
        "question": external_question(link) if is_mturk(study) else "",
    }


def _list_values(request: HttpRequest, counts: dict[str, int]) -> dict[str, Any]:
    """The rows of one page, and the addresses of those before and after it."""
    study = request.study
    chosen = LinkFilterForm.chosen(request.GET)
    links = links_of(study, state=chosen["state"], name=chosen["name"])
    found = Paginator(links, PAGE).get_page(chosen["page"])
    given = {name: chosen[name] for name in ("state", "name") if chosen[name]}
    return {
        "rows": [_row(study, link) for link in found.object_list],
        "shown": f"{number(found.start_index())} to {number(found.end_index())} of "
        f"{number(found.paginator.count)}",
        "previous": _query(given, found.number - 1) if found.has_previous() else "",
        "next": _query(given, found.number + 1) if found.has_next() else "",
        "filter": _query(given),
        "name": chosen["name"],
        "states": [(state, f"{state} ({number(n)})", state == chosen["state"])
                   for state, n in counts.items()],
    }  # fmt: skip


def _query(given: dict[str, str], page_number: int | None = None) -> str:
    query = urlencode(given | ({"page": str(page_number)} if page_number else {}))
    return f"?{query}" if query else ""


def _row(study: Study, link: PersonalLink) -> dict[str, Any]:
    return {
        "id": link.pk,
        "name": link.name,
        "kind": RunKind(link.run_kind).label,
        "state": state_words(link),
        "is_revoked": bool(link.revoked_at),
        "opened": moment(link.first_seen) if link.first_seen else "",
        "address": "" if link.revoked_at else address_of(study, link.token),
    }
