"""The one door to a language model: a request in, a reply out, nothing paid for twice."""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from rankers.addresses import problem, shown
from rankers.endpoint import Endpoint, LLMSettings
from rankers.errors import BadInput, MissingDependency, TruncatedReply
from rankers.plain_text import clean
from rankers.processes import PerProcess
from rankers.prompts import Message
from rankers.replies import LENGTH, answer_text, is_json
from rankers.spending import Spending
from rankers.store import ResponseStore
from rankers.values import Usage
from rankers.warmup import Warmup

#: More tokens than this no single call can have used.
MAX_TOKENS = 10**9
OPENAI_URL = "https://api.openai.com/v1"

#: The second, last try of a truncated answer gets this many times the tokens, and at least so many.
_LARGER_BUDGET = 4
_LEAST_LARGER_BUDGET = 4096

_TRUTH = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
_READERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "timeout": (float, "a number of seconds above 0, at most 86400"),
    "try_timeout": (float, "a number of seconds above 0, at most 86400"),
    "concurrency": (int, "a whole number from 1 to 10000"),
    "tries": (int, "a whole number from 1 to 1000"),
    "backoff": (float, "a number of seconds from 0 to 3600"),
    "backoff_cap": (float, "a number of seconds from 0 to 3600"),
    "reasoning_tokens": (int, "a whole number from 0 to 10000000"),
    "structured": (lambda text: _TRUTH[text.lower()], "true or false"),
    "places": (str, "a folder"),
}


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model said. ``text`` is empty when the server sent no content.

    ``usage`` is what the reply cost when it was asked for, also if it now ``from_store``: a ranking
    that was interrupted and resumed reports its whole cost.
    """

    text: str
    finish_reason: str | None
    usage: Usage
    from_store: bool
    reasoning: str | None = None
    #: The likeliest first tokens with their log probabilities, where they were asked for.
    top_logprobs: tuple[tuple[str, float], ...] = ()

    @property
    def is_truncated(self) -> bool:
        """Whether the reply stopped before its answer: token limit, or nothing but thinking."""
        if self.finish_reason == LENGTH or answer_text(self.text) is None:
            return True
        is_only_thinking = not self.text.strip() and bool((self.reasoning or "").strip())
        return is_only_thinking and not is_json(self.reasoning)


class LLM:
    """A model at an OpenAI-compatible server.

    Safe to share between threads. Nothing is connected before the first request, and a forked
    worker makes a client of its own. At most ``settings.concurrency`` calls are under way for one
    base address, counting all processes of the user on this machine. ``spending`` limits and
    counts what the server is asked. ``sleep`` and ``rng`` serve tests.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = OPENAI_URL,
        api_key: str = "none",
        store: ResponseStore | None = None,
        settings: LLMSettings | None = None,
        spending: Spending | None = None,
        sleep: Callable[[float], None] | None = None,
        rng: random.Random | None = None,
    ):
        self.model = model
        self.store = store
        self.settings = settings or LLMSettings()
        self.spending = spending or Spending()
        self._warmup = PerProcess(Warmup)
        self._endpoint = Endpoint(
            base_url.rstrip("/"), api_key, self.settings, self.spending, sleep, rng
        )

    @classmethod
    def from_environment(
        cls,
        model: str | None = None,
        *,
        store: ResponseStore | None = None,
        spending: Spending | None = None,
        environ: Mapping[str, str] | None = None,
        **overrides: Any,
    ) -> LLM:
        """An LLM from OPENAI_BASE_URL, OPENAI_API_KEY and, without ``model``, OPENAI_MODEL.

        SUFFICE_LLM_TIMEOUT, _TRY_TIMEOUT, _CONCURRENCY, _TRIES, _BACKOFF, _BACKOFF_CAP,
        _REASONING_TOKENS, _STRUCTURED and _PLACES set the fields of LLMSettings; ``overrides``
        (those fields by name, ``base_url``, ``api_key``, ``sleep``, ``rng``) win over the
        environment. A server other than OpenAI's needs no key.
        Raises MissingDependency without a model or a key that is needed, BadInput for a bad value.
        """
        env = os.environ if environ is None else environ
        model = model or env.get("OPENAI_MODEL")
        if not model:
            raise MissingDependency(
                "no model is named: give one (--model NAME) or set OPENAI_MODEL; any "
                "OpenAI-compatible server will do, its address goes into OPENAI_BASE_URL"
            )
        base_url = overrides.pop("base_url", None) or env.get("OPENAI_BASE_URL") or OPENAI_URL
        api_key = (overrides.pop("api_key", None) or env.get("OPENAI_API_KEY") or "").strip()
        if wrong := problem(base_url):
            raise MissingDependency(f"OPENAI_BASE_URL={shown(base_url)!r} {wrong}")
        if not api_key and urlsplit(base_url).hostname == urlsplit(OPENAI_URL).hostname:
            raise MissingDependency(
                f"{shown(base_url)} needs a key: set OPENAI_API_KEY, or set OPENAI_BASE_URL to a "
                "server of your own, such as http://localhost:8000/v1, which needs none"
            )
        if not (api_key.isascii() and api_key.isprintable()):
            raise MissingDependency(
                "OPENAI_API_KEY holds characters that no key has (accents, line breaks): "
                "copy it again"
            )
        testing = {name: overrides.pop(name) for name in ("sleep", "rng") if name in overrides}
        return cls(
            model,
            base_url=base_url,
            api_key=api_key or "none",
            store=store,
            spending=spending,
            settings=settings_from(env, overrides),
            **testing,
        )

    @property
    def base_url(self) -> str:
        """The address requests go to, without a slash at the end, a name and a password."""
        return self._endpoint.shown_url

    @property
    def endpoint(self) -> Endpoint:
        """What sends the requests; address and key for others that ask the same server."""
        return self._endpoint

    @property
    def n_requests_sent(self) -> int:
        """HTTP requests this object has sent, tries that failed included."""
        return self._endpoint.n_requests_sent

    def __repr__(self) -> str:
        return f"LLM({self.model!r}, base_url={self.base_url!r})"

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        attempt: int = 0,
        temperature: float = 0.0,
        schema: Mapping[str, Any] | None = None,
        prefix: str | None = None,
    ) -> Reply:
        """Ask, or return what the store has for the very same request and ``attempt``.

        ``prefix`` is text that this request's prompt shares with others: the first call with it
        goes alone, so that the others find the server's cache warm.

        Every answer is committed to the store before it is used. A truncated answer is asked for
        once more with a larger limit and in plain mode (a schema can make a model write blanks
        until the limit); the usage of both counts. ``schema`` is used only if the settings say
        ``structured``.
        Raises TransportError, PermanentError, or TruncatedReply when the second answer is cut too;
        SpendLimitReached before a request that ``spending`` does not allow; StoreError when an
        answer cannot be kept.
        """
        limit = max_tokens + self.settings.reasoning_tokens
        if not self.settings.structured:
            schema = None
        first = self._ask_once(messages, limit, attempt, temperature, schema, prefix)
        if not first.is_truncated:
            return first
        larger = max(_LARGER_BUDGET * limit, _LEAST_LARGER_BUDGET)
        second = self._ask_once(messages, larger, attempt, temperature, None)
        usage = first.usage + second.usage
        if second.is_truncated:
            raise TruncatedReply(
                f"{self.model} gave no complete answer within {limit} tokens, nor within {larger}; "
                "a thinking model needs SUFFICE_LLM_REASONING_TOKENS",
                raw=second.text,
                usage=usage,
            )
        is_stored = first.from_store and second.from_store
        return replace(second, usage=usage, from_store=is_stored)

    def first_tokens(
        self,
        messages: Sequence[Message],
        *,
        count: int = 20,
        temperature: float = 0.0,
        prefix: str | None = None,
    ) -> Reply:
        """Ask for one token and the ``count`` likeliest ones in its place (``top_logprobs``).

        ``prefix`` as in ``complete``. The reply holds none where the server does not report them.
        Errors as in ``complete``.
        """
        return self._ask_once(messages, 1, 0, temperature, None, prefix, n_logprobs=count)

    def _ask_once(
        self,
        messages: Sequence[Message],
        max_tokens: int,
        attempt: int,
        temperature: float,
        schema: Mapping[str, Any] | None,
        prefix: str | None = None,
        n_logprobs: int = 0,
    ) -> Reply:
        """One answer, from the store or from the server."""
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [dict(message) for message in messages],
            "max_tokens": max_tokens,
            "temperature": temperature,
        }
        if schema is not None:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": dict(schema), "strict": True},
            }
        if n_logprobs:
            body |= {"logprobs": True, "top_logprobs": n_logprobs}
        key = request_key(body, attempt)
        stored = self._stored(key)
        if stored is not None:
            return stored
        with self._warmup().turn(prefix) as has_waited:
            # The one it waited for may have asked the very same.
            stored = self._stored(key) if has_waited else None
            return stored or self._from_server(key, body)

    def _stored(self, key: str) -> Reply | None:
        kept = None if self.store is None else self.store.get(key)
        return None if kept is None else _reply(kept, from_store=True)

    def _from_server(self, key: str, body: dict[str, Any]) -> Reply:
        """Ask the server, count what the answer cost, and keep it before it is used."""
        answer = _essence(self._endpoint.send(body))
        reply = _reply(answer, from_store=False)
        self.spending.count(
            reply.usage,
            sent=sum(len(message["content"]) for message in body["messages"]),
            said=len(reply.text) + len(reply.reasoning or ""),
        )
        if self.store is None:
            return reply
        self.store.put(key, answer)
        # Another process may have been first; what the store kept is what a later run will see.
        kept = self.store.get(key)
        if kept is None:
            raise RuntimeError(f"{self.store!r} lost an answer it was given")
        return _reply(kept, from_store=False)


def settings_from(env: Mapping[str, str], overrides: Mapping[str, Any]) -> LLMSettings:
    """LLMSettings from SUFFICE_LLM_* variables and ``overrides``, which win.

    Raises BadInput naming every variable whose value cannot be used.
    """
    values: dict[str, Any] = {}
    problems = []
    for field, (read, what) in _READERS.items():
        name = f"SUFFICE_LLM_{field.upper()}"
        if text := env.get(name, "").strip():
            try:
                values[field] = read(text)
                LLMSettings(**{field: values[field]})
            except (ValueError, KeyError):
                values.pop(field, None)
                problems.append(f"{name}: {text!r} cannot be used, it has to be {what}")
    if problems:
        raise BadInput(problems)
    return LLMSettings(**{**values, **overrides})


def request_key(body: Mapping[str, Any], attempt: int) -> str:
    """SHA-256 over the canonical JSON of model, messages, parameters and ``attempt``.

    The address is left out: the same model moved to another machine gives the same answers.
    """
    text = json.dumps(
        {**body, "attempt": attempt}, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _essence(answer: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a server's answer; every field may be missing or null in real ones."""
    choices = answer.get("choices")
    choice = _object(choices[0] if isinstance(choices, list) and choices else None)
    message = _object(choice.get("message"))
    usage = _object(answer.get("usage"))
    return {
        "content": _text(message.get("content")),
        "reasoning": _text(message.get("reasoning_content")) or _text(message.get("reasoning")),
        "finish_reason": _text(choice.get("finish_reason")),
        "model": _text(answer.get("model")),
        "top_logprobs": _first_logprobs(_object(choice.get("logprobs"))),
        "usage": {
            "prompt_tokens": token_count(usage.get("prompt_tokens")) or 0,
            "cached_prompt_tokens": _cached(usage),
            "completion_tokens": token_count(usage.get("completion_tokens")) or 0,
        },
    }


def _first_logprobs(logprobs: Mapping[str, Any]) -> list[list[Any]]:
    """``[token, log probability]`` of the alternatives to the first token; odd ones left out."""
    content = logprobs.get("content")
    first = _object(content[0] if isinstance(content, list) and content else None)
    found: list[list[Any]] = []
    alternatives = first.get("top_logprobs")
    for one in map(_object, alternatives if isinstance(alternatives, list) else ()):
        token, value = _text(one.get("token")), _finite(one.get("logprob"))
        if token and value is not None:
            found.append([token, value])
    return found


def _finite(value: Any) -> float | None:
    """A number that a float can hold, None for anything else."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str | None:
    """Text as it is, or joined from content parts; None for anything else."""
    if isinstance(value, list):
        parts = [part.get("text") for part in value if isinstance(part, dict)]
        value = "".join(part for part in parts if isinstance(part, str))
    return clean(value) if isinstance(value, str) else None


def token_count(value: Any) -> int | None:
    """A number of tokens, or None where the server did not say, or said what no count can be."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 <= value <= MAX_TOKENS else None


def _cached(usage: Mapping[str, Any]) -> int | None:
    """Tokens of the prompt that were in the server's cache, None where it does not say.

    DeepSeek's API names them in a field of its own.
    """
    details = _object(usage.get("prompt_tokens_details"))
    found = token_count(details.get("cached_tokens"))
    return token_count(usage.get("prompt_cache_hit_tokens")) if found is None else found


def _reply(essence: Mapping[str, Any], *, from_store: bool) -> Reply:
    """A Reply from what the store keeps."""
    usage = Usage(calls=1, **essence["usage"])
    return Reply(
        essence["content"] or "",
        essence["finish_reason"],
        usage,
        from_store,
        essence["reasoning"],
        # Answers kept by an earlier version have no such field.
        tuple((token, value) for token, value in essence.get("top_logprobs", ())),
    )
