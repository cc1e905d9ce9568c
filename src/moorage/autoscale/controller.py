"""Do what both autoscalers do alike: start nodes that were decided on, watch them come, drain and delete others.

One more controller in the framework: `reconcile` returns a plan and does no I/O, time is an argument. The key `nodes`
is decisions and nodes on their way, `node/NAME` a node that leaves. What is decided is in `look` of a subclass. Nodes
on their way are known here only: one that is lost with a restart is decided on again.
Kubernetes: both autoscalers ask a cloud for machines, which register as nodes by themselves.
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from itertools import count

import msgspec

from moorage.autoscale.disruption_budgets import BudgetCounts
from moorage.autoscale.held_room import HeldRoom
from moorage.autoscale.node_kinds import NodeKind, NodeKinds
from moorage.autoscale.node_taints import is_among, is_initialized, patch_taints, written_taint
from moorage.autoscale.options import CloudOptions
from moorage.autoscale.pooled_nodes import PooledNodes
from moorage.autoscale.snapshot import Snapshot, Trial, is_alike, is_of_daemon_set, is_over
from moorage.autoscale.timeline import Did, ScalingStep, Timeline
from moorage.client.protocol import Object, Raw
from moorage.columns.cluster import PodRecord
from moorage.control.framework.actions import NOTHING, Action, Create, Delete, Evict, Plan, Report, note
from moorage.control.framework.controller import Controller, ControllerContext
from moorage.control.framework.world import World
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.node import Node, Taint
from moorage.model.types.pod import FINISHED_PHASES, Pod
from moorage.model.well_known.annotations import MIRROR_POD
from moorage.model.well_known.labels import INSTANCE_TYPE
from moorage.model.well_known.taints import NO_SCHEDULE
from moorage.pools.growth import Growth
from moorage.pools.membership import POOL_LABEL
from moorage.pools.node_template import Buffer, Pool, Scaler
from moorage.schedule.config.configured_scheduler import DEFAULT_CONFIGURATION, Configuration

NODES = "nodes"
_NODE = "node/"
_TROUBLE = "node.kubernetes.io/"
#: How long to wait before an eviction that a budget refuses is tried again.
_EVICT_AGAIN = 10.0
_FOREVER = float("inf")
_replace = msgspec.structs.replace


class Setup(msgspec.Struct, frozen=True):
    """What an autoscaler works with: pools, options, the scheduler that it thinks with, and room that it keeps."""

    pools: tuple[Pool, ...]
    options: CloudOptions
    configuration: Configuration = DEFAULT_CONFIGURATION
    features: tuple[str, ...] = ()
    buffers: tuple[Buffer, ...] = ()
    #: The PodTemplates beside the pools, which buffers may be about.
    templates: Mapping[str, Raw] = {}


class Machine(msgspec.Struct):
    """A node on its way: asked for, then registered, until it is ready for pods."""

    name: str
    kind: NodeKind
    due: float
    pods: tuple[str, ...]
    reason: str
    is_registered: bool = False


class Leaving(msgspec.Struct):
    """A node that is drained and deleted, once the nodes that replace it are ready."""

    name: str
    pool: str
    reason: str
    since: float
    replaced_by: set[str]
    drains_since: float | None = None
    pods: tuple[str, ...] = ()


class NodeAutoscaler(Controller):
    """The base of both autoscalers."""

    workers = 1
    scaler: Scaler
    #: The taint of nodes that leave.
    leaving_taint: str
    buffers_type: type[HeldRoom]

    def __init__(self, context: ControllerContext, setup: Setup) -> None:
        super().__init__(context)
        self.setup = setup
        gates, evaluations = context.gates, context.evaluations
        self.pools = tuple(pool for pool in setup.pools if pool.scaler is self.scaler)
        self.snapshot = Snapshot(gates, setup.configuration, evaluations)
        self.kinds = NodeKinds(self.pools, gates, setup.configuration, setup.features, evaluations)
        self.nodes = PooledNodes(self.kinds, self.leaving_taint)
        self.timeline = Timeline()
        self.machines: dict[str, Machine] = {}
        self.leaving: dict[str, Leaving] = {}
        self.room = self.buffers_type(setup.buffers if self.holds_room else (), setup.templates)
        kinds = (KINDS.NODE, *self.snapshot.kinds, *self._more(), *self.room.kinds)
        self._only_room = set(self.room.kinds) - {*self.snapshot.kinds, *self._more()}
        self.watches = tuple(dict.fromkeys(kinds))
        #: Moves whenever something changed that decisions depend on.
        self.version = 0
        #: Moves whenever there may be more room for pods on nodes that stay.
        self.room_version = 0
        self._startup_seen: dict[str, float] = {}
        self._numbers: dict[str, int] = {}
        self._told: dict[str, str] = {}

    @property
    def holds_room(self) -> bool:
        """Whether CapacityBuffers are followed."""
        return True

    def _more(self) -> tuple[Kind, ...]:
        return (KINDS.DAEMON_SET,)

    # -- what changes -------------------------------------------------------------------------------------------------

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        changed = new or old
        if changed is None:
            return ()
        self.snapshot.note(kind, changed.key)
        if not self.room.note(kind, old, new) and kind in self._only_room:
            return ()
        if kind is KINDS.POD:
            return self._pod_concerns(changed, old, new)
        self.version += 1
        if kind is KINDS.NODE and changed.name in self.leaving:
            return (NODES, _NODE + changed.name)
        self.room_version += 1
        return (NODES,)

    def _pod_concerns(self, changed: Object, old: Object | None, new: Object | None) -> Iterable[str]:
        before: Pod | None = old.view if old is not None else None
        after: Pod | None = new.view if new is not None else None
        if before is not None and after is not None and is_alike(before, after):
            return ()
        self.version += 1
        self.pod_changed(before, after)
        node = changed.view.spec.nodeName
        if node and node not in self.leaving and (after is None or is_over(after)):
            self.room_version += 1
        return (NODES, _NODE + node) if node in self.leaving else (NODES,)

    def pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        """Look at a pod that was bound, deleted or ended, or that the scheduler could not place."""

    # -- reconciling --------------------------------------------------------------------------------------------------

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        if key != NODES:
            return self._drain(key.removeprefix(_NODE), world, now)
        self.snapshot.take_in(world, now, self.kinds)
        self.kinds.take_in_daemons(world)
        if self.room.take_in(world, now):
            self.snapshot.hold(self.room.pods)
            self.version += 1
        actions: list[Action] = []
        due = [self._follow_machines(world, now, actions), self._clear_startup_taints(world, now, actions)]
        for name in [name for name in self.leaving if world.get(KINDS.NODE, name) is None]:
            del self.leaving[name]
        before = set(self.leaving)
        due.append(self.look(world, now, actions))
        started = [_NODE + name for name in self.leaving if name not in before]
        soonest = min((*due, *(machine.due for machine in self.machines.values() if not machine.is_registered)))
        again = None if soonest == _FOREVER else max(soonest - now, 0.0)
        return Plan(tuple(actions), again_after=again, wakes=tuple(started))

    @abstractmethod
    def look(self, world: World, now: float, actions: list[Action]) -> float:
        """Start nodes and let others leave; return when to be asked again if nothing changes before."""

    # -- nodes that come ----------------------------------------------------------------------------------------------

    def start(self, kind: NodeKind, now: float, pods: Sequence[str], reason: str, actions: list[Action]) -> Machine:
        """Ask for a node, which registers after the delay of the cloud."""
        name = self._new_name(kind.pool.name)
        delay = self.setup.options.provisioning_delay
        machine = self.machines[name] = Machine(name, kind, now + delay, tuple(pods), reason)
        template = kind.template
        self.timeline.note(
            ScalingStep(now, Did.REQUESTED, kind.pool.name, template.name, name, reason, machine.pods, template.price)
        )
        self.version += 1
        return machine

    def _new_name(self, pool: str) -> str:
        nodes = self.snapshot.cluster.nodes.slot_of
        numbers = count(self._numbers.get(pool, 0) + 1)
        number = next(n for n in numbers if f"{pool}-{n}" not in nodes and f"{pool}-{n}" not in self.machines)
        self._numbers[pool] = number
        return f"{pool}-{number}"

    def _follow_machines(self, world: World, now: float, actions: list[Action]) -> float:
        """Register nodes that are due, and forget those that are ready for pods."""
        for machine in list(self.machines.values()):
            found = world.get(KINDS.NODE, machine.name)
            if found is None:
                if machine.is_registered:  # someone else has deleted it
                    del self.machines[machine.name]
                elif machine.due <= now:
                    actions.append(Create(KINDS.NODE, self._document(machine)))
                continue
            if not machine.is_registered:
                machine.is_registered = True
                template = machine.kind.template
                self.timeline.note(
                    ScalingStep(
                        now,
                        Did.ADDED,
                        template.pool,
                        template.name,
                        machine.name,
                        machine.reason,
                        machine.pods,
                        template.price,
                    )
                )
            if is_initialized(found.view, machine.kind.pool):
                del self.machines[machine.name]
                self.version += 1
        return _FOREVER

    def _document(self, machine: Machine) -> Raw:
        template = machine.kind.template
        document = template.node(machine.name)
        taints = [*document["spec"].get("taints", ()), *map(written_taint, template.startup_taints)]
        if taints:
            document["spec"]["taints"] = taints
        if self.scaler is Scaler.CLUSTER_AUTOSCALER:
            document["metadata"]["labels"][POOL_LABEL] = template.pool
        return document

    def _clear_startup_taints(self, world: World, now: float, actions: list[Action]) -> float:
        """Remove startup taints, as whatever they wait for would do; return when the next ones are due."""
        due, delay = _FOREVER, self.setup.options.startup_taints_delay
        if not any(template.startup_taints for pool in self.pools for template in pool.templates[:1]):
            return due
        for found in world.all(KINDS.NODE):
            pool = self.nodes.pool_of(found.view)
            startup = pool.templates[0].startup_taints if pool is not None else ()
            kept = [one for one in found.view.spec.taints if not is_among(one, startup)]
            if len(kept) == len(found.view.spec.taints):
                self._startup_seen.pop(found.name, None)
                continue
            seen = self._startup_seen.setdefault(found.name, now)
            if now < seen + delay:
                due = min(due, seen + delay)
            else:
                actions.append(patch_taints(found, kept))
        return due

    def put_upcoming(self, trial: Trial) -> None:
        """Put nodes on their way into the columns as they will be once they are ready."""
        cluster = self.snapshot.cluster
        for machine in self.machines.values():
            view = machine.kind.template.view(machine.name, self.kinds.features)
            if machine.name in cluster.nodes.slot_of:
                trial.change_node(view)
                continue
            slot = trial.add_node(view)
            for record in self.kinds.daemon_records(machine.kind, machine.name, self.snapshot):
                trial.put(record, slot)

    # -- nodes that leave ---------------------------------------------------------------------------------------------

    def leave(
        self,
        found: Object,
        now: float,
        reason: str,
        actions: list[Action],
        pods: Sequence[str] = (),
        replaced_by: Iterable[str] = (),
    ) -> None:
        """Taint a node, and drain and delete it when the nodes that replace it are ready."""
        pool = self.nodes.pool_of(found.view)
        name = pool.name if pool is not None else ""
        self.leaving[found.name] = Leaving(found.name, name, reason, now, set(replaced_by), pods=tuple(pods))
        taint = Taint(key=self.leaving_taint, effect=NO_SCHEDULE)
        actions.append(patch_taints(found, [*found.view.spec.taints, taint]))
        self.timeline.note(self._step(found.view, now, Did.LEAVES, reason, pods))
        self.version += 1

    def _step(self, node: Node, now: float, did: Did, reason: str, pods: Sequence[str] = ()) -> ScalingStep:
        pool, kind = self.nodes.pool_of(node), self.nodes.kind_of(node)
        what = kind.template.name if kind is not None else node.metadata.labels.get(INSTANCE_TYPE, "")
        price = kind.template.price if kind is not None else None
        return ScalingStep(now, did, pool.name if pool else "", what, node.metadata.name, reason, tuple(pods), price)

    def _drain(self, name: str, world: World, now: float) -> Plan:
        leaving, found = self.leaving.get(name), world.get(KINDS.NODE, name)
        if leaving is None or found is None:
            return NOTHING
        leaving.replaced_by &= self.machines.keys()
        if leaving.replaced_by:
            return Plan(again_after=1.0)
        if leaving.drains_since is None:
            leaving.drains_since = now
        if found.view.metadata.deletionTimestamp is not None:
            return NOTHING
        pods = [pod for pod in world.pods_on(name) if self.must_leave(pod.view)]
        if pods:
            return self._evict(leaving, found, pods, world, now)
        wait = leaving.since + self.delete_delay - now
        if wait > 0:
            return Plan(again_after=wait)
        self.timeline.note(self._step(found.view, now, Did.REMOVED, leaving.reason, leaving.pods))
        self.version += 1
        self.removed(now)
        return Plan((Delete(KINDS.NODE, "", name, found.uid, report=self.removal_report(found)),), wakes=(NODES,))

    def _evict(self, leaving: Leaving, found: Object, pods: Sequence[Object], world: World, now: float) -> Plan:
        waiting = [pod for pod in pods if pod.view.metadata.deletionTimestamp is None]
        if self.gives_up(leaving, waiting, now):
            del self.leaving[leaving.name]
            kept = [one for one in found.view.spec.taints if one.key != self.leaving_taint]
            self.timeline.note(self._step(found.view, now, Did.KEPT, "its pods could not be evicted"))
            return Plan((patch_taints(found, kept),), wakes=(NODES,))
        budgets = BudgetCounts(one.view for one in world.all(KINDS.POD_DISRUPTION_BUDGET))
        evictions = [
            Evict(pod.namespace, pod.name, pod.uid, self.eviction_report(pod, leaving))
            for pod in waiting
            if budgets.take(pod.view)
        ]
        return Plan(tuple(evictions), again_after=_EVICT_AGAIN if waiting else None)

    delete_delay = 0.0

    def must_leave(self, pod: Pod) -> bool:
        """Return whether a pod is evicted before its node is deleted."""
        return (
            pod.status.phase not in FINISHED_PHASES
            and not is_of_daemon_set(pod)
            and MIRROR_POD not in pod.metadata.annotations
        )

    def gives_up(self, leaving: Leaving, waiting: Sequence[Object], now: float) -> bool:
        """Return whether a node is kept after all, because of pods that could not be evicted."""
        return False

    def removed(self, now: float) -> None:
        """Note that a node is deleted."""

    @abstractmethod
    def removal_report(self, found: Object) -> Report | None: ...

    @abstractmethod
    def eviction_report(self, pod: Object, leaving: Leaving) -> Report | None: ...

    def growths(self, world: World) -> dict[str, Growth]:
        """Return what each pool has, with the nodes on their way."""
        return self.nodes.growths(world, {name: machine.kind for name, machine in self.machines.items()})

    def ready_nodes(self, world: World) -> list[tuple[Object, Pool]]:
        """Return the nodes of the pools that are ready for pods and do not leave, by name."""
        return self.nodes.ready(world, self.leaving.keys() | self.machines.keys())

    # -- pods ---------------------------------------------------------------------------------------------------------

    def movable(self, records: Iterable[PodRecord]) -> list[PodRecord]:
        """Return the pods of a node that have to find another place."""
        return [
            record
            for record in records
            if record.pod.metadata.deletionTimestamp is None and self.must_leave(record.pod)
        ]

    def tell(
        self, record: PodRecord, world: World, reason: str, message: str, actions: list[Action], kind: str
    ) -> None:
        """Record an Event about a pod, unless its last one said the same."""
        found = world.get(KINDS.POD, record.key)
        text = f"{reason} {message}"
        if found is not None and self._told.get(found.uid) != text:
            if len(self._told) > 100_000:
                self._told.clear()
            self._told[found.uid] = text
            actions.append(note(found, reason, message)._replace(type=kind))

    def tell_once(self, reports: Iterable[Report], actions: list[Action]) -> None:
        """Record Events about buffers, unless their last one said the same."""
        for report in reports:
            about, text = report.regarding, f"{report.reason} {report.message}"
            key = f"buffer {about['namespace']}/{about['name']}"
            if self._told.get(key) != text:
                self._told[key] = text
                actions.append(report)
