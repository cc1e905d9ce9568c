"""Admit Nodes that differ by their names and labels only, at the cost of one.

Clusters consist of such nodes, by the thousand. Nothing in a cluster decides about a new node, and of its labels only
the syntax is checked, which is done for each. The first goes the usual way. What a template gives out is shared: it
must not be modified. Kubernetes: no counterpart.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from moorage.admit.admission import Admitted
from moorage.admit.messages.warnings import name_warnings
from moorage.admit.metadata import validate_object_meta
from moorage.admit.request import Request
from moorage.client.protocol import Raw

_fingerprint = msgspec.msgpack.Encoder().encode
_replace = msgspec.structs.replace
_METADATA = frozenset(("name", "labels", "annotations"))
_LIMIT = 1024


class NodeTemplates:
    """How the nodes created last were admitted. `admit` admits a node that is like none of them."""

    def __init__(self, admit: Callable[[Raw, Request], Admitted]) -> None:
        self._admit = admit
        self._known: dict[bytes, Admitted] = {}

    def admit(self, raw: Raw, request: Request) -> Admitted:
        likeness = _likeness(raw)
        first = self._known.get(likeness) if likeness else None
        if first is not None:
            return _named(first, raw["metadata"], request) or self._admit(raw, request)
        admitted = self._admit(raw, request)
        if likeness and _named(admitted, raw["metadata"], request) == admitted:
            if len(self._known) >= _LIMIT:
                del self._known[next(iter(self._known))]
            self._known[likeness] = admitted
        return admitted


def _named(first: Admitted, given: Raw, request: Request) -> Admitted | None:
    """Return a node like the first one with the name and labels that are given; None if they are not all right."""
    view: Any = first.view
    name = given["name"]
    metadata = {**first.object["metadata"], "name": name, "uid": request.uid}
    stamps: dict[str, Any] = {"name": name, "uid": request.uid}
    if request.timestamp:
        metadata["creationTimestamp"] = stamps["creationTimestamp"] = request.timestamp
    if "labels" in given:
        metadata["labels"], stamps["labels"] = dict(given["labels"]), dict(given["labels"])
    about = _replace(view.metadata, **stamps)
    if validate_object_meta(about, "metadata", namespaced=False) or name_warnings("Node", name):
        return None
    return Admitted({**first.object, "metadata": metadata}, _replace(view, metadata=about))


def _likeness(raw: Raw) -> bytes:
    """Return what nodes of one template have in common; empty for a document that is not of that form."""
    metadata = raw["metadata"]
    if not metadata.keys() <= _METADATA or type(metadata.get("name")) is not str:
        return b""
    if "labels" in metadata and not _are_texts(metadata["labels"]):
        return b""
    parts: list[Any] = [*metadata, metadata.get("annotations")]
    for name, value in raw.items():
        parts += (name, None if name == "metadata" else value)
    try:
        return _fingerprint(parts)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return b""


def _are_texts(labels: Any) -> bool:
    if type(labels) is not dict or not labels:
        return False
    return all(type(key) is str and type(text) is str for key, text in labels.items())
