"""Members of a study and invitations to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from studyapp.access import researcher_only
from studyapp.domain import access, invitations
from studyapp.enums import Role
from studyapp.errors import StudyError
from studyapp.forms import RoleForm
from studyapp.models import Invitation, Membership
from studyapp.views.researcher_card import manage
from studyapp.views.researcher_layout import page
from studyapp.views.researcher_words import moment


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
