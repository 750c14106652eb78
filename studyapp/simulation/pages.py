"""Reading pages as a browser without JavaScript does: forms, hidden fields, redirects."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import httpx

from studyapp.errors import StudyError

#: A write may be sent again: every action is idempotent.
TRIES = 4


@dataclass
class Form:
    """A form on a page: where it goes and what it already carries."""

    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)


class _FormReader(HTMLParser):
    """Collects forms and their hidden fields, also those tied to a form by its id."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._open: Form | None = None
        self._by_id: dict[str, Form] = {}
        self._elsewhere: list[tuple[str, str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._open = Form(given.get("action", ""), given.get("method", "get").lower())
            self.forms.append(self._open)
            self._by_id[given.get("id", "")] = self._open
        elif tag == "input" and given.get("type") == "hidden":
            name, value = given.get("name", ""), given.get("value", "")
            if "form" in given:
                self._elsewhere.append((given["form"], name, value))
            elif self._open is not None:
                self._open.fields[name] = value

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = None

    def close(self) -> None:
        super().close()
        for form_id, name, value in self._elsewhere:
            if form_id in self._by_id:
                self._by_id[form_id].fields[name] = value


@dataclass
class Page:
    """A page as received, with its forms by the last part of their address."""

    url: str
    text: str
    forms: dict[str, Form]


class Visitor:
    """One browser: cookies, redirects, and patience with a server that stumbles."""

    def __init__(self, base_url: str, *, timeout: float = 30):
        self._client = httpx.Client(base_url=base_url, follow_redirects=True, timeout=timeout)

    def close(self) -> None:
        self._client.close()

    def get(self, url: str) -> Page:
        """Open an address. Raises StudyError for an answer other than a page."""
        return self._read(lambda: self._client.get(url))

    def submit(self, page: Page, name: str, **chosen: str) -> Page:
        """Send the form whose address ends with ``/name``, with its hidden fields and ``chosen``.

        Raises StudyError when the page has no such form.
        """
        form = page.forms.get(name)
        if form is None:
            raise StudyError(f"{page.url}: the page has no form {name!r}.")
        url = urljoin(page.url, form.action)
        fields = form.fields | chosen
        parts = urlsplit(url)
        headers = {"Origin": f"{parts.scheme}://{parts.netloc}", "Referer": page.url}
        return self._read(lambda: self._client.post(url, data=fields, headers=headers))

    def _read(self, send: Callable[[], httpx.Response]) -> Page:
        reason = ""
        for attempt in range(TRIES):
            if attempt:
                time.sleep(0.2 * 2**attempt)
            try:
                response = send()
            except httpx.TransportError as error:
                reason = f"{type(error).__name__}: {error}"
                continue
            if response.status_code < 500:
                return self._page(response)
            reason = f"status {response.status_code}"
        raise StudyError(f"The server did not answer after {TRIES} tries ({reason}).")

    @staticmethod
    def _page(response: httpx.Response) -> Page:
        reader = _FormReader()
        reader.feed(response.text)
        reader.close()
        forms = {
            form.action.rstrip("/").rsplit("/", 1)[-1]: form
            for form in reader.forms
            if form.method == "post"
        }
        return Page(str(response.url), response.text, forms)
