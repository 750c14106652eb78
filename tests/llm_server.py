"""A scripted OpenAI-compatible server over real HTTP, for tests and for trying things out.

It reads the prompts of ``rankers.prompts`` as a model would (claim, numbered sentences, what was
already shown) and answers by word overlap, so the outcome of a whole run can be worked out by
hand. It counts tokens, knows which part of a prompt it has seen before, and misbehaves as told::

    with LLMServer(script=[status(429, retry_after="1"), None]) as server:
        client = OpenAI(base_url=server.base_url, api_key="none")

By hand: ``python -m tests.llm_server --port 8099 [--latency 0.2]``.
"""

from __future__ import annotations

import argparse
import base64
import json
import re
import socket
import struct
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from rankers import prompts

MODEL = "overlap-1"
#: Prefixes are remembered in blocks of so many tokens, as vLLM does.
CACHE_BLOCK = 16

_STOP_WORDS = frozenset(
    re.findall(r"\w+", "a an and are as at by for from in is it of on the to was")
)
_NUMBERED = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_UNSET: Any = object()
_ports_used: set[int] = set()


@dataclass(frozen=True)
class Act:
    """What to do instead of a good answer. Build one with the functions below."""

    delay: float = 0.0
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    content: Any = _UNSET
    finish_reason: str | None = "stop"
    reasoning: str | None = None
    usage: Any = _UNSET
    is_dropped: bool = False
    is_hanging: bool = False
    drip: float = 0.0


@dataclass(frozen=True)
class Request:
    """One recorded request: when it came (monotonic clock), its headers (names in lower case), its
    JSON body, and the port it came from, which tells one connection from another.
    """

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at: float
    client_port: int = 0

    @property
    def prompt(self) -> str:
        """The first user turn."""
        return next(m["content"] for m in self.body["messages"] if m["role"] == "user")


Script = Sequence[Act | None] | Callable[[Request], Act | None]


def say(content: Any, **fields: Any) -> Act:
    """Answer with this content (any value, None included)."""
    return Act(content=content, **fields)


def delay(seconds: float) -> Act:
    """A good answer, late."""
    return Act(delay=seconds)


def status(
    http_status: int, message: str = "no", retry_after: str | None = None, **error: Any
) -> Act:
    """An HTTP error with an OpenAI-style body, to which ``error`` adds fields."""
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return Act(status=http_status, headers=headers, body={"error": {"message": message, **error}})


def raw_body(body: Any) -> Act:
    """Status 200 with this body: an object is sent as JSON, a string as it is."""
    return Act(body=body)


def hang() -> Act:
    """Take the request and say nothing until the server stops."""
    return Act(is_hanging=True)


def drop() -> Act:
    """Close the connection without an answer."""
    return Act(is_dropped=True)


def drip(seconds: float) -> Act:
    """A good answer, one blank every so many seconds before it, for ever."""
    return Act(drip=seconds)


def no_content() -> Act:
    """Content null and no reasoning, as after a refusal or a tool call."""
    return say(None)


def reasoning_only(text: str = "Let me compare [1] and [2] first") -> Act:
    """Thinking that used up the whole limit."""
    return say(None, reasoning=text, finish_reason="length")


def truncated(content: str = "Sentence [1] says") -> Act:
    """An answer that ran into the token limit."""
    return say(content, finish_reason="length")


def prose() -> Act:
    """Digits, years, and no answer."""
    return say("I looked at all 5 sentences; the 2 from 1990 seem best.")


def fenced_json(ids: Sequence[int]) -> Act:
    """JSON in a code fence after a remark."""
    return say(f"Here you are:\n```json\n{json.dumps({'ids': list(ids)})}\n```")


def pick(*numbers: int) -> Act:
    """These numbers in brackets, valid or not."""
    return say(" ".join(f"[{number}]" for number in numbers))


def empty() -> Act:
    """An empty string."""
    return say("")


def words(text: str) -> frozenset[str]:
    """Lower-cased words without the commonest ones."""
    return frozenset(re.findall(r"\w+", text.lower())) - _STOP_WORDS


def overlap_pick(claim: str, sentences: dict[int, str], shown: Sequence[str]) -> int:
    """The number whose sentence shares most claim words that no shown one has; ties: the lowest.

    When none adds anything, the most shared words count.
    """
    wanted = words(claim)
    open_words = wanted - frozenset[str]().union(*map(words, shown))
    return min(
        sentences,
        key=lambda k: (
            -len(words(sentences[k]) & open_words),
            -len(words(sentences[k]) & wanted),
            k,
        ),
    )


def overlap_selection(claim: str, sentences: dict[int, str]) -> list[int]:
    """Greedy picks while each adds a claim word; at least one."""
    chosen: list[int] = []
    left = dict(sentences)
    wanted = words(claim)
    while left:
        number = overlap_pick(claim, left, [sentences[k] for k in chosen])
        covered = frozenset[str]().union(*(words(sentences[k]) for k in chosen))
        if chosen and not words(sentences[number]) & (wanted - covered):
            break
        chosen.append(number)
        del left[number]
    return sorted(chosen)


def answer(prompt: str, as_json: bool = False) -> str:
    """The answer to a prompt of ``rankers.prompts``; an apology to any other."""
    claim = re.search(rf"^{re.escape(prompts.CLAIM_LABEL)} (.*)$", prompt, re.MULTILINE)
    sentences = {int(number): text for number, text in _NUMBERED.findall(prompt)}
    if claim is None or not sentences:
        return "I am sorry, I do not understand the question."
    if prompts.SELECTION_QUESTION in prompt:
        ids = overlap_selection(claim[1], sentences)
        shown_as = ", ".join(map(str, ids))
    else:
        shown, left = _already_shown(prompt, sentences)
        ids = [overlap_pick(claim[1], left, shown)]
        shown_as = str(ids[0])
    return json.dumps({"ids": ids}) if as_json else f"[{shown_as}]"


def _already_shown(prompt: str, sentences: dict[int, str]) -> tuple[list[str], dict[int, str]]:
    """Texts already shown, and the sentences that are left, in either layout."""
    line = re.search(rf"^{re.escape(prompts.SHOWN_LABEL)} (.*)$", prompt, re.MULTILINE)
    if line is not None:
        numbers = [int(number) for number in re.findall(r"\[(\d+)\]", line[1])]
        left = {k: text for k, text in sentences.items() if k not in numbers}
        return [sentences[number] for number in numbers], left
    _, heading, rest = prompt.partition(prompts.USED_HEADING)
    bullets = rest.partition(prompts.REMAINING_HEADING)[0] if heading else ""
    return re.findall(r"^- (.*)$", bullets, re.MULTILINE), sentences


def embedding(text: str, dimensions: int = 64) -> list[float]:
    """A bag of words, each hashed to one of ``dimensions`` places: shared words, near vectors."""
    vector = [0.0] * dimensions
    for word in words(text):
        vector[zlib.crc32(word.encode()) % dimensions] += 1.0
    return vector


def tokens(text: str) -> list[str]:
    """A simple stand-in for a tokenizer: words and single signs."""
    return re.findall(r"\w+|[^\w\s]", text)


class LLMServer:
    """The server, on a free port unless told otherwise, running between ``with`` and its end.

    ``script`` says what to do with each chat request: a list is used up in order of arrival (None
    and everything after its end: a good answer), a callable is asked each time. ``latency`` is
    added to every good answer. ``requests`` holds all chat requests in order of arrival;
    ``most_at_once`` is the largest number that were open at the same time.
    """

    def __init__(
        self,
        script: Script = (),
        *,
        latency: float = 0.0,
        host: str = "127.0.0.1",
        port: int = 0,
        cache_block: int = CACHE_BLOCK,
    ):
        self.script = script
        self.latency = latency
        self.cache_block = cache_block
        self.requests: list[Request] = []
        self.embedding_script: Sequence[Act | None] = ()
        self.embedding_bodies: list[dict[str, Any]] = []
        self.most_at_once = 0
        self._n_open = 0
        self._prefixes: set[int] = set()
        self._lock = threading.Lock()
        self.stopping = threading.Event()
        self._http = ThreadingHTTPServer((host, port), _handler_for(self))
        # Clients remember what an address refused before, so no test may inherit another's.
        while port == 0 and self._http.server_port in _ports_used:
            self._http.server_close()
            self._http = ThreadingHTTPServer((host, port), _handler_for(self))
        _ports_used.add(self._http.server_port)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    @property
    def base_url(self) -> str:
        """What goes into OPENAI_BASE_URL."""
        host, port = self._http.server_address[:2]
        return f"http://{host!s}:{port}/v1"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The JSON bodies of all chat requests."""
        return [request.body for request in self.requests]

    def __enter__(self) -> LLMServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def record(self, request: Request) -> Act | None:
        """Note a chat request and decide what happens to it."""
        with self._lock:
            self.requests.append(request)
            self._n_open += 1
            self.most_at_once = max(self.most_at_once, self._n_open)
            if callable(self.script):
                return self.script(request)
            k = len(self.requests) - 1
            return self.script[k] if k < len(self.script) else None

    def record_embedding(self, body: dict[str, Any]) -> Act | None:
        """Note a request for embeddings; ``embedding_script`` is used up in order of arrival."""
        with self._lock:
            self.embedding_bodies.append(body)
            k = len(self.embedding_bodies) - 1
            return self.embedding_script[k] if k < len(self.embedding_script) else None

    def done(self) -> None:
        """A chat request has been dealt with."""
        with self._lock:
            self._n_open -= 1

    def completion(self, request: Request, act: Act) -> dict[str, Any]:
        """The JSON of a chat completion, by the rule or with the fields that ``act`` sets."""
        content = act.content
        if content is _UNSET:
            content = answer(request.prompt, "response_format" in request.body)
        message: dict[str, Any] = {"role": "assistant", "content": content}
        if act.reasoning is not None:
            message["reasoning_content"] = act.reasoning
        completion = {
            "id": f"chatcmpl-{len(self.requests)}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": request.body.get("model", MODEL),
            "choices": [{"index": 0, "message": message, "finish_reason": act.finish_reason}],
        }
        said = f"{content if isinstance(content, str) else ''} {act.reasoning or ''}"
        usage = self._usage(request, said) if act.usage is _UNSET else act.usage
        return completion if usage is None else {**completion, "usage": usage}

    def _usage(self, request: Request, said: str) -> dict[str, Any]:
        """Token counts; cached tokens are whole blocks of a prefix that was answered before."""
        turns = request.body["messages"]
        sent = [token for turn in turns for token in [turn["role"], *tokens(turn["content"])]]
        n_cached, chain = 0, 0
        with self._lock:
            for start in range(0, len(sent) - self.cache_block + 1, self.cache_block):
                chain = hash((chain, tuple(sent[start : start + self.cache_block])))
                if chain in self._prefixes and n_cached == start:
                    n_cached = start + self.cache_block
                self._prefixes.add(chain)
        n_said = len(tokens(said))
        return {
            "prompt_tokens": len(sent),
            "completion_tokens": n_said,
            "total_tokens": len(sent) + n_said,
            "prompt_tokens_details": {"cached_tokens": n_cached},
        }


def _encoded(body: dict[str, Any], vector: list[float]) -> Any:
    """The vector as the request wants it; the openai client asks for base64 of float32."""
    if body.get("encoding_format") != "base64":
        return vector
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _handler_for(server: LLMServer) -> type[BaseHTTPRequestHandler]:
    """A request handler class that answers for ``server``."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            if self.path == "/v1/models":
                model = {"id": MODEL, "object": "model", "created": 0, "owned_by": "tests"}
                self._send(200, {"object": "list", "data": [model]})
            else:
                self._send(404, {"error": {"message": f"no such address: {self.path}"}})

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.path == "/v1/embeddings":
                self._embed(data)
                return
            if self.path != "/v1/chat/completions":
                self._send(404, {"error": {"message": f"no such address: {self.path}"}})
                return
            try:
                body = json.loads(data)
                headers = {name.lower(): value for name, value in self.headers.items()}
                port = self.client_address[1]
                request = Request(self.path, headers, body, time.monotonic(), port)
                is_chat = bool(request.prompt)
            except (ValueError, KeyError, TypeError, StopIteration):
                is_chat = False
            if not is_chat:
                self._send(400, {"error": {"message": "not a chat request with a user turn"}})
                return
            act = server.record(request)
            try:
                self._play(request, act or Act(delay=server.latency))
            finally:
                server.done()

        def _embed(self, data: bytes) -> None:
            """Vectors as numbers or base64, in the order asked for; scripts play here too."""
            body = json.loads(data)
            texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
            act = server.record_embedding(body)
            if act is not None and act.body is not None:
                self._send(act.status, act.body, act.headers)
                return
            items = [
                {"object": "embedding", "index": i, "embedding": _encoded(body, embedding(text))}
                for i, text in enumerate(texts)
            ]
            n_tokens = sum(len(tokens(text)) for text in texts)
            usage = {"prompt_tokens": n_tokens, "total_tokens": n_tokens}
            answer = {"object": "list", "data": items, "model": body["model"], "usage": usage}
            self._send(200, answer)

        def _play(self, request: Request, act: Act) -> None:
            if act.is_hanging:
                server.stopping.wait()
                self.close_connection = True
                return
            if act.is_dropped:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            server.stopping.wait(act.delay)
            if act.drip:
                self._drip(act.drip)
            elif act.body is not None:
                self._send(act.status, act.body, act.headers)
            else:
                self._send(act.status, server.completion(request, act), act.headers)

        def _drip(self, seconds: float) -> None:
            self.close_connection = True
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
            with suppress(OSError):  # the client has had enough
                while not server.stopping.wait(seconds):
                    self.wfile.write(b" ")

        def _send(self, code: int, body: Any, headers: dict[str, str] | None = None) -> None:
            data = (body if isinstance(body, str) else json.dumps(body)).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            # A client that gave up is no fault of the server.
            with suppress(OSError):
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Keep test output quiet."""

    return Handler


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.llm_server",
        description="An OpenAI-compatible server that answers ranking prompts by word overlap.",
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8099)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    options = parser.parse_args()
    with LLMServer(host=options.host, port=options.port, latency=options.latency) as server:
        print(f"OPENAI_BASE_URL={server.base_url} OPENAI_MODEL={MODEL}", flush=True)
        with suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
