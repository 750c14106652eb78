"""What the tests of the set-up pages share: a researcher's client, addresses, claims files."""

from __future__ import annotations

import html
import json
import re
from typing import Any

from django.contrib.auth import get_user_model
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from studyapp.models import Study


def researcher(name: str = "ann") -> Any:
    """A researcher of that name, made at first use."""
    return get_user_model().objects.get_or_create(username=name)[0]


def client_of(name: str = "ann") -> Client:
    """A logged-in browser."""
    client = Client()
    client.force_login(researcher(name))
    return client


def url(study: Study, page: str, *more: Any) -> str:
    """The address of a set-up page."""
    return reverse(f"setup-{page}", args=[study.slug, *more])


def words(response: Any) -> str:
    """The text of a page, with single spaces."""
    text = re.sub(r"<(script|style|svg).*?</\1>", " ", response.content.decode(), flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def claim(number: int, **changes: Any) -> dict[str, Any]:
    """One good claim of the interchange format, wice-like: sentences of a page, two gold sets."""
    return {
        "id": f"w{number}",
        "claim": f"The lighthouse {number} was lit before its harbour was built.",
        "label": "supported" if number % 2 else "refuted",
        "candidates": [
            f"The harbour of Lindholm {number} was built in 1902.",
            f"Lighthouse {number} was first lit in 1887.",
            "It stands at the end of the northern pier.",
        ],
        "gold_sets": [[0, 1]] if number % 3 else [[1]],
        "titles": [f"Lindholm {number}"] * 3,
    } | changes


def claims_file(claims: list[Any], name: str = "claims.jsonl") -> SimpleUploadedFile:
    """A file of claims as a browser sends it."""
    lines = [one if isinstance(one, str) else json.dumps(one) for one in claims]
    return SimpleUploadedFile(name, ("\n".join(lines) + "\n").encode())


def upload(client: Client, study: Study, file: Any, **fields: str) -> Any:
    """Send the form of the claims page."""
    data = {"file": file, "format": "by_ending", "role": "main", **fields}
    return client.post(url(study, "claims"), data)


def fields_of(response: Any) -> dict[str, str]:
    """What the page's forms would send if nobody changed them."""
    sent: dict[str, str] = {}
    page = response.content.decode()
    for tag in re.findall(r"<input [^>]*>", page):
        values = {
            name: html.unescape(value) for name, value in re.findall(r'([a-z-]+)="([^"]*)"', tag)
        }
        kind = values.get("type", "text")
        if kind in ("file", "submit") or "name" not in values:
            continue
        if kind in ("radio", "checkbox") and " checked" not in tag:
            continue
        sent[values["name"]] = values.get("value", "on" if kind == "checkbox" else "")
    for name, text in re.findall(
        r'<textarea [^>]*?name="([^"]+)"[^>]*>\n?(.*?)</textarea>', page, re.S
    ):
        sent[name] = html.unescape(text)
    for name, body in re.findall(r'<select name="([^"]+)".*?>(.*?)</select>', page, re.S):
        chosen = re.search(r'value="([^"]*)" selected', body)
        sent[name] = html.unescape(chosen.group(1)) if chosen else ""
    return sent
