"""A researcher's own token for the REST API: made, shown once, ended."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from studyapp.access import researcher_only
from studyapp.domain.api_tokens import end_token, issue_token, token_since
from studyapp.views.researcher_layout import page
from studyapp.views.researcher_words import ago, moment


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@researcher_only
def api_token(request: HttpRequest) -> HttpResponse:
    """GET: whether there is a token. POST: a new one, shown this once, or the end of it."""
    token = ""
    if request.method == "POST":
        if "end" in request.POST:
            end_token(request.user)
            messages.success(request, "The token is ended: programs that used it are refused.")
            return redirect("api-token")
        token = issue_token(request.user.get_username(), replaces=True)
    since = token_since(request.user)
    context = {
        "token": token,
        "since": f"{moment(since)} UTC, {ago(since, timezone.now())}" if since else "",
    }
    return page(request, "registration/api_token.html", context)
