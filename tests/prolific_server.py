"""Prolific's API over real HTTP, as far as it is spoken to, with every misbehaviour on demand."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "token-of-the-tests"
STUDY_ID = "60d9aadeb86739de712faee0"
SCREEN_OUT_CODE = "SCREENED1"


@dataclass
class Fault:
    """How the server misbehaves, instead of doing what it is asked.

    ``works_first`` does it and then misbehaves: an answer that is lost.
    """

    status: int = 0
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    cuts: bool = False
    seconds: float = 0.0
    works_first: bool = False


@dataclass
class Asked:
    """A request that came in."""

    method: str
    path: str
    query: dict[str, str]
    body: Any


class ProlificServer:
    """``submissions`` is what Prolific holds, by id; ``faults`` are played one a request.

    ``fault_of`` may say for a request which fault it meets. Pages have at most ``page_size`` rows;
    ``overlap`` repeats so many rows of the page before; ``tells`` says which of links and counts an
    answer holds.
    """

    def __init__(self) -> None:
        self.submissions: dict[str, dict[str, Any]] = {}
        self.asked: list[Asked] = []
        self.faults: list[Fault] = []
        self.fault_of: Callable[[Asked], Fault | None] = lambda asked: None
        self.page_size = 200
        self.overlap = 0
        self.tells = {"_links", "meta"}
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                server._answer(self)

            do_POST = do_GET

            def log_message(self, *_: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )

    @property
    def url(self) -> str:
        """What goes into PROLIFIC_API_URL."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/api/v1"

    def __enter__(self) -> ProlificServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def add(self, submission_id: str, participant_id: str, status: str = "ACTIVE") -> None:
        """Somebody takes the study."""
        self.submissions[submission_id] = {
            "id": submission_id,
            "participant_id": participant_id,
            "status": status,
            "return_requested": None,
        }

    def sent(self, word: str) -> list[Asked]:
        """The requests that change something, by a word of their path."""
        return [each for each in self.asked if each.method == "POST" and word in each.path]

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        with suppress(OSError):  # the client has had enough
            parts = urlsplit(handler.path)
            length = int(handler.headers.get("Content-Length") or 0)
            body = json.loads(handler.rfile.read(length)) if length else None
            query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
            asked = Asked(handler.command, parts.path.removeprefix("/api/v1/"), query, body)
            self.asked.append(asked)
            fault = self.fault_of(asked) or (self.faults.pop(0) if self.faults else None)
            if fault is None or fault.works_first or not (fault.status or fault.cuts):
                status, content = self._do(asked, handler.headers.get("Authorization", ""))
            if fault is not None:
                time.sleep(fault.seconds)
                if fault.cuts:
                    handler.close_connection = True
                    return
                if fault.status:
                    status, content = fault.status, fault.body
            _send(handler, status, content, fault.headers if fault else {})

    def _do(self, asked: Asked, authorization: str) -> tuple[int, Any]:
        """What an honest server does."""
        if authorization != f"Token {TOKEN}":
            return 401, _refusal(401, "Unauthorized", "Authentication credentials were wrong.")
        match (asked.method, *asked.path.strip("/").split("/")):
            case ("GET", "studies", study_id):
                if study_id != STUDY_ID:
                    return 404, _refusal(404, "Not found", "No study matches.")
                return 200, {"id": study_id, "name": "Reading evidence", "status": "ACTIVE"}
            case ("GET", "studies", study_id, "submissions"):
                return 200, self._page(asked.query, study_id)
            case ("GET", "submissions", submission_id) if submission_id in self.submissions:
                row = self.submissions[submission_id]
                return 200, row | {"participant": row["participant_id"]}
            case ("POST", "submissions", submission_id, act) if submission_id in self.submissions:
                return self._change(self.submissions[submission_id], act, asked.body)
        return 404, _refusal(404, "Not found", "Nothing is here.")

    def _page(self, query: dict[str, str], study_id: str) -> dict[str, Any]:
        rows = list(self.submissions.values()) if study_id == STUDY_ID else []
        offset = int(query.get("offset", 0))
        size = min(int(query.get("limit", 20)), self.page_size)
        start = max(0, offset - self.overlap) if offset else 0
        page = rows[start : start + size]
        following = f"?offset={offset + size}" if start + size < len(rows) else None
        told = {"_links": {"next": {"href": following}}, "meta": {"count": len(rows)}}
        return {"results": page} | {name: told[name] for name in told if name in self.tells}

    def _change(self, row: dict[str, Any], act: str, body: Any) -> tuple[int, Any]:
        if act == "request-return" and isinstance(body.get("request_return_reasons"), list):
            row["return_requested"] = "2026-11-30T12:00:00Z"
            return 200, row
        if act == "transition" and body.get("action") == "COMPLETE":
            if body.get("completion_code") != SCREEN_OUT_CODE:
                return 400, _refusal(400, "Bad request", {"completion_code": ["Not a valid code."]})
            row["status"] = "SCREENED OUT"
            return 200, row
        return 400, _refusal(400, "Bad request", "This cannot be done.")


def _refusal(status: int, title: str, detail: Any) -> dict[str, Any]:
    """Prolific's shape of an error."""
    return {"error": {"status": status, "title": title, "detail": detail}}


def _send(
    handler: BaseHTTPRequestHandler, status: int, content: Any, headers: dict[str, str]
) -> None:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)
