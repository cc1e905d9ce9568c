"""Ask the admission chain about proposed changes: what the API server would refuse is not suggested.

A changed pod or claim is admitted as a new one in place of the old, since most of its spec cannot be updated; a changed
node as an update. The world is the simulated cluster, with its LimitRanges, namespaces, classes, quotas and policies;
webhooks are not called. What the API server would say of the object as it is does not count against a change.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from moorage.admit.admission import Rejected
from moorage.admit.chain import Admission
from moorage.admit.plugins.quota import charges_of, without_object
from moorage.admit.raw import Raw
from moorage.client.protocol import Object
from moorage.control.framework.world import controller_of
from moorage.lint.policies.admission import admit_with_policies
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Kind
from moorage.model.quantity import Quantity
from moorage.model.types.devices import DeviceClass, ResourceClaim
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.plan.explain.remedies.change import Change
from moorage.serve.access.component_users import maker_of_pods
from moorage.serve.pki.authentication import ADMIN

_DEVICE_KINDS: dict[type, Kind] = {
    ResourceClaim: KINDS.RESOURCE_CLAIM,
    DeviceClass: KINDS.DEVICE_CLASS,
}
_CHOSEN_BY_USERS = ("name", "generateName", "namespace", "labels", "annotations", "ownerReferences")
_replace = msgspec.structs.replace

#: Returns an object of the cluster by kind and key (`namespace/name`, or `name`), None if it is not there.
FindObject = Callable[[Kind, str], Object | None]


class AdmissionCheck:
    """Whether the API server accepts changes for one pod, which may be in the cluster already. `now` is for quotas."""

    def __init__(self, pod: Pod, chain: Admission, find: FindObject, now: float = 0.0) -> None:
        self._pod, self._chain, self._find, self._now = pod, chain, find, now
        owner = controller_of(pod.metadata)
        self._maker = ADMIN if owner is None else maker_of_pods(owner.kind)
        stored = find(KINDS.POD, f"{pod.metadata.namespace}/{pod.metadata.name}")
        self._stored = None if stored is None else stored.view
        self._raw = as_new(stored.raw if stored is not None else document_of(pod), KINDS.POD)
        self._before = document_of(pod)
        self._accepted_anyway = set(self._complaints(self._raw)[0])

    def __call__(self, change: Change) -> Change | None:
        """Return the change with its pod as it would be stored; None if the API server would refuse the change."""
        if change.node is not None and not self._takes_node(change.node):
            return None
        if not change.gone and not all(self._takes_new(device) for device in change.devices):
            return None
        if change.pod is None:
            return change
        raw = overlay(self._raw, self._before, document_of(change.pod))
        complaints, admitted = self._complaints(raw)
        if set(complaints) - self._accepted_anyway:
            return None
        if admitted is None:
            return change
        return _replace(change, pod=_replace(change.pod, spec=admitted.spec), written=change.pod)

    def _complaints(self, raw: Raw, old: Raw | None = None) -> tuple[Sequence[str], Any]:
        """Return what the API server objects to, or else what it would store."""
        user = ADMIN if raw["kind"] != KINDS.POD.name else self._maker
        result = admit_with_policies(self._chain, raw, old, user=user).result
        if isinstance(result, Rejected):
            return list(dict.fromkeys(map(str, result.errors))) or [str(result.status["message"])], None
        if isinstance(result.view, Pod):
            try:
                self._check_quotas(result.view)
            except ApiError as refusal:
                return [str(refusal.message)], None
        return (), result.view

    def _check_quotas(self, pod: Pod) -> None:
        """Raise ApiError if the quotas of its namespace have no room for a pod in place of the one that is there."""
        balances = self._chain.world.quota_balances(pod.metadata.namespace)
        if balances and self._stored is not None:
            balances = [without_object(balance, KINDS.POD, self._stored, self._now) for balance in balances]
        charges_of(KINDS.POD, pod.metadata.name, pod, None, balances, "", self._now)

    def _takes_node(self, node: Node) -> bool:
        stored = self._find(KINDS.NODE, node.metadata.name)
        if stored is None:
            return True
        old = {"apiVersion": KINDS.NODE.api_version, "kind": KINDS.NODE.name, **stored.raw}
        return not self._complaints(overlay(old, document_of(stored.view), document_of(node)), old)[0]

    def _takes_new(self, view: Any) -> bool:
        kind = _DEVICE_KINDS.get(type(view))
        return kind is None or not self._complaints(as_new(document_of(view), kind))[0]


def as_new(document: Raw, kind: Kind) -> Raw:
    """Return the document as a user would create it: without status, node and what the API server adds."""
    metadata = {name: value for name, value in document.get("metadata", {}).items() if name in _CHOSEN_BY_USERS}
    metadata.setdefault("name", "new")
    spec = {name: value for name, value in (document.get("spec") or {}).items() if name != "nodeName"}
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, "spec": spec}


def document_of(value: Any) -> Any:
    """Write a view as a document, without the fields that have their default."""
    if isinstance(value, Quantity):
        return str(value)
    if isinstance(value, msgspec.Struct):
        names, defaults = value.__struct_encode_fields__, value.__struct_defaults__
        absent = dict(zip(reversed(names), reversed(defaults), strict=False))
        found = zip(names, (getattr(value, name) for name in value.__struct_fields__), strict=True)
        return {name: document_of(one) for name, one in found if name not in absent or one != absent[name]}
    if isinstance(value, dict):
        return {name: document_of(one) for name, one in value.items()}
    return [document_of(one) for one in value] if isinstance(value, list | tuple) else value


def overlay(raw: Any, before: Any, after: Any) -> Any:
    """Return a document with what differs between two views of it, and nothing else changed."""
    if isinstance(raw, dict) and isinstance(before, dict) and isinstance(after, dict):
        made = dict(raw)
        for name in before.keys() | after.keys():
            if name not in after:
                made.pop(name, None)
            elif before.get(name) != after[name]:
                made[name] = overlay(raw.get(name), before.get(name), after[name])
        return made
    alike = all(isinstance(one, list) and len(one) == len(after) for one in (raw, before, after))
    if alike and isinstance(after, list):
        return [overlay(*items) if items[1] != items[2] else items[0] for items in zip(raw, before, after, strict=True)]
    return after
