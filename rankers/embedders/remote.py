"""An embedder that asks an OpenAI-compatible server."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankers.embedders.base import Embedder
from rankers.embedders.batches import batches
from rankers.endpoint import Body, Endpoint
from rankers.errors import MalformedReply
from rankers.spending import Spending
from rankers.store import ResponseStore
from rankers.values import Usage

if TYPE_CHECKING:
    from openai import OpenAI

Vector = NDArray[np.float64]

#: Small enough for servers of one's own, which often take no more than 32 texts.
_BATCH_TEXTS = 32
#: Far below the 300,000 tokens that OpenAI takes in one request.
_BATCH_CHARACTERS = 200_000
#: Products and sums of larger numbers would no longer be finite.
_LARGEST = 1e100
#: Vectors kept in memory; of 1,536 dimensions they take 120 MB.
_MOST_IN_MEMORY = 10_000


class OpenAIEmbedder(Embedder):
    """Vectors from the embeddings address of a server, each text asked for once.

    Every answer is committed to ``store``, where there is one, before it is used. Texts without a
    visible character are not sent, since servers refuse them; they have the zero vector.
    Safe to share between threads; two that need the same new text at the same moment both ask.
    """

    kind = "openai"

    def __init__(self, model: str, endpoint: Endpoint, store: ResponseStore | None = None):
        self.model = model
        self.name = f"{self.kind}:{model}"
        self.store = store
        self._endpoint = endpoint
        self._memory: dict[str, Vector] = {}
        self._lock = threading.Lock()

    @classmethod
    def from_environment(
        cls,
        model: str,
        *,
        store: ResponseStore | None = None,
        spending: Spending | None = None,
    ) -> OpenAIEmbedder:
        """An embedder at OPENAI_BASE_URL, with the key and the settings that an LLM would have.

        ``spending`` limits and counts what the server is asked.
        Raises MissingDependency without a key that is needed, BadInput for a bad setting.
        """
        from rankers.llm import LLM

        same = LLM.from_environment(model, spending=spending).endpoint
        endpoint = EmbeddingEndpoint(same.base_url, same.api_key, same.settings, same.spending)
        return cls(model, endpoint, store)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return (n, d) vectors; d is 0 when no text has a visible character.

        Raises TransportError, PermanentError with the server's words, MalformedReply, or
        SpendLimitReached before a request that the limits do not allow.
        """
        found = self._vectors([text for text in dict.fromkeys(texts) if text.strip()])
        sizes = {vector.size for vector in found.values()} or {0}
        if len(sizes) > 1:
            raise MalformedReply(
                f"{self.name} gave vectors of {' and '.join(map(str, sorted(sizes)))} numbers: the "
                "model behind this name has changed; keep its answers in a new file"
            )
        rows = np.zeros((len(texts), sizes.pop()))
        for row, text in zip(rows, texts, strict=True):
            if text in found:
                row[:] = found[text]
        return rows

    def _vectors(self, texts: Sequence[str]) -> dict[str, Vector]:
        """The vector of every text, asked for where it is not known."""
        found = {text: known for text in texts if (known := self._known(text)) is not None}
        missing = [text for text in texts if text not in found]
        for batch in batches(missing, most=_BATCH_TEXTS, characters=_BATCH_CHARACTERS):
            asked = [missing[i] for i in batch]
            for text, vector in zip(asked, self._ask(asked), strict=True):
                if self.store is not None:
                    self.store.put(self._key(text), {"embedding": vector.tolist()})
                self._remember(text, vector)
                found[text] = vector
        return found

    def _known(self, text: str) -> Vector | None:
        vector = self._memory.get(text)
        if vector is None and self.store is not None:
            stored = self.store.get(self._key(text))
            if stored is not None:
                vector = np.array(stored["embedding"], dtype=np.float64)
                self._remember(text, vector)
        return vector

    def _remember(self, text: str, vector: Vector) -> None:
        """Keep the vector in memory in place of the oldest one."""
        with self._lock:
            if len(self._memory) >= _MOST_IN_MEMORY:
                del self._memory[next(iter(self._memory))]
            self._memory[text] = vector

    def _key(self, text: str) -> str:
        from rankers.llm import request_key

        return request_key({"model": self.model, "input": text}, 0)

    def _ask(self, texts: list[str]) -> list[Vector]:
        body = {"model": self.model, "input": texts, "encoding_format": "float"}
        answer = self._endpoint.send(body)
        # What is no set of vectors was paid for as well.
        self._endpoint.spending.count(_usage(answer), sent=sum(map(len, texts)), said=0)
        return _vectors_in(answer, len(texts))


class EmbeddingEndpoint(Endpoint):
    """An endpoint whose requests go to the embeddings address, with the same retries and limits."""

    def _open(self, client: OpenAI, body: Body, timeout: Any) -> Any:
        create: Any = client.embeddings.with_streaming_response.create
        return create(model="", input=[], extra_body=body, timeout=timeout)

    def _n_characters(self, body: Body) -> int:
        return sum(map(len, body["input"]))

    def _check(self, answer: Body) -> None:
        """Whether an answer holds the vectors asked for is checked when they are read."""


def _usage(answer: Mapping[str, Any]) -> Usage:
    """What a server says an answer cost: tokens that were sent."""
    from rankers.llm import token_count

    usage = answer.get("usage")
    found = token_count(usage.get("prompt_tokens")) if isinstance(usage, Mapping) else None
    return Usage(1, found or 0, None, 0)


def _vectors_in(answer: Mapping[str, Any], n: int) -> list[Vector]:
    """The n vectors of a server's answer in the order asked for, which ``index`` tells.

    Raises MalformedReply when the answer holds anything else.
    """
    raw = _start(answer)
    data = answer.get("data")
    items = data if isinstance(data, list) else []
    rows = {
        index: item.get("embedding")
        for place, item in enumerate(items)
        if isinstance(item, Mapping) and isinstance(index := item.get("index", place), int)
    }
    if len(items) != n or set(rows) != set(range(n)):
        raise MalformedReply(
            f"the server was asked for {n} embeddings and answered with {len(rows)}", raw
        )
    return [_vector(rows[place], raw) for place in range(n)]


def _start(answer: Mapping[str, Any]) -> str:
    """The first 2,000 characters of an answer."""
    try:
        return json.dumps(answer)[:2000]
    except RecursionError:
        return "(nested too deeply to be shown)"


def _vector(value: Any, raw: str) -> Vector:
    """One embedding. Raises MalformedReply for anything but numbers that can be worked with."""
    try:
        vector = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, RecursionError):
        vector = np.array([])
    # Written so that NaN is refused, too.
    if vector.ndim != 1 or not vector.size or not (np.abs(vector) <= _LARGEST).all():
        raise MalformedReply(
            "the server's answer holds an embedding that is no list of numbers from "
            f"-{_LARGEST:g} to {_LARGEST:g}",
            raw,
        )
    return vector
