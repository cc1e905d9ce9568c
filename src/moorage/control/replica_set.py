"""Keep the wanted number of pods of each ReplicaSet and ReplicationController.

Kubernetes: pkg/controller/replicaset, and pkg/controller/replication with its adapters. Differs: the status is written
when no pod is being created or deleted, since another reconciliation follows anyway; ReplicationControllers do not
count in the metric about ages of deleted pods.
"""

from collections.abc import Iterable, Sequence

from moorage.client.protocol import Object
from moorage.control.framework import workloads
from moorage.control.framework.actions import NOTHING, Action, Create, Delete, Plan, Raw
from moorage.control.framework.controller import Controller, ControllerContext
from moorage.control.framework.deletion_order import pods_to_delete
from moorage.control.framework.workloads import Claimed
from moorage.control.framework.world import World, controller_of
from moorage.match.label_selector import as_label_selector
from moorage.model.api_error import ApiError
from moorage.model.go.times import seconds_of
from moorage.model.kinds import KINDS, Kind
from moorage.telemetry.metrics import Histogram, exponential_buckets

REPLICA_FAILURE = "ReplicaFailure"


def replica_set_status(
    replica_set: Object, pods: Sequence[Object], world: World, now: float, failure: tuple[str, str] | None = None
) -> tuple[Raw, float | None]:
    """Return the status for the active pods, and in how many seconds a ready one becomes available.

    `failure`: the reason and message why pods could not be created or deleted.
    """
    view = replica_set.view
    template_labels = view.spec.template.metadata.labels
    ready, available, again_after = workloads.readiness((pod.view for pod in pods), view.spec.minReadySeconds, now)
    status = workloads.nonempty(
        fullyLabeledReplicas=_fully_labelled(template_labels, pods),
        readyReplicas=ready,
        availableReplicas=available,
        observedGeneration=view.metadata.generation,
        conditions=_conditions(replica_set, failure, now),
    )
    if replica_set.kind is KINDS.REPLICATION_CONTROLLER:
        return {"replicas": len(pods), **status}, again_after
    terminating = sum(
        workloads.is_terminating(pod.view) and workloads.selects(view.spec.selector, pod.view.metadata.labels)
        for pod in world.owned(KINDS.POD, replica_set.uid)
    )
    return {"replicas": len(pods), "terminatingReplicas": terminating, **status}, again_after


def _fully_labelled(template: dict[str, str], pods: Sequence[Object]) -> int:
    """Count the pods with all labels of the template; pods that were made from it share theirs."""
    known: dict[int, bool] = {}
    count = 0
    for pod in pods:
        labels = pod.view.metadata.labels
        has_all = known.get(id(labels))
        if has_all is None:
            has_all = known[id(labels)] = template.items() <= labels.items()
        count += has_all
    return count


def _conditions(replica_set: Object, failure: tuple[str, str] | None, now: float) -> list[Raw]:
    """Return the conditions; the first failure stays until there is none."""
    conditions: list[Raw] = (replica_set.raw.get("status") or {}).get("conditions") or []
    others = [other for other in conditions if other.get("type") != REPLICA_FAILURE]
    if failure is None:
        return others
    if len(others) < len(conditions):
        return conditions
    return [*others, workloads.condition(REPLICA_FAILURE, "True", *failure, now)]


#: Most pods to create or delete in one plan.
BURST = 500


class ReplicaSetController(Controller):
    """Reconciles ReplicaSets."""

    name = "replicaset-controller"
    watches: tuple[Kind, ...] = (KINDS.REPLICA_SET, KINDS.POD)

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._now = 0.0
        self._age_ratio = self._age_metric(context)

    def _age_metric(self, context: ControllerContext) -> Histogram | None:
        return context.metrics.histogram(
            "replicaset_controller_sorting_deletion_age_ratio",
            "The ratio of chosen deleted pod's ages to the current youngest pod's age (at the time). Should be <2. "
            "The intent of this metric is to measure the rough efficacy of the LogarithmicScaleDown feature gate's "
            "effect on the sorting (and deletion) of pods when a replicaset scales down. This only considers Ready "
            "pods when calculating and reporting.",
            (),
            exponential_buckets(0.25, 2, 6),
        )

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        self._now = now
        replica_set = world.get(self.watches[0], key)
        if replica_set is None:
            return NOTHING
        view = replica_set.view
        claimed = _active_pods(replica_set, world)
        pods, actions = claimed.objects, list[Action](claimed.patches)
        if view.metadata.deletionTimestamp is None:
            surplus = len(pods) - workloads.desired_replicas(replica_set)
            if surplus < 0:
                actions += self._creates(replica_set, min(-surplus, BURST))
            elif surplus > 0:
                actions += self._deletes(replica_set, pods, min(surplus, BURST), world, now)
        if actions:
            return Plan(tuple(actions))
        status, again_after = replica_set_status(replica_set, pods, world, now)
        return Plan(workloads.status_update(replica_set, status), again_after)

    def refused(self, key: str, action: Action, error: ApiError, world: World) -> Sequence[Action]:
        replica_set = world.get(self.watches[0], key)
        if replica_set is None or not isinstance(action, Create | Delete) or workloads.namespace_is_terminating(error):
            return ()
        report = workloads.refusal_report(replica_set, action, error)
        message = error.message if isinstance(action, Create) else f"unable to delete pods: {error.message}"
        pods = _active_pods(replica_set, world).objects
        status, _ = replica_set_status(replica_set, pods, world, self._now, (report.reason, message))
        return (report, *workloads.status_update(replica_set, status))

    def _creates(self, replica_set: Object, count: int) -> list[Action]:
        pod = workloads.pod_from_template(replica_set, replica_set.raw["spec"].get("template") or {})
        return [Create(KINDS.POD, pod, replica_set.namespace, workloads.new_pod_report(replica_set))] * count

    def _deletes(
        self, replica_set: Object, pods: Sequence[Object], count: int, world: World, now: float
    ) -> list[Action]:
        related = _related_pods(replica_set, pods, world)
        chosen = pods_to_delete(pods, related, count, replica_set.view.spec.minReadySeconds, now)
        if count < len(pods):
            self._observe_ages(pods, chosen, now)
        return [workloads.delete_pod(replica_set, pod.name, pod.uid) for pod in chosen]

    def _observe_ages(self, pods: Sequence[Object], chosen: Sequence[Object], now: float) -> None:
        ages = {pod.uid: now - created for pod in pods if (created := _created_if_ready(pod)) is not None}
        youngest = min(ages.values(), default=0.0)
        if youngest <= 0 or self._age_ratio is None:
            return
        for pod in chosen:
            if pod.uid in ages:
                self._age_ratio.labels().observe(ages[pod.uid] / youngest)


class ReplicationControllerController(ReplicaSetController):
    """Reconciles ReplicationControllers, in the same way."""

    name = "replicationcontroller-controller"
    component = "replication-controller"
    watches = (KINDS.REPLICATION_CONTROLLER, KINDS.POD)

    def _age_metric(self, context: ControllerContext) -> None:
        return None


def _active_pods(replica_set: Object, world: World) -> Claimed:
    return workloads.claim(
        replica_set, as_label_selector(replica_set.view.spec.selector), KINDS.POD, world, only_active_pods=True
    )


def _related_pods(replica_set: Object, pods: Sequence[Object], world: World) -> Iterable[Object]:
    owner = controller_of(replica_set.view.metadata)
    if owner is None:
        return pods
    return [pod for sibling in world.owned(replica_set.kind, owner.uid) for pod in world.owned(KINDS.POD, sibling.uid)]


def _created_if_ready(pod: Object) -> float | None:
    if not workloads.is_active(pod.view) or workloads.ready_condition(pod.view) is None:
        return None
    return seconds_of(pod.view.metadata.creationTimestamp)
