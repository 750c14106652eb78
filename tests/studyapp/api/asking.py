"""A program that asks the API with a researcher's token."""

from __future__ import annotations

import json
from typing import Any

from django.contrib.auth import get_user_model
from django.test import Client

from studyapp.domain.api_tokens import issue_token
from studyapp.models import Study

ROOT = "/api/v1/"


def researcher(name: str = "ann", **fields: Any) -> Any:
    return get_user_model().objects.create_user(name, **fields)


class Api:
    """Sends JSON, with the token of ``user`` where there is one."""

    def __init__(self, user: Any = None, token: str | None = None):
        self.token = issue_token(user.username) if user is not None else token
        self.client = Client(raise_request_exception=False)

    def ask(self, method: str, address: str, body: Any = None, **more: Any) -> Any:
        """``address`` is below ``/api/v1/``, or whole. ``body`` is sent as JSON."""
        if body is not None:
            more |= {"data": json.dumps(body), "content_type": "application/json"}
        headers = more.pop("headers", {})
        if self.token is not None:
            headers = {"Authorization": f"Token {self.token}"} | headers
        where = address if address.startswith(("/", "http")) else ROOT + address
        return self.client.generic(method, where, headers=headers, **more)

    def get(self, address: str, **more: Any) -> Any:
        return self.ask("GET", address, **more)

    def post(self, address: str, body: Any = None, **more: Any) -> Any:
        return self.ask("POST", address, body, **more)

    def patch(self, address: str, body: Any = None, **more: Any) -> Any:
        return self.ask("PATCH", address, body, **more)

    def upload(self, study: Study, lines: list[Any], query: str = "", **more: Any) -> Any:
        """Send claims as JSON lines; a text is sent as it is."""
        told = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        more = {"content_type": "application/x-ndjson"} | more
        return self.post(
            f"studies/{study.slug}/claims/{query}", data="\n".join(told).encode(), **more
        )

    def pages(self, address: str) -> list[list[Any]]:
        """Every page of a list, one after another."""
        found = []
        where: str | None = address
        while where is not None:
            answer = self.get(where)
            assert answer.status_code == 200, answer.content
            found.append(answer.json()["results"])
            where = answer.json()["next"]
        return found

    def rows(self, address: str) -> list[Any]:
        return [row for page in self.pages(address) for row in page]


def error_of(answer: Any) -> dict[str, Any]:
    """The error of an answer, whose shape is checked to the last key."""
    assert answer.headers["Content-Type"] == "application/json"
    body = answer.json()
    assert set(body) == {"error"}
    error: dict[str, Any] = body["error"]
    assert set(error) == {"code", "message", "problems"}
    assert error["message"]
    for problem in error["problems"]:
        assert set(problem) == {"line", "field", "message"}
    return error


def a_claim(name: str = "x1", **fields: Any) -> dict[str, Any]:
    """A sound claim of the interchange format."""
    return {
        "id": name,
        "claim": f"Claim {name}.",
        "label": "supported",
        "candidates": ["One.", "Two.", "Three."],
        "gold_sets": [[1]],
    } | fields
