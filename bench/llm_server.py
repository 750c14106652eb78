"""The scripted LLM server as a process of its own, with a log of what it answered."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rankers.llm import LLM
from rankers.prompts import CLAIM_LABEL
from rankers.store import ResponseStore
from tests.llm_server import MODEL, Act, LLMServer, Request


@dataclass(frozen=True)
class Answered:
    """One answer: the claim asked about, and the prompt's tokens in all and from the cache."""

    claim: str
    prompt_tokens: int
    cached_tokens: int

    @property
    def computed_tokens(self) -> int:
        """Prompt tokens that the server had to work on."""
        return self.prompt_tokens - self.cached_tokens


@dataclass
class ServerProcess:
    """A running server; ``log`` is filled when it has stopped."""

    base_url: str
    log: list[Answered] = field(default_factory=list)

    def llm(self, store: ResponseStore | None = None, concurrency: int = 1) -> LLM:
        """The client for this server, set up from an environment as a run does it."""
        environ = {"OPENAI_BASE_URL": self.base_url, "SUFFICE_LLM_CONCURRENCY": str(concurrency)}
        return LLM.from_environment(MODEL, store=store, environ=environ)


@contextmanager
def server_process(latency: float = 0.0) -> Iterator[ServerProcess]:
    """A fresh server with an empty prefix cache, until the end of the block."""
    command = [sys.executable, "-m", "bench.llm_server", "--latency", str(latency)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        server = ServerProcess(process.stdout.readline().strip())
        try:
            yield server
        finally:
            process.stdin.close()  # which tells it to stop
            server.log += [Answered(**json.loads(line)) for line in process.stdout]


class _LoggingServer(LLMServer):
    """Keeps what ``Answered`` needs of every answer."""

    def __init__(self, **settings: Any):
        super().__init__(keeps_requests=False, **settings)
        self.noted: list[dict[str, Any]] = []

    def completion(self, request: Request, act: Act) -> dict[str, Any]:
        """The answer, noted."""
        completion = super().completion(request, act)
        claim = re.search(rf"^{re.escape(CLAIM_LABEL)} (.*)$", request.prompt, re.MULTILINE)
        usage = completion["usage"]
        answered = {
            "claim": claim[1] if claim else "",
            "prompt_tokens": usage["prompt_tokens"],
            "cached_tokens": usage["prompt_tokens_details"]["cached_tokens"],
        }
        self.noted.append(answered)  # a list takes one item at a time, from any thread
        return completion


def main() -> None:
    """Print the address, serve until standard input ends, then print the log."""
    parser = argparse.ArgumentParser(prog="python -m bench.llm_server", description=__doc__)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    with _LoggingServer(latency=parser.parse_args().latency) as server:
        print(server.base_url, flush=True)
        sys.stdin.read()
    for answered in server.noted:
        print(json.dumps(answered))


if __name__ == "__main__":
    main()
