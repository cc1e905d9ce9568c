"""Serve HTTPS on a loopback port in a thread, with a certificate of an authority of its own."""

from __future__ import annotations

import base64
import datetime
import socket
import ssl
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from moorage.library.manifests import MoorageError
from moorage.serve.pki.certificates import Authority


class HttpReply(NamedTuple):
    """An answer; with `closes` the connection is closed without one."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    closes: bool = False


#: From the path with its query, and the body, to the answer.
Respond = Callable[[str, bytes], HttpReply]


class HttpsServer:
    """A server while its `with` block lasts. `respond` is called in a thread for each connection."""

    def __init__(self, respond: Respond, names: Sequence[str] = ("127.0.0.1", "localhost")) -> None:
        """`names` are those in its certificate."""
        self._respond, self._names = respond, tuple(names)
        self._server: _Server | None = None

    def __enter__(self) -> HttpsServer:
        authority = Authority.create(datetime.datetime.now(datetime.UTC))
        self._authorities = authority.issued.certificate
        issued = authority.issue_server(self._names)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as directory:
            pair = Path(directory, "pair.pem")
            pair.touch(0o600)
            pair.write_bytes(issued.key + issued.certificate)
            context.load_cert_chain(pair)
        self._server = _Server(self._respond, context)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *reason: object) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()
            server.end_connections()

    @property
    def port(self) -> int:
        if self._server is None:
            raise MoorageError("the server runs in its `with` block only")
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def ca_bundle(self) -> str:
        """The certificate of the server's authority, as a caBundle has it: base64 of PEM."""
        return base64.b64encode(self._authorities).decode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, respond: Respond, context: ssl.SSLContext) -> None:
        self.respond, self._context = respond, context
        self._open: set[ssl.SSLSocket] = set()
        super().__init__(("127.0.0.1", 0), _Handler)

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Shake hands in the thread of the connection, so that a client that does not delays only itself."""
        try:
            connection = self._context.wrap_socket(request, server_side=True)
        except (ssl.SSLError, OSError):
            return
        with connection:
            self._open.add(connection)
            try:
                super().finish_request(connection, client_address)
            finally:
                self._open.discard(connection)

    def end_connections(self) -> None:
        """End connections that clients keep."""
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that have gone."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self._answer(self.server.respond(self.path, body))

    def do_GET(self) -> None:
        self._answer(self.server.respond(self.path, b""))

    def _answer(self, reply: HttpReply) -> None:
        if reply.closes:
            self.close_connection = True
            return
        self.send_response(reply.status)
        if reply.content_type:
            self.send_header("Content-Type", reply.content_type)
        for name, value in reply.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, *arguments: Any) -> None:
        """Log nothing."""
