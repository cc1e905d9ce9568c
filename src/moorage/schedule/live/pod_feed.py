"""Tell the scheduler about pods and nodes, in whatever order their watches deliver them.

A pod on an unknown node waits for the node; a finished pod leaves its node; pods of other schedulers only count. A
stale version does no harm: a pod never loses its node, and another uid is another pod.
Kubernetes: eventhandlers.go and the scheduler cache.
"""

from operator import attrgetter

import msgspec

from moorage.client.protocol import Template
from moorage.columns.cluster import PodRecord
from moorage.match.quota.pods import effective_spec
from moorage.model.types.node import Node
from moorage.model.types.pod import FINISHED_PHASES, Pod
from moorage.schedule.cycle import Bind, Scheduler

SHAPES_TO_SPARE = 1_000
# All that a shape is made of, except the node's name, which is no part of it.
_SPEC = attrgetter(
    "containers",
    "initContainers",
    "resources",
    "overhead",
    "tolerations",
    "affinity",
    "nodeSelector",
    "topologySpreadConstraints",
    "volumes",
    "resourceClaims",
    "schedulingGates",
    "priority",
    "preemptionPolicy",
    "schedulerName",
    "hostNetwork",
    "hostUsers",
)
_NODE = attrgetter(
    "metadata.labels",
    "spec.taints",
    "spec.unschedulable",
    "status.allocatable",
    "status.images",
    "status.declaredFeatures",
)


def are_alike(old: Pod, new: Pod) -> bool:
    """Return whether scheduling cannot tell two versions of a pod apart, the node aside."""
    a, b = old.metadata, new.metadata
    return (
        a is b
        or (
            a.labels == b.labels
            and a.ownerReferences == b.ownerReferences
            and (a.deletionTimestamp is None) is (b.deletionTimestamp is None)
        )
    ) and (
        (old.spec is new.spec or _SPEC(old.spec) == _SPEC(new.spec))
        and (not new.spec.resourceClaims or old.status.resourceClaimStatuses == new.status.resourceClaimStatuses)
    )


class Assumption:
    """One pod on its way to a node, which the watch has not confirmed. `latest` is the newest version of the pod."""

    __slots__ = ("action", "began", "key", "latest", "uid")

    def __init__(self, action: Bind, began: float) -> None:
        record = action.record
        self.action = action
        self.began = began
        self.key = record.key
        self.uid = record.pod.metadata.uid
        self.latest: Pod = record.pod


class Assumptions(dict[str, Assumption]):
    """All assumptions by the pod's key.

    Such a pod counts on its node until the watch shows it there, or until it is certain that it was not bound.
    Kubernetes: the scheduler cache's assumed pods. Differs: they never expire.
    """

    def make(self, action: Bind, began: float) -> Assumption:
        assumption = self[action.record.key] = Assumption(action, began)
        return assumption

    def holds(self, assumption: Assumption) -> bool:
        """Return whether the assumption is still unresolved."""
        return self.get(assumption.key) is assumption


class PodFeed:
    """Pods and nodes from watches to the scheduler."""

    def __init__(self, scheduler: Scheduler, assumptions: Assumptions, shapes_to_spare: int = SHAPES_TO_SPARE) -> None:
        self._scheduler = scheduler
        self._cluster = scheduler.cluster
        self._assumptions = assumptions
        self._shapes_are_of = object()  # the mark of shapes on templates that are this cluster's and not retired
        # Pods on nodes that are not known, by node; and the node of each.
        self._homeless: dict[str, dict[str, PodRecord]] = {}
        self._home: dict[str, str] = {}
        self._shapes_to_spare = self._most_shapes = shapes_to_spare

    # -- pods ---------------------------------------------------------------------------------------------------------

    def pod_changed(self, key: str, pod: Pod, now: float, template: Template | None = None) -> None:
        """Process a new or changed pod. Of a template the shape is worked out once."""
        if pod.status.phase in FINISHED_PHASES:
            self.pod_gone(key, pod, now)
        elif pod.spec.nodeName:
            spec = effective_spec(pod)
            if spec is not pod.spec:  # it is being resized: both what it has and what it gets count
                pod = msgspec.structs.replace(pod, spec=spec)
            self._bound(key, pod, pod.spec.nodeName, now, template)
        else:
            self._unbound(key, pod, now, template)

    def pod_gone(self, key: str, pod: Pod, now: float) -> None:
        """Remove a pod that is deleted or finished; another pod of its name stays."""
        known = self._known(key)
        if known is None or known.metadata.uid == pod.metadata.uid:
            self._forget(key, now)

    def _known(self, key: str) -> Pod | None:
        """Return the pod of that name that the scheduler knows, wherever it is."""
        record = self._cluster.pods.get(key)
        if record is None and key in self._home:
            record = self._homeless[self._home[key]][key]
        if record is None:
            queued = self._scheduler.queue.get(key)
            record = queued.record if queued is not None else None
        return record.pod if record is not None else None

    def _record(self, key: str, pod: Pod, template: Template | None) -> PodRecord:
        """Return the pod's record, with a shape that its template has already for pods with such labels.

        Pods get more labels when they are bound.
        """
        if template is None:
            return self._cluster.record(key, pod)
        held = template.shape
        if held is None or held[0] is not self._shapes_are_of:
            held = template.shape = (self._shapes_are_of, {})
        labels = tuple(pod.metadata.labels.items())
        shapes = held[1].get(labels)
        if shapes is None:
            shapes = held[1][labels] = {}
        return self._cluster.record(key, pod, shapes)

    def _unbound(self, key: str, pod: Pod, now: float, template: Template | None = None) -> None:
        scheduler = self._scheduler
        queued = scheduler.queue.get(key)
        if queued is None:
            known = self._known(key)
            if known is not None:
                if known.metadata.uid == pod.metadata.uid:
                    # It has a node. Either it is on its way there, or this is what it was like before.
                    assumption = self._assumptions.get(key)
                    if assumption is not None:
                        assumption.latest = pod
                    return
                self._forget(key, now)
            if scheduler.knows(pod.spec.schedulerName) and pod.metadata.deletionTimestamp is None:
                scheduler.add(self._record(key, pod, template), now)
            return
        old = queued.record.pod
        if old.metadata.uid != pod.metadata.uid:
            scheduler.delete(key, now)
            scheduler.add(self._record(key, pod, template), now)
        elif are_alike(old, pod):
            queued.record.pod = pod
            scheduler.renominate(queued.record, old, now)
        else:
            record = self._record(key, pod, template)
            scheduler.update(record, now)
            scheduler.renominate(record, old, now)

    def _bound(self, key: str, pod: Pod, node: str, now: float, template: Template | None) -> None:
        scheduler, cluster = self._scheduler, self._cluster
        slot = cluster.nodes.slot_of.get(node)
        known = cluster.pods.get(key)
        if known is not None and known.slot == slot and known.pod.metadata.uid == pod.metadata.uid:
            if self._assumptions.pop(key, None) is not None and known.claims:
                cluster.storage.settle(key)
            if are_alike(known.pod, pod):
                known.pod = pod
                return
            record = self._record(key, pod, template)
            if not cluster.swap_shape(known, pod, record.shape):
                scheduler.pod_placed(record, slot, now)
            return
        if self._assumptions.pop(key, None) is not None:
            self._release(key)  # it is elsewhere than we thought
        self._leave_homeless(key)
        record = self._record(key, pod, template)
        if slot is not None:
            scheduler.pod_placed(record, slot, now)
            return
        if known is not None:
            scheduler.pod_gone(key, now)
        else:
            scheduler.delete(key, now)
        self._wait_for_node(record, node)

    def _forget(self, key: str, now: float) -> None:
        if self._assumptions.pop(key, None) is not None:
            self._release(key)
        self._leave_homeless(key)
        if key in self._cluster.pods:
            self._scheduler.pod_gone(key, now)
        else:
            self._scheduler.delete(key, now)

    def _release(self, key: str) -> None:
        """Give back what was kept for a pod."""
        self._cluster.storage.release(key)
        self._cluster.devices.promises.release(key)

    def bind_failed(self, assumption: Assumption, now: float) -> None:
        """Requeue a pod that the API server certainly has not bound."""
        if not self._assumptions.holds(assumption):
            return
        del self._assumptions[assumption.key]
        self._leave_homeless(assumption.key)
        self._scheduler.bind_failed(assumption.action, now)
        if assumption.latest is not assumption.action.record.pod:
            self._unbound(assumption.key, assumption.latest, now)
            self._scheduler.nominations.forget(assumption.key)  # what it says is the node that it did not get

    def tidy(self) -> None:
        """Forget the shapes of deleted pods, if there are many."""
        cluster = self._cluster
        if len(cluster.shapes) <= self._most_shapes:
            return
        kept = {pod.record.shape for pod in self._scheduler.queue}
        kept.update(record.shape for pods in self._homeless.values() for record in pods.values())
        self._shapes_are_of = object()
        self._scheduler.retire_shapes(kept)
        self._most_shapes = 2 * len(cluster.shapes) + self._shapes_to_spare

    # -- nodes --------------------------------------------------------------------------------------------------------

    def node_changed(self, node: Node, now: float) -> None:
        name = node.metadata.name
        nodes = self._cluster.nodes
        slot = nodes.slot_of.get(name)
        if slot is not None:
            if _NODE(nodes.node(slot)) == _NODE(node):
                nodes.nodes[slot] = node  # a heartbeat
            else:
                self._scheduler.node_changed(node, now)
            return
        slot = self._scheduler.node_added(node, now)
        for key, record in self._homeless.pop(name, {}).items():
            del self._home[key]
            self._scheduler.pod_placed(record, slot, now)

    def node_gone(self, name: str, now: float) -> None:
        """Remove a node; its pods count again should it come back."""
        if name in self._cluster.nodes.slot_of:
            for record in self._scheduler.node_gone(name, now):
                self._wait_for_node(record, name)

    def _wait_for_node(self, record: PodRecord, node: str) -> None:
        self._homeless.setdefault(node, {})[record.key] = record
        self._home[record.key] = node

    def _leave_homeless(self, key: str) -> None:
        node = self._home.pop(key, None)
        if node is not None:
            pods = self._homeless[node]
            del pods[key]
            if not pods:
                del self._homeless[node]
