"""Say which pods have to leave their nodes because of taints: now, and before taints are changed.

The decision is that of the taint eviction controller, made once for each distinct list of taints and tolerations, so
that what a change of taints means for twenty thousand pods is known at once. What follows from it is not: where the
pods go, who makes room, who waits. The simulation tells that, and agrees: every pod that is foreseen goes by its time,
because of the taint unless its controller, a drain or a pod of higher priority takes it away first; and of the pods
that had a node, no other goes because of a taint. Taints that manifests among the changes bring are not foreseen.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import msgspec

from moorage.client.protocol import Object
from moorage.control.taint_eviction import TaintEvictionController, Taints, deadline, no_execute
from moorage.match.evaluation.accounts import Undecided
from moorage.match.taint_eviction import Eviction, When, decide_eviction
from moorage.match.tolerations import compile_tolerations
from moorage.model.gates import Component
from moorage.model.kinds import KINDS
from moorage.model.types.node import Taint
from moorage.model.types.pod import Pod, Toleration
from moorage.model.well_known.taints import NO_EXECUTE
from moorage.plan.node_changes import TaintChange, UntaintChange, find_nodes, with_taint
from moorage.plan.simulation.controllers import TAINT_EVICTION
from moorage.plan.simulation.simulation import HORIZON, Simulation
from moorage.schedule.config.default_profile import program_cache

_REMEMBERED = 4096
Tolerations = tuple[Toleration, ...]


class Leaving(NamedTuple):
    """A pod that has to leave, in how many seconds, and because of which taint."""

    pod: Object
    seconds: int
    because: str


class Foreseen(msgspec.Struct, frozen=True):
    """The pods that have to leave, and how many others on the nodes concerned may stay."""

    leaving: list[Leaving]
    tolerated: int


class TaintEvictions:
    """Decides for the pods of a simulation."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        gates = simulation.settings.gates_of(Component.CONTROLLER_MANAGER)
        programs = program_cache(simulation.gates, simulation.evaluations)

        @lru_cache(_REMEMBERED)
        def decided(taints: tuple[Taint, ...], tolerations: Tolerations) -> Eviction:
            return decide_eviction(taints, compile_tolerations(tolerations, gates, programs))

        self._decided = decided

    def of(self, pod: Object) -> Eviction:
        """Return what the taints of its node, as they are now, mean for a pod."""
        node = self._simulation.world.view(KINDS.NODE, pod.view.spec.nodeName)
        return self._decided(tuple(node.spec.taints) if node is not None else (), tuple(pod.view.spec.tolerations))

    def are_due(self, pods: Iterable[Object]) -> bool:
        """Return whether one of these pods has to leave later, unless it is leaving already."""
        return any(pod.view.metadata.deletionTimestamp is None and self.of(pod).when is When.AFTER for pod in pods)

    def tainted_nodes(self) -> list[str]:
        """Return the nodes with NoExecute taints."""
        nodes = self._simulation.world.all(KINDS.NODE)
        return [node.name for node in nodes if any(one.effect == NO_EXECUTE for one in node.view.spec.taints)]

    def foresee(
        self, taints: Iterable[TaintChange], untaints: Iterable[UntaintChange], until: float | None = None
    ) -> Foreseen:
        """Return who has to leave once these changes are made, in their order. Raises ChangeError.

        `until`: within so many seconds. Pods whose time runs already are told, too.
        """
        world, now = self._simulation.world, self._simulation.clock.now
        limit = HORIZON if until is None else until
        changed = self._changed_taints(taints, untaints)
        leaving: list[Leaving] = []
        tolerated = 0
        for new, names in _by_taints(changed).items():
            known: dict[int, tuple[Tolerations, Eviction | None]] = {}  # pods of one template share their tolerations
            for pod in (pod for name in names for pod in world.pods_on(name)):
                view: Pod = pod.view
                if view.metadata.deletionTimestamp is not None:
                    continue
                tolerations = view.spec.tolerations
                if (found := known.get(id(tolerations))) is None:
                    found = known[id(tolerations)] = tolerations, self._decide(new, tolerations)
                eviction = found[1]
                if eviction is None or eviction.when is When.NEVER:
                    tolerated += 1
                elif eviction.when is When.NOW:
                    leaving.append(Leaving(pod, 0, eviction.because))
                elif (due := self._due(pod, new, eviction, now)) - now > limit:
                    tolerated += 1
                else:
                    leaving.append(Leaving(pod, max(0, round(due - now)), eviction.because))
        return Foreseen(leaving + self._timed(changed, now, limit), tolerated)

    def _timed(self, changed: dict[str, Taints], now: float, limit: float) -> list[Leaving]:
        """Return the pods on other nodes whose time runs already."""
        controller = self._controller()
        found = []
        for then in controller.timed if controller is not None else ():
            pod = self._simulation.world.get(KINDS.POD, then.key)
            if pod is None or pod.uid != then.uid or pod.view.spec.nodeName in changed:
                continue
            node = self._simulation.world.view(KINDS.NODE, pod.view.spec.nodeName)
            taints = no_execute(node) if node is not None else ()
            eviction = self._decide(taints, pod.view.spec.tolerations)
            due = self._due(pod, taints, eviction, now)
            if eviction is not None and due - now <= limit and pod.view.metadata.deletionTimestamp is None:
                found.append(Leaving(pod, max(0, round(due - now)), eviction.because))
        return found

    def _changed_taints(self, taints: Iterable[TaintChange], untaints: Iterable[UntaintChange]) -> dict[str, Taints]:
        """Return the NoExecute taints of every node of which these change."""
        found: dict[str, Taints] = {}
        changes: list[TaintChange | UntaintChange] = [*taints, *untaints]
        for change in changes:
            for node in find_nodes(self._simulation, change.node):
                before = found.get(node.name, node.view.spec.taints)
                if isinstance(change, TaintChange):
                    found[node.name] = tuple(with_taint(before, change))
                else:
                    found[node.name] = tuple(
                        one for one in before if one.key != change.key or change.effect not in ("", one.effect)
                    )
        world = self._simulation.world
        new = {name: tuple(one for one in all_taints if one.effect == NO_EXECUTE) for name, all_taints in found.items()}
        return {name: one for name, one in new.items() if one != no_execute(world.view(KINDS.NODE, name))}

    def _decide(self, taints: Taints, tolerations: Tolerations) -> Eviction | None:
        try:
            return self._decided(taints, tolerations)
        except Undecided:  # a budget is used up: nothing is evicted without an answer
            return None

    def _due(self, pod: Object, taints: Taints, eviction: Eviction | None, now: float) -> float:
        if eviction is None:
            return float("inf")
        controller = self._controller()
        if controller is None:
            return deadline(taints, eviction, pod.view, now, begun={}, changed=())
        return controller.foresee(pod, taints, eviction, now)

    def _controller(self) -> TaintEvictionController | None:
        loop = self._simulation.controllers.loops.get(TAINT_EVICTION)
        found = loop.controller if loop is not None else None
        return found if isinstance(found, TaintEvictionController) else None


def _by_taints(nodes: dict[str, Taints]) -> dict[Taints, list[str]]:
    found: dict[Taints, list[str]] = {}
    for name, taints in nodes.items():
        found.setdefault(taints, []).append(name)
    return found
