"""One simulated cluster in virtual time: API, controllers, scheduler and kubelets take turns until nothing is left.

Nothing sleeps: time jumps from one timer to the next. At one moment controllers work first, then the scheduler, then
the kubelets, until all are quiet. `settle` follows timers for as long as they come soon after something happened
(`PATIENCE`), autoscalers until what they scale has what its metrics ask for, and evictions by taints however late they
are, if asked to: a pod that is evicted from the only node that it fits on is evicted again and again, so they are not
waited for without need. Periodic timers are never waited for. Every loop has a bound; `stopped` says which one was hit.

The kubelets are the real state machine of `run`, fed and answered at once. Leases are not simulated one by one: a Lease
is shown to the node lifecycle controller right before it looks at the node, and those of all nodes whose kubelet is
alive before its pulse. Where no kubelet is down, there are no pulses.
"""

import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING

import msgspec

from moorage.client.informer import Delta
from moorage.client.protocol import Object
from moorage.control.framework.actions import Report
from moorage.control.framework.workloads import find_owner
from moorage.control.framework.world import controller_of
from moorage.match.evaluation.accounts import EVALUATION_BUDGET, Evaluations
from moorage.model.declared_features import features_of_kubelet
from moorage.model.gates import Component, GateSet
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import convert_view
from moorage.model.types.core import Lease
from moorage.model.types.node import Node
from moorage.model.types.pod import FINISHED_PHASES, Pod
from moorage.plan.new_nodes import NewNodes
from moorage.plan.simulation.api import Clock, SimulatedApi, TooManyWrites
from moorage.plan.simulation.controllers import (
    AUTOSCALER,
    DEVICE_TAINT_EVICTION,
    EVICTIONS,
    NODE_LIFECYCLE,
    Controllers,
)
from moorage.plan.simulation.evictions import Evictions
from moorage.plan.simulation.pod_history import PodHistory
from moorage.plan.simulation.scheduling import SimulatedScheduler
from moorage.run.actions import Remove, ReportShutdown, WriteStatus
from moorage.run.admission import Admission, Mounts
from moorage.run.devices.claims import DeviceClaims
from moorage.run.kubelet_state import KubeletState
from moorage.run.node_objects import (
    LEASE_NAMESPACE,
    is_stopped,
    new_lease,
    ready_status,
    reports_unready,
    stays_unready,
)
from moorage.run.shutdown import periods_of
from moorage.run.simulated_pod import COMPLETES_AFTER
from moorage.schedule.config.configured_scheduler import DEFAULT_CONFIGURATION, Configuration

if TYPE_CHECKING:
    from moorage.plan.autoscaling.attached import Attached

KUBELET = "kubelet"
#: A time that no plan reaches.
NEVER_COMPLETES = "876000h"
_AT_ONCE = 256
_replace = msgspec.structs.replace


class SimulatedKubelets:
    """The kubelets of all nodes. `down` are the nodes whose kubelet does not answer, or whose Ready is not True.

    A kubelet that reports that its node is not ready goes on renewing its Lease; one that has been silent does not.

    Unless `ends`, containers run until their pod is deleted: a plan shows Jobs at work.
    """

    def __init__(
        self, api: SimulatedApi, controllers: Controllers, gates: GateSet, evaluations: Evaluations, *, ends: bool
    ) -> None:
        self._api, self._controllers, self._ends = api, controllers, ends
        self._mounts, self._claims = Mounts(gates), DeviceClaims(gates)
        self.state = KubeletState(Admission(gates, evaluations), self._mounts, self._claims, reports=False)
        self.features = features_of_kubelet(gates)
        self.down: set[str] = set()
        self.shutting_down: set[str] = set()
        self._gates = gates
        self._pods: dict[str, Pod] = {}
        self._leases: dict[str, Object] = {}
        self._unready: dict[str, Node] = {}  # nodes that their kubelets report as not ready
        self._new_nodes = NewNodes(api, self.features)
        api.listeners.append(self._changed)

    def _changed(self, kind: Kind, old: Object | None, new: Object | None) -> None:
        if kind is KINDS.POD:
            if new is not None:
                pod: Pod = new.view
                if pod.spec.nodeName and not (
                    self._api.actor == KUBELET and old is not None and self.state.wrote(new.key, old.view, pod)
                ):
                    self._pods[new.key] = pod if self._ends else _endless(pod)
            elif old is not None:
                self._pods.pop(old.key, None)
                self.state.pod_gone(old.key)
            return
        now = self._api.clock.now
        if kind is KINDS.NODE:
            if new is not None and self._is_alive(new.view, old):
                if old is None:
                    self._new_nodes.note(new)
                self.down.discard(new.name)
                self._unready.pop(new.name, None)
                self.state.node_changed(new.view, now)
                if self._api.clock.elapsed:
                    self._renew(new.view)
            elif (gone := new or old) is not None:
                (self.down.add if new is not None else self.down.discard)(gone.name)
                self.state.node_gone(gone.name)
                self.shutting_down.discard(gone.name)
                self._unready.pop(gone.name, None)
                if new is not None and reports_unready(new.view, self._api.clock.start):
                    self._unready[new.name] = new.view
        elif kind is KINDS.PERSISTENT_VOLUME_CLAIM or kind is KINDS.PERSISTENT_VOLUME:
            self._mounts.changed([Delta(old, new)])
            self.state.volumes_changed(now)
        elif kind is KINDS.RESOURCE_CLAIM:
            self._claims.changed([Delta(old, new)])
            if new is not None:
                self.state.claims_changed({new.key}, now)

    def _is_alive(self, node: Node, old: Object | None) -> bool:
        if is_stopped(node):
            return False
        if old is not None:
            return node.metadata.name not in self.down
        return self.is_simulated(node)

    def is_simulated(self, node: Node) -> bool:
        """Return whether a node of the input has a kubelet here: it is new, or not to stay unready."""
        metadata = node.metadata
        return not is_stopped(node) and not (
            metadata.resourceVersion
            and any(
                stays_unready(metadata.annotations, one.status, one.reason, one.message)
                for one in node.status.conditions
                if one.type == "Ready"
            )
        )

    def shuts_down(self, node: Node) -> bool:
        return bool(periods_of(node, self._gates))

    @property
    def are_watched(self) -> bool:
        """Whether a node is not ready, so that the node lifecycle controller has something to see at its pulse."""
        return bool(self.down or self.shutting_down)

    def work(self) -> bool:
        """Take what was bound and do what is due, a few pods at a time. Return whether there was anything."""
        self._new_nodes.report()
        arrived, self._pods = self._pods, {}
        # Pods that run already have a right to their place.
        pods = sorted(arrived.items(), key=lambda pair: pair[1].status.phase in ("", "Pending"))
        worked = bool(pods)
        for start in range(0, len(pods), _AT_ONCE):
            self.state.pods_changed(pods[start : start + _AT_ONCE], self._api.clock.now)
            self._carry_out()
        return self._carry_out() or worked

    def _carry_out(self) -> bool:
        api = self._api
        actions = self.state.due(api.clock.now)
        api.actor = KUBELET
        for action in actions:
            if isinstance(action, WriteStatus):
                api.write_pod_status(action.key, action.uid, action.status)
            elif isinstance(action, Remove):
                found = api.world.get(KINDS.POD, action.key)
                if found is not None and found.uid == action.uid:
                    api.delete(KINDS.POD, found.name, found.namespace, uid=action.uid, grace_seconds=0)
            elif isinstance(action, ReportShutdown):
                self._report_shutdown(action)
        api.actor = ""
        return bool(actions)

    def _report_shutdown(self, action: ReportShutdown) -> None:
        """Write the condition Ready of a node that shuts down or comes back, which goes on renewing its Lease."""
        api, name = self._api, action.node.metadata.name
        (self.shutting_down.add if action.begins else self.shutting_down.discard)(name)
        if api.world.get(KINDS.NODE, name) is not None:
            status = ready_status(action.node, api.clock.now, shuts_down=action.begins)
            api.patch(KINDS.NODE, name, "", {"status": status}, "status")

    def renew_leases(self) -> None:
        """Show the node lifecycle controller a renewed Lease of every node whose kubelet is alive."""
        for node in (*self.state.nodes.values(), *self._unready.values()):
            self._renew(node)

    def _renew(self, node: Node) -> None:
        loop, name = self._controllers.loops.get(NODE_LIFECYCLE), node.metadata.name
        if loop is not None:
            document = new_lease(node, self._api.clock.now)
            lease = Object(KINDS.LEASE, f"{LEASE_NAMESPACE}/{name}", 0, view=convert_view(document, Lease))
            loop.changed(KINDS.LEASE, self._leases.get(name), lease)
            self._leases[name] = lease


def _endless(pod: Pod) -> Pod:
    """Return the pod as one that runs until it is deleted."""
    metadata = pod.metadata
    if COMPLETES_AFTER not in metadata.annotations and "Job" not in [one.kind for one in metadata.ownerReferences]:
        return pod
    annotations = {**metadata.annotations, COMPLETES_AFTER: NEVER_COMPLETES}
    return _replace(pod, metadata=_replace(metadata, annotations=annotations))


#: 2026-01-01, unless the input has something younger.
DEFAULT_START = 1_767_225_600.0
#: For how long after the last change the next timer may still matter.
PATIENCE = 120.0
#: Evictions by taints are waited for no longer than this.
HORIZON = 48 * 3600.0
#: Autoscalers that find no rest are waited for no longer than this.
SCALING_HORIZON = 3600.0
MAX_ROUNDS = 100_000
MAX_REFUSED = 200
MAX_EVICTED = 20
#: Pods that are evicted again and again as time passes are replaced about as often as this.
MAX_GENERATIONS = 50
_INFINITY = float("inf")
#: Kind, namespace and name.
OwnerName = tuple[str, str, str]


class Settings(msgspec.Struct, frozen=True):
    """What a plan depends on besides its input: equal settings and input give equal plans.

    `gates` are the API server's, and those of components without an entry in `others`.
    """

    gates: GateSet
    seed: int = 0
    configuration: Configuration = DEFAULT_CONFIGURATION
    namespace: str = "default"
    others: dict[Component, GateSet] = {}

    def gates_of(self, component: Component) -> GateSet:
        return self.others.get(component, self.gates)


def _tell_slow() -> None:
    """Tell a person who waits at a terminal what takes so long."""
    if sys.stderr.isatty():
        with suppress(OSError):
            sys.stderr.write("expensive toleration expressions are being evaluated; Ctrl-C ends it\n")


class Simulation:
    """A cluster that goes on by itself. `lives`: containers end and CronJobs start Jobs, as time passes."""

    def __init__(self, settings: Settings, start: float = DEFAULT_START, *, lives: bool = False) -> None:
        self.settings = settings
        self.gates = settings.gates_of(Component.SCHEDULER)
        self.clock = Clock(start)
        self.random = random = Random(settings.seed)
        #: The state of `random` once the input is loaded, which draws only what the input lacks.
        self.loaded_random = random.getstate()
        self.api = SimulatedApi(settings.gates, self.clock, random)
        self.api.subjects.owner_of = self.owner_of
        self.world = self.api.world
        self.reports: list[tuple[float, Report]] = []
        self.told: Callable[[Report], None] = lambda report: None
        self.evaluations = evaluations = Evaluations(EVALUATION_BUDGET, _tell_slow)
        self.controllers = Controllers(
            self.api,
            settings.gates_of(Component.CONTROLLER_MANAGER),
            random,
            self._report,
            evaluations,
            follows_cron=lives,
        )
        self.kubelets = SimulatedKubelets(
            self.api, self.controllers, settings.gates_of(Component.KUBELET), evaluations, ends=lives
        )
        self.scheduling = SimulatedScheduler(self.api, self.gates, settings.configuration, settings.seed, evaluations)
        self.scheduler, self.cluster = self.scheduling.scheduler, self.scheduling.cluster
        self.evictions = Evictions(self)
        self.history = PodHistory(self)
        self.order = self.history.order  # UIDs of pods, in the order in which they were made
        self.bound_at_start: set[str] = set()
        #: UIDs of nodes whose creationTimestamp is an invention: the input does not tell their age.
        self.ageless: set[str] = set()
        #: Workloads that stand in for others of the same uid: what the others are called.
        self.shown_owners: dict[str, OwnerName] = {}
        self.after_round: list[Callable[[], None]] = []
        self.stopped = ""
        self.patience = PATIENCE
        self.autoscaler: Attached | None = None
        self.lives = lives
        self._deletions_seen = 0
        self._evictions: Counter[str] = Counter()  # by controller, in all
        self._evictions_now: Counter[str] = Counter()  # by controller, since time went on

    def _report(self, report: Report) -> None:
        self.reports.append((self.clock.elapsed, report))
        self.told(report)

    # -- time ---------------------------------------------------------------------------------------------------------

    def work(self) -> bool:
        """Let all components work until nothing is left to do now. Return whether there was anything."""
        before = self.api.writes
        try:
            self._work()
        except TooManyWrites:
            self.stopped = "the cluster does not come to rest: the simulation ends here"
        return self.api.writes > before and not self.stopped

    def _work(self) -> None:
        for _ in range(MAX_ROUNDS):
            worked = self.controllers.work()
            worked = self.scheduling.work() or worked
            worked = self.kubelets.work() or worked
            for listener in self.after_round:
                listener()
            if not worked:
                return
            if controller := self._evicts_without_end():
                where = "devices that they tolerate" if controller == DEVICE_TAINT_EVICTION else "nodes that take them"
                self.stopped = f"pods are evicted again and again from {where}: the simulation ends here"
                return
            if self.kubelets.state.refused.total() > MAX_REFUSED:
                self.stopped = self._refused_without_end()
                return
        raise TooManyWrites

    def _evicts_without_end(self) -> str:
        """Return the controller that has evicted more pods than there can be, but for ever new ones; empty if none."""
        deletions = self.api.deletions
        for one in deletions[self._deletions_seen :]:
            if one.actor in EVICTIONS:
                self._evictions[one.actor] += 1
                self._evictions_now[one.actor] += 1
        self._deletions_seen = len(deletions)
        limit = MAX_EVICTED + 2 * self.world.count(KINDS.POD)
        for counts, most in ((self._evictions_now, limit), (self._evictions, MAX_GENERATIONS * limit)):
            for actor, number in counts.items():
                if number > most:
                    return actor
        return ""

    def _refused_without_end(self) -> str:
        """Say why nodes refuse pods again and again, and whose the last one was."""
        ((reason, _),) = self.kubelets.state.refused.most_common(1)
        owner = self.owner_of(self.api.created_pods[-1][0]) if self.api.created_pods else None
        whose = f", the last one of {owner[0]} {owner[1]}/{owner[2]}" if owner is not None else ""
        text = f"more than {MAX_REFUSED} pods were refused by their nodes ({reason}){whose}"
        return f"{text}: the simulation ends here"

    def settle(self, awaits_eviction: Callable[[], bool] = lambda: False, before: float = _INFINITY) -> None:
        """Go on until nothing more happens, or right before a time.

        Evictions by taints are waited for while `awaits_eviction` says so.
        """
        begun = quiet_since = self.clock.now
        self.controllers.look_at_autoscalers()
        limit, repetitions = begun + HORIZON, self.history.repetitions
        while True:
            if self.work():
                quiet_since = self.clock.now
            # Pods that come and go for ever are no reason to go on looking at nodes.
            looks = self.clock.now < begun + self.patience or self.history.repetitions == repetitions
            scales = self.controllers.scales and self.clock.now < begun + SCALING_HORIZON
            soon = self._next_time(evictions=False, looks=looks, scalings=scales)
            if soon > quiet_since + self.patience and not scales:
                soon = _INFINITY
            evicts = self.controllers.next_time(only=EVICTIONS)
            # Time that passes for another reason passes the evictions on its way, each at its own moment.
            if evicts < soon and (soon <= limit or awaits_eviction()):
                soon = evicts
            if self.stopped or soon > limit or soon >= before:
                return
            self._advance(soon)

    def settle_with_evictions(self) -> None:
        """Go on until nothing more happens, and all pods have left that taints evict, but for those that come again."""
        self.settle(lambda: any(not self.history.is_repetition(timer) for timer in self.evictions.timers()))

    def run_until(self, time: float) -> bool:
        """Go on until that time, which is then now. Return whether anything happened."""
        happened = self.work()
        while not self.stopped and (soon := self._next_time()) <= time:
            self._advance(soon)
            happened = self.work() or happened
        self._advance(time)
        return self.work() or happened

    def next_time(self) -> float:
        """Return when something happens next if nothing is changed; infinite if never."""
        return self._next_time()

    def _next_time(self, *, evictions: bool = True, looks: bool = True, scalings: bool = True) -> float:
        left_out = (() if evictions else EVICTIONS) + (() if scalings else (AUTOSCALER,))
        times = [self.controllers.next_time(but=left_out), self.scheduling.next_time(), self.kubelets.state.next_time()]
        if looks and self.kubelets.are_watched and (loop := self.controllers.loops.get(NODE_LIFECYCLE)) is not None:
            times.append(loop.periodic_due)
        return min(times)

    def _advance(self, time: float) -> None:
        if time > self.clock.now:
            self.clock.now = time
            self._evictions_now.clear()
        loop = self.controllers.loops.get(NODE_LIFECYCLE)
        if loop is not None and loop.periodic_due <= self.clock.now and self.kubelets.are_watched:
            self.kubelets.renew_leases()
            loop.pulse()

    # -- state --------------------------------------------------------------------------------------------------------

    def pods(self) -> list[Object]:
        """Return the pods that are not over, in the order in which they came."""
        pods = [pod for pod in self.world.all(KINDS.POD) if pod.view.status.phase not in FINISHED_PHASES]
        return sorted(pods, key=lambda pod: self.order[pod.uid])

    def is_removed(self, node: str) -> bool:
        """Return whether a node was in the cluster and is there no more."""
        return node in self.controllers.known_nodes and self.world.get(KINDS.NODE, node) is None

    def owner_of(self, found: Object) -> OwnerName | None:
        """Return the workload that a pod belongs to; its Deployment, if it has one."""
        reference = controller_of(found.view.metadata)
        if reference is None:
            return None
        if reference.uid in self.shown_owners:
            return self.shown_owners[reference.uid]
        namespace = found.view.metadata.namespace
        if reference.kind == "ReplicaSet" and reference.apiVersion == KINDS.REPLICA_SET.api_version:
            above = find_owner(KINDS.REPLICA_SET, reference, namespace, self.world)
            deployment = controller_of(above.view.metadata) if above is not None else None
            if deployment is not None and deployment.kind == "Deployment":
                reference = deployment
        return reference.kind, namespace, reference.name

    def workload_of(self, found: Object) -> OwnerName:
        """Return the workload that an object belongs to, or which it is."""
        return self.owner_of(found) or (found.kind.name, found.namespace, found.name)
