"""Hold all nodes as columns in stable slots, updated in place; changed slots are logged.

Kubernetes: the scheduler's NodeInfo and snapshot, which is copied for each pod; this is not.
"""

import random
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from moorage.columns.resources import PODS, amounts, countable
from moorage.columns.slots import LabelColumn, NamedArrays, Slots, TaintSets
from moorage.model.go.integers import add64
from moorage.model.types.node import Node

_LOT_BITS = 20
_MAX_PODS = (1 << (32 - _LOT_BITS)) - 1  # that count in a tie
_LOG_LIMIT = 1 << 16


class ChangeLog:
    """The slots that changed, in order. A reader keeps a position and asks what came after it."""

    __slots__ = ("_base", "_slots", "position")

    def __init__(self) -> None:
        self.position = 0
        self._base = 0
        self._slots: list[int] = []

    def note(self, slot: int) -> None:
        self.position += 1
        self._slots.append(slot)
        if len(self._slots) > _LOG_LIMIT:
            drop = len(self._slots) // 2
            del self._slots[:drop]
            self._base += drop

    def forget(self) -> None:
        """Log that everything changed."""
        self.position += 1
        self._base = self.position
        self._slots.clear()

    def rewind(self, position: int) -> None:
        """Drop what was logged after a position, where everything is as it was then and unread."""
        if position >= self._base:
            self.position = position
            del self._slots[position - self._base :]

    def since(self, position: int) -> list[int] | None:
        """Return the slots that changed after a position; None if that is too long ago to tell."""
        if position < self._base:
            return None
        return self._slots[position - self._base :]


class NodeTable:
    """The nodes. A slot stays valid for as long as its node lives."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.slots = Slots()
        self.slot_of: dict[str, int] = {}
        self.nodes: list[Node | None] = [None] * self.slots.capacity
        self.changes = ChangeLog()
        # Moves when a node is added, removed or changed in anything but the pods it holds.
        self.generation = 0
        self._alive = self.slots.array(np.bool_)
        self._unschedulable = self.slots.array(np.bool_)
        self._taints = self.slots.array(np.int32)
        self._lot = self.slots.array(np.int64)
        self._tie = self.slots.array(np.int64)
        self.taint_sets = TaintSets()
        self._labels: dict[str, LabelColumn] = {}
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
        self._taints.values[slot] = self.taint_sets.intern(node.spec.taints)
        self._write_allocatable(slot, node)
        self._write_images(slot, old, node)
        for column in self._labels.values():
            column.set(slot, node.metadata.labels.get(column.key))

    def _write_allocatable(self, slot: int, node: Node) -> None:
        new = amounts(node.status.allocatable)
        for resource in new.keys() | self.allocatable_arrays.keys():
            array = self.allocatable_arrays[resource]
            value = new.get(resource, 0)
            before = array.values.item(slot)
            if value != before:
                array.values[slot] = value
                free = self.free_arrays[resource].values
                difference = countable(value) - countable(before) if resource == PODS else value - before
                free[slot] = add64(free.item(slot), difference)

    def _write_images(self, slot: int, old: Node | None, new: Node) -> None:
        if old is not None:
            for image in old.status.images:
                for name in image.names:
                    self.images.get(name, {}).pop(slot, None)
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
