"""What if? A planned world, a few changes, and everything that follows from them, in the order of time.

In: a world whose pods are placed, and changes: more manifests, taints, drains, nodes that go. Out: a `Difference`. The
world is not planned anew: whoever runs keeps running, unless a taint, a drain or a lost node makes it leave. What
leaves is made anew by its controller, waits in the queue like everything else, and lands where there is room then.
Taints evict at the second their tolerations allow. A drain respects PodDisruptionBudgets, waits for what it evicted to
run elsewhere, and tells what it cannot evict; DaemonSet and mirror pods stay. Kubernetes: the taint-eviction
controller, kubectl drain, the node lifecycle and pod garbage collectors.
"""

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches

import msgspec

from moorage.match.taint_eviction import When, decide_eviction
from moorage.match.tolerations import compile_tolerations
from moorage.model.types.node import Taint
from moorage.model.types.policy import PodDisruptionBudgetStatus
from moorage.plan.difference import Cause, Departure, Difference, difference_of
from moorage.plan.input.inventory import Item, Key
from moorage.plan.input.reading import Reader
from moorage.plan.node_changes import ChangeError, TaintChange, UntaintChange, cordoned, tainted, untainted
from moorage.plan.outcome import outcome_of
from moorage.plan.placement import Placement
from moorage.plan.planned_pod import PlannedPod
from moorage.plan.world import World
from moorage.schedule.preemption.disruption_budgets import DisruptionBudgets

_TEMPLATED = ("Deployment", "StatefulSet", "DaemonSet")
_BUDGET = "Cannot evict pod as it would violate the pod's disruption budget."


class Changes(msgspec.Struct, frozen=True):
    """What is to be changed, in this order. `files` are described here and read by whoever has the sources."""

    files: tuple[str, ...] = ()
    taints: tuple[TaintChange, ...] = ()
    untaints: tuple[UntaintChange, ...] = ()
    drains: tuple[str, ...] = ()
    removes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.files or self.taints or self.untaints or self.drains or self.removes)

    def described(self) -> list[str]:
        return [
            *(f"apply {name}" for name in self.files),
            *map(str, self.taints),
            *map(str, self.untaints),
            *(f"drain node {name}" for name in self.drains),
            *(f"remove node {name}" for name in self.removes),
        ]


class WhatIf:
    """Plays changes on a world."""

    def __init__(self, world: World, placement: Placement) -> None:
        self._world = world
        self._placement = placement
        self._departures: list[Departure] = []
        self._blocked: list[tuple[str, str]] = []
        self._preempted = len(world.preempted)
        self._given_up = len(world.given_up)

    def play(self, changes: Changes, read: Callable[[Reader], None] = lambda reader: None) -> Difference:
        """Make the changes and let the world go on until nothing more happens. Raises ChangeError."""
        world = self._world
        before = outcome_of(world)
        taints_before = {name: world.cluster.nodes.node(slot).spec.taints for name, slot in self._slots()}
        gone = self._apply_files(read)
        for taint in changes.taints:
            self._replace_node(tainted(self._node(taint.node), taint, world.gates))
        for untaint in changes.untaints:
            self._replace_node(untainted(self._node(untaint.node), untaint, world.gates))
        for name in changes.drains:
            self._replace_node(cordoned(self._node(name), world.gates))
        for name in changes.removes:
            self._node(name)
            gone += self._leave(world.node_removed(name), Cause.NODE_REMOVED, "its node is gone")
        self._play_timeline(taints_before, gone)
        for name in changes.drains:
            self._drain(name)
        after = outcome_of(world)
        return difference_of(changes.described(), before, after, self._departures, self._blocked)

    def _slots(self) -> Iterable[tuple[str, int]]:
        return self._world.cluster.nodes.slot_of.items()

    def _node(self, name: str) -> Item:
        item = self._world.inventory.items.get(Key("Node", "", name))
        if item is None:
            names = [key.name for key in self._world.inventory.items if key.kind == "Node"]
            close = get_close_matches(name, names, n=1)
            raise ChangeError(f"there is no node {name!r} in the input" + (f"; is it {close[0]}?" if close else ""))
        return item

    def _replace_node(self, item: Item) -> None:
        self._world.inventory.items[item.key] = item
        self._world.node_changed(item)

    # -- manifests applied on top -------------------------------------------------------------------------------------

    def _apply_files(self, read: Callable[[Reader], None]) -> list[PlannedPod]:
        world = self._world
        reader = Reader(world.inventory, world.gates, announces_updates=False)
        read(reader)
        world.inventory_changed(reader.changed)
        gone: list[PlannedPod] = []
        for key, old in reader.changed.items():
            new = world.inventory.items.get(key)
            if key.kind not in _TEMPLATED or old is None or new is None:
                continue
            if old.raw["spec"]["template"] != new.raw["spec"]["template"]:
                pods = world.pods_of(key)
                for pod in pods:
                    world.remove(pod)
                gone += self._leave(pods, Cause.NEW_TEMPLATE, f"{key} has a new template")
        return gone

    # -- time ---------------------------------------------------------------------------------------------------------

    def _play_timeline(self, taints_before: Mapping[str, tuple[Taint, ...]], gone: list[PlannedPod]) -> None:
        """Evict at each second who has to go then; the first round also carries out everything else."""
        rounds: dict[int, list[tuple[PlannedPod, str]]] = {0: []}
        for name, slot in self._slots():
            taints = self._world.cluster.nodes.node(slot).spec.taints
            if taints == taints_before.get(name, ()):
                continue
            for pod in self._world.pods_on(name):
                tolerations = compile_tolerations(pod.pod.spec.tolerations, self._world.gates, self._world.programs)
                decision = decide_eviction(taints, tolerations)
                if decision.when is not When.NEVER and not pod.is_mirror:
                    rounds.setdefault(decision.seconds, []).append((pod, decision.because))
        for seconds in sorted(rounds):
            for pod, because in rounds[seconds]:
                if pod.key in self._world.pods and self._world.pods[pod.key] is pod:
                    self._world.remove(pod)
                    gone += self._leave([pod], Cause.TAINT, because, seconds)
            self._go_on(gone)
            gone = []

    def _go_on(self, gone: list[PlannedPod]) -> None:
        """Controllers and scheduler do what they have to do."""
        world = self._world
        departures = {departure.pod: departure for departure in self._departures}
        for pod in world.reconcile(gone):
            if pod.replaces:
                departures[pod.replaces].replaced_by = pod.key
        self._placement.run()
        for victim, node, by in world.preempted[self._preempted :]:
            self._departures.append(
                Departure(victim.key, _owner(victim), node, Cause.PREEMPTED, because=f"made room for {by}")
            )
        self._preempted = len(world.preempted)
        replaced = {pod.replaces: pod.key for pod in world.pods.values() if pod.replaces}
        for departure in self._departures:
            departure.replaced_by = departure.replaced_by or replaced.get(departure.pod, "")
        self._leave(world.given_up[self._given_up :], Cause.CONTROLLER, "is no longer wanted")
        self._given_up = len(world.given_up)

    def _leave(self, pods: Iterable[PlannedPod], cause: Cause, because: str, seconds: int = 0) -> list[PlannedPod]:
        """Note that these pods went."""
        gone = list(pods)
        for pod in gone:
            self._departures.append(Departure(pod.key, _owner(pod), pod.node, cause, seconds, because))
        return gone

    # -- drain --------------------------------------------------------------------------------------------------------

    def _drain(self, name: str) -> None:
        """Evict what the budgets allow, wait until it runs elsewhere, and go on until nothing more can be evicted."""
        world = self._world
        budgets = [
            msgspec.structs.replace(item.view, status=PodDisruptionBudgetStatus())
            for item in world.inventory.of_kind("PodDisruptionBudget")
        ]
        left = [pod for pod in world.pods_on(name) if not _survives_drain(pod)]
        while left:
            guard = DisruptionBudgets(world.cluster, budgets)
            records = {pod.record.key: pod for pod in left if pod.record is not None}
            violating, _ = guard.part([pod.record for pod in left if pod.record is not None])
            kept = {record.key for record in violating}
            going = [pod for pod in left if pod.key not in kept]
            if not going:
                break
            for pod in going:
                world.remove(pod)
            self._go_on(self._leave(going, Cause.DRAIN, "node is drained"))
            left = [pod for key, pod in records.items() if key in kept and key in world.pods]
        self._blocked += [(pod.key, f"the drain of {name} waits: {_BUDGET}") for pod in left]


def _survives_drain(pod: PlannedPod) -> bool:
    return pod.is_mirror or (pod.owner is not None and pod.owner.kind == "DaemonSet")


def _owner(pod: PlannedPod) -> str:
    return str(pod.owner) if pod.owner is not None else ""
