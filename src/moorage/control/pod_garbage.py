"""Delete pods that no other component will: of nodes gone or out of service, unscheduled, too many finished.

Keys: a pod, and "" for all finished pods. Pods are marked Failed and deleted without grace. A node must be missing for
a while, since a pod may be seen before its node. Kubernetes: pkg/controller/podgc. Differs: reacts to changes instead
of polling every 20 seconds; does not look up a missing node again.
"""

from collections.abc import Iterable, Sequence

from moorage.client.protocol import Object
from moorage.control.framework.actions import NOTHING, Action, Delete, Plan, Raw, patch_status
from moorage.control.framework.controller import Controller, ControllerContext
from moorage.control.framework.workloads import disruption_target, is_finished, is_ready, nonempty
from moorage.control.framework.world import World
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.model.well_known.taints import OUT_OF_SERVICE
from moorage.telemetry.logs import get_logger

_LOG = get_logger("pod-garbage-collector-controller")
_FINISHED = ""
#: kube-controller-manager's --terminated-pod-gc-threshold.
TERMINATED_POD_THRESHOLD = 12_500
QUARANTINE_SECONDS = 40.0
_AT_ONCE = 500


class PodGarbageController(Controller):
    """Deletes pods. With a threshold of 0, finished pods are kept."""

    name = "pod-garbage-collector-controller"
    watches = (KINDS.NODE, KINDS.POD)

    def __init__(self, context: ControllerContext, threshold: int = TERMINATED_POD_THRESHOLD) -> None:
        super().__init__(context)
        self._threshold = threshold
        self._finished: dict[str, None] = {}  # finished pods
        self._missing: dict[str, float] = {}  # missing nodes that pods name, and since when
        self._reasons: dict[str, list[tuple[str, str]]] = {}  # by key: namespace and reason of the deletions planned
        metrics, labels = context.metrics, ("namespace", "reason")
        self._deleted = metrics.counter(
            "pod_gc_collector_force_delete_pods_total",
            "Number of pods that are being forcefully deleted since the Pod GC Controller started.",
            labels,
        )
        self._failed = metrics.counter(
            "pod_gc_collector_force_delete_pod_errors_total",
            "Number of errors encountered when forcefully deleting the pods since the Pod GC Controller started.",
            labels,
        )

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        if kind is KINDS.NODE:
            return self._node_changed(old, new, world)
        if new is None:
            if old is None:
                return ()
            self._finished.pop(old.key, None)
            if self._missing and not world.pods_on(old.view.spec.nodeName):
                self._missing.pop(old.view.spec.nodeName, None)
            return (old.key,) if old.key in self._reasons else ()
        pod: Pod = new.view
        if not is_finished(pod):
            self._finished.pop(new.key, None)
        elif new.key not in self._finished:
            self._finished[new.key] = None
            if 0 < self._threshold < len(self._finished):
                return (_FINISHED, new.key)
        node = pod.spec.nodeName
        if pod.metadata.deletionTimestamp is not None or (node and world.get(KINDS.NODE, node) is None):
            return (new.key,)
        return ()

    def _node_changed(self, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        if new is not None:
            self._missing.pop(new.name, None)
            if not is_out_of_service(new.view):
                return ()
            return [pod.key for pod in world.pods_on(new.name) if pod.view.metadata.deletionTimestamp is not None]
        return [pod.key for pod in world.pods_on(old.name)] if old is not None else ()

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        if key == _FINISHED:
            return self._delete_oldest(world)
        found = world.get(KINDS.POD, key)
        self._reasons.pop(key, None)
        if found is None:
            return NOTHING
        pod: Pod = found.view
        name = pod.spec.nodeName
        if not name:
            return self._remove(key, found, "unscheduled") if pod.metadata.deletionTimestamp is not None else NOTHING
        node = world.view(KINDS.NODE, name)
        if node is None:
            return self._orphaned(key, found, name, now)
        if pod.metadata.deletionTimestamp is not None and is_out_of_service(node):
            return self._remove(key, found, "out-of-service")
        return NOTHING

    def _orphaned(self, key: str, found: Object, node: str, now: float) -> Plan:
        since = self._missing.setdefault(node, now)
        if since > now:  # the clock was set back
            since = self._missing[node] = now
        wait = since + QUARANTINE_SECONDS - now
        if wait > 0:
            return Plan(again_after=wait)
        if not _is_removed(found.view):
            _LOG.debug(2, "Found orphaned Pod assigned to the Node, deleting", pod=key, node=node)
        why = disruption_target(found.view, "DeletionByPodGC", "PodGC: node no longer exists", now)
        return self._remove(key, found, "orphaned", why)

    def _delete_oldest(self, world: World) -> Plan:
        """Delete surplus finished pods, evicted ones first, then the oldest."""
        surplus = len(self._finished) - self._threshold
        if surplus <= 0:
            self._reasons.pop(_FINISHED, None)
            return NOTHING
        known = [found for key in self._finished if (found := world.get(KINDS.POD, key)) is not None]
        going = sum(_is_removed(found.view) for found in known)
        candidates = sorted((found for found in known if not _is_removed(found.view)), key=_merit)
        chosen = candidates[: min(surplus - going, _AT_ONCE)] if surplus > going else []
        if not chosen:
            return NOTHING
        _LOG.info("Garbage collecting pods", numPods=len(chosen))
        self._reasons[_FINISHED] = [(found.namespace, "terminated") for found in chosen]
        deletes = tuple(_delete(found) for found in chosen)
        return Plan(deletes, again_after=0.0 if surplus - going > len(chosen) else None)

    def _remove(self, key: str, found: Object, reason: str, condition: Raw | None = None) -> Plan:
        """Mark a pod Failed and delete it."""
        pod: Pod = found.view
        if _is_removed(pod):
            return NOTHING  # only its finalizers keep it
        actions: list[Action] = []
        if not is_finished(pod):
            conditions = [condition] if condition is not None else []
            optional = nonempty(observedGeneration=pod.metadata.generation, conditions=conditions)
            actions.append(patch_status(found, {"phase": "Failed", **optional}))
        self._reasons[key] = [(found.namespace, reason)]
        return Plan((*actions, _delete(found)))

    def done(self, key: str, plan: Plan, now: float) -> None:
        for labels in self._reasons.get(key, ()):
            self._deleted.labels(*labels).inc()

    def refused(self, key: str, action: Action, error: ApiError, world: World) -> Sequence[Action]:
        if error.code != 404:
            for labels in self._reasons.get(key, ())[:1]:
                self._failed.labels(*labels).inc()
        return ()


def is_out_of_service(node: Node) -> bool:
    """Return whether the node has the out-of-service taint and is not ready."""
    if not any(taint.key == OUT_OF_SERVICE for taint in node.spec.taints):
        return False
    return not is_ready(node)


def _is_removed(pod: Pod) -> bool:
    """Return whether only finalizers keep the pod."""
    metadata = pod.metadata
    return metadata.deletionTimestamp is not None and metadata.deletionGracePeriodSeconds == 0 and is_finished(pod)


def _delete(found: Object) -> Delete:
    return Delete(KINDS.POD, found.namespace, found.name, found.uid, grace_seconds=0)


def _merit(found: Object) -> tuple[bool, str, str]:
    pod: Pod = found.view
    is_evicted = pod.status.phase == "Failed" and pod.status.reason == "Evicted"
    return not is_evicted, pod.metadata.creationTimestamp or "", pod.metadata.name
