"""Requests to one OpenAI-compatible endpoint: retries, one deadline, few at a time.

The client's own retries are off; they would multiply with these and ignore the deadline.
"""

from __future__ import annotations

import importlib
import json
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from rankers import refusals
from rankers.addresses import credentials, origin, shown
from rankers.deadlines import TooLarge, bound, until
from rankers.errors import PermanentError, TransportError
from rankers.places import place
from rankers.plain_text import clean
from rankers.processes import PerProcess
from rankers.spending import Spending
from rankers.values import Usage

if TYPE_CHECKING:
    from openai import OpenAI

Body = dict[str, Any]

_RETRIED_STATUSES = (408, 409, 429)
_CONNECT_SECONDS = 10.0
# No model says so much; 32 texts' vectors of 4,096 numbers take some 3 MB.
_MOST_BYTES = 16 * 2**20
# Errors of the HTTP library, by name, after which nothing can have reached the server.
_NEVER_SENT = ("ConnectError", "ConnectTimeout", "PoolTimeout")


# Beyond these a setting is a slip, and clocks, sockets and locks do not take every number.
_MOST = {
    "timeout": 86_400,
    "try_timeout": 86_400,
    "concurrency": 10_000,
    "tries": 1_000,
    "backoff": 3_600,
    "backoff_cap": 3_600,
    "reasoning_tokens": 10_000_000,
}


@dataclass(frozen=True, slots=True)
class LLMSettings:
    """How an endpoint is treated. All times are in seconds.

    ``timeout`` bounds one call with all its tries and pauses, from the moment it gets a place
    among the ``concurrency`` calls that may be under way; ``try_timeout`` bounds a single try
    (None: whatever is left). ``tries`` is so large by default that the timeout is what ends a call
    while a server is away. Pauses are drawn from 0 to ``backoff`` x 2^tries, at most
    ``backoff_cap``. ``reasoning_tokens`` is added to every token limit, for models that think
    before they answer. ``structured`` asks for JSON by schema where a method has one; leave it
    off for thinking models. ``places`` is the folder through which processes share ``concurrency``
    (empty: one of the user's own among the temporary files).
    """

    timeout: float = 120.0
    try_timeout: float | None = None
    concurrency: int = 4
    tries: int = 20
    backoff: float = 0.5
    backoff_cap: float = 20.0
    reasoning_tokens: int = 0
    structured: bool = False
    places: str = ""

    def __post_init__(self) -> None:
        for name in ("timeout", "try_timeout", "concurrency", "tries"):
            value = getattr(self, name)
            most = _MOST[name]
            if value is not None and not 0 < value <= most:
                raise ValueError(f"{name} must be a number above 0 and at most {most}, not {value}")
        for name in ("backoff", "backoff_cap", "reasoning_tokens"):
            value = getattr(self, name)
            most = _MOST[name]
            if not 0 <= value <= most:
                raise ValueError(f"{name} must be a number from 0 to {most}, not {value}")


class _Failure(Exception):
    """A try that may go better next time; ``wait`` is what the server asks for, in seconds.

    ``is_refusal`` tells that the server did nothing for the request.
    """

    def __init__(self, words: str, wait: float | None = None, *, is_refusal: bool = False):
        self.wait = wait
        self.is_refusal = is_refusal
        super().__init__(clean(words))


class _Clients:
    """One process's clients, by address and key. Making one takes long, so none is made twice."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[tuple[str, str], OpenAI] = {}

    def get(self, base_url: str, api_key: str) -> OpenAI:
        """The client for an address and key, made when first needed."""
        with self._lock:
            if (base_url, api_key) not in self._made:
                import openai

                client = openai.OpenAI(
                    # Libraries write addresses into their logs: the password goes another way.
                    base_url=shown(base_url),
                    api_key=api_key,
                    max_retries=0,
                    http_client=openai.DefaultHttpxClient(
                        auth=credentials(base_url), follow_redirects=False
                    ),
                )
                bound(client._client)
                self._made[base_url, api_key] = client
            return self._made[base_url, api_key]


_clients = PerProcess(_Clients)


@dataclass
class Endpoint:
    """One base address with its key.

    At most ``settings.concurrency`` calls are under way for one base address, counting all
    processes of the user on this machine. ``spending`` may stop it between tries. ``sleep``, in
    place of its pauses, and ``rng`` are there for tests.
    """

    base_url: str = field(repr=False)
    api_key: str = field(repr=False)
    settings: LLMSettings = field(default_factory=LLMSettings)
    spending: Spending = field(default_factory=Spending)
    sleep: Callable[[float], None] | None = None
    rng: random.Random | None = None
    _sent_by: dict[int, int] = field(default_factory=dict, repr=False)

    @property
    def shown_url(self) -> str:
        """The address without a name and password, for errors and records."""
        return shown(self.base_url)

    @property
    def n_requests_sent(self) -> int:
        """HTTP requests sent through this object, failed ones included."""
        return sum(list(self._sent_by.values()))

    def send(self, body: Body) -> Body:
        """POST a chat completion and return the server's JSON object.

        What the server refuses and the request can do without is left out (see ``refusals``) and
        remembered for this address and model.
        Raises TransportError after the last try or the deadline, PermanentError on a refusal,
        SpendLimitReached before anything is sent that the limits do not allow.
        """
        # Made first when needed, which takes a second that is no part of anybody's deadline.
        client = _clients().get(self.base_url, self.api_key)
        model = body["model"]
        learned: frozenset[str] = frozenset()
        with place(self.base_url, self.settings.concurrency, self.settings.places):
            deadline = time.monotonic() + self.settings.timeout
            while True:
                wanted = refusals.without(body, refusals.refused(self.shown_url, model) | learned)
                try:
                    answer = self._send_until(client, wanted, deadline)
                except PermanentError as refusal:
                    cause = refusals.cause(wanted, refusal)
                    if cause is None:
                        raise
                    learned |= {cause}
                else:
                    # Only what an answer came without has proved to be the cause.
                    refusals.remember(self.shown_url, model, learned)
                    return answer

    def _send_until(self, client: OpenAI, body: Body, deadline: float) -> Body:
        """Try until an answer, a refusal, the last try or the deadline, whichever is first."""
        started = time.monotonic()
        n_tries = 0
        while True:
            n_tries += 1
            try:
                return self._try_once(client, body, deadline)
            except _Failure as failure:
                wait = self._pause(n_tries, failure.wait)
                left = deadline - time.monotonic()
                if n_tries < self.settings.tries and wait < left:
                    (self.spending.pause if self.sleep is None else self.sleep)(wait)
                    continue
                asked = "" if failure.wait is None else f"; it asks to wait {failure.wait:g} s"
                seconds = time.monotonic() - started
                raise TransportError(
                    f"no answer from {self.shown_url} after {n_tries} "
                    f"{'try' if n_tries == 1 else 'tries'} in {seconds:.1f} s "
                    f"(deadline {self.settings.timeout:g} s): {failure}{asked}"
                ) from failure

    def _pause(self, n_tries: int, asked: float | None) -> float:
        """Seconds before the next try: exponential with full jitter, or a bit above ``asked``.

        The jitter keeps many workers that were refused together from coming back together; the
        shared generator is seeded anew in each forked one.
        """
        uniform = random.uniform if self.rng is None else self.rng.uniform
        doubled = self.settings.backoff * 2.0 ** min(n_tries - 1, 100)  # beyond any cap
        longest = min(self.settings.backoff_cap, doubled)
        if asked is None:
            return uniform(0, longest)
        return asked + uniform(0, self.settings.backoff)

    def _try_once(self, client: OpenAI, body: Body, deadline: float) -> Body:
        """One HTTP request. Raises _Failure, PermanentError or SpendLimitReached."""
        import openai

        left = deadline - time.monotonic()
        seconds = max(0.001, min(left, self.settings.try_timeout or left))
        end = time.monotonic() + seconds
        self.spending.reserve()
        self._count_request()
        timeout = openai.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
        try:
            with until(end, _MOST_BYTES), self._open(client, body, timeout) as response:
                answer = _answer(_read(response))
                self._check(answer)
                return answer
        except (PermanentError, _Failure) as error:  # inside an answer of status 200
            self._settle(body, is_free=isinstance(error, PermanentError) or error.is_refusal)
            raise
        except TooLarge:  # it was paid for, and the next one would be too
            self._settle(body, is_free=False)
            raise PermanentError(
                f"the answer of {self.shown_url} is larger than {_MOST_BYTES // 2**20} MB; "
                "the rest of it was not read"
            ) from None
        except openai.APIStatusError as error:
            self._settle(body, is_free=error.status_code < 500)
            raise _status_error(error) from error
        except openai.APIConnectionError as error:  # a timeout is one, too
            self._settle(body, is_free=type(error.__cause__).__name__ in _NEVER_SENT)
            raise _connection_failure(error, seconds) from error
        except _http_errors() as error:  # while the body of an error status was read
            self._settle(body, is_free=False)
            raise _broken_off(error) from error

    def _settle(self, body: Body, *, is_free: bool) -> None:
        """Give back a request that cost nothing; count what was sent with any other.

        A gateway that gives up does not stop the model behind it, which is paid for all the same.
        """
        if is_free:
            self.spending.give_back()
        else:
            self.spending.count(Usage(1, 0, None, 0), sent=self._n_characters(body), said=0)

    def _n_characters(self, body: Body) -> int:
        """How long the texts of a request are."""
        return sum(len(message["content"]) for message in body["messages"])

    def _open(self, client: OpenAI, body: Body, timeout: Any) -> Any:
        """The response to a chat completion, as a context whose body is still to be read."""
        create: Any = client.chat.completions.with_streaming_response.create
        # As ``extra_body`` the body goes out as it is; the client would check every message.
        return create(model="", messages=[], extra_body=body, timeout=timeout)

    def _check(self, answer: Body) -> None:
        """Raise _Failure for an object that is no completion.

        A server says such things while it starts; kept as an answer, one would stay for good.
        """
        choices = answer.get("choices")
        found = choices if isinstance(choices, list) else []
        if not found or not all(isinstance(_message(choice), dict) for choice in found):
            raise _Failure(f"the answer is no completion: {_shown(answer)}")

    def _count_request(self) -> None:
        """Each thread counts in a place of its own: a lock could be held during a fork."""
        thread = threading.get_ident()
        self._sent_by[thread] = self._sent_by.get(thread, 0) + 1


def _connection_failure(error: Exception, seconds: float) -> _Failure:
    """What a request without a response means."""
    import openai

    if isinstance(error, openai.APITimeoutError):
        return _Failure(f"nothing came within {seconds:.1f} s")
    return _Failure(f"cannot connect ({error.__cause__ or error})")


def _read(response: Any) -> bytes:
    """The whole body. Raises _Failure when it breaks off or does not end in time.

    Raises TooLarge for one that is small while it is compressed, too.
    """
    data = bytearray()
    try:
        for piece in response.iter_bytes():
            data += piece
            if len(data) > _MOST_BYTES:
                raise TooLarge
        return bytes(data)
    except _http_errors() as error:
        raise _broken_off(error) from error


def _broken_off(error: Exception) -> _Failure:
    """What a body without an end means."""
    if type(error).__name__ == "ReadTimeout":
        return _Failure("the answer had begun but did not end in time")
    return _Failure(f"the answer broke off ({error or type(error).__name__})")


@cache
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


def _answer(data: bytes) -> Body:
    """The JSON object of an answer with status 200.

    Gateways report an upstream failure inside such an answer, or send a page of their own.
    """
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError):
        shown = " ".join(data[:200].decode("utf-8", "replace").split())
        raise _Failure(f"the answer is no JSON that can be read: {shown!r}") from None
    if not isinstance(answer, dict):
        raise _Failure(f"the answer is no JSON object: {_shown(answer)}")
    if answer.get("error") and not answer.get("choices"):
        error = answer["error"]
        code = error.get("code") if isinstance(error, dict) else None
        words = _words(error)
        if isinstance(code, int) and 400 <= code < 500 and code not in _RETRIED_STATUSES:
            raise PermanentError(f"the server refused with {code}: {words}", code)
        is_refusal = isinstance(code, int) and 400 <= code < 500
        raise _Failure(f"the server reports: {words}", is_refusal=is_refusal)
    return answer


def _message(choice: Any) -> Any:
    return choice.get("message") if isinstance(choice, dict) else None


def _status_error(error: Any) -> Exception:
    """What an HTTP error status means: _Failure to try again, PermanentError otherwise."""
    status = int(error.status_code)
    location = error.response.headers.get("location")
    if 300 <= status < 400 and location:
        return PermanentError(
            f"the server sends requests on ({status}) to {origin(location)}, which was not asked; "
            "if that is the right address, set OPENAI_BASE_URL to it",
            status,
        )
    words = _words(error.body) if error.body else str(error.message)
    if status == 404:
        words += " (is the address right? it usually ends in /v1)"
    param = getattr(error, "param", None)
    if isinstance(param, str) and param not in words:
        words += f" (parameter {clean(param)[:100]})"
    is_out_of_money = getattr(error, "code", None) == "insufficient_quota"
    if (status in _RETRIED_STATUSES or status >= 500) and not is_out_of_money:
        return _Failure(f"{status} {words}", retry_after(error.response.headers))
    return PermanentError(f"the server refused with {status}: {words}", status)


def _words(body: Any) -> str:
    """The readable part of an error body: clean, and cut to one line of bearable length."""
    if isinstance(body, dict):
        body = body.get("message") or body.get("detail") or body.get("error") or body
    words = body if isinstance(body, str) else _shown(body)
    return clean(" ".join(words.split())[:500])


def _shown(value: Any) -> str:
    """The start of a JSON value's text; a value may be nested too deeply to be written."""
    try:
        return json.dumps(value)[:200]
    except RecursionError:
        return "(nested too deeply to be shown)"


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
