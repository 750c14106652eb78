"""A scripted OpenAI-compatible server over real HTTP, for tests and for trying things out.

It answers the prompts of ``rankers.prompts`` by word overlap (``tests.overlap_rule``), so the
outcome of a whole run can be worked out by hand. It counts tokens, knows which part of a prompt it
has seen before, gives log probabilities when asked, and misbehaves as told::

    with LLMServer(script=[status(429, retry_after="1"), None]) as server:
        client = OpenAI(base_url=server.base_url, api_key="none")

By hand: ``python -m tests.llm_server --port 8099 [--latency 0.2] [--cache-block 1] [--log FILE]``.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import socket
import struct
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TextIO

from tests.llm_acts import (
    UNSET,
    Act,
    blank_loop,
    cut_list,
    decimals,
    delay,
    drip,
    drop,
    empty,
    fenced_json,
    hang,
    json_as_reasoning,
    keyed,
    limit_reached,
    no_content,
    open_think,
    pick,
    prose,
    prose_before,
    prose_behind,
    raw_body,
    reasoning_only,
    run,
    say,
    schema_refused,
    status,
    top_tokens,
    truncated,
    unknown_cache,
    words_as_ids,
)
from tests.overlap_rule import answer, first_tokens, tokens, words
from tests.prefix_cache import MOST_BLOCKS, PrefixCache

__all__ = [
    "CACHE_BLOCK",
    "MODEL",
    "MOST_BLOCKS",
    "Act",
    "LLMServer",
    "PrefixCache",
    "Request",
    "blank_loop",
    "cut_list",
    "decimals",
    "delay",
    "drip",
    "drop",
    "empty",
    "fenced_json",
    "hang",
    "json_as_reasoning",
    "keyed",
    "limit_reached",
    "no_content",
    "open_think",
    "pick",
    "prose",
    "prose_before",
    "prose_behind",
    "raw_body",
    "reasoning_only",
    "run",
    "say",
    "schema_refused",
    "status",
    "top_tokens",
    "truncated",
    "unknown_cache",
    "words_as_ids",
]

MODEL = "overlap-1"
#: Prefixes are remembered in blocks of so many tokens, as vLLM does.
CACHE_BLOCK = 16
_ports_used: set[int] = set()


@dataclass(frozen=True)
class Request:
    """One recorded request: when it came (monotonic clock), its headers (names in lower case), its
    JSON body, and the port it came from, which tells one connection from another.

    ``round`` is 1 for a request before the first answer, and otherwise one more than the highest
    round of those answered before it came: the length of a chain of requests that waited for one
    another.
    """

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at: float
    client_port: int = 0
    round: int = 1

    @property
    def prompt(self) -> str:
        """The first user turn."""
        return next(m["content"] for m in self.body["messages"] if m["role"] == "user")


Script = Sequence[Act | None] | Callable[[Request], Act | None]


def embedding(text: str, dimensions: int = 64) -> list[float]:
    """A bag of words, each hashed to one of ``dimensions`` places: shared words, near vectors."""
    vector = [0.0] * dimensions
    for word in words(text):
        vector[zlib.crc32(word.encode()) % dimensions] += 1.0
    return vector


class LLMServer:
    """The server, on a free port unless told otherwise, running between ``with`` and its end.

    ``script`` says what to do with each chat request: a list is used up in order of arrival (None
    and everything after its end: a good answer), a callable is asked each time. ``latency`` is
    added to every good answer. ``requests`` holds all chat requests in order of arrival, unless
    ``keeps_requests`` is off; ``most_at_once`` is the largest number that were open at the same
    time, ``n_rounds`` the highest ``Request.round``. ``log`` gets a JSON line a chat completion:
    Unix time, SHA-256 of the request's body, prompt tokens, cached ones, tokens of the answer.
    """

    def __init__(
        self,
        script: Script = (),
        *,
        latency: float = 0.0,
        host: str = "127.0.0.1",
        port: int = 0,
        cache_block: int = CACHE_BLOCK,
        log: TextIO | None = None,
        keeps_requests: bool = True,
    ):
        self.script = script
        self.latency = latency
        self.log = log
        self.keeps_requests = keeps_requests
        self.requests: list[Request] = []
        self.n_requests = 0
        self.n_rounds = 0
        self.embedding_script: Sequence[Act | None] = ()
        self.embedding_bodies: list[dict[str, Any]] = []
        self.most_at_once = 0
        self._n_open = 0
        self._rounds_answered = 0
        self._prefixes = PrefixCache(cache_block)
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

    def record(self, request: Request) -> tuple[Request, Act | None]:
        """Note a chat request, give it its round, and decide what happens to it."""
        with self._lock:
            request = replace(request, round=self._rounds_answered + 1)
            self.n_requests += 1
            self.n_rounds = max(self.n_rounds, request.round)
            if self.keeps_requests:
                self.requests.append(request)
            self._n_open += 1
            self.most_at_once = max(self.most_at_once, self._n_open)
            if callable(self.script):
                return request, self.script(request)
            k = self.n_requests - 1
            return request, self.script[k] if k < len(self.script) else None

    def record_embedding(self, body: dict[str, Any]) -> Act | None:
        """Note a request for embeddings; ``embedding_script`` is used up in order of arrival."""
        with self._lock:
            self.embedding_bodies.append(body)
            k = len(self.embedding_bodies) - 1
            return self.embedding_script[k] if k < len(self.embedding_script) else None

    def answered(self, request: Request) -> None:
        """A chat request is about to get its answer, whatever it is."""
        with self._lock:
            self._rounds_answered = max(self._rounds_answered, request.round)

    def done(self) -> None:
        """A chat request has been dealt with."""
        with self._lock:
            self._n_open -= 1

    def completion(self, request: Request, act: Act) -> dict[str, Any]:
        """The JSON of a chat completion, by the rule or with the fields that ``act`` sets."""
        content, reason = act.content, act.finish_reason
        if content is UNSET:
            content = answer(request.prompt, "response_format" in request.body)
            reason = "length" if request.body.get("max_tokens") == 1 else reason
        message: dict[str, Any] = {"role": "assistant", "content": content}
        if act.reasoning is not None:
            message["reasoning_content"] = act.reasoning
        choice = {"index": 0, "message": message, "finish_reason": reason}
        if request.body.get("logprobs"):
            choice["logprobs"] = _logprobs(request, act)
        completion = {
            "id": f"chatcmpl-{self.n_requests}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": request.body.get("model", MODEL),
            "choices": [choice],
        }
        said = f"{content if isinstance(content, str) else ''} {act.reasoning or ''}"
        usage = self._usage(request, said) if act.usage is UNSET else act.usage
        return completion if usage is None else {**completion, "usage": usage}

    def _usage(self, request: Request, said: str) -> dict[str, Any]:
        """Token counts; cached tokens are whole blocks of a prefix that was answered before."""
        turns = request.body["messages"]
        sent = [token for turn in turns for token in [turn["role"], *tokens(turn["content"])]]
        n_cached = self._prefixes.use(sent)
        n_said = len(tokens(said))
        if self.log is not None:
            self._write_line(request, len(sent), n_cached, n_said)
        return {
            "prompt_tokens": len(sent),
            "completion_tokens": n_said,
            "total_tokens": len(sent) + n_said,
            "prompt_tokens_details": {"cached_tokens": n_cached},
        }

    def _write_line(self, request: Request, n_sent: int, n_cached: int, n_said: int) -> None:
        body = json.dumps(request.body, sort_keys=True).encode()
        line = {
            "time": time.time(),
            "key": hashlib.sha256(body).hexdigest(),
            "prompt_tokens": n_sent,
            "cached_tokens": n_cached,
            "completion_tokens": n_said,
        }
        assert self.log is not None
        with self._lock:
            self.log.write(json.dumps(line) + "\n")
            self.log.flush()


def _logprobs(request: Request, act: Act) -> dict[str, Any] | None:
    """The log probabilities of the first token, as many alternatives as were asked for.

    A scripted answer without any says null, as servers do that know the field but not the numbers.
    """
    count = request.body.get("top_logprobs", 0)
    found = first_tokens(request.prompt, count) if act.content is UNSET else act.top_logprobs
    if not found:
        return None
    top = [{"token": token, "logprob": value, "bytes": None} for token, value in found[:count]]
    return {"content": [{**top[0], "top_logprobs": top}]} if top else {"content": []}


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
            request, act = server.record(request)
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
            if act.delay:
                server.stopping.wait(act.delay)
            server.answered(request)
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
    parser.add_argument(
        "--cache-block", type=int, default=CACHE_BLOCK, help="tokens in a block of cached prefix"
    )
    parser.add_argument("--log", type=Path, help="file that gets a JSON line for each answer")
    options = parser.parse_args()
    if options.cache_block < 1:
        parser.error("--cache-block must be at least 1")
    with ExitStack() as stack:
        log = stack.enter_context(options.log.open("a")) if options.log else None
        server = LLMServer(
            host=options.host,
            port=options.port,
            latency=options.latency,
            cache_block=options.cache_block,
            log=log,
            keeps_requests=False,
        )
        stack.enter_context(server)
        print(f"OPENAI_BASE_URL={server.base_url} OPENAI_MODEL={MODEL}", flush=True)
        with suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
