"""Sends requests to an API server, one after the other and without an event loop, as the stand-in for kubectl does."""

import http.client
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from moorage.client.http.wire import read_error
from moorage.client.kubeconfig.access import tls_context
from moorage.client.kubeconfig.loading import load_access
from moorage.client.protocol import Unreachable

Raw = dict[str, Any]

AS_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_SECONDS = 30.0


class Wire:
    """One connection for each request. All methods raise ApiError and Unreachable."""

    def __init__(self, kubeconfig: Path) -> None:
        access = load_access(str(kubeconfig))
        url = urlsplit(access.server)
        self._host, self._port = url.hostname or "", url.port
        self._tls = tls_context(access)
        self._headers = {"Authorization": f"Bearer {access.token}"} if access.token else {}

    def get(self, path: str, *, accept: str = "application/json", **query: str) -> Raw:
        given = {name: value for name, value in query.items() if value}
        return self._send("GET", f"{path}?{urlencode(given)}" if given else path, None, {"Accept": accept})

    def post(self, path: str, document: Raw) -> Raw:
        return self._send("POST", f"{path}?fieldManager=kubectl", document, {"Content-Type": "application/json"})

    def merge_patch(self, path: str, patch: Raw) -> Raw:
        media_type = {"Content-Type": "application/merge-patch+json"}
        return self._send("PATCH", f"{path}?fieldManager=kubectl", patch, media_type)

    def delete(self, path: str, options: Raw) -> None:
        self._send("DELETE", path, options, {"Content-Type": "application/json"})

    def _send(self, method: str, target: str, body: Raw | None, headers: dict[str, str]) -> Raw:
        connection = http.client.HTTPSConnection(self._host, self._port, timeout=_SECONDS, context=self._tls)
        try:
            content = None if body is None else json.dumps(body).encode()
            connection.request(method, target, content, {**self._headers, **headers})
            answer = connection.getresponse()
            said = answer.read()
            if answer.status >= 400:
                raise read_error(answer.status, said)
            decoded: Raw = json.loads(said)
            return decoded
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Unreachable(f"the server does not answer: {error or type(error).__name__}") from None
        finally:
            connection.close()
