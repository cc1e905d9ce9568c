"""Make requests with certificates of users over TLS, to any API server whose authority is at hand."""

import asyncio
import json
import ssl
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

from tests.laws.random_node_worlds import Change

from moorage.serve.pki.certificates import Authority


class CertificateClients:
    """One connection for each user, which is known by its certificate. The user "" is the administrator."""

    def __init__(self, url: str, authority: Authority, directory: Path) -> None:
        host, _, port = url.removeprefix("https://").partition(":")
        self._address = host, int(port)
        self._authority, self._directory = authority, directory
        self._connections: dict[str, HTTPSConnection] = {}

    async def ask(self, user: str, asked: Change) -> tuple[int, Any]:
        """Make a request; return the code and the document of the answer."""
        return await asyncio.to_thread(self._requested, user, asked)

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()

    def _requested(self, user: str, asked: Change) -> tuple[int, Any]:
        if user not in self._connections:
            self._connections[user] = self._connected(user)
        connection = self._connections[user]
        body = None if asked.body is None else json.dumps(asked.body)
        connection.request(asked.method, asked.path, body, {"Content-Type": asked.content_type})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def _connected(self, user: str) -> HTTPSConnection:
        groups = ("system:nodes",) if user else ("system:masters",)
        issued = self._authority.issue_client(user or "admin", groups)
        file = self._directory / f"client-{len(self._connections)}.pem"
        file.write_bytes(issued.certificate + issued.key)
        context = ssl.create_default_context(cadata=self._authority.issued.certificate.decode())
        context.load_cert_chain(file)
        return HTTPSConnection(*self._address, context=context)
