"""A server that sends the very bytes a test wants, for answers no honest HTTP server gives."""

from __future__ import annotations

import json
import socket
import socketserver
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

Send = Callable[[bytes], None]
#: Sends an answer; the event is set when the server is to stop.
Answer = Callable[[Send, threading.Event], None]


def response(body: Any, status: str = "200 OK", headers: str = "") -> Answer:
    """A whole answer: ``body`` as it is if it is bytes, as JSON otherwise."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(data)}\r\n{headers}\r\n".encode()
    return lambda send, stop: send(head + data)


def dripping(start: bytes, piece: bytes, seconds: float = 0.05) -> Answer:
    """An answer that starts and then goes on piece by piece for ever."""

    def answer(send: Send, stop: threading.Event) -> None:
        send(start)
        while not stop.wait(seconds):
            send(piece)

    return answer


class RawServer:
    """Takes one request per connection and plays ``answer``; ``heads`` are the requests' heads."""

    def __init__(self, answer: Answer):
        self.heads: list[bytes] = []
        self._stop = threading.Event()
        heads, stop = self.heads, self._stop

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with suppress(OSError):  # the client has had enough
                    heads.append(_read_request(self.request))
                    answer(self.request.sendall, stop)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        )

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def base_url(self) -> str:
        """What goes into OPENAI_BASE_URL."""
        return f"{self.origin}/v1"

    def __enter__(self) -> RawServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _read_request(connection: socket.socket) -> bytes:
    """The head of a request, once its body has come too."""
    with connection.makefile("rb") as stream:
        lines = list(iter(stream.readline, b"\r\n"))
        head = b"".join(lines)
        length = next(line for line in lines if line.lower().startswith(b"content-length:"))
        stream.read(int(length.split(b":")[1]))
    return head
