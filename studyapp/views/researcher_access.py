"""Members and invitations of a study, its audit log and its consent records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from studyapp.access import researcher_only
from studyapp.domain import access, audit, invitations
from studyapp.domain.consent import consent_records
from studyapp.enums import AuditAction, Role
from studyapp.errors import BadLink, StudyError
from studyapp.forms import AuditFilterForm, NewAccountForm, RoleForm
from studyapp.models import AuditEntry, Invitation, Membership
from studyapp.views.researcher_card import manage
from studyapp.views.researcher_layout import page
from studyapp.views.researcher_words import counted, moment

#: Entries of the audit log on one page.
LOG_PAGE = 100
BACKEND = "django.contrib.auth.backends.ModelBackend"

# ---- members -------------------------------------------------------------------------------------


@require_safe
@researcher_only
def study_members(request: HttpRequest, slug: str) -> HttpResponse:
    """Who is in the study, and which invitations are open."""
    return _members_page(request)


@require_POST
@researcher_only(write=Role.OWNER)
def study_invite(request: HttpRequest, slug: str) -> HttpResponse:
    """Make an invitation and show its link, this once."""
    form = RoleForm(request.POST)
    if not form.is_valid():
        return _members_page(request, refused=["Choose a role for the invitation."], status=422)
    link = invitations.invite(request.study, form.cleaned_data["role"], request.user)
    return _members_page(request, link=link, link_role=form.cleaned_data["role"])


@require_POST
@researcher_only(write=Role.OWNER)
def invitation_revoke(request: HttpRequest, slug: str, invitation_id: int) -> HttpResponse:
    """Make an open invitation worthless."""
    return _change(
        request,
        lambda: invitations.revoke(request.study, invitation_id),
        "The invitation is revoked: its link opens nothing any more.",
    )


@require_POST
@researcher_only(write=Role.OWNER)
def member_role(request: HttpRequest, slug: str, member_id: int) -> HttpResponse:
    """Give a member another role."""
    form = RoleForm(request.POST)
    if not form.is_valid():
        return _members_page(request, refused=["Choose one of the roles."], status=422)
    role = form.cleaned_data["role"]
    return _change(
        request,
        lambda: access.change_role(request.study, member_id, role),
        f"The role is changed to {Role(role).label.lower()}.",
    )


@require_POST
@researcher_only(write=Role.OWNER)
def member_remove(request: HttpRequest, slug: str, member_id: int) -> HttpResponse:
    """Take a member out of the study."""
    return _change(
        request,
        lambda: access.remove_member(request.study, member_id),
        "The member is removed and sees this study no more.",
    )


@require_POST
@researcher_only(write=Role.VIEWER)
def member_leave(request: HttpRequest, slug: str) -> HttpResponse:
    """Leave the study."""
    try:
        access.leave(request.study, request.user)
    except StudyError as error:
        return _members_page(request, refused=error.problems, status=error.status)
    messages.success(request, f"You left {request.study.title}.")
    return redirect("study-list")


def _change(request: HttpRequest, change: Callable[[], Any], done: str) -> HttpResponse:
    try:
        change()
    except StudyError as error:
        return _members_page(request, refused=error.problems, status=error.status)
    messages.success(request, done)
    # Who gave up the own role may see another page now, or none.
    return redirect("study-members", request.study.slug)


def _members_page(
    request: HttpRequest,
    *,
    refused: list[str] | None = None,
    link: str = "",
    link_role: str = "",
    status: int = 200,
) -> HttpResponse:
    study = request.study
    context = {
        "refused": refused,
        "members": [_member_row(each, request) for each in access.members_of(study)],
        "invitations": [_invitation_row(each) for each in invitations.open_invitations(study)],
        "roles": _role_choices(Role.EDITOR),
        "link": link,
        "link_role": Role(link_role).label.lower() if link_role else "",
        "command": manage("members", study.slug),
    }
    return page(request, "researcher/members.html", context, status)


def _member_row(member: Membership, request: HttpRequest) -> dict[str, Any]:
    return {
        "id": member.pk,
        "name": member.user.get_username(),
        "role": member.get_role_display(),
        "joined": moment(member.joined_at),
        "is_me": member.user_id == request.user.pk,
        "roles": _role_choices(member.role),
    }


def _invitation_row(invitation: Invitation) -> dict[str, Any]:
    return {
        "id": invitation.pk,
        "role": invitation.get_role_display(),
        "by": invitation.created_by,
        "made": moment(invitation.created_at),
        "expires": moment(invitation.expires_at),
    }


def _role_choices(chosen: str) -> list[tuple[str, str, bool]]:
    return [(role.value, role.label, role == chosen) for role in Role]


# ---- joining by an invitation --------------------------------------------------------------------


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """GET: what the invitation is for. POST: join, with the account of the login or a new one."""
    try:
        found = invitations.find(token)
        if request.method != "POST":
            return _invitation_page(request, found, NewAccountForm())
        return _accept(request, token, found)
    except BadLink as error:
        return render(request, "registration/no_invitation.html", {"says": str(error)}, status=404)


def _accept(request: HttpRequest, token: str, found: Invitation) -> HttpResponse:
    form = NewAccountForm() if request.user.is_authenticated else NewAccountForm(request.POST)
    try:
        if request.user.is_authenticated:
            member = invitations.accept(token, request.user)
        elif form.is_valid():
            member = invitations.accept_with_new_account(token, *form.name_and_password())
            login(request, member.user, backend=BACKEND)
        else:
            return _invitation_page(request, found, form, status=422)
    except BadLink:
        raise
    except StudyError as error:
        return _invitation_page(request, found, form, refused=error.problems, status=error.status)
    messages.success(request, f"You are {member.get_role_display().lower()} of this study now.")
    return redirect("study", found.study.slug)


def _invitation_page(
    request: HttpRequest,
    found: Invitation,
    form: NewAccountForm,
    *,
    refused: list[str] | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {
        "title": found.study.title,
        "role": found.get_role_display().lower(),
        "may": _MAY[Role(found.role)],
        "by": found.created_by,
        "user_name": request.user.get_username(),
        "form": form,
        "refused": refused,
        "login_url": f"{reverse('login')}?next={request.path}",
    }
    return render(request, "registration/invitation.html", context, status=status)


_MAY = {
    Role.VIEWER: "look at everything and export the data; you cannot change anything",
    Role.EDITOR: "set the study up, open and pause it, and export the data",
    Role.OWNER: "do everything, including closing the study and choosing its members",
}


# ---- audit log and consent -----------------------------------------------------------------------


@require_safe
@researcher_only
def study_log(request: HttpRequest, slug: str) -> HttpResponse:
    """What researchers and commands did to the study, the newest first."""
    chosen = AuditFilterForm.chosen(request.GET)
    entries = audit.entries_of(request.study, action=chosen["action"], who=chosen["who"])
    if chosen["before"]:
        entries = entries.filter(pk__lt=chosen["before"])
    shown = list(entries[: LOG_PAGE + 1])
    context = {
        "rows": [_log_row(entry) for entry in shown[:LOG_PAGE]],
        "older": shown[LOG_PAGE - 1].pk if len(shown) > LOG_PAGE else None,
        "actions": [(a.value, a.label, a == chosen["action"]) for a in AuditAction],
        "who": chosen["who"],
        "action": chosen["action"],
        "is_filtered": any(chosen.values()),
        "command": manage("audit_log", request.study.slug),
    }
    return page(request, "researcher/log.html", context)


def _log_row(entry: AuditEntry) -> dict[str, str]:
    return {
        "at": f"{entry.at:%Y-%m-%d %H:%M:%S}",
        "who": entry.who,
        "action": entry.get_action_display(),
        "details": audit.details_text(entry),
    }


@require_safe
@researcher_only
def study_consent(request: HttpRequest, slug: str) -> HttpResponse:
    """Who consented to which text, when, and the texts themselves: made for printing."""
    found = consent_records(request.study)
    context = {
        "texts": [
            {"number": number, "version": each.version, "text": each.text}
            for number, each in enumerate(found.texts, start=1)
        ],
        "rows": [
            {
                "participant": record.participant,
                "kind": record.run_kind,
                "text": record.number or "not kept",
                "version": record.version,
                "at": f"{record.consented_at:%Y-%m-%d %H:%M:%S}",
            }
            for record in found.records
        ],
        "n_records": counted(len(found.records), "consent"),
        "withdrawn": counted(found.n_withdrawn, "person", "people") if found.n_withdrawn else "",
        "command": manage("consent_records", request.study.slug),
    }
    return page(request, "researcher/consent.html", context)
