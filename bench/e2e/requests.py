"""Requests as bytes, made before anything is measured: kinds, names and documents → what goes over the wire.

In: how to reach the server. Out: whole HTTP/1.1 requests, which sender.py sends as they are. One request may be sent
many times: pods of one template with a generated name do not differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

import msgspec

from bench.perf.problems import ConfigError
from moorage.client.http_wire import collection_path, object_path
from moorage.model.kinds import KINDS, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from moorage.client.kubeconfig.access import Access

Raw = dict[str, Any]
_encode = msgspec.json.Encoder().encode


def facts_of(document: Raw) -> Kind:
    """What is known of a document's kind. Raises ConfigError if the server does not have it."""
    version, kind = str(document.get("apiVersion") or "v1"), str(document["kind"])
    facts = KINDS.get((version, kind))
    if facts is None:
        raise ConfigError(f"the server has no {kind} of {version}")
    return facts


class Requests:
    """See the module."""

    def __init__(self, access: Access) -> None:
        lines = [f"Host: {urlsplit(access.server).netloc}", "User-Agent: moorage-bench", "Accept: application/json"]
        lines += [f"Authorization: Bearer {access.token}"] if access.token else []
        self._head = (" HTTP/1.1\r\n" + "".join(f"{line}\r\n" for line in lines)).encode("ascii")

    def get(self, path: str, **query: str) -> bytes:
        target = f"{path}?{urlencode(query)}" if query else path
        return b"GET %s%s\r\n" % (target.encode("ascii"), self._head)

    def create(self, document: Raw, namespace: str = "") -> bytes:
        return self._with_body(b"POST", collection_path(facts_of(document), namespace), document)

    def update(self, document: Raw, namespace: str = "", subresource: str = "") -> bytes:
        path = object_path(facts_of(document), document["metadata"]["name"], namespace, subresource)
        return self._with_body(b"PUT", path, document)

    def patch(self, facts: Kind, name: str, patch: Raw, namespace: str = "") -> bytes:
        """A merge patch."""
        request = self._with_body(b"PATCH", object_path(facts, name, namespace), patch)
        return request.replace(b"Content-Type: application/json", b"Content-Type: application/merge-patch+json", 1)

    def delete(self, facts: Kind, name: str, namespace: str = "") -> bytes:
        return self._with_body(b"DELETE", object_path(facts, name, namespace), {})

    def delete_pods(self, namespace: str, labels: Mapping[str, str], *, at_once: bool = False) -> bytes:
        """All pods of a namespace with these labels."""
        path = collection_path(KINDS.POD, namespace)
        if labels:
            path += "?" + urlencode({"labelSelector": ",".join(f"{key}={value}" for key, value in labels.items())})
        return self._with_body(b"DELETE", path, {"gracePeriodSeconds": 0} if at_once else {})

    def post(self, path: str, document: Raw) -> bytes:
        """Create an object of a kind that is defined in the cluster."""
        return self._with_body(b"POST", path, document)

    def apply(self, path: str, document: Raw, manager: str) -> bytes:
        """Apply on the server, as the owner of all fields that are written."""
        request = self._with_body(b"PATCH", f"{path}?{urlencode({'fieldManager': manager, 'force': 'true'})}", document)
        return request.replace(b"Content-Type: application/json", b"Content-Type: application/apply-patch+yaml", 1)

    @staticmethod
    def as_user(request: bytes, user: str) -> bytes:
        line, _, rest = request.partition(b"\r\n")
        return b"%s\r\nImpersonate-User: %s\r\n%s" % (line, user.encode("ascii"), rest)

    def _with_body(self, method: bytes, path: str, document: Raw) -> bytes:
        body = _encode(document) if document else b""
        return b"%s %s%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
            method,
            path.encode("ascii"),
            self._head,
            len(body),
            body,
        )
