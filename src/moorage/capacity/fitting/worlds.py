"""Plan the same pods on other nodes: a cluster without its nodes, or beside them, and with the nodes of a mix."""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from moorage.capacity.forks import fresh_inventory
from moorage.control.framework.world import controller_of
from moorage.lint.sources import Source
from moorage.model.kinds import view_of
from moorage.model.types.pod import FINISHED_PHASES, Pod
from moorage.model.well_known.annotations import MIRROR_POD
from moorage.plan.input.inventory import Item
from moorage.plan.planner import Planner
from moorage.plan.simulation.simulation import Simulation
from moorage.pools.node_template import NodeTemplate, Raw

_OF_NODES = frozenset({"Node", "CSINode"})
_PLACED = frozenset({"nodeName"})


class FitWorld:
    """The pods and everything else of an input, to be planned with any nodes. The input itself stays as it is."""

    def __init__(self, planner: Planner, *, keeps_nodes: bool) -> None:
        self._planner = planner
        self.notes: list[str] = []
        self._inventory = planner.inventory.copy(with_notes=True)
        if not keeps_nodes:
            self._take_nodes_away()

    @property
    def taken_names(self) -> set[str]:
        """The names that nodes have already."""
        return {item.key.name for item in self._inventory.of_kind("Node")}

    def add_pods(self, documents: Sequence[Raw]) -> None:
        """Add pods, which are admitted as those of the input."""
        reading = Planner(self._planner.settings)
        reading.inventory = self._inventory
        reading.load([Source("headroom", content=_stream(documents))])

    def planned(self, nodes: Sequence[Raw] = ()) -> Simulation:
        """Return a simulation of the pods with these nodes beside those that stay, once nothing more happens."""
        simulation = self.begun(nodes)
        simulation.settle()
        return simulation

    def begun(self, nodes: Sequence[Raw] = ()) -> Simulation:
        """Return a simulation in which nothing has happened yet."""
        planner = Planner(self._planner.settings)
        planner.inventory = fresh_inventory(self._inventory)
        if nodes:
            planner.load([Source("mix", content=_stream(nodes))])
        return planner.build()

    def _take_nodes_away(self) -> None:
        items, number, left_out = self._inventory.items, 0, Counter[str]()
        for key, item in list(items.items()):
            if key.kind in _OF_NODES:
                del items[key]
                number += key.kind == "Node"
            elif key.kind == "Pod":
                reason = _why_gone(item.view)
                if reason:
                    left_out[reason] += 1
                    del items[key]
                elif item.view.spec.nodeName:
                    items[key] = _unplaced(item)
        if number:
            nodes = "1 node" if number == 1 else f"{number:,} nodes"
            self.notes.append(f"{nodes} of the input left out, and their pods placed again; --keep-existing keeps them")
        self.notes += [f"{number:,} pods left out: {reason}" for reason, number in left_out.items()]


def _why_gone(pod: Pod) -> str:
    """Return why a pod is gone with its node, and needs no place; empty if it needs one."""
    owner = controller_of(pod.metadata)
    if owner is not None and owner.kind == "DaemonSet":
        return "of DaemonSets, which make others on new nodes" if pod.spec.nodeName else ""
    if MIRROR_POD in pod.metadata.annotations or (owner is not None and owner.kind == "Node"):
        return "static pods, which belong to their node"
    return "finished" if pod.status.phase in FINISHED_PHASES else ""


def _unplaced(item: Item) -> Item:
    """Return a pod as it was before it had a node."""
    raw = {key: value for key, value in item.raw.items() if key != "status"}
    raw["spec"] = {key: value for key, value in raw["spec"].items() if key not in _PLACED}
    return msgspec.structs.replace(item, raw=raw, view=view_of(raw), template=None)


def _stream(documents: Iterable[Raw]) -> bytes:
    return b"\n---\n".join(msgspec.json.encode(one) for one in documents)


def nodes_of(counts: Sequence[tuple[NodeTemplate, int]], taken: set[str]) -> list[Raw]:
    """Return manifests of the nodes of a mix, named after their pools."""
    numbers: Counter[str] = Counter()
    made: list[Raw] = []
    for template, count in counts:
        for _ in range(count):
            while True:
                numbers[template.pool] += 1
                name = f"{template.pool}-{numbers[template.pool]}"
                if name not in taken:
                    break
            made.append(template.node(name))
    return made
