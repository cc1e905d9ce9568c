"""References, names and times of events, shared by both recorders. Kubernetes: tools/reference, tools/record/util."""

import re
import uuid
from typing import Any, NamedTuple

from moorage.client.protocol import Object
from moorage.model.kinds import Kind

Raw = dict[str, Any]

NORMAL, WARNING = "Normal", "Warning"
NANOSECONDS = 1_000_000_000

_MAX_NAME_LENGTH = 253
_SUBDOMAIN = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")


class EventAction(NamedTuple):
    """Create the event; with a `patch`, patch it and create it if it is absent."""

    kind: Kind
    document: Raw
    patch: Raw | None = None


def reference_to(subject: Object) -> Raw:
    """Return an ObjectReference."""
    found = {
        "kind": subject.kind.name,
        "namespace": subject.namespace,
        "name": subject.name,
        "uid": subject.uid,
        "apiVersion": subject.kind.api_version,
        "resourceVersion": str(subject.revision) if subject.revision else "",
    }
    return {field: value for field, value in found.items() if value}


def event_name(subject: str, now: int) -> str:
    name = f"{subject}.{now:x}"
    return name if len(name) <= _MAX_NAME_LENGTH and _SUBDOMAIN.fullmatch(name) else str(uuid.uuid4())


def event_namespace(reference: Raw) -> str:
    """Return the namespace of an event about an object; `default` for cluster-scoped ones."""
    return str(reference.get("namespace") or "default")
