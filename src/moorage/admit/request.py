"""What the API server knows besides the document: the namespace of the URL, a name to generate, a UID.

In: a raw object, the old one on update. Out: the same, its metadata completed in place. Kubernetes: the generic
registry, before the strategy is asked (FillObjectMetaSystemFields, name generation, BeforeCreate and BeforeUpdate).
Differs: randomness and time are the caller's; without them the result is the same every time.
"""

from collections.abc import Callable, Mapping

import msgspec

from moorage.admit.raw import Raw, part
from moorage.admit.requester import Requester

MAX_GENERATED_BASE_LENGTH = 58
#: Fields of the old object that an update which leaves them out does not mean to clear.
_KEPT_IF_ABSENT = ("uid", "resourceVersion", "deletionGracePeriodSeconds")
#: Fields that no update changes, whatever it says.
_ALWAYS_KEPT = ("generation", "creationTimestamp", "deletionTimestamp")
#: Fields of a new object that the server alone sets: what a client says of them does not count. Policies may set them.
_WIPED = ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
#: Fields that are not there if nothing is in them: who waits for the last finalizer to go asks for the field.
_ABSENT_IF_EMPTY = ("annotations", "finalizers", "labels", "ownerReferences")


class Request(msgspec.Struct, frozen=True):
    """One request. `timestamp` is RFC 3339 or empty, for no creationTimestamp at all.

    `allow_privileged` is the server's own flag; upstream's default is off, but nearly every cluster turns it on.
    `namespace_labels` gives the labels of a namespace; without it nothing depends on them. `requester` is the user, if
    plugins decide by it (see `Admission.restricts`).
    """

    namespace: str = "default"
    name_suffix: str = "xxxxx"
    uid: str = "00000000-0000-0000-0000-000000000000"
    timestamp: str = ""
    allow_privileged: bool = True
    namespace_labels: Callable[[str], Mapping[str, str] | None] | None = None
    requester: Requester | None = None


ANY_REQUEST = Request()


def complete_metadata(
    new: Raw, old: Raw | None, request: Request, *, namespaced: bool, wipes: bool = True, stamps: bool = True
) -> None:
    """Complete the metadata of a document. Of a new object, it `wipes` what a client may not set, as long as nothing
    else has changed the object. Unless it `stamps`, a new object has no name, uid and time yet, and an update not what
    it leaves out and may not change."""
    metadata = part(new, "metadata")
    for name in _ABSENT_IF_EMPTY:
        if name in metadata and not metadata[name]:
            del metadata[name]
    if namespaced and not metadata.get("namespace"):
        metadata["namespace"] = request.namespace
    if old is not None:
        if stamps:
            _keep(metadata, old.get("metadata") or {})
        return
    if wipes:
        for name in _WIPED:
            metadata.pop(name, None)
    metadata.pop("resourceVersion", None)
    if stamps:
        base = metadata.get("generateName")
        if base and not metadata.get("name"):
            metadata["name"] = base[:MAX_GENERATED_BASE_LENGTH] + request.name_suffix
        metadata["uid"] = request.uid
        if request.timestamp:
            metadata["creationTimestamp"] = request.timestamp
    else:
        metadata.pop("uid", None)
        metadata.pop("creationTimestamp", None)


def _keep(metadata: Raw, old: Raw) -> None:
    for name in _KEPT_IF_ABSENT:
        if metadata.get(name) in (None, "") and old.get(name) is not None:
            metadata[name] = old[name]
    for name in _ALWAYS_KEPT:
        if old.get(name) is not None:
            metadata[name] = old[name]
