"""Joining a study by an invitation's link: with the account of the login, or a new one."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from studyapp.domain import invitations
from studyapp.enums import Role
from studyapp.errors import BadLink, StudyError
from studyapp.forms import NewAccountForm
from studyapp.models import Invitation

BACKEND = "django.contrib.auth.backends.ModelBackend"


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
