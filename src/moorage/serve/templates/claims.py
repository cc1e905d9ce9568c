"""Admit ResourceClaims that differ by their names, and by the pods that own them, at the cost of one.

Such claims are generated for the pods of one template, or created by the thousand by a user. The first goes the usual
way; what that made of it is repeated for the others if it gives the same for the first. Kubernetes: no counterpart.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from moorage.admit.admission import Admitted
from moorage.admit.request import Request
from moorage.client.protocol import Raw
from moorage.model.kinds import KINDS, Kind
from moorage.model.names import dns1123_subdomain_errors
from moorage.model.types.devices import ResourceClaim
from moorage.model.types.meta import OwnerReference
from moorage.serve.templates.pods import ObjectTemplate

_encode = msgspec.json.Encoder().encode
_fingerprint = msgspec.msgpack.Encoder().encode
_replace = msgspec.structs.replace
_DOCUMENT = frozenset(("apiVersion", "kind", "metadata", "spec"))
_METADATA = frozenset(("name", "generateName", "namespace", "annotations", "labels", "ownerReferences"))
_OWNER = frozenset(("apiVersion", "kind", "name", "uid", "controller"))
_LIMIT = 1024


class ClaimTemplate(ObjectTemplate):
    """What claims share besides: the fields of the manager that created them, and what is written into them."""

    __slots__ = ("writes",)

    def __init__(self, first: Admitted, view: ResourceClaim) -> None:
        super().__init__(first, view)
        self.writes: dict[Any, Any] = {}  # what the scheduler writes into them: see `claim_writes`

    def named(self, raw: Raw, request: Request) -> Admitted:
        given, now = raw["metadata"], request.timestamp
        metadata = self.object["metadata"].copy()
        changes: Raw = {"name": given["name"], "uid": request.uid, "creationTimestamp": now}
        if "generateName" in given:
            changes["generateName"] = given["generateName"]
        metadata.update(changes)
        (entry,) = metadata["managedFields"]
        entry = {**entry, "time": now}
        if "ownerReferences" in given:
            (owner,) = metadata["ownerReferences"] = given["ownerReferences"]
            owners: Raw = {".": {}, f'k:{{"uid":{_encode(owner["uid"]).decode()}}}': {}}
            fields = entry["fieldsV1"]
            about = {**fields["f:metadata"], "f:ownerReferences": owners}
            entry["fieldsV1"] = {**fields, "f:metadata": about}
            reference = OwnerReference(
                apiVersion="v1", kind="Pod", name=owner["name"], uid=owner["uid"], controller=owner["controller"]
            )
            changes["ownerReferences"] = (reference,)
        metadata["managedFields"] = [entry]
        seen = _replace(self.view.metadata, **changes)
        return Admitted({**self.object, "metadata": metadata}, _replace(self.view, metadata=seen), ())


class ClaimTemplates:
    """The templates of the claims created last. All are forgotten when `generation`, what admission looks up, changes.

    `admit` admits a claim without a template; `still_admits` is asked about every later one.
    """

    def __init__(
        self,
        admit: Callable[[Raw, Request, str], Admitted],
        still_admits: Callable[[Kind, Raw], bool] = lambda kind, raw: True,
        generation: Callable[[], int] = lambda: 0,
    ) -> None:
        self._admit = admit
        self._still_admits = still_admits
        self._generation = generation
        self._made_at = generation()
        self._known: dict[bytes, ClaimTemplate] = {}

    def admit(self, raw: Raw, request: Request, manager: str) -> tuple[Admitted, ClaimTemplate | None]:
        """Admit a new claim, and return its template if it has one."""
        likeness = _likeness(raw, request.namespace, manager)
        if not likeness:
            return self._admit(raw, request, manager), None
        if self._generation() != self._made_at:
            self._made_at = self._generation()
            self._known.clear()
        template = self._known.get(likeness)
        if template is not None and self._still_admits(KINDS.RESOURCE_CLAIM, template.object):
            return template.named(raw, request), template
        admitted = self._admit(raw, request, manager)
        if template is None and isinstance(admitted.view, ResourceClaim) and not admitted.warnings:
            self._learn(likeness, raw, request, admitted, admitted.view)
        return admitted, None

    def _learn(self, likeness: bytes, raw: Raw, request: Request, first: Admitted, view: ResourceClaim) -> None:
        owners = first.object["metadata"].get("managedFields") or []
        if len(owners) != 1:
            return
        template = ClaimTemplate(first, view)
        again = template.named(raw, request)
        same_view = _replace(view, metadata=_replace(view.metadata, managedFields=()))
        if again.object != first.object or again.view != same_view:
            return
        if len(self._known) >= _LIMIT:
            del self._known[next(iter(self._known))]
        self._known[likeness] = template


def _likeness(raw: Raw, namespace: str, manager: str) -> bytes:
    """Return what claims of one template have in common; empty for a document that is not of that form."""
    metadata = raw["metadata"]
    name, base, owners = metadata.get("name"), metadata.get("generateName"), metadata.get("ownerReferences")
    if raw.keys() != _DOCUMENT or not metadata.keys() <= _METADATA or type(name) is not str:
        return b""
    if "generateName" in metadata and not (type(base) is str and base and name.startswith(base)):
        return b""
    if "ownerReferences" in metadata and not (type(owners) is list and len(owners) == 1 and _is_pod(owners[0])):
        return b""
    if dns1123_subdomain_errors(name):
        return b""
    has = base is not None, owners is not None
    about: list[Any] = [namespace, manager, *has, metadata.get("annotations"), metadata.get("labels"), raw["spec"]]
    try:
        likeness = _fingerprint(about)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return b""
    return b"" if b"adminAccess" in likeness else likeness  # it depends on the labels of the namespace


def _is_pod(owner: Any) -> bool:
    return (
        type(owner) is dict
        and owner.keys() == _OWNER
        and (owner["apiVersion"], owner["kind"], owner["controller"]) == ("v1", "Pod", True)
        and all(type(owner[field]) is str and owner[field] for field in ("name", "uid"))
        and type(owner["controller"]) is bool
    )
