"""Create and delete the pods of DaemonSets. Kubernetes: syncDaemonSet, manage, syncNodes, syncNodeUpdate.

Changes of pods and nodes go to the DaemonSet's `tracker`, which a restart rebuilds from the world. Differs: deletions
come before creations, so that a refused template does not keep surplus pods; the status is written first and describes
what was found; the state of a node is kept until something about that node changes.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

import msgspec

from moorage.client.protocol import Object
from moorage.control.daemon_set.tracker import (
    TEMPLATE_GENERATION_LABEL,
    Counts,
    DaemonPod,
    Tracker,
    Wishes,
    limits_of,
    surges,
)
from moorage.control.framework import revisions, workloads
from moorage.control.framework.actions import NOTHING, Action, Create, Delete, Patch, Plan, Raw, note, warn
from moorage.control.framework.controller import Controller, ControllerContext
from moorage.control.framework.toleration_reader import TolerationReader
from moorage.control.framework.workloads import ROLLING_UPDATE
from moorage.control.framework.world import World, controller_of
from moorage.match.daemon_pods import DaemonTemplate, daemon_tolerations, pinned_affinity
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.node import Node
from moorage.model.types.workload import DaemonSet
from moorage.model.well_known.labels import REVISION_HASH

FIRST_SECONDS, MAX_SECONDS = 1.0, 900.0
_TIDY_EVERY = 512


class FailedPods:
    """Backoff for one DaemonSet's failed pods, by node. Kubernetes: the controller's flowcontrol.Backoff."""

    def __init__(self, generation: int) -> None:
        self.generation = generation
        self._last: dict[str, tuple[float, float]] = {}

    def waits(self, node: str, now: float) -> float:
        """Return for how many seconds the pod on a node must not be replaced yet."""
        delay, since = self._last.get(node, (0.0, now))
        return max(0.0, since + delay - now)

    def failed(self, node: str, now: float) -> None:
        """Record a replacement. Nodes without failures for long are dropped now and then."""
        if len(self._last) % _TIDY_EVERY == _TIDY_EVERY - 1:
            long_ago = now - 2 * MAX_SECONDS
            self._last = {name: (delay, since) for name, (delay, since) in self._last.items() if since > long_ago}
        delay, since = self._last.get(node, (0.0, now))
        is_first = not delay or now - since > 2 * MAX_SECONDS
        self._last[node] = (FIRST_SECONDS if is_first else min(delay * 2, MAX_SECONDS), now)

    def __len__(self) -> int:
        return len(self._last)


_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def template_generation(daemon_set: Object) -> str:
    """Return how often the template has changed, by the API server's annotation; empty if absent."""
    number = workloads.digits(daemon_set.view.metadata.annotations.get(_TEMPLATE_GENERATION, ""), 18)
    return "" if number is None else str(number)


def daemon_pods(daemon_set: Object, hash_: str, nodes: Iterable[str]) -> list[Raw]:
    view: DaemonSet = daemon_set.view
    base = workloads.pod_from_template(daemon_set, daemon_set.raw["spec"].get("template") or {})
    labels = {**(base["metadata"].get("labels") or {}), REVISION_HASH: hash_}
    generation = template_generation(daemon_set)
    if generation:
        labels[TEMPLATE_GENERATION_LABEL] = generation
    base["metadata"]["labels"] = labels
    spec = view.spec.template.spec
    tolerations = daemon_tolerations(spec.tolerations, host_network=spec.hostNetwork)
    written = [
        {name: value for name, value in one.items() if value not in ("", None)}
        for one in msgspec.to_builtins(tolerations)
    ]
    affinity = base["spec"].get("affinity")
    return [
        {**base, "spec": {**base["spec"], "tolerations": written, "affinity": pinned_affinity(affinity, node)}}
        for node in nodes
    ]


def daemon_set_status(daemon_set: Object, counts: Counts) -> Raw:
    before: Raw = daemon_set.raw.get("status") or {}
    return {
        "currentNumberScheduled": counts.current,
        "numberMisscheduled": counts.misscheduled,
        "desiredNumberScheduled": counts.desired,
        "numberReady": counts.ready,
        **workloads.nonempty(
            observedGeneration=daemon_set.view.metadata.generation,
            updatedNumberScheduled=counts.updated,
            numberAvailable=counts.available,
            numberUnavailable=counts.desired - counts.available,
        ),
        **{kept: before[kept] for kept in ("collisionCount", "conditions") if before.get(kept) is not None},
    }


#: Most pods to create, and to delete, in one plan.
BURST = 250


class _Known(NamedTuple):
    """A tracker, and what it was built for: it is rebuilt if any of that changes."""

    made_for: tuple[str, int, str, str]
    tracker: Tracker


class DaemonSetController(Controller):
    """Reconciles DaemonSets."""

    name = "daemonset-controller"
    watches = (KINDS.DAEMON_SET, KINDS.POD, KINDS.NODE, KINDS.CONTROLLER_REVISION)

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._reader = TolerationReader(context, self.name, "daemonset_controller", "DaemonSet")
        self._known: dict[str, _Known] = {}
        self._failed: dict[str, FailedPods] = {}

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        if kind is KINDS.POD:
            return self._pod_changed(old, new, world)
        if kind is KINDS.NODE:
            return self._node_changed(old, new)
        is_revision = kind is KINDS.CONTROLLER_REVISION
        if is_revision and old is None and new is not None and controller_of(new.view.metadata) is not None:
            return ()  # its own are known already; what a client adds waits until something else changes
        if kind is KINDS.DAEMON_SET and old is not None and (new is None or old.uid != new.uid):
            self._known.pop(old.key, None)
            self._failed.pop(old.key, None)
        return super().concerns(kind, old, new, world)

    def _pod_changed(self, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        """Return the old and new owner of a pod, if the change matters to them."""
        changed = new or old
        if changed is None:
            return ()
        before = workloads.owner_key(KINDS.DAEMON_SET, old, world) if old is not None else None
        after = workloads.owner_key(KINDS.DAEMON_SET, new, world) if new is not None else None
        keys: dict[str, None] = {}
        for key in (before, after):
            if key is None:
                continue
            known = self._known.get(key)
            if known is None or known.tracker.pod_changed(changed.key, new if key == after else None):
                keys[key] = None
        if after is None:
            for key in workloads.concerned_owners(KINDS.DAEMON_SET, None if before else old, new, world):
                if key in self._known:
                    self._known[key].tracker.orphans.add(changed.key)
                keys[key] = None
        return keys

    def _node_changed(self, old: Object | None, new: Object | None) -> Iterable[str]:
        changed = new or old
        if changed is None:
            return ()
        view = new.view if new is not None else None
        if old is not None and view is not None:
            before = old.view
            if before.metadata.labels == view.metadata.labels and before.spec.taints == view.spec.taints:
                return ()
        keys = [key for key, known in self._known.items() if known.tracker.node_changed(changed.name, view)]
        if view is not None:
            for key, known in self._known.items():
                self._tell_unreadable(known.tracker, view, key)
        return keys

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        daemon_set = world.get(KINDS.DAEMON_SET, key)
        if daemon_set is None or daemon_set.view.metadata.deletionTimestamp is not None:
            return NOTHING
        history = revisions.history_of(daemon_set, world, collisions=daemon_set.view.status.collisionCount)
        if history.current is None:
            return Plan(tuple(history.actions), again_after=0.0)
        tracker = self._tracker(daemon_set, revisions.hash_of(history.current), world)
        tracker.decide()
        first = [*history.actions, *_adoptions(daemon_set, tracker, world), *_merged(daemon_set, history, tracker)]
        if first:
            return Plan(tuple(first), again_after=0.0)
        tracker.refresh(now)
        actions: list[Action] = [*workloads.status_update(daemon_set, daemon_set_status(daemon_set, tracker.counts))]
        steps, wait = self._steps(daemon_set, tracker, revisions.hash_of(history.current), now)
        actions += steps
        if len(history.old) > (daemon_set.view.spec.revisionHistoryLimit or 0):
            limit = daemon_set.view.spec.revisionHistoryLimit
            actions += revisions.surplus_history(history.old, limit, tracker.hashes())
        moments = [] if tracker.next_change is None else [tracker.next_change - now]
        return Plan(tuple(actions), min([*moments, *wait], default=None))

    def refused(self, key: str, action: Action, error: ApiError, world: World) -> Sequence[Action]:
        daemon_set = world.get(KINDS.DAEMON_SET, key)
        if daemon_set is None or workloads.namespace_is_terminating(error):
            return ()
        if isinstance(action, Create) and action.kind is KINDS.CONTROLLER_REVISION:
            return revisions.collision_update(daemon_set, action, error, world)
        if isinstance(action, Create | Delete) and action.kind is KINDS.POD:
            return (workloads.refusal_report(daemon_set, action, error),)
        return ()

    def _tracker(self, daemon_set: Object, hash_: str, world: World) -> Tracker:
        """Return the tracker, rebuilt from the world if the DaemonSet or its template changed."""
        view = daemon_set.view
        generation = template_generation(daemon_set)
        made_for = (daemon_set.uid, view.metadata.generation, generation, hash_)
        known = self._known.get(daemon_set.key)
        if known is not None and known.made_for == made_for:
            return known.tracker
        spec = view.spec
        wishes = Wishes(hash_, generation, spec.minReadySeconds, surges(spec.updateStrategy))
        reader = self._reader
        template = DaemonTemplate(spec.template.spec, reader.gates, reader.programs, reader.evaluation_failed)
        tracker = Tracker(template, spec.selector, wishes)
        for node in world.all(KINDS.NODE):
            tracker.node_changed(node.name, node.view)
            self._tell_unreadable(tracker, node.view, daemon_set.key)
        for pod in world.owned(KINDS.POD, daemon_set.uid):
            tracker.pod_changed(pod.key, pod)
        tracker.orphans.update(pod.key for pod in world.orphans(KINDS.POD, daemon_set.namespace))
        self._known[daemon_set.key] = _Known(made_for, tracker)
        return tracker

    def _tell_unreadable(self, tracker: Tracker, node: Node, key: str) -> None:
        tolerations = tracker.template.tolerations
        where = {"node": node.metadata.name}
        if node.spec.taints:
            self._reader.tell_unreadable(tolerations, node.spec.taints, where, daemonset=key)
        if found := tracker.template.unreadable_label(node):
            self._reader.tell_unreadable_label(found, where, daemonset=key)

    def _steps(self, daemon_set: Object, tracker: Tracker, hash_: str, now: float) -> tuple[list[Action], list[float]]:
        """Return what puts one pod on each node that fits; else the next step of a rolling update."""
        strategy = daemon_set.view.spec.updateStrategy
        delete, reports, waits = self._surplus(daemon_set, tracker, now)
        create_on = list(islice(tracker.nodes_without_pod, BURST))
        if not delete and not create_on and strategy.type == ROLLING_UPDATE:
            delete, create_on = tracker.next_step(limits_of(strategy, tracker.counts.desired))
            delete, create_on = delete[:BURST], create_on[:BURST]
        actions: list[Action] = [*reports, *(workloads.delete_pod(daemon_set, pod.name, pod.uid) for pod in delete)]
        if create_on:
            report = workloads.new_pod_report(daemon_set)
            pods = daemon_pods(daemon_set, hash_, create_on)
            actions += [Create(KINDS.POD, pod, daemon_set.namespace, report) for pod in pods]
        return actions, waits

    def _surplus(
        self, daemon_set: Object, tracker: Tracker, now: float
    ) -> tuple[list[DaemonPod], list[Action], list[float]]:
        """Return the pods to delete, reports about finished ones, and the remaining backoffs."""
        failed_pods = self._failed_pods(daemon_set)
        delete: list[DaemonPod] = []
        reports: list[Action] = []
        waits: list[float] = []
        for node, verdict in tracker.nodes_with_surplus():
            if len(delete) >= BURST:
                break
            wait = failed_pods.waits(node, now) if verdict.failed else 0.0
            if wait:
                waits.append(wait)
                delete += [pod for pod in verdict.delete if pod not in verdict.failed]
            else:
                delete += verdict.delete
                if verdict.failed:
                    failed_pods.failed(node, now)
            for pod in () if wait else verdict.failed:
                text = f"Found failed daemon pod {daemon_set.namespace}/{pod.name} on node {node}, will try to kill it"
                reports.append(warn(daemon_set, "FailedDaemonPod", text))
            for pod in verdict.succeeded:
                what = f"{daemon_set.namespace}/{pod.name} on node {node}"
                text = f"Found succeeded daemon pod {what}, will try to delete it"
                reports.append(note(daemon_set, "SucceededDaemonPod", text))
        return delete[:BURST], reports, waits

    def _failed_pods(self, daemon_set: Object) -> FailedPods:
        generation = daemon_set.view.status.observedGeneration
        found = self._failed.get(daemon_set.key)
        if found is None or found.generation != generation:
            found = self._failed[daemon_set.key] = FailedPods(generation)
        return found


def _adoptions(daemon_set: Object, tracker: Tracker, world: World) -> list[Action]:
    """Return patches that adopt and release pods. Orphans are checked when new or relabelled."""
    candidates = [world.get(KINDS.POD, key) for key in tracker.orphans]
    patches: list[Action] = []
    if tracker.strays or any(pod is not None and controller_of(pod.view.metadata) is None for pod in candidates):
        patches += workloads.claim(daemon_set, daemon_set.view.spec.selector, KINDS.POD, world).patches
    if not patches:
        tracker.orphans.clear()
    return patches


def _merged(daemon_set: Object, history: revisions.RevisionHistory, tracker: Tracker) -> list[Action]:
    """Keep one of several equal revisions and relabel the others' pods."""
    if not history.duplicates or history.current is None:
        return []
    kept = revisions.hash_of(history.current)
    actions: list[Action] = [
        Patch(KINDS.POD, daemon_set.namespace, pod.name, {"metadata": {"labels": {REVISION_HASH: kept}}})
        for pod in tracker.pods()
        if pod.hash != kept
    ]
    return actions + [
        Delete(KINDS.CONTROLLER_REVISION, duplicate.namespace, duplicate.name, duplicate.uid)
        for duplicate in history.duplicates
    ]
