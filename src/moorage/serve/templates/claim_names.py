"""Write the names of generated claims into the statuses of pods of one template, at the cost of one.

The first pod of a template goes the usual way; what that made of it is remembered, and repeated for the others if it
gives the same for the first. Kubernetes: no counterpart.
"""

from secrets import token_hex
from typing import Any, NamedTuple

import msgspec

from moorage.client.protocol import Raw
from moorage.model.names import dns1123_subdomain_errors
from moorage.model.types.pod import Pod, PodResourceClaimStatus
from moorage.serve.resources.objects import after_metadata
from moorage.serve.templates.pods import PodTemplate
from moorage.store.protocol import Stored

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_replace = msgspec.structs.replace
#: A word that no pod contains. It stands for the name of a claim.
_NAME = token_hex(16)
_OWNERS = b'"managedFields":['


class ClaimNames(NamedTuple):
    """A patch that names generated claims in the status of the pod that has this UID, and says nothing else."""

    uid: str
    entries: tuple[str, ...]
    names: tuple[str, ...]


def read_claim_names(document: Any) -> ClaimNames | None:
    """Recognise a patch of a pod's status that only names claims."""
    if type(document) is not dict or document.keys() != {"metadata", "status"}:
        return None
    metadata, status = document["metadata"], document["status"]
    if type(metadata) is not dict or metadata.keys() != {"uid"} or type(metadata["uid"]) is not str:
        return None
    if type(status) is not dict or status.keys() != {"resourceClaimStatuses"}:
        return None
    statuses = status["resourceClaimStatuses"]
    if type(statuses) is not list or not statuses:
        return None
    for one in statuses:
        if type(one) is not dict or one.keys() != {"name", "resourceClaimName"}:
            return None
        if type(one["name"]) is not str or type(one["resourceClaimName"]) is not str:
            return None
    entries = tuple(one["name"] for one in statuses)
    return ClaimNames(metadata["uid"], entries, tuple(one["resourceClaimName"] for one in statuses))


class NamedPart(NamedTuple):
    """JSON of a pod that names claims: the managedFields entry for that around its time, the rest around the names.

    `is_first`: the entry is the first one. `tail` is what follows the last entry in the metadata.
    """

    before_time: bytes
    after_time: bytes
    is_first: bool
    tail: bytes
    rest: tuple[bytes, ...]


def with_names(
    template: PodTemplate, stored: Stored, claims: ClaimNames, manager: str, now: str
) -> tuple[bytes, Pod] | None:
    """Return the value and the view of a pod with the names; None if it must go the usual way."""
    view: Pod = stored.view
    part = template.named_parts.get(_key(view, claims, manager, now))
    if part is None or view.metadata.uid != claims.uid or not stored.value.endswith(template.rest):
        return None
    if any(map(dns1123_subdomain_errors, claims.names)):
        return None
    if not stored.value.endswith(part.tail, 0, -len(template.rest)):
        return None
    return _value(part, template, stored, claims, now), _named(view, claims)


def learn_names(
    template: PodTemplate, stored: Stored, written: Stored, document: Raw, claims: ClaimNames, manager: str, now: str
) -> None:
    """Remember what the usual way has made of a pod: the value and document that were written."""
    if not isinstance(stored.view, Pod) or not stored.value.endswith(template.rest):
        return
    statuses = document.get("status", {}).get("resourceClaimStatuses") or ()
    owners = document["metadata"].get("managedFields") or ()
    if not owners or tuple(one.get("resourceClaimName") for one in statuses) != claims.names:
        return
    marked = {**document["status"], "resourceClaimStatuses": [{**one, "resourceClaimName": _NAME} for one in statuses]}
    rest = after_metadata({**document, "status": marked})
    is_first = owners[0].get("subresource") == "status"
    before_time, _, after_time = _encode(owners[0 if is_first else -1]).partition(_encode(now))
    parts = (b"," + _encode(rest)[1:]).split(_encode(_NAME))
    part = NamedPart(before_time, after_time, is_first, _tail(_decode(stored.value)["metadata"]), tuple(parts))
    if len(parts) == len(claims.names) + 1 and _decode(_value(part, template, stored, claims, now)) == _decode(
        written.value
    ):
        template.named_parts[_key(stored.view, claims, manager, now)] = part


def _key(view: Pod, claims: ClaimNames, manager: str, now: str) -> tuple[Any, ...]:
    """Entries of managedFields are sorted by time, then by manager."""
    return claims.entries, manager, view.metadata.creationTimestamp == now


def _value(part: NamedPart, template: PodTemplate, stored: Stored, claims: ClaimNames, now: str) -> bytes:
    head = stored.value[: -len(template.rest) - len(part.tail)]
    entry = part.before_time + _encode(now) + part.after_time
    if part.is_first:
        before, _, after = head.partition(_OWNERS)
        pieces = [before, _OWNERS, entry, b",", after, part.tail]
    else:
        pieces = [head, b",", entry, part.tail]
    for text, name in zip(part.rest, claims.names, strict=False):
        pieces += (text, _encode(name))
    pieces.append(part.rest[-1])
    return b"".join(pieces)


def _tail(metadata: Raw) -> bytes:
    """Return the JSON that follows the last entry of managedFields."""
    names = list(metadata)
    following = {name: metadata[name] for name in names[names.index("managedFields") + 1 :]}
    return b"]," + _encode(following)[1:] if following else b"]}"


def _named(view: Pod, claims: ClaimNames) -> Pod:
    statuses = tuple(map(PodResourceClaimStatus, claims.entries, claims.names))
    return _replace(view, status=_replace(view.status, resourceClaimStatuses=statuses))
