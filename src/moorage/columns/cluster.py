"""Hold the cluster: nodes, the pods on them, and the counts that follow both; nothing is rebuilt per pod."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager

import numpy as np

from moorage.columns.attachments import DiskUsers
from moorage.columns.devices.devices import Devices
from moorage.columns.node_table import NodeTable
from moorage.columns.owned_terms import OwnedTerms
from moorage.columns.pod_classes import Label, PodClasses, PodCounts, PodPredicate
from moorage.columns.resources import PODS
from moorage.columns.shape import HostPort, Shape, shape_key
from moorage.columns.storage import Storage
from moorage.match.devices.claims import DeviceClaimFacts, DeviceClaimState, device_facts_key
from moorage.match.volumes.claims import ClaimFacts, claims_of, facts_key
from moorage.model.gates import GateSet, default_gates
from moorage.model.go.integers import add64
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod

_SHAPES_OF_TEMPLATE = 8


class PodRecord:
    """A pod as the cluster knows it: its key, claims, shape, and slot (-1 while it has no node)."""

    __slots__ = ("claims", "key", "pod", "shape", "slot")

    def __init__(self, key: str, pod: Pod, shape: Shape) -> None:
        self.key = key
        self.pod = pod
        self.claims = claims_of(pod) if pod.spec.volumes else ()
        self.shape = shape
        self.slot = -1

    @property
    def priority(self) -> int:
        return self.shape.priority


class Cluster:
    """Nodes and pods as columns. `seed` decides ties between equally good nodes."""

    def __init__(self, seed: int = 0, gates: GateSet | None = None) -> None:
        self.nodes = NodeTable(seed)
        self.namespaces: dict[str, Mapping[str, str]] = {}
        self.pods: dict[str, PodRecord] = {}
        self.pods_on: list[dict[str, PodRecord]] = []
        self.priorities: Counter[int] = Counter()  # of the pods on nodes
        self.shapes: list[Shape] = []
        self.affinity_terms = OwnedTerms()
        # Moves when a namespace appears, gets other labels or is gone.
        self.namespace_generation = 0
        self.port_users: dict[tuple[str, int], dict[int, dict[str, int]]] = {}
        self.disk_users = DiskUsers()
        self.storage = Storage(self.nodes)
        self.devices = Devices(self.nodes, gates or default_gates())
        # Requested per slot, with a default for containers without a request; for scoring.
        self.non_zero_cpu_array = self.nodes.slots.array(np.int64)
        self.non_zero_memory_array = self.nodes.slots.array(np.int64)
        self._shape_of: dict[bytes, Shape] = {}
        self._shapes_made = 0
        self._classes = PodClasses()

    # -- shapes -------------------------------------------------------------------------------------------------

    def shape_of(self, pod: Pod, node_name: str = "", by_name: bool = False) -> Shape:
        """Return the pod's shape, made on first sight. `node_name` is a node that the pod asks for by name.

        With `by_name`, pods with other claims have another shape, so that explanations name the right ones.
        """
        devices = self.devices.facts(pod) if self.devices.may_concern(pod) else ()
        return self._shape_with(pod, node_name, devices, device_facts_key(devices, by_name), by_name)

    def _shape_with(
        self, pod: Pod, node_name: str, devices: tuple[DeviceClaimFacts, ...], devices_key: bytes, by_name: bool = False
    ) -> Shape:
        claims = self._facts(pod, by_name) if pod.spec.volumes else ()
        key = shape_key(pod, node_name, tuple(map(facts_key, claims)), devices_key)
        shape = self._shape_of.get(key)
        if shape is None:
            shape = self._shape_of[key] = self._new_shape(pod, node_name, claims, devices)
        return shape

    def _facts(self, pod: Pod, by_name: bool = False) -> tuple[ClaimFacts, ...]:
        facts = tuple(self.storage.claim_facts(pod, use, by_name) for use in claims_of(pod))
        volumes = [fact.attachable for fact in facts if fact.attachable is not None]
        if len(set(volumes)) < len(volumes):  # two claims on one volume, which a count of volumes has to know
            return facts if by_name else self._facts(pod, by_name=True)
        return facts

    def _new_shape(
        self, pod: Pod, node_name: str, claims: tuple[ClaimFacts, ...], devices: tuple[DeviceClaimFacts, ...]
    ) -> Shape:
        self._shapes_made += 1
        shape = Shape(self._shapes_made - 1, pod, node_name, claims, devices)
        shape.uses = (
            (self.nodes.free_arrays[PODS], -1),
            *((self.nodes.free_arrays[resource], -value) for resource, value in shape.taken.items()),
            (self.non_zero_cpu_array, shape.non_zero_cpu),
            (self.non_zero_memory_array, shape.non_zero_memory),
        )
        self._classes.add(shape)
        self.affinity_terms.add(shape)
        self.shapes.append(shape)
        return shape

    def retire_shapes(self, kept: Collection[Shape]) -> Set[Shape]:
        """Forget shapes without pods, except those in `kept`: StatefulSets make one per pod.

        With them go what only they had: their label classes, their terms, resources that no node has either. Returns
        the shapes that are forgotten.
        """
        retired = {shape for shape in self.shapes if not shape.slots}.difference(kept)
        self.shapes = [shape for shape in self.shapes if shape not in retired]
        self._shape_of = {key: shape for key, shape in self._shape_of.items() if shape not in retired}
        self._classes.forget(retired)
        self.affinity_terms.forget(retired)
        self.nodes.forget_resources()
        self.storage.attachments.forget_drivers()
        return retired

    def refresh(self, record: PodRecord) -> Shape:
        """Return the shape of a pod without a node, which changes with its claims."""
        shape, pod = record.shape, record.pod
        if record.slot < 0 and (
            (record.claims and tuple(map(facts_key, self._facts(pod))) != shape.claims_key)
            or (
                (shape.devices or self.devices.may_concern(pod))
                and device_facts_key(self.devices.facts(pod)) != shape.devices_key
            )
        ):
            record.shape = self.shape_of(pod, shape.node_name)
        return record.shape

    def record(self, key: str, pod: Pod, shapes: dict[bytes, Shape] | None = None) -> PodRecord:
        """Return a pod's record. `shapes` has those of pods that differ by their names only, by their devices' keys.

        A pod whose ResourceClaims are not there has the shape of one without any until it is tried.
        """
        devices = self.devices.facts(pod) if self.devices.may_concern(pod) else ()
        if any(facts.state is DeviceClaimState.UNUSABLE for facts in devices):
            devices = ()
        devices_key = device_facts_key(devices) if devices else b""
        shape = shapes.get(devices_key) if shapes else None
        if shape is not None:
            return PodRecord(key, pod, shape)
        record = PodRecord(key, pod, self._shape_with(pod, "", devices, devices_key))
        if shapes is not None and not record.claims:  # with claims on volumes the shape changes as these are bound
            if len(shapes) >= _SHAPES_OF_TEMPLATE:
                shapes.clear()
            shapes[devices_key] = record.shape
        return record

    # -- nodes and namespaces -----------------------------------------------------------------------------------

    def add_node(self, node: Node) -> int:
        slot = self.nodes.add(node)
        while slot >= len(self.pods_on):
            self.pods_on.append({})
        self.storage.node_added(node.metadata.name)
        self.devices.node_changed(slot)
        return slot

    def update_node(self, node: Node) -> None:
        self.nodes.update(node)
        self.devices.node_changed(self.nodes.slot_of[node.metadata.name])

    def remove_node(self, name: str) -> list[PodRecord]:
        """Remove a node; return the pods that were on it."""
        slot = self.nodes.slot_of[name]
        stranded = list(self.pods_on[slot].values())
        for record in stranded:
            self.remove_pod(record)
        self.storage.node_leaves(name)
        self.nodes.remove(name)
        self.devices.node_changed(slot)
        return stranded

    def set_namespace(self, name: str, labels: Mapping[str, str]) -> None:
        """Set a namespace's labels, and count again what namespaceSelectors select."""
        if self.namespaces.get(name) == labels:
            return
        self.namespaces[name] = labels
        self.namespace_generation += 1
        self._classes.namespaces_changed()

    def remove_namespace(self, name: str) -> None:
        """Forget a namespace that is gone."""
        if self.namespaces.pop(name, None) is not None:
            self.namespace_generation += 1
            self._classes.namespaces_changed()

    # -- pods ---------------------------------------------------------------------------------------------------

    def add_pod(self, record: PodRecord, slot: int) -> None:
        record.slot = slot
        self.pods[record.key] = record
        self.pods_on[slot][record.key] = record
        self._count(record, slot, 1)

    def remove_pod(self, record: PodRecord) -> None:
        slot = record.slot
        del self.pods_on[slot][record.key]
        del self.pods[record.key]
        record.slot = -1
        self._count(record, slot, -1)

    def replace_pod(self, known: PodRecord, record: PodRecord) -> None:
        """Put another version of a placed pod in its place. One that is only being deleted requests what it did."""
        slot, old, shape = known.slot, known.shape, record.shape
        if (
            known.pod.spec.volumes
            or record.pod.spec.volumes
            or old.host_ports
            or shape.host_ports
            or old.uses != shape.uses
        ):
            self.remove_pod(known)
            self.add_pod(record, slot)
            return
        key, here = record.key, self.pods_on[slot]
        del here[key], self.pods[key]
        known.slot, record.slot = -1, slot
        self.pods[key] = here[key] = record
        self.nodes.changes.note(slot)
        for counts in old.tracked:
            counts.change(slot, -1)
        for counts in shape.tracked:
            counts.change(slot, 1)
        _move_one(old, shape, slot)
        _change(self.priorities, old.priority, -1)
        _change(self.priorities, shape.priority, 1)

    def swap_shape(self, record: PodRecord, pod: Pod, shape: Shape) -> bool:
        """Give a placed pod a new version and shape where nothing is counted otherwise; False if something is.

        Such is a pod that gets the labels of its node's zone, if no selector that is counted asks for them.
        """
        old, slot = record.shape, record.slot
        stays, stayed = (version.metadata.deletionTimestamp is None for version in (pod, record.pod))
        if record.claims or stays is not stayed or not old.counts_as(shape):
            return False
        record.pod, record.shape = pod, shape
        _move_one(old, shape, slot)
        return True

    def _count(self, record: PodRecord, slot: int, by: int) -> None:
        shape = record.shape
        self.nodes.changes.note(slot)
        self.nodes.hold(slot, len(self.pods_on[slot]))
        for array, value in shape.uses:
            array.values[slot] = add64(array.values.item(slot), by * value)
        for counts in shape.tracked:
            counts.change(slot, by)
        _change(shape.slots, slot, by)
        _change(self.priorities, shape.priority, by)
        for port in shape.host_ports:
            self._use_port(port, slot, by)
        if record.pod.spec.volumes:
            self._use_volumes(record, slot, by)

    def _use_volumes(self, record: PodRecord, slot: int, by: int) -> None:
        for claim in record.claims:
            self.storage.use((record.shape.namespace, claim.name), slot, by)
        for disk in record.shape.disks:
            self.disk_users.use(disk, slot, by)
        for attachable in record.shape.attachables:
            self.storage.attachments.use(attachable, slot, by)

    def _use_port(self, port: HostPort, slot: int, by: int) -> None:
        address, protocol, number = port
        users = self.port_users.setdefault((protocol, number), {})
        addresses = users.setdefault(slot, {})
        addresses[address] = addresses.get(address, 0) + by
        if not addresses[address]:
            del addresses[address]
            if not addresses:
                del users[slot]
                if not users:
                    del self.port_users[protocol, number]

    @contextmanager
    def as_if_gone(self, records: Iterable[PodRecord]) -> Iterator[None]:
        """Take these pods off their nodes inside the block, which must undo its own changes."""
        gone = [(record, record.slot) for record in records]
        for record, _ in gone:
            self.remove_pod(record)
        try:
            yield
        finally:
            for record, slot in gone:
                self.add_pod(record, slot)

    @contextmanager
    def as_if_placed(self, records: Iterable[tuple[PodRecord, int]]) -> Iterator[None]:
        placed = list(records)
        for record, slot in placed:
            self.add_pod(record, slot)
        try:
            yield
        finally:
            for record, _ in placed:
                self.remove_pod(record)

    # -- counts -------------------------------------------------------------------------------------------------

    def count_pods(
        self,
        key: Hashable,
        predicate: PodPredicate,
        needs: tuple[Label, ...] | None = None,
        reads_namespaces: bool = False,
    ) -> PodCounts:
        """Return pods per slot for which the predicate holds, counted as long as the result is held.

        Equal keys, equal predicates. `needs` are labels of which a pod must have one for the predicate to hold; fewer
        pods are then tried.
        """
        return self._classes.count(key, predicate, needs, reads_namespaces)


def _move_one(old: Shape, new: Shape, slot: int) -> None:
    """Count a pod on a slot as one of another shape."""
    _change(old.slots, slot, -1)
    _change(new.slots, slot, 1)


def _change(counts: dict[int, int], key: int, by: int) -> None:
    remaining = counts.get(key, 0) + by
    if remaining:
        counts[key] = remaining
    else:
        del counts[key]
