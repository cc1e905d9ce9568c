"""What both recorders of events share: what they want done, how they call objects, events and times.

In: objects and moments, in nanoseconds since 1970. Out: references, names, texts. All pure.
Kubernetes: client-go's tools/reference and tools/record/util. Next: `event_series` and `event_correlator`.
"""

import time
import uuid
from typing import Any, NamedTuple

from moorage.client.protocol import Object
from moorage.model.kinds import KindFacts
from moorage.model.names import dns1123_subdomain_errors

Raw = dict[str, Any]

NORMAL, WARNING = "Normal", "Warning"
NANOSECONDS = 1_000_000_000


class EventAction(NamedTuple):
    """Create the event; or, with a `patch`, change it, and create it if it is not there (any more)."""

    facts: KindFacts
    document: Raw
    patch: Raw | None = None


def reference_to(subject: Object) -> Raw:
    """An ObjectReference, as events have them."""
    found = {
        "kind": subject.facts.kind,
        "namespace": subject.namespace,
        "name": subject.name,
        "uid": subject.uid,
        "apiVersion": subject.facts.api_version,
        "resourceVersion": str(subject.revision) if subject.revision else "",
    }
    return {field: value for field, value in found.items() if value}


def event_name(subject: str, now: int) -> str:
    name = f"{subject}.{now:x}"
    return name if not dns1123_subdomain_errors(name) else str(uuid.uuid4())


def event_namespace(reference: Raw) -> str:
    """Where the event about an object goes; one about an object without a namespace goes to the default one."""
    return str(reference.get("namespace") or "default")


def seconds_text(now: int) -> str:
    """metav1.Time."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now // NANOSECONDS))


def micro_text(now: int) -> str:
    """metav1.MicroTime."""
    seconds, rest = divmod(now, NANOSECONDS)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest // 1000:06d}Z"
