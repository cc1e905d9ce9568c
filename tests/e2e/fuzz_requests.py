"""Requests that no well-meaning client sends: paths, queries, headers and bodies, from a seed.

In: a seed. Out: `Asked`, as many as are wanted; among them enough that succeed for the others to have something to
break.
"""

import base64
import json
from random import Random
from typing import Any, NamedTuple
from urllib.parse import quote

from tests.e2e.fuzz_bodies import disfigured, protobuf_of
from tests.e2e.fuzz_documents import ALL_KINDS, Oddities, Raw, fine
from tests.e2e.fuzz_values import ACCEPTS, CONTENT_TYPES, NUMBER_TEXTS, PATHS, SELECTORS

from moorage.model.kinds import Kind
from moorage.serve.resources.served import RESOURCES

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "BREW")
_PATCHES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
_QUERIES: dict[str, tuple[str, ...]] = {
    "limit": NUMBER_TEXTS,
    "continue": ("x", "e30", "====", "ä", "\x00"),
    "resourceVersion": NUMBER_TEXTS,
    "resourceVersionMatch": ("Exact", "NotOlderThan", "x", ""),
    "labelSelector": SELECTORS,
    "fieldSelector": SELECTORS,
    "dryRun": ("All", "", "x", "All,All", "all", "All,x"),
    "fieldValidation": ("Strict", "Warn", "Ignore", "", "x"),
    "fieldManager": ("me", "", "x" * 200, "\x01", "ä", "a/b", "before-first-apply"),
    "timeoutSeconds": ("0", "-1", "x", "9" * 30, ""),
    "sendInitialEvents": ("true", "false", "x", ""),
    "allowWatchBookmarks": ("true", "false", "x", ""),
    "gracePeriodSeconds": NUMBER_TEXTS,
    "propagationPolicy": ("Foreground", "Background", "Orphan", "x", ""),
    "orphanDependents": ("true", "false", "x"),
    "force": ("true", "false", "x", ""),
    "watch": ("true", "1", "false", "x", ""),
    "includeObject": ("None", "Metadata", "Object", "x", ""),
    "pretty": ("true", "x"),
    "container": ("web", "x"),
    "verbose": ("", "1"),
}
_SUBRESOURCES = (
    "status",
    "scale",
    "binding",
    "eviction",
    "log",
    "finalize",
    "exec",
    "token",
    "ephemeralcontainers",
    "",
    "x",
)
_BELOW: dict[str, Raw] = {
    "scale": {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}, "spec": {"replicas": 3}},
    "binding": {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "web"},
        "target": {"kind": "Node", "name": "n"},
    },
    "eviction": {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web"}, "deleteOptions": {}},
}
_DELETE: Raw = {
    "apiVersion": "v1",
    "kind": "DeleteOptions",
    "gracePeriodSeconds": 0,
    "propagationPolicy": "Background",
    "preconditions": {"uid": "x", "resourceVersion": "1"},
    "dryRun": ["All"],
    "orphanDependents": False,
}
_NAMES = ("web", "a", "b", "x-1")
_NAMESPACES = (*("default",) * 12, "kube-system", "missing", "Bad_Name", "")


class Asked(NamedTuple):
    """A request as the handler sees it, or a client sends it."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes = b""

    def __repr__(self) -> str:
        return f"{self.method} {self.target[:300]} {self.headers} {self.body[:3000]!r}"


class RequestMaker:
    """The same seed makes the same requests."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.odd = Oddities(self.random)

    def next(self) -> Asked:
        which = self.random.random()
        if which < 0.10:
            return self._anywhere()
        kind = self.random.choice(ALL_KINDS)
        if which < 0.40:
            return self._write(kind, "POST", "")
        if which < 0.52:
            return self._write(kind, "PUT", self.random.choice(_NAMES))
        if which < 0.75:
            return self._patch(kind)
        if which < 0.83:
            return self._below(kind)
        if which < 0.90:
            return self._delete(kind)
        return self._read(kind)

    def _anywhere(self) -> Asked:
        """A path of no resource, or a wrong method for it."""
        random = self.random
        path = random.choice(PATHS)
        if random.random() < 0.3:
            cut = random.randrange(len(path) + 1)
            path = path[:cut] + quote(self.odd.word(), safe=random.choice(("", "/"))) + path[cut:]
        body = json.dumps(self.odd.value()).encode() if random.random() < 0.5 else b""
        return Asked(random.choice(_METHODS), path + self._query(), self._headers(), body)

    def _write(self, kind: Kind, method: str, name: str) -> Asked:
        random = self.random
        namespace = self._namespace()
        document = self._document(kind, name or random.choice(_NAMES), namespace)
        if method == "PUT" and random.random() < 0.4:
            name += "/status"
        body, content_type = self._encoded(document, kind)
        return Asked(method, self._path(kind, namespace, name) + self._query(), self._headers(content_type), body)

    def _document(self, kind: Kind, name: str, namespace: str) -> Any:
        which = self.random.random()
        if which < 0.2:
            return fine(kind, name, namespace)
        if which < 0.55:
            return self.odd.mutated(fine(kind, name, namespace))
        drawn = self.odd.drawn(kind, name, namespace)
        return drawn if which < 0.85 else self.odd.mutated(drawn)

    def _encoded(self, document: Any, kind: Kind) -> tuple[bytes, str]:
        which = self.random.random()
        if which < 0.80:
            return json.dumps(document).encode(), "application/json"
        if which < 0.92:
            return disfigured(self.random, document)
        return protobuf_of(self.random, kind), "application/vnd.kubernetes.protobuf"

    def _patch(self, kind: Kind) -> Asked:
        random = self.random
        namespace, name = self._namespace(), random.choice(_NAMES)
        language = random.choice(_PATCHES)
        below = random.choice(("", "", "", "/status", "/scale"))
        patch: Any
        if language == _PATCHES[0]:
            patch = self._operations(kind)
        elif language == _PATCHES[3]:
            patch = self._document(kind, name, namespace)
        else:
            drawn = self.odd.drawn(kind, name, namespace)
            patch = {key: drawn[key] for key in random.sample(list(drawn), random.randrange(1, len(drawn)))}
            if random.random() < 0.5:
                patch = self.odd.mutated(patch)
        body = json.dumps(patch).encode()
        if random.random() < 0.06:
            body, _ = disfigured(random, patch)
        query = self._query("fieldManager=me&force=true") if language == _PATCHES[3] else self._query()
        return Asked("PATCH", self._path(kind, namespace, name + below) + query, self._headers(language), body)

    def _operations(self, kind: Kind) -> Any:
        random = self.random
        pointers = [
            "",
            "/",
            "/metadata",
            "/metadata/labels",
            "/metadata/labels/app",
            "/metadata/name",
            "/spec",
            "/status",
            "/kind",
        ]
        pointers += [
            "/apiVersion",
            "/metadata/resourceVersion",
            "/metadata/uid",
            "/metadata/managedFields",
            "/metadata/managedFields/0/fieldsV1",
        ]
        pointers += [
            "/metadata/annotations/a~1b",
            "/~2",
            "/spec/containers/0/name",
            "/spec/containers/-",
            "/spec/containers/99",
            "x",
            "/spec/-1",
        ]
        pointers += [
            "/metadata/creationTimestamp",
            "/metadata/deletionTimestamp",
            "/metadata/finalizers",
            "/metadata/ownerReferences",
        ]
        pointers += [f"/{field}" for field in fine(kind, "a", "b")]
        operations: list[Any] = []
        for _ in range(random.randrange(1, 5)):
            operation: Raw = {
                "op": random.choice(("add", "remove", "replace", "move", "copy", "test", "x")),
                "path": random.choice(pointers),
            }
            if random.random() < 0.7:
                operation["value"] = self.odd.value()
            if random.random() < 0.5:
                operation["from"] = random.choice(pointers)
            operations.append(self.odd.mutated(operation) if random.random() < 0.1 else operation)
        return self.odd.mutated(operations) if random.random() < 0.1 else operations

    def _below(self, kind: Kind) -> Asked:
        random = self.random
        below = random.choice(_SUBRESOURCES)
        able = [kind for kind in RESOURCES.values() if kind.subresource(below) is not None]
        kind = random.choice(able) if able and random.random() < 0.8 else kind
        namespace, name = self._namespace(), random.choice(_NAMES)
        document = _BELOW.get(below) or self.odd.drawn(kind, name, namespace)
        document = self.odd.mutated({**document, "metadata": {"name": name}} if random.random() < 0.8 else document)
        body, content_type = self._encoded(document, kind)
        method = random.choice(("GET", "POST", "PUT", "POST", "PUT", "DELETE"))
        target = self._path(kind, namespace, f"{name}/{below}") + self._query()
        return Asked(method, target, self._headers(content_type), body)

    def _delete(self, kind: Kind) -> Asked:
        random = self.random
        body = b""
        if random.random() < 0.5:
            wanted = {key: _DELETE[key] for key in random.sample(list(_DELETE), random.randrange(len(_DELETE)))}
            body = json.dumps(self.odd.mutated(wanted) if random.random() < 0.7 else wanted).encode()
        name = random.choice((*_NAMES, "")) if random.random() < 0.9 else self.odd.word()
        target = self._path(kind, self._namespace(), name) + self._query()
        return Asked("DELETE", target, self._headers(random.choice(("", "application/json"))), body)

    def _read(self, kind: Kind) -> Asked:
        name = self.random.choice(("", "", *_NAMES, quote(self.odd.word(), safe="")))
        return Asked("GET", self._path(kind, self._namespace(), name) + self._query(), self._headers())

    def _path(self, kind: Kind, namespace: str, name: str) -> str:
        root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.api_version}"
        where = f"/namespaces/{quote(namespace)}" if kind.namespaced and namespace else ""
        return f"{root}{where}/{kind.plural}" + (f"/{name}" if name else "")

    def _namespace(self) -> str:
        return self.random.choice(_NAMESPACES)

    def _query(self, needed: str = "") -> str:
        random = self.random
        pairs = [needed] if needed and random.random() < 0.9 else []
        if random.random() < 0.3:
            for name in random.sample(list(_QUERIES), random.choice((1, 1, 2, 3))):
                value = random.choice(_QUERIES[name])
                if name == "continue" and random.random() < 0.6:
                    value = self._token()
                pairs.append(f"{name}={quote(value, safe='') if random.random() < 0.9 else quote(value, safe=',=')}")
        if not pairs:
            return ""
        text = "&".join(pairs)
        # A watch that nobody ends would wait for events that never come.
        return "?" + (text if "timeoutSeconds" in text else f"{text}&timeoutSeconds=0")

    def _token(self) -> str:
        token = {"v": "meta.k8s.io/v1", "rv": self.random.choice((1, 5, -1, 2**63 - 1)), "start": "default/a\u0000"}
        return base64.urlsafe_b64encode(json.dumps(self.odd.mutated(token)).encode()).decode()

    def _headers(self, content_type: str = "") -> dict[str, str]:
        random = self.random
        headers: dict[str, str] = {}
        if content_type and random.random() < 0.97:
            headers["content-type"] = content_type
        elif random.random() < 0.3:
            headers["content-type"] = random.choice((*CONTENT_TYPES, *_PATCHES))
        if random.random() < 0.12:
            headers["accept"] = random.choice(ACCEPTS)
        if random.random() < 0.1:
            headers["user-agent"] = random.choice(("", "/", "kubectl/v1", "ä/1", "x" * 500, "\x7f", "a b c"))
        if random.random() < 0.03:
            headers["if-none-match"] = random.choice(("*", '"x"', "", '"'))
        return headers
