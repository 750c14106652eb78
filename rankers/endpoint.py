"""Requests to one OpenAI-compatible endpoint: retries, one deadline, few at a time.

The client's own retries are off; they would multiply with these and ignore the deadline.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from rankers.errors import PermanentError, TransportError

if TYPE_CHECKING:
    from openai import OpenAI

Body = dict[str, Any]

_RETRIED_STATUSES = (408, 409, 429)
_CONNECT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class LLMSettings:
    """How an endpoint is treated. All times are in seconds.

    ``timeout`` bounds one call with all its tries and pauses, from the moment it gets a place
    among the ``concurrency`` calls that may be under way; ``try_timeout`` bounds a single try
    (None: whatever is left). Pauses are drawn from 0 to ``backoff`` x 2^tries, at most
    ``backoff_cap``. ``reasoning_tokens`` is added to every token limit, for models that think
    before they answer. ``structured`` asks for JSON by schema where a method has one; leave it
    off for thinking models.
    """

    timeout: float = 120.0
    try_timeout: float | None = None
    concurrency: int = 4
    tries: int = 8
    backoff: float = 0.5
    backoff_cap: float = 20.0
    reasoning_tokens: int = 0
    structured: bool = False

    def __post_init__(self) -> None:
        for name in ("timeout", "try_timeout", "concurrency", "tries"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ValueError(f"{name} must be a number above 0, not {value}")
        for name in ("backoff", "backoff_cap", "reasoning_tokens"):
            value = getattr(self, name)
            if not 0 <= value < math.inf:
                raise ValueError(f"{name} must be a number, 0 or more, not {value}")


@dataclass(frozen=True, slots=True)
class _Habits:
    """What an endpoint has refused for a model before, so that it is not tried again."""

    is_plain: bool = False
    wants_completion_tokens: bool = False


class _Failure(Exception):
    """A try that may go better next time; ``wait`` is what the server asks for, in seconds."""

    def __init__(self, words: str, wait: float | None = None):
        self.wait = wait
        super().__init__(words)


# Shared by all LLM objects of a process and keyed by process: a client or a lock that a forked
# worker inherits may be half-way through something. setdefault is atomic, so no lock guards these.
_clients: dict[tuple[int, str, str], OpenAI] = {}
_places: dict[tuple[int, str], threading.BoundedSemaphore] = {}
_habits: dict[tuple[str, str], _Habits] = {}


@dataclass
class Endpoint:
    """One base address with its key.

    The number of calls under way is limited per process and base address (the first Endpoint of
    a process sets the limit); several worker processes each have their own limit.
    ``sleep`` and ``rng`` are there for tests. ``n_requests_sent`` counts every HTTP request,
    failed ones included.
    """

    base_url: str
    api_key: str = field(repr=False)
    settings: LLMSettings = field(default_factory=LLMSettings)
    sleep: Callable[[float], None] = time.sleep
    rng: random.Random = field(default_factory=random.Random)
    n_requests_sent: int = 0
    _count_lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def send(self, body: Body) -> Body:
        """POST a chat completion and return the server's JSON object.

        A refused ``response_format`` is left out and a refused ``max_tokens`` is renamed to
        ``max_completion_tokens``; both are remembered for this endpoint and model.
        Raises TransportError after the last try or the deadline, PermanentError on a refusal.
        """
        key = (self.base_url, body["model"])
        habits = _habits.get(key, _Habits())
        with self._place():
            deadline = time.monotonic() + self.settings.timeout
            while True:
                wanted = _adapt(body, habits)
                try:
                    answer = self._send_until(wanted, deadline)
                except PermanentError as refusal:
                    milder = _milder(wanted, habits, refusal)
                    if milder is None:
                        raise
                    habits = milder
                else:
                    _habits[key] = habits
                    return answer

    def _send_until(self, body: Body, deadline: float) -> Body:
        """Try until an answer, a refusal, the last try or the deadline, whichever is first."""
        started = time.monotonic()
        n_tries = 0
        while True:
            n_tries += 1
            try:
                return self._try_once(body, deadline)
            except _Failure as failure:
                wait = self._pause(n_tries, failure.wait)
                left = deadline - time.monotonic()
                if n_tries < self.settings.tries and wait < left:
                    self.sleep(wait)
                    continue
                asked = "" if failure.wait is None else f"; it asks to wait {failure.wait:g} s"
                seconds = time.monotonic() - started
                raise TransportError(
                    f"no answer from {self.base_url} after {n_tries} "
                    f"{'try' if n_tries == 1 else 'tries'} in {seconds:.1f} s "
                    f"(deadline {self.settings.timeout:g} s): {failure}{asked}"
                ) from failure

    def _pause(self, n_tries: int, asked: float | None) -> float:
        """Seconds before the next try: exponential with full jitter, or a bit above ``asked``.

        The jitter keeps many workers that were refused together from coming back together.
        """
        longest = min(self.settings.backoff_cap, self.settings.backoff * 2 ** (n_tries - 1))
        if asked is None:
            return self.rng.uniform(0, longest)
        return asked + self.rng.uniform(0, self.settings.backoff)

    def _try_once(self, body: Body, deadline: float) -> Body:
        """One HTTP request. Raises _Failure or PermanentError."""
        import openai

        left = deadline - time.monotonic()
        seconds = max(0.001, min(left, self.settings.try_timeout or left))
        end = time.monotonic() + seconds
        with self._count_lock:
            self.n_requests_sent += 1
        create: Any = self._client().chat.completions.with_streaming_response.create
        timeout = openai.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
        try:
            with create(**body, timeout=timeout) as response:
                return _answer(_read(response, end))
        except openai.APIStatusError as error:
            raise _status_error(error) from error
        except openai.APITimeoutError as error:
            raise _Failure(f"nothing came within {seconds:.1f} s") from error
        except openai.APIConnectionError as error:
            raise _Failure(f"cannot connect ({error.__cause__ or error})") from error
        except _http_errors() as error:  # while the body of an error status was read
            raise _Failure(f"the answer broke off ({error or type(error).__name__})") from error

    def _client(self) -> OpenAI:
        """This process's client, made when first needed."""
        key = (os.getpid(), self.base_url, self.api_key)
        if key not in _clients:
            import openai

            _clients.setdefault(
                key, openai.OpenAI(base_url=self.base_url, api_key=self.api_key, max_retries=0)
            )
        return _clients[key]

    @contextmanager
    def _place(self) -> Iterator[None]:
        """Wait for a place among the calls under way."""
        place = _places.setdefault(
            (os.getpid(), self.base_url), threading.BoundedSemaphore(self.settings.concurrency)
        )
        with place:
            yield


def _adapt(body: Body, habits: _Habits) -> Body:
    """``body`` without what the endpoint is known to refuse."""
    adapted = dict(body)
    if habits.is_plain:
        adapted.pop("response_format", None)
    if habits.wants_completion_tokens and "max_tokens" in adapted:
        adapted["max_completion_tokens"] = adapted.pop("max_tokens")
    return adapted


def _milder(sent: Body, habits: _Habits, refusal: PermanentError) -> _Habits | None:
    """What to do without after a refusal; None when nothing in the request explains it.

    Servers name a schema they do not like in many ways, so any 400 or 422 to a request with
    ``response_format`` is worth one request without it.
    """
    if refusal.status not in (400, 422):
        return None
    if "max_tokens" in sent and "max_completion_tokens" in str(refusal):
        return replace(habits, wants_completion_tokens=True)
    return replace(habits, is_plain=True) if "response_format" in sent else None


def _read(response: Any, end: float) -> bytes:
    """The whole body, or _Failure once ``end`` (monotonic clock) has passed.

    The client's read timeout starts afresh with every byte, and some servers send blanks to keep
    a slow answer alive, so a timer shuts the connection at the end of the time allowed.
    """
    stream = response.http_response.extensions.get("network_stream")
    connection = stream.get_extra_info("socket") if stream is not None else None
    is_late = threading.Event()
    timer = threading.Timer(max(0.0, end - time.monotonic()), _shut, (connection, is_late))
    timer.daemon = True
    timer.start()
    data = b""
    try:
        data = b"".join(response.iter_bytes())
    except _http_errors() as error:
        if not is_late.is_set():
            raise _Failure(f"the answer broke off ({error or type(error).__name__})") from error
    finally:
        timer.cancel()
    if is_late.is_set():
        raise _Failure("the answer had begun but did not end in time")
    return data


def _http_errors() -> tuple[type[Exception], ...]:
    """The HTTP library's own errors, which the client lets through; its name changed."""
    classes: list[type[Exception]] = []
    for name in ("httpx2", "httpx"):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        classes += [module.HTTPError, module.StreamError]
    return tuple(classes)


def _shut(connection: socket.socket | None, is_late: threading.Event) -> None:
    """Wake up whoever reads from the connection, and say that it was for being late."""
    is_late.set()
    if connection is not None:
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:  # closed in the same moment
            return


def _answer(data: bytes) -> Body:
    """The JSON object of an answer with status 200.

    Gateways report an upstream failure inside such an answer, or send a page of their own.
    """
    try:
        answer = json.loads(data)
    except ValueError:
        shown = " ".join(data[:200].decode("utf-8", "replace").split())
        raise _Failure(f"the answer is no JSON: {shown!r}") from None
    if not isinstance(answer, dict):
        raise _Failure(f"the answer is no JSON object: {str(answer)[:200]!r}")
    if answer.get("error") and not answer.get("choices"):
        error = answer["error"]
        code = error.get("code") if isinstance(error, dict) else None
        words = _words(error)
        if isinstance(code, int) and 400 <= code < 500 and code not in _RETRIED_STATUSES:
            raise PermanentError(f"the server refused with {code}: {words}", code)
        raise _Failure(f"the server reports: {words}")
    return answer


def _status_error(error: Any) -> Exception:
    """What an HTTP error status means: _Failure to try again, PermanentError otherwise."""
    status = int(error.status_code)
    words = _words(error.body) if error.body else str(error.message)
    is_out_of_money = getattr(error, "code", None) == "insufficient_quota"
    if (status in _RETRIED_STATUSES or status >= 500) and not is_out_of_money:
        return _Failure(f"{status} {words}", retry_after(error.response.headers))
    return PermanentError(f"the server refused with {status}: {words}", status)


def _words(body: Any) -> str:
    """The readable part of an error body, cut to one line of bearable length."""
    if isinstance(body, dict):
        body = body.get("message") or body.get("detail") or body.get("error") or json.dumps(body)
    return " ".join(str(body).split())[:500]


def retry_after(headers: Any, now: Callable[[], float] = time.time) -> float | None:
    """Seconds that a response's ``Retry-After`` asks to wait; None without a usable one.

    Both forms are read. A date is compared with the response's own ``Date`` if it has one, since
    the clocks of server and client may differ.
    """
    value = (headers.get("retry-after") or "").strip()
    try:
        seconds = float(value)
    except ValueError:
        until = _timestamp(value)
        if until is None:
            return None
        sent = _timestamp(headers.get("date") or "")
        seconds = until - (now() if sent is None else sent)
    return max(0.0, seconds) if seconds < float("inf") else None


def _timestamp(http_date: str) -> float | None:
    """Seconds since 1970 of an HTTP date, None if it is none."""
    try:
        return parsedate_to_datetime(http_date).timestamp()
    except (TypeError, ValueError):
        return None
