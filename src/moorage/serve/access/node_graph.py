"""Know which objects belong to a node: its pods, what they refer to, volumes, attachments and slices.

Pods are kept by node. What the pods of a node refer to is counted when that node asks first, and kept up to date from
then on, so that a decision costs a lookup and the pods of nodes that never ask cost nothing. Kubernetes: the graph of
the node authorizer with its populator.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from moorage.match.volumes.object_references import (
    config_maps_of,
    resource_claims_of,
    secrets_of,
    secrets_of_volume,
    volume_claims_of,
)
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import Pod
from moorage.model.well_known.annotations import MIRROR_POD
from moorage.serve.resources.objects import decode, prefix_of
from moorage.store.protocol import Change, Stored

#: The kinds besides pods that the graph has to be told of.
GRAPH_KINDS = (KINDS.PERSISTENT_VOLUME, KINDS.RESOURCE_SLICE, KINDS.VOLUME_ATTACHMENT)
_PODS = prefix_of(KINDS.POD)
#: The resource, namespace and name of something that a pod refers to.
Reference = tuple[str, str, str]
_CLAIMS = "persistentvolumeclaims"


class _SpecOfPod(msgspec.Struct):
    nodeName: str = ""


class _PlacedPod(msgspec.Struct):
    spec: _SpecOfPod


_read_place = msgspec.json.Decoder(_PlacedPod).decode
_PLACED = b'"nodeName":"'


class _Referenced:
    """How many pods of a node refer to each object; and what each pod refers to."""

    def __init__(self) -> None:
        self.counts: dict[Reference, int] = {}
        self.claims: dict[Reference, int] = {}
        self._of_pod: dict[str, tuple[Reference, ...]] = {}

    def put(self, key: str, references: tuple[Reference, ...]) -> None:
        before = self._of_pod.get(key, ())
        if references == before:
            return
        self._of_pod[key] = references
        for reference in references:
            for counts in self._counts_of(reference):
                counts[reference] = counts.get(reference, 0) + 1
        self._discount(before)

    def drop(self, key: str) -> None:
        self._discount(self._of_pod.pop(key, ()))

    def _discount(self, references: tuple[Reference, ...]) -> None:
        for reference in references:
            for counts in self._counts_of(reference):
                if counts[reference] > 1:
                    counts[reference] -= 1
                else:
                    del counts[reference]

    def _counts_of(self, reference: Reference) -> tuple[dict[Reference, int], ...]:
        return (self.counts, self.claims) if reference[0] == _CLAIMS else (self.counts,)


_NOTHING = _Referenced()


class _Volume(msgspec.Struct, frozen=True):
    """A PersistentVolume: the claim that it is for, and the secrets that nodes need to mount it."""

    claim: Reference
    secrets: tuple[tuple[str, str], ...]


class NodeGraph:
    """What belongs to each node. Pods that another server wrote are decoded when their node asks for something."""

    def __init__(self) -> None:
        self._pods: dict[str, dict[str, Pod | Stored]] = {}
        self._node_of_pod: dict[str, str] = {}
        #: The claim for extended resources that a pod had when it was bound.
        self._extended: dict[str, str] = {}
        self._referenced: dict[str, _Referenced] = {}
        self._volumes: dict[str, _Volume] = {}
        self._volumes_of_claim: dict[Reference, set[str]] = {}
        self._volumes_of_secret: dict[tuple[str, str], set[str]] = {}
        self._owner: dict[str, dict[str, str]] = {"resourceslices": {}, "volumeattachments": {}}

    def learn(self, kind: Kind, view: Any) -> None:
        """Take in an object that was written."""
        name = view.metadata.name
        if kind is KINDS.POD:
            if view.spec.nodeName:
                self._place(f"{view.metadata.namespace}/{name}", view.spec.nodeName, view)
        elif kind is KINDS.PERSISTENT_VOLUME:
            self._drop_volume(name)
            self._put_volume(name, view)
        elif view.spec.nodeName:
            self._owner[kind.plural][name] = view.spec.nodeName
        else:
            self._owner[kind.plural].pop(name, None)

    def forget(self, kind: Kind, view: Any) -> None:
        name = view.metadata.name
        if kind is KINDS.POD:
            self._displace(f"{view.metadata.namespace}/{name}")
        elif kind is KINDS.PERSISTENT_VOLUME:
            self._drop_volume(name)
        else:
            self._owner[kind.plural].pop(name, None)

    def heard(self, change: Change) -> None:
        """Take in a pod that was written or deleted."""
        _, old, new = change
        if new is not None:
            self.learn_stored(KINDS.POD, new)
        elif old is not None:
            self._displace(old.key[len(_PODS) :])

    def learn_stored(self, kind: Kind, stored: Stored) -> None:
        """Take in a pod."""
        view = stored.view
        if view is not None:
            node = view.spec.nodeName
        else:
            node = _read_place(stored.value).spec.nodeName if _PLACED in stored.value else ""
        if node:
            self._place(stored.key[len(_PODS) :], node, stored if view is None else view)

    def is_related(self, node: str, resource: str, namespace: str, name: str) -> bool:
        """Return whether an object belongs to a node; it need not exist."""
        if resource in self._owner:
            return self._owner[resource].get(name) == node
        if resource == "pods":
            return f"{namespace}/{name}" in self._pods.get(node, ())
        referenced = self._referenced_by(node)
        if resource == "persistentvolumes":
            volume = self._volumes.get(name)
            return volume is not None and volume.claim in referenced.claims
        if (resource, namespace, name) in referenced.counts:
            return True
        return resource == "secrets" and self._is_secret_of_volume(referenced, (namespace, name))

    def _is_secret_of_volume(self, referenced: _Referenced, secret: tuple[str, str]) -> bool:
        """Return whether a volume that a pod of the node uses needs a secret. Looks at the shorter of two lists."""
        volumes = self._volumes_of_secret.get(secret)
        if volumes is None:
            return False
        if len(volumes) <= len(referenced.claims):
            return any(self._volumes[name].claim in referenced.claims for name in volumes)
        return any(not volumes.isdisjoint(self._volumes_of_claim.get(claim, ())) for claim in referenced.claims)

    def _referenced_by(self, node: str) -> _Referenced:
        referenced = self._referenced.get(node)
        if referenced is None:
            if node not in self._pods:
                return _NOTHING
            referenced = self._referenced[node] = _Referenced()
            for key, pod in self._pods[node].items():
                self._count(referenced, key, pod)
        return referenced

    def _count(self, referenced: _Referenced, key: str, pod: Pod | Stored) -> None:
        if isinstance(pod, Stored):
            pod = self._pods[self._node_of_pod[key]][key] = convert_view(decode(KINDS.POD, pod), Pod)
            self._note_extended(key, pod)
        referenced.put(key, (*_references(pod, self._extended.get(key)),))

    def _place(self, key: str, node: str, pod: Pod | Stored) -> None:
        before = self._node_of_pod.get(key)
        if before != node:
            if before is not None:
                self._displace(key)  # it was deleted and created again without a notice
            self._node_of_pod[key] = node
            self._pods.setdefault(node, {})
        pods = self._pods[node]
        old = pods.get(key)
        pods[key] = pod
        if isinstance(pod, Pod) and isinstance(old, Pod) and _has_same_references(old, pod):
            return
        if isinstance(pod, Pod):
            self._note_extended(key, pod)
        if (referenced := self._referenced.get(node)) is not None:
            self._count(referenced, key, pod)

    def _note_extended(self, key: str, pod: Pod) -> None:
        """Note the claim for extended resources. A status that names it later is not looked at, as in Kubernetes."""
        status = pod.status.extendedResourceClaimStatus
        if status is not None and status.resourceClaimName:
            self._extended[key] = status.resourceClaimName
        else:
            self._extended.pop(key, None)

    def _displace(self, key: str) -> None:
        node = self._node_of_pod.pop(key, "")
        self._extended.pop(key, None)
        pods = self._pods.get(node, {})
        pods.pop(key, None)
        if not pods:
            self._pods.pop(node, None)
            self._referenced.pop(node, None)
        elif (referenced := self._referenced.get(node)) is not None:
            referenced.drop(key)

    def _put_volume(self, name: str, view: Any) -> None:
        reference = view.spec.claimRef
        if reference is None:
            return
        claim = (_CLAIMS, reference.namespace, reference.name)
        volume = self._volumes[name] = _Volume(claim, (*dict.fromkeys(secrets_of_volume(view.spec)),))
        self._volumes_of_claim.setdefault(claim, set()).add(name)
        for secret in volume.secrets:
            self._volumes_of_secret.setdefault(secret, set()).add(name)

    def _drop_volume(self, name: str) -> None:
        volume = self._volumes.pop(name, None)
        if volume is None:
            return
        _discard(self._volumes_of_claim, volume.claim, name)
        for secret in volume.secrets:
            _discard(self._volumes_of_secret, secret, name)


def _discard(names: dict[Any, set[str]], key: Any, name: str) -> None:
    names[key].discard(name)
    if not names[key]:
        del names[key]


def _has_same_references(old: Pod, new: Pod) -> bool:
    """Return whether nothing changed that can add references to a bound pod."""
    return (
        old.metadata.uid == new.metadata.uid
        and len(new.spec.ephemeralContainers) <= len(old.spec.ephemeralContainers)
        and old.status.resourceClaimStatuses == new.status.resourceClaimStatuses
    )


def _references(pod: Pod, extended: str | None) -> Iterator[Reference]:
    """Yield what a pod refers to, and its claim for extended resources.

    A mirror pod has no references: its node makes it itself, and must not get rights by it.
    """
    if MIRROR_POD in pod.metadata.annotations:
        return
    namespace, spec = pod.metadata.namespace, pod.spec
    if spec.serviceAccountName:
        yield "serviceaccounts", namespace, spec.serviceAccountName
    for name in secrets_of(spec):
        yield "secrets", namespace, name
    for name in config_maps_of(spec):
        yield "configmaps", namespace, name
    for name in volume_claims_of(pod):
        yield _CLAIMS, namespace, name
    for name in resource_claims_of(pod):
        yield "resourceclaims", namespace, name
    if extended is not None:
        yield "resourceclaims", namespace, extended
