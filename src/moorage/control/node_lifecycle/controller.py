"""Mark silent nodes Unknown, and taint nodes by their conditions. Kubernetes: nodeConditionToTaintKeyStatusMap,
labelReconcileInfo, tryUpdateNodeHealth in pkg/controller/nodelifecycle.

Keys: a node's name, and "" for the pulse, which finds silent nodes, updates the zones and grants NoExecute taints every
few seconds. Silence is measured by the controller's own clock since the last heartbeat. Differs: NoExecute taints of a
node that is still down survive a restart of the controller; after a pause of the controller or a jump of the clock,
silence is measured again; durations are only in the work queue's metrics; nodes are judged a tenth of a second after
one became not ready, not at the next monitor period, and new ones once all have reported.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from moorage.client.protocol import Object
from moorage.control.framework.actions import NORMAL, WARNING, Action, Patch, Plan, Raw, Report, patch_status
from moorage.control.framework.controller import Controller, ControllerContext
from moorage.control.framework.workloads import ready_condition
from moorage.control.framework.world import World
from moorage.control.node_lifecycle.zones import DEFAULT_LIMITS, ClusterChange, Limits, Zones
from moorage.model.api_error import ApiError
from moorage.model.go.times import seconds_of, time_text
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.node import Node, NodeCondition
from moorage.model.types.pod import Pod
from moorage.model.well_known.labels import ARCH, BETA_REGION, BETA_ZONE, OS, REGION, ZONE
from moorage.model.well_known.taints import (
    DISK_PRESSURE,
    MEMORY_PRESSURE,
    NETWORK_UNAVAILABLE,
    NO_EXECUTE,
    NO_SCHEDULE,
    NOT_READY,
    PID_PRESSURE,
    UNREACHABLE,
    UNSCHEDULABLE,
)
from moorage.telemetry.logs import get_logger
from moorage.telemetry.metrics import Metrics

TRUE, FALSE, UNKNOWN = "True", "False", "Unknown"
READY = "Ready"
#: Taint keys by type and status of a condition.
_TAINT_OF = {
    (READY, FALSE): NOT_READY,
    (READY, UNKNOWN): UNREACHABLE,
    ("MemoryPressure", TRUE): MEMORY_PRESSURE,
    ("DiskPressure", TRUE): DISK_PRESSURE,
    ("NetworkUnavailable", TRUE): NETWORK_UNAVAILABLE,
    ("PIDPressure", TRUE): PID_PRESSURE,
}
_KEPT_FROM_CONDITIONS = frozenset({*_TAINT_OF.values(), UNSCHEDULABLE})
#: Conditions that the kubelet reports, which become Unknown when it is silent.
_REPORTED = (READY, "MemoryPressure", "DiskPressure", "PIDPressure")
#: Stable labels, whose beta equivalents have the prefix `beta.`.
_STABLE_LABELS = (OS, ARCH)
_EXCLUDED = "node.kubernetes.io/exclude-disruption"


def node_ready_condition(node: Node) -> NodeCondition | None:
    return next((condition for condition in node.status.conditions if condition.type == READY), None)


def zone_of(node: Node) -> str:
    """Return `region:zone`; empty if the node has neither."""
    labels = node.metadata.labels
    zone = labels.get(BETA_ZONE, labels.get(ZONE, ""))
    region = labels.get(BETA_REGION, labels.get(REGION, ""))
    return f"{region}:{zone}" if region or zone else ""


def counts_for_disruption(node: Node) -> bool:
    return _EXCLUDED not in node.metadata.labels


def wanted_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the beta labels that are missing or differ from the stable ones."""
    wanted = {f"beta.{name}": labels[name] for name in _STABLE_LABELS if name in labels}
    return {name: value for name, value in wanted.items() if labels.get(name) != value}


def has_taint(node: Node, key: str, effect: str) -> bool:
    return any(taint.key == key and taint.effect == effect for taint in node.spec.taints)


def with_condition_taints(taints: Sequence[Raw], node: Node, now: str) -> list[Raw]:
    """Return the taints with exactly those NoSchedule taints that the node's state asks for."""
    wanted = dict.fromkeys(
        key for one in node.status.conditions if (key := _TAINT_OF.get((one.type, one.status))) is not None
    )
    if node.spec.unschedulable:
        wanted[UNSCHEDULABLE] = None
    kept: list[Raw] = []
    for taint in taints:
        if taint.get("effect") == NO_SCHEDULE and taint["key"] in _KEPT_FROM_CONDITIONS:
            if taint["key"] not in wanted:
                continue
            del wanted[taint["key"]]
        kept.append(taint)
    return kept + [{"key": key, "effect": NO_SCHEDULE, "timeAdded": now} for key in wanted]


def with_no_execute(taints: Sequence[Raw], wanted: str | None, now: str) -> list[Raw]:
    """Return the taints with this NoExecute taint and not the opposite one; with neither for None."""
    kept = [
        taint
        for taint in taints
        if taint.get("effect") != NO_EXECUTE or taint["key"] not in (NOT_READY, UNREACHABLE) or taint["key"] == wanted
    ]
    if wanted is None or any(one["key"] == wanted and one.get("effect") == NO_EXECUTE for one in kept):
        return kept
    return [*kept, {"key": wanted, "effect": NO_EXECUTE, "timeAdded": now}]


def silent_conditions(node: Node, now: str) -> list[Raw]:
    """Return the conditions to change when a node has gone silent."""
    told = {condition.type: condition for condition in node.status.conditions}
    changed: list[Raw] = []
    for kind in _REPORTED:
        known = told.get(kind)
        if known is not None and known.status == UNKNOWN:
            continue
        said = {"type": kind, "status": UNKNOWN, "lastTransitionTime": now}
        if known is None:
            reason, message = "NodeStatusNeverUpdated", "Kubelet never posted node status."
            changed.append(
                {**said, "reason": reason, "message": message, "lastHeartbeatTime": node.metadata.creationTimestamp}
            )
        else:
            changed.append({**said, "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."})
    return changed


_LOG = get_logger("node-lifecycle-controller")
_LEASES_OF_NODES = "kube-node-lease"
PULSE = ""
#: kube-controller-manager's --node-monitor-period, --node-monitor-grace-period, --node-startup-grace-period.
MONITOR_SECONDS, GRACE_SECONDS, STARTUP_GRACE_SECONDS = 5.0, 50.0, 60.0
_SOON = 0.1


class NodeLifecycleController(Controller):
    """Reconciles nodes, and pods on nodes that are down."""

    name = "node-lifecycle-controller"
    component = "node-controller"
    watches = (KINDS.NODE, KINDS.LEASE, KINDS.POD)

    def __init__(self, context: ControllerContext, limits: Limits = DEFAULT_LIMITS) -> None:
        super().__init__(context)
        self.zones = Zones(limits)
        self._heard: set[str] = set()  # nodes with a heartbeat since the last pulse
        self._heard_at: dict[str, float] = {}
        self._registered: dict[str, str] = {}  # UIDs of the nodes whose registration was reported
        self._silent: set[str] = set()  # nodes that are to be marked Unknown
        self._unknown: set[str] = set()  # nodes whose Ready is Unknown
        self._granted: set[str] = set()  # nodes that may get a NoExecute taint
        self._tainting: set[str] = set()
        self._last_pulse: float | None = None
        self._decides_after = 0.0
        self._has_turned = False  # whether a node has become not ready since the last pulse
        self._judges_at: float | None = None
        self._begun_at: float | None = None  # when there were nodes again
        self._add_metrics(context.metrics)

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        if kind is KINDS.LEASE:
            renewed = new is not None and (old is None or old.view.spec.renewTime != new.view.spec.renewTime)
            if new is not None and renewed and new.namespace == _LEASES_OF_NODES:
                self._heard.add(new.name)
            return ()
        if kind is KINDS.POD:
            return self._pod_changed(old, new)
        return self._node_changed(old, new)

    def _pod_changed(self, old: Object | None, new: Object | None) -> Iterable[str]:
        """Wake a node whose Ready is Unknown if one of its pods claims to be ready."""
        if new is None or not self._unknown:
            return ()
        node = new.view.spec.nodeName
        return (node,) if node in self._unknown and ready_condition(new.view) is not None else ()

    def _node_changed(self, old: Object | None, new: Object | None) -> Iterable[str]:
        if new is None:
            if old is None:
                return ()
            self.zones.forget(old.name)
            self._unknown.discard(old.name)
            return (old.name,)
        node: Node = new.view
        ready = node_ready_condition(node)
        if ready is not None:
            before = node_ready_condition(old.view) if old is not None else None
            if before is None or before.lastHeartbeatTime != ready.lastHeartbeatTime:
                self._heard.add(new.name)
        (self._unknown.add if ready is not None and ready.status == UNKNOWN else self._unknown.discard)(new.name)
        self.zones.track(
            new.name,
            zone_of(node),
            ready=ready is not None and ready.status == TRUE,
            counts=counts_for_disruption(node),
        )
        return (new.name, PULSE) if old is None else (new.name,)

    # -- pulse ----------------------------------------------------------------------------------------------------

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        return self._pulse(world, now) if key == PULSE else self._look_at(key, world, now)

    def _pulse(self, world: World, now: float) -> Plan:
        if not world.count(KINDS.NODE):
            self._last_pulse = self._begun_at = None
            return Plan()
        self._note_heard(now)
        overdue = {node.name for node in world.all(KINDS.NODE) if self._is_silent(node.view, now)} - self._unknown
        news = overdue - self._silent
        self._silent = overdue
        if news:
            self._decides_after = now + MONITOR_SECONDS
        if overdue and now < self._decides_after:
            # The state of the zones is known once all silent nodes are marked Unknown.
            return Plan(again_after=_SOON, wakes=tuple(sorted(news)))
        if (rest := self._seconds_until_judged(world, now)) > 0:
            return Plan(again_after=rest)
        change = self.zones.update(now)
        wakes: list[str] = []
        if change is ClusterChange.ENTERED:
            _LOG.info("Controller detected that all Nodes are not-Ready. Entering master disruption mode")
            self._granted.clear()
            wakes += (node.name for node in world.all(KINDS.NODE))
        elif change is ClusterChange.LEFT:
            _LOG.info("Controller detected that some Nodes are Ready. Exiting master disruption mode")
            self._heard_at = dict.fromkeys(self._heard_at, now)
        granted = list(self.zones.grants(now))
        self._granted.update(granted)
        wait = self.zones.wait(now)
        return Plan(
            again_after=MONITOR_SECONDS if wait is None else min(wait, MONITOR_SECONDS), wakes=(*wakes, *granted)
        )

    def _seconds_until_judged(self, world: World, now: float) -> float:
        """Return how long to wait, so that nodes which become not ready at the same time are judged together.

        Nodes of a cluster that begins are waited for until all have reported, at most for a monitor period.
        """
        if self._begun_at is None:
            self._begun_at = now
        if self._has_turned and self._judges_at is None:
            self._judges_at = now + _SOON
        self._has_turned = False
        if self._judges_at is not None and now < self._judges_at:
            return self._judges_at - now
        self._judges_at = None
        if self.zones.are_judged or now >= self._begun_at + MONITOR_SECONDS:
            return 0.0
        have_reported = all(node_ready_condition(node.view) is not None for node in world.all(KINDS.NODE))
        return 0.0 if have_reported else _SOON

    def _note_heard(self, now: float) -> None:
        last, self._last_pulse = self._last_pulse, now
        if last is not None and not 0 <= now - last < GRACE_SECONDS / 2:
            # The controller was paused or the clock was set: missing heartbeats prove nothing.
            self._heard_at = dict.fromkeys(self._heard_at, now)
        self._heard_at.update(dict.fromkeys(self._heard, now))
        self._heard.clear()

    def _is_silent(self, node: Node, now: float) -> bool:
        name = node.metadata.name
        has_status = node_ready_condition(node) is not None
        heard = self._heard_at.get(name)
        if heard is None:
            created = None if has_status else seconds_of(node.metadata.creationTimestamp)
            heard = self._heard_at[name] = now if created is None else min(now, created)
        return now > heard + (GRACE_SECONDS if has_status else STARTUP_GRACE_SECONDS)

    # -- one node -----------------------------------------------------------------------------------------------------

    def _look_at(self, name: str, world: World, now: float) -> Plan:
        found = world.get(KINDS.NODE, name)
        actions: list[Action] = []
        registered = self._registered.get(name)
        if registered is not None and (found is None or found.uid != registered):
            actions.append(_node_event(name, self._registered.pop(name), f"Removing Node {name} from Controller"))
            self._heard_at.pop(name, None)
            self._granted.discard(name)
        if found is None:
            return Plan(tuple(actions))
        if name not in self._registered:
            self._registered[name] = found.uid
            actions.append(_node_event(name, found.uid, f"Registered Node {name} in Controller"))
        node: Node = found.view
        if name not in self._heard and self._is_silent(node, now):
            changed = silent_conditions(node, time_text(now))
            if changed:
                # Taints follow when the change of the node is seen.
                return Plan((*actions, *_write_silence(found, changed)))
        wanted = self._wanted_taint(node)
        actions += self._change(found, wanted, now)
        if name in self._unknown:
            actions += _pods_not_ready(world, name, now)
        if wanted is None or wanted[1] or not self._want(node):
            return Plan(tuple(actions))
        self._has_turned = True
        return Plan(tuple(actions), wakes=(PULSE,))

    def _want(self, node: Node) -> bool:
        """Queue a node for its NoExecute taint. Return whether it is new."""
        ready = node_ready_condition(node)
        return self.zones.want(node.metadata.name, (seconds_of(ready.lastTransitionTime) if ready else None) or 0.0)

    def _wanted_taint(self, node: Node) -> tuple[str, bool] | None:
        """Return the NoExecute taint to have and whether it is granted; None for neither."""
        name = node.metadata.name
        ready = node_ready_condition(node)
        status = ready.status if ready is not None else TRUE
        if status not in (FALSE, UNKNOWN) or self.zones.is_all_down:
            self.zones.drop(name)
            self._granted.discard(name)
            if status in (FALSE, UNKNOWN):
                self._want(node)
            return None
        key, opposite = (NOT_READY, UNREACHABLE) if status == FALSE else (UNREACHABLE, NOT_READY)
        if has_taint(node, key, NO_EXECUTE) or has_taint(node, opposite, NO_EXECUTE):
            self.zones.drop(name)
            self._granted.discard(name)
            return key, True
        return key, name in self._granted

    def _change(self, found: Object, wanted: tuple[str, bool] | None, now: float) -> list[Action]:
        """Return one patch of taints and labels, refused if the node has changed."""
        node: Node = found.view
        text = time_text(now)
        before: list[Raw] = found.raw.get("spec", {}).get("taints") or []
        taints = with_condition_taints(before, node, text)
        if wanted is None:
            taints = with_no_execute(taints, None, text)
        elif wanted[1]:
            taints = with_no_execute(taints, wanted[0], text)
            if len(taints) > len(before) and not has_taint(node, wanted[0], NO_EXECUTE):
                self._tainting.add(found.name)
        labels = wanted_labels(node.metadata.labels)
        if taints == before and not labels:
            return []
        patch: Raw = {"metadata": {"resourceVersion": str(found.revision)}}
        if labels:
            patch["metadata"]["labels"] = labels
        if taints != before:
            patch["spec"] = {"taints": taints or None}
        return [Patch(KINDS.NODE, "", found.name, patch)]

    def done(self, key: str, plan: Plan, now: float) -> None:
        if key in self._tainting:
            self._tainting.discard(key)
            self._evictions.labels(self.zones.zone_of(key)).inc()

    def refused(self, key: str, action: Action, error: ApiError, world: World) -> Sequence[Action]:
        self._tainting.discard(key)
        return ()

    # -- metrics ------------------------------------------------------------------------------------------------------

    def _add_metrics(self, metrics: Metrics) -> None:
        def by_zone(read: Any) -> Any:
            return lambda: {(name,): read(zone) for name, zone in self.zones.by_name.items()}

        labels, health = ("zone",), lambda zone: 100.0 * (1 - zone.not_ready / len(zone.ready)) if zone.ready else 100.0
        for name, what, read in (
            ("zone_health", "percentage of healthy nodes per zone.", health),
            ("zone_size", "number of registered Nodes per zones.", lambda zone: float(len(zone.ready))),
            ("unhealthy_nodes_in_zone", "number of not Ready Nodes per zones.", lambda zone: float(zone.not_ready)),
        ):
            metrics.gauge_function(f"node_collector_{name}", f"Gauge measuring {what}", by_zone(read), labels)
        self._evictions = metrics.counter(
            "node_collector_evictions_total",
            "Number of Node evictions that happened since current instance of NodeController started.",
            labels,
        )


def _node_reference(name: str, uid: str) -> Raw:
    return {"kind": "Node", "apiVersion": "v1", "name": name, "uid": uid}


def _node_event(name: str, uid: str, said: str) -> Report:
    reason = f"{said.partition(' ')[0]}Node"
    return Report(_node_reference(name, uid), NORMAL, reason, f"Node {name} event: {said}")


def _write_silence(found: Object, conditions: list[Raw]) -> list[Action]:
    patch = {"metadata": {"resourceVersion": str(found.revision)}, "status": {"conditions": conditions}}
    actions: list[Action] = [Patch(KINDS.NODE, "", found.name, patch, subresource="status")]
    ready = node_ready_condition(found.view)
    if ready is not None and ready.status == TRUE:
        message = f"Node {found.name} status is now: NodeNotReady"
        actions.append(Report(_node_reference(found.name, found.uid), NORMAL, "NodeNotReady", message))
    return actions


def _pods_not_ready(world: World, node: str, now: float) -> list[Action]:
    actions: list[Action] = []
    for found in world.pods_on(node):
        pod: Pod = found.view
        if ready_condition(pod) is None:
            continue
        condition = {"type": "Ready", "status": "False", "lastTransitionTime": time_text(now)}
        actions.append(patch_status(found, {"conditions": [condition]}))
        about = {"kind": "Pod", "apiVersion": "v1", "namespace": found.namespace, "name": found.name, "uid": found.uid}
        actions.append(Report(about, WARNING, "NodeNotReady", "Node is not ready"))
    return actions
