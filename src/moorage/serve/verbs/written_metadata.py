"""Check the metadata of a document that is written: namespace, name, uid and revision, and its owners, each once.

Kubernetes: EnsureObjectNamespaceMatchesRequestNamespace, checkName, dedupOwnerReferencesAndAddWarning.
"""

from typing import Any

import msgspec

from moorage.admit.raw import Raw
from moorage.model.api_error import ApiError, bad_request, conflict, failure
from moorage.model.kinds import Kind
from moorage.serve.requests.options import revision_complaint

_WARNING = (
    ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may "
    "reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {uids}"
)
_encode_sorted = msgspec.json.Encoder(order="sorted").encode


def name_owners_once(metadata: Raw, *, is_patch: bool = False) -> list[str]:
    """Deduplicate in `metadata`, which is modified, though not its lists; return the warnings."""
    owners = metadata.get("ownerReferences")
    if not isinstance(owners, list) or len(owners) < 2:
        return []
    once: list[Any] = []
    repeated: list[str] = []
    seen: set[bytes] = set()
    for owner in owners:
        text = _encode_sorted(owner)
        if text in seen and isinstance(owner, dict):
            repeated.append(str(owner.get("uid") or ""))
        else:
            seen.add(text)
            once.append(owner)
    if not repeated:
        return []
    metadata["ownerReferences"] = once
    when = " after mutating admission happens" if is_patch else ""
    return [_WARNING.format(when=when, uids=", ".join(repeated))]


def check_namespace(kind: Kind, namespace: str, metadata: Raw) -> None:
    """Set the namespace of the path, or drop it if the kind has none. Raises ApiError if the document names another."""
    if not kind.namespaced:
        metadata.pop("namespace", None)
        return
    given = metadata.get("namespace")
    if not namespace:
        raise bad_request("namespace is required for this request")
    if given and given != namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    metadata["namespace"] = namespace


def check_name(metadata: Raw, name: str) -> None:
    """Raise ApiError 400 unless the document has the name of the URL."""
    given = metadata.get("name")
    if not given:
        raise bad_request(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
    if given != name:
        raise bad_request(f"the name of the object ({given}) does not match the name on the URL ({name})")


def refuse_unknown_uid(kind: Kind, name: str, metadata: Raw) -> None:
    """Raise ApiError 409 for a document with a UID, which must not create another object."""
    uid = metadata.get("uid")
    if uid:
        why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise conflict(kind, name, why)


def expected_revision(kind: Kind, name: str, raw: Raw) -> int | None:
    given = raw["metadata"].get("resourceVersion")
    if given in (None, "", "0"):
        return None
    if complaint := revision_complaint(given):
        raise bad_request(complaint)
    return int(given)


def revision_required(kind: Kind, name: str) -> ApiError:
    """Return the refusal of an update without resourceVersion; Kubernetes names the resource there, not the kind."""
    text = "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
    causes = [{"reason": "FieldValueInvalid", "message": text.partition(": ")[2], "field": "metadata.resourceVersion"}]
    resource = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
    details = {"name": name, "group": kind.group, "kind": kind.plural, "causes": causes}
    return failure(422, "Invalid", f'{resource} "{name}" is invalid: {text}', details)
