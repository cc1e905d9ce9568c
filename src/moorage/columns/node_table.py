"""Hold all nodes as columns in stable slots, updated in place; changed slots are logged.

Kubernetes: the scheduler's NodeInfo and snapshot, which is copied for each pod; this is not.
"""

import random
from collections import OrderedDict
from collections.abc import Iterator
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from moorage.columns.change_log import ChangeLog
from moorage.columns.codes import LabelColumn, TaintSets
from moorage.columns.resources import PODS, amounts, countable
from moorage.columns.slots import NamedArrays, Slots
from moorage.model.go.integers import add64
from moorage.model.types.node import Node

_LOT_BITS = 20
_MAX_PODS = (1 << (32 - _LOT_BITS)) - 1  # that count in a tie
_COLUMNS_KEPT = 32


class NodeTable:
    """The nodes. A slot stays valid for as long as its node lives."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.slots = Slots()
        self.slot_of: dict[str, int] = {}
        self.nodes: list[Node | None] = [None] * self.slots.capacity
        self.changes: ChangeLog[int] = ChangeLog()
        # Moves when a node is added, removed or changed in anything but the pods it holds.
        self.generation = 0
        self._alive = self.slots.array(np.bool_)
        self._unschedulable = self.slots.array(np.bool_)
        self._taints = self.slots.array(np.int32)
        self._lot = self.slots.array(np.int64)
        self._tie = self.slots.array(np.int64)
        self.taint_sets = TaintSets()
        # A column lives as long as something reads it; those asked for last are kept for the next reader.
        self._labels: WeakValueDictionary[str, LabelColumn] = WeakValueDictionary()
        self._recent: OrderedDict[str, LabelColumn] = OrderedDict()
        self.allocatable_arrays = NamedArrays(self.slots)
        self.free_arrays = NamedArrays(self.slots)
        self.images: dict[str, dict[int, int]] = {}

    # -- columns ------------------------------------------------------------------------------------------------

    @property
    def alive(self) -> NDArray[np.bool_]:
        return self._alive.values

    @property
    def unschedulable(self) -> NDArray[np.bool_]:
        return self._unschedulable.values

    @property
    def taints(self) -> NDArray[np.int32]:
        """Return each slot's code in `taint_sets`."""
        return self._taints.values

    @property
    def tie(self) -> NDArray[np.int64]:
        """Return a number below 2³² for each slot: between equal scores the largest wins.

        The node with the fewest pods has the largest, so that pods which score alike everywhere do not pile up;
        between nodes with as many pods, seed and name decide.
        """
        return self._tie.values

    def label(self, key: str) -> LabelColumn:
        """Return the column of one label key, made on first use."""
        column = self._labels.get(key)
        if column is None:
            column = self._labels[key] = LabelColumn(key, self.slots.array(np.int32))
            for slot, node in self:
                column.set(slot, node.metadata.labels.get(key))
        self._recent[key] = column
        self._recent.move_to_end(key)
        if len(self._recent) > _COLUMNS_KEPT:
            self._recent.popitem(last=False)
        return column

    def allocatable(self, resource: str) -> NDArray[np.int64]:
        return self.allocatable_arrays[resource].values

    def free(self, resource: str) -> NDArray[np.int64]:
        """Return allocatable less the requests of the pods on the node; may be negative."""
        return self.free_arrays[resource].values

    # -- events -------------------------------------------------------------------------------------------------

    def add(self, node: Node) -> int:
        """Put a new node, whose name is not taken, into a slot."""
        slot = self.slots.take()
        if slot >= len(self.nodes):
            self.nodes.extend([None] * (self.slots.capacity - len(self.nodes)))
        self.slot_of[node.metadata.name] = slot
        self._alive.values[slot] = True
        self._lot.values[slot] = random.Random(f"{self.seed}/{node.metadata.name}").getrandbits(_LOT_BITS)
        self.hold(slot, 0)
        self._write(slot, node)
        return slot

    def hold(self, slot: int, pods: int) -> None:
        """Set how many pods a node holds, which decides ties."""
        emptiness = _MAX_PODS - pods if pods < _MAX_PODS else 0
        self._tie.values[slot] = (emptiness << _LOT_BITS) | self._lot.values.item(slot)

    def update(self, node: Node) -> None:
        self._write(self.slot_of[node.metadata.name], node)

    def remove(self, name: str) -> int:
        """Free the slot of a node without pods."""
        slot = self.slot_of[name]
        self._write(slot, Node())
        del self.slot_of[name]
        self._alive.values[slot] = False
        self.nodes[slot] = None
        self.slots.give_back(slot)
        return slot

    def _write(self, slot: int, node: Node) -> None:
        old = self.nodes[slot]
        self.nodes[slot] = node
        self.generation += 1
        self.changes.note(slot)
        self._unschedulable.values[slot] = node.spec.unschedulable
        self._write_taints(slot, node)
        self._write_allocatable(slot, old, node)
        self._write_images(slot, old, node)
        for column in self._labels.values():
            column.set(slot, node.metadata.labels.get(column.key))

    def _write_taints(self, slot: int, node: Node) -> None:
        had = self._taints.values.item(slot)
        if had or node.spec.taints:  # the code of the empty list has no users to count
            self._taints.values[slot] = self.taint_sets.take(node.spec.taints) if node.spec.taints else 0
            if had:
                self.taint_sets.give_back(had)

    def _write_allocatable(self, slot: int, old: Node | None, node: Node) -> None:
        new = amounts(node.status.allocatable)
        for resource in new if old is None else new.keys() | old.status.allocatable.keys():
            array = self.allocatable_arrays[resource]
            value = new.get(resource, 0)
            before = array.values.item(slot)
            if value != before:
                array.values[slot] = value
                free = self.free_arrays[resource].values
                difference = countable(value) - countable(before) if resource == PODS else value - before
                free[slot] = add64(free.item(slot), difference)

    def forget_resources(self) -> None:
        """Forget resources that no node has, and no known pod requests."""
        self.allocatable_arrays.forget_unused()
        self.free_arrays.forget_unused()

    def _write_images(self, slot: int, old: Node | None, new: Node) -> None:
        if old is not None:
            for image in old.status.images:
                for name in image.names:
                    slots = self.images.get(name)
                    if slots is not None:
                        slots.pop(slot, None)
                        if not slots:
                            del self.images[name]
        for image in new.status.images:
            for name in image.names:
                self.images.setdefault(name, {}).setdefault(slot, image.sizeBytes)  # a name given twice: the first

    def __iter__(self) -> Iterator[tuple[int, Node]]:
        for slot in self.slot_of.values():
            node = self.nodes[slot]
            if node is not None:
                yield slot, node

    def __len__(self) -> int:
        return len(self.slot_of)

    def node(self, slot: int) -> Node:
        node = self.nodes[slot]
        if node is None:
            raise LookupError(f"slot {slot} holds no node")
        return node
