"""What both recorders of events share: what they want done, how they call objects, events and times.

In: objects and moments, in nanoseconds since 1970. Out: references, names, texts. All pure.
Kubernetes: client-go's tools/reference and tools/record/util.
"""

import re
import time
import uuid
from functools import lru_cache
from typing import Any, NamedTuple

from moorage.client.protocol import Object
from moorage.model.kinds import Kind

Raw = dict[str, Any]

NORMAL, WARNING = "Normal", "Warning"
NANOSECONDS = 1_000_000_000

_MAX_NAME_LENGTH = 253
_SUBDOMAIN = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")


class EventAction(NamedTuple):
    """Create the event; or, with a `patch`, change it, and create it if it is not there (any more)."""

    kind: Kind
    document: Raw
    patch: Raw | None = None


def reference_to(subject: Object) -> Raw:
    """An ObjectReference, as events have them."""
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
    """Where the event about an object goes; one about an object without a namespace goes to the default one."""
    return str(reference.get("namespace") or "default")


def seconds_text(now: int) -> str:
    """metav1.Time."""
    return _second_text(now // NANOSECONDS) + "Z"


def micro_text(now: int) -> str:
    """metav1.MicroTime."""
    seconds, rest = divmod(now, NANOSECONDS)
    return f"{_second_text(seconds)}.{rest // 1000:06d}Z"


@lru_cache(maxsize=64)
def _second_text(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
