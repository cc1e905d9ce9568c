"""Keep nominated pods, and the filter that leaves room for them on their nodes.

`NominatedPods` is the last filter of every profile: a node with nominated pods of equal or higher priority must pass
all other filters as if these ran there, too. A pod's own nomination is removed before it is scheduled.
Kubernetes: the nominator, and RunFilterPluginsWithNominatedPods.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping
from contextlib import AbstractContextManager
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.columns.cluster import Cluster, PodRecord
from moorage.columns.codes import Interner
from moorage.columns.shape import Shape
from moorage.schedule.candidates import Candidates
from moorage.schedule.framework.events import EventKind, on
from moorage.schedule.framework.plugin import ChosenSlots, Code, Mask, Plugin, Prepared, ReasonCodes, Verdict
from moorage.schedule.framework.wide import WidePlugin
from moorage.schedule.local_answers import Filter
from moorage.schedule.preemption.glimpse import glimpse

_NONE: Mapping[str, PodRecord] = {}


class Nominations:
    """Which pods are nominated for which slot, and which await a node that does not exist yet."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._on: dict[int, dict[str, PodRecord]] = {}
        self._slot_of: dict[str, int] = {}
        self._awaiting: dict[str, dict[str, PodRecord]] = {}  # by the node's name
        self._awaited: dict[str, str] = {}

    def nominate(self, record: PodRecord, node: str) -> None:
        """Nominate a pod for a node; for one that does not exist, as soon as it does."""
        slot = self._cluster.nodes.slot_of.get(node)
        if slot is not None:
            self.add(record, slot)
            return
        self.forget(record.key)
        self._awaited[record.key] = node
        self._awaiting.setdefault(node, {})[record.key] = record

    def awaited_by(self, key: str) -> str:
        """Return the name of the node that a pod awaits; empty if it awaits none."""
        return self._awaited.get(key, "")

    def forget(self, key: str) -> int | None:
        """Remove a pod's nomination, also for a node that does not exist; return the slot it was for."""
        node = self._awaited.pop(key, None)
        if node is not None:
            del self._awaiting[node][key]
            if not self._awaiting[node]:
                del self._awaiting[node]
        return self.remove(key)

    def node_added(self, name: str, slot: int) -> None:
        """Nominate the pods that await the node."""
        for record in list(self._awaiting.get(name, {}).values()):
            self.add(record, slot)

    def node_gone(self, name: str, slot: int) -> None:
        """Let the pods that are nominated for a node that goes away await it; it has no slot from then on."""
        for record in list(self.at(slot).values()):
            self.remove(record.key)
            self._awaited[record.key] = name
            self._awaiting.setdefault(name, {})[record.key] = record

    def add(self, record: PodRecord, slot: int) -> None:
        self.forget(record.key)
        self._slot_of[record.key] = slot
        self._on.setdefault(slot, {})[record.key] = record
        self._cluster.nodes.changes.note(slot)

    def remove(self, key: str) -> int | None:
        """Remove a pod's nomination; return the slot it was for."""
        slot = self._slot_of.pop(key, None)
        if slot is not None:
            del self._on[slot][key]
            if not self._on[slot]:
                del self._on[slot]
            self._cluster.nodes.changes.note(slot)
        return slot

    def slot_of(self, key: str) -> int | None:
        return self._slot_of.get(key)

    def at(self, slot: int) -> Mapping[str, PodRecord]:
        return self._on.get(slot, _NONE)

    def slots(self) -> KeysView[int]:
        return self._on.keys()

    def below(self, slot: int, priority: int) -> list[PodRecord]:
        """Return the pods of lower priority that are nominated for a slot."""
        return [record for record in self.at(slot).values() if record.priority < priority]

    def __bool__(self) -> bool:
        return bool(self._on)


class _Want(msgspec.Struct, eq=False):
    """A shape, and per slot a code of the objecting plugin and its reasons, updated where something changed."""

    shape: Shape
    codes: NDArray[np.int64] = msgspec.field(default_factory=lambda: np.zeros(0, np.int64))
    objections: Interner[tuple[str, tuple[str, ...]] | None] = msgspec.field(default_factory=lambda: Interner(None))
    refused: dict[int, tuple[str, Verdict]] = msgspec.field(default_factory=dict)  # the slots with an objection
    position: int = -1
    revision: Any = None
    # The deciding filters when last looked at; of these, the others than this one, and the wide ones.
    deciding: tuple[Filter, ...] = ()
    others: tuple[Filter, ...] = ()
    wide: tuple[Filter, ...] = ()


class NominatedPods(Plugin[_Want]):
    """The filter. `candidates_of` returns a shape's candidates, whose other filters are asked."""

    name = "NominatedPods"
    # A pod rejected because of a nomination is also registered under the plugin that objects: see `rejecting`.
    requeue_on = (on(EventKind.POD_REMOVED, EventKind.NODE_ADDED),)

    def __init__(self, nominations: Nominations, candidates_of: Callable[[Shape], Candidates]) -> None:
        self._nominations = nominations
        self._candidates_of = candidates_of

    def prepare(self, shape: Shape, cluster: Cluster) -> Prepared:
        return Prepared(_Want(shape), scores=False)

    def is_idle(self, want: _Want, cluster: Cluster) -> bool:
        return not self._nominations

    def epoch(self, want: _Want, cluster: Cluster) -> Any:
        """Change with any slot: a wide plugin's answer for a nominated slot may depend on it."""
        if not self._nominations:
            return None
        self._look_at_others(want)
        return _revision(want, cluster)

    def filter(self, want: _Want, cluster: Cluster) -> Mask:
        self._catch_up(want, cluster)
        mask: Mask = want.codes == 0
        return mask

    def filter_slot(self, want: _Want, cluster: Cluster, slot: int) -> bool:
        return not self._nominations.at(slot) or self._objection_now(want, cluster, slot) is None

    def explain(self, want: _Want, cluster: Cluster, slot: int) -> Verdict | None:
        objection = self._objection_now(want, cluster, slot) if self._nominations.at(slot) else None
        return objection[1] if objection is not None else None

    def _objection_now(self, want: _Want, cluster: Cluster, slot: int) -> tuple[str, Verdict] | None:
        """Return the objection to a slot, which is kept unless pods are moved for a trial."""
        if cluster.nodes.changes.is_trial:
            self._look_at_others(want)
            return self._objection(want, cluster, slot)
        self._catch_up(want, cluster)
        return want.refused.get(slot)

    def reasons(self, want: _Want, cluster: Cluster, slots: ChosenSlots) -> Counter[str]:
        counted: Counter[str] = Counter()
        for (_, reasons), nodes in self._objections(want, cluster, slots):
            for reason in reasons:
                counted[reason] += nodes
        return counted

    def reason_codes(self, want: _Want, cluster: Cluster, slots: ChosenSlots) -> ReasonCodes | None:
        self._catch_up(want, cluster)
        reasons = [() if objection is None else objection[1] for objection in want.objections.values]
        return ReasonCodes(want.codes[slots], reasons)

    def rejecting(self, want: _Want, cluster: Cluster, slots: ChosenSlots) -> frozenset[str]:
        """Return also the plugins that object on slots that are refused here."""
        return frozenset({self.name, *(name for (name, _), _ in self._objections(want, cluster, slots))})

    def refusal_at(self, want: _Want, cluster: Cluster, slot: int) -> tuple[frozenset[str], tuple[str, ...]]:
        objection = self._objection_now(want, cluster, slot)
        if objection is None:
            return frozenset({self.name}), ()
        return frozenset({self.name, objection[0]}), objection[1].reasons

    def curable(self, want: _Want, cluster: Cluster, slots: ChosenSlots) -> Mask:
        objections = (self._objection_now(want, cluster, slot) for slot in slots.tolist())
        codes = (objection is not None and objection[1].code is Code.UNSCHEDULABLE for objection in objections)
        return np.fromiter(codes, np.bool_, len(slots))

    def awaited(self, shape: Shape, slot: int) -> list[PodRecord]:
        """Return the pods nominated for a slot for which a pod of this shape must leave room."""
        nominated = self._nominations.at(slot).values()
        return [record for record in nominated if record.priority >= shape.priority and record.slot < 0]

    def _objections(
        self, want: _Want, cluster: Cluster, slots: ChosenSlots
    ) -> Iterator[tuple[tuple[str, tuple[str, ...]], int]]:
        self._catch_up(want, cluster)
        for code, nodes in enumerate(np.bincount(want.codes[slots]).tolist()):
            objection = want.objections.values[code]
            if nodes and objection is not None:
                yield objection, nodes

    def _catch_up(self, want: _Want, cluster: Cluster) -> None:
        changes, capacity = cluster.nodes.changes, cluster.nodes.slots.capacity
        self._look_at_others(want)
        revision = _revision(want, cluster) if self._nominations else None
        is_valid = revision == want.revision and len(want.codes) == capacity
        if is_valid and changes.position == want.position:
            return
        changed = changes.since(want.position) if is_valid else None
        if changed is None:
            want.codes = np.zeros(capacity, np.int64)
            changed = list(self._nominations.slots())
            want.refused.clear()
        # Every change of a node is logged; few nodes have nominated pods, or had some when last looked at.
        nominated = self._nominations.slots()
        for slot in dict.fromkeys(changed) if nominated or want.refused else ():
            if slot not in nominated and slot not in want.refused:
                continue
            objection = self._objection(want, cluster, slot)
            if objection is None:
                want.codes[slot] = 0
                want.refused.pop(slot, None)
            else:
                want.codes[slot] = want.objections.intern((objection[0], objection[1].reasons))
                want.refused[slot] = objection
        if want.wide and self._nominations:
            revision = _revision(want, cluster)
        want.position, want.revision = changes.position, revision

    def _objection(self, want: _Want, cluster: Cluster, slot: int) -> tuple[str, Verdict] | None:
        """Return the plugin that objects to the slot if the nominated pods ran there, and why."""
        placed = [(record, slot) for record in self.awaited(want.shape, slot)]
        if not placed:
            return None
        as_if: AbstractContextManager[None] = cluster.as_if_placed(placed)
        with glimpse(self._candidates_of(want.shape)), as_if:
            objection = _first_objection(want.others, cluster, slot)
        for item in want.wide:
            if isinstance(item.plugin, WidePlugin):
                item.prepared.want.catch_up(cluster)  # it followed the pods there, and has to follow them back
        return objection

    def _look_at_others(self, want: _Want) -> None:
        deciding = self._candidates_of(want.shape).deciding
        if deciding is not want.deciding:
            want.deciding = deciding
            want.others = tuple(item for item in deciding if item.plugin is not self)
            want.wide = tuple(item for item in want.others if not item.plugin.local)


def _revision(want: _Want, cluster: Cluster) -> list[Any] | None:
    return [item.plugin.revision(item.prepared.want, cluster) for item in want.wide] or None


def _first_objection(filters: Iterable[Filter], cluster: Cluster, slot: int) -> tuple[str, Verdict] | None:
    for item in filters:
        if not item.plugin.filter_slot(item.prepared.want, cluster, slot):
            verdict = item.plugin.explain(item.prepared.want, cluster, slot)
            if verdict is not None:
                return item.plugin.name, verdict
    return None
