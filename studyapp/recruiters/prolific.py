"""A client of Prolific's API: lists submissions, asks for returns, screens out.

Facts from docs.prolific.com/api-reference: requests carry ``Authorization: Token …``; the id of a
submission is what links hold as SESSION_ID; ``submissions/{id}/request-return/`` wants a list of
reasons and sends a message to the participant; ``submissions/{id}/transition/`` with the action
COMPLETE takes a completion code whose actor is the researcher, and ignores a repetition.
The list of a study's submissions is read page by page with ``limit`` and ``offset``, as Prolific's
own command line does; the documentation does not name them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx

from studyapp.recruiters.prolific_answers import Reply, retry_seconds, unusable
from studyapp.recruiters.prolific_errors import ProlificError
from studyapp.recruiters.prolific_statuses import SubmissionStatus, read_status

PAGE_SIZE = 200
#: More pages than any study has: a list without an end is given up.
MAX_PAGES = 500
MAX_BYTES = 16 * 2**20
#: A longer pause than this is left to the caller, with what the server asked for.
LONGEST_PAUSE = 20.0
_MORE_THAN_AN_ID = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True)
class Submission:
    """One person's try at a study, as Prolific tells of it. ``participant_id`` may be empty."""

    id: str
    participant_id: str
    status: SubmissionStatus
    is_return_requested: bool = False


@dataclass(frozen=True)
class ProlificStudy:
    """A study at Prolific: enough to see that it is the right one."""

    id: str
    name: str
    status: str


class Prolific:
    """The API under one token. Every method raises ProlificError.

    ``timeout`` bounds one request in seconds, ``tries`` how often it is sent: again after 429 and
    503, and where it only reads also after other faults of server or network.
    """

    def __init__(
        self,
        base_url: str,
        token: str,
        *,
        timeout: float = 15.0,
        tries: int = 3,
        sleep: Callable[[float], None] = time.sleep,
    ):
        self._base_url = base_url.rstrip("/")
        self._headers = {"Authorization": f"Token {token}", "Accept": "application/json"}
        self._timeout, self._tries, self._sleep = timeout, tries, sleep

    def study(self, study_id: str) -> ProlificStudy:
        """What Prolific calls the study."""
        body = self._send("GET", f"studies/{_id(study_id)}/")
        return ProlificStudy(study_id, str(body.get("name") or ""), str(body.get("status") or ""))

    def submissions(self, study_id: str) -> Iterator[Submission]:
        """All submissions of a study, each once, also where pages overlap."""
        path = f"studies/{_id(study_id)}/submissions/"
        seen: set[str] = set()
        offset = 0
        for _ in range(MAX_PAGES):
            body = self._send("GET", path, params={"limit": PAGE_SIZE, "offset": offset})
            rows = _list_of(body)
            before = len(seen)
            for row in rows:
                submission = _submission(row)
                if submission.id not in seen:
                    seen.add(submission.id)
                    yield submission
            offset += len(rows)
            if len(seen) == before or not _goes_on(body, len(rows), offset):
                return
        raise ProlificError(f"Prolific's list of submissions has more than {MAX_PAGES} pages.")

    def submission(self, submission_id: str) -> Submission:
        """One submission as it is now."""
        return _submission(self._send("GET", f"submissions/{_id(submission_id)}/"))

    def request_return(self, submission_id: str, reasons: list[str]) -> str:
        """Ask the participant to give the submission back. Returns the answer in a few words."""
        path = f"submissions/{_id(submission_id)}/request-return/"
        body = self._send("POST", path, json={"request_return_reasons": reasons})
        return f"asked to return; status {body.get('status') or 'not told'}"

    def screen_out(self, submission_id: str, completion_code: str) -> str:
        """End the submission with the screen-out code. Returns the answer in a few words."""
        path = f"submissions/{_id(submission_id)}/transition/"
        content = {"action": "COMPLETE", "completion_code": completion_code}
        body = self._send("POST", path, json=content)
        return f"screened out; status {body.get('status') or 'not told'}"

    def _send(self, method: str, path: str, **content: Any) -> dict[str, Any]:
        """The object that a request is answered with, after at most ``tries`` tries."""
        pause = 0.5
        for left in range(self._tries - 1, -1, -1):
            try:
                return self._send_once(method, path, **content)
            except ProlificError as error:
                wait = error.retry_after if error.retry_after is not None else pause
                if not left or not _again(method, error) or wait > LONGEST_PAUSE:
                    raise
            self._sleep(wait)
            pause *= 2
        raise AssertionError("tries is at least 1")

    def _send_once(self, method: str, path: str, **content: Any) -> dict[str, Any]:
        try:
            reply = self._reply(method, f"{self._base_url}/{path}", **content)
        except httpx.ConnectError as error:
            raise _unreachable(error, was_sent=False) from error
        except httpx.HTTPError as error:
            raise _unreachable(error, was_sent=True) from error
        if reply.status != 200 and reply.status not in range(201, 205):
            raise unusable(reply)
        return reply.json_object()

    def _reply(self, method: str, url: str, **content: Any) -> Reply:
        """One request and its whole answer, within the time and size that are allowed."""
        deadline = time.monotonic() + self._timeout
        pieces: list[bytes] = []
        with (
            # Nothing of the environment, such as a netrc file, may add to the request.
            httpx.Client(timeout=self._timeout, headers=self._headers, trust_env=False) as client,
            client.stream(method, url, **content) as response,
        ):
            for piece in response.iter_bytes():
                pieces.append(piece)
                if time.monotonic() > deadline:
                    raise httpx.ReadTimeout("the answer did not end in time")
                if sum(map(len, pieces)) > MAX_BYTES:
                    raise ProlificError(f"Prolific's answer is larger than {MAX_BYTES:,} bytes.")
            wait = retry_seconds(response.headers.get("Retry-After", ""))
        return Reply(response.status_code, b"".join(pieces), wait)


def _again(method: str, error: ProlificError) -> bool:
    """Whether a request may be sent again at once: one that only reads, or was not carried out."""
    return error.is_worth_retry and (method == "GET" or not error.may_have_worked)


def _unreachable(error: httpx.HTTPError, *, was_sent: bool) -> ProlificError:
    what = "did not answer in time" if isinstance(error, httpx.TimeoutException) else "is away"
    return ProlificError(
        f"Prolific {what} ({type(error).__name__}). It is asked again later.",
        is_worth_retry=True,
        may_have_worked=was_sent,
    )


def _id(text: str) -> str:
    """An id as a part of an address. Raises ProlificError for what can be none."""
    if not text or _MORE_THAN_AN_ID.search(text):
        raise ProlificError("This is no id of Prolific: letters, digits, - and _ are.")
    return quote(text, safe="")


def _list_of(body: dict[str, Any]) -> list[Any]:
    rows = body.get("results")
    if not isinstance(rows, list):
        raise ProlificError("Prolific's answer holds no list of submissions.")
    return rows


def _goes_on(body: dict[str, Any], n_rows: int, n_read: int) -> bool:
    """Whether a page says, or lets one suppose, that another follows."""
    links, meta = body.get("_links"), body.get("meta")
    following = links.get("next") if isinstance(links, dict) else None
    href = following.get("href") if isinstance(following, dict) else following
    count = meta.get("count") if isinstance(meta, dict) else None
    return bool(href) or n_rows >= PAGE_SIZE or (isinstance(count, int) and n_read < count)


def _submission(row: Any) -> Submission:
    if not isinstance(row, dict) or not isinstance(row.get("id"), str) or not row["id"]:
        raise ProlificError("Prolific's answer holds a submission without an id.")
    participant = row.get("participant_id") or row.get("participant") or ""
    return Submission(
        id=row["id"],
        participant_id=participant if isinstance(participant, str) else "",
        status=read_status(row.get("status")),
        is_return_requested=bool(row.get("return_requested")),
    )
