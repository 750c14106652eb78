"""Who asks: the researcher whose token comes with the request. No cookie and no login counts."""

from __future__ import annotations

from typing import Any

from rest_framework.authentication import TokenAuthentication, get_authorization_header
from rest_framework.authtoken.models import Token
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from studyapp.api.throttles import FailureThrottle
from studyapp.domain.api_tokens import digest_of
from studyapp.models import Enrolment


class ResearcherToken(TokenAuthentication):
    """``Authorization: Token …`` (or ``Bearer …``) with a token of ``manage.py api_token``.

    After too many wrong tokens an address is refused for a while, before anything is looked up.
    """

    def authenticate(self, request: Request) -> tuple[Any, Token] | None:
        words = get_authorization_header(request).split()
        if not words:
            return None
        failures = FailureThrottle(request)
        failures.refuse_if_full()
        try:
            if words[0].lower() not in (b"token", b"bearer") or len(words) != 2:
                raise AuthenticationFailed("Write the header as: Authorization: Token YOUR_TOKEN")
            return self.authenticate_credentials(words[1].decode("latin-1"))
        except (AuthenticationFailed, PermissionDenied):
            failures.count()
            raise

    def authenticate_credentials(self, key: str) -> tuple[Any, Token]:
        """The user of a token and its row. Raises AuthenticationFailed, or PermissionDenied for a
        participant's run token, which is a true key, but to another door."""
        token = Token.objects.select_related("user").filter(key=digest_of(key)).first()
        if token is not None and token.user.is_active:
            return token.user, token
        if "\0" not in key and Enrolment.objects.filter(token=key).exists():
            raise PermissionDenied("A participant's key opens no part of the API.")
        raise AuthenticationFailed("This token is not known, or its user is switched off.")
