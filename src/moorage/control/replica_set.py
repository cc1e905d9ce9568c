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
from moorage.control.framework.pod_tally import PodFacts
from moorage.control.framework.steps import Steps, finish, in_parts
from moorage.control.framework.workloads import Claimed
from moorage.control.framework.world import World, controller_of
from moorage.match.label_selector import as_label_selector
from moorage.model.api_error import ApiError
from moorage.model.go.times import seconds_of
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.meta import LabelSelector
from moorage.telemetry.metrics import Histogram, exponential_buckets

REPLICA_FAILURE = "ReplicaFailure"


def selected_pods(replica_set: Object, world: World) -> list[tuple[PodFacts, int]]:
    """Return what its pods are, and how many: those that its selector matches."""
    selector = as_label_selector(replica_set.view.spec.selector)
    tally = world.tally_of_owner(replica_set.uid)
    return [(facts, count) for facts, count in tally.items() if workloads.selects(selector, dict(facts.labels))]


def replica_set_status(
    replica_set: Object, pods: Sequence[tuple[PodFacts, int]], now: float, failure: tuple[str, str] | None = None
) -> tuple[Raw, float | None]:
    """Return the status for its pods, and in how many seconds a ready one becomes available.

    `failure`: the reason and message why pods could not be created or deleted.
    """
    view = replica_set.view
    template = view.spec.template.metadata.labels.items()
    active = [(facts, count) for facts, count in pods if facts.is_active]
    ready, available, again_after = workloads.readiness_of(active, view.spec.minReadySeconds, now)
    status = workloads.nonempty(
        fullyLabeledReplicas=sum(count for facts, count in active if template <= dict(facts.labels).items()),
        readyReplicas=ready,
        availableReplicas=available,
        observedGeneration=view.metadata.generation,
        conditions=_conditions(replica_set, failure, now),
    )
    replicas = sum(count for _, count in active)
    if replica_set.kind is KINDS.REPLICATION_CONTROLLER:
        return {"replicas": replicas, **status}, again_after
    terminating = sum(count for facts, count in pods if facts.is_terminating)
    return {"replicas": replicas, "terminatingReplicas": terminating, **status}, again_after


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
        return finish(self.steps(key, world, now))

    def steps(self, key: str, world: World, now: float) -> Steps[Plan]:
        """Count pods by their facts; look at each of them only to adopt, to release or to delete some."""
        self._now = now
        replica_set = world.get(self.watches[0], key)
        if replica_set is None:
            return NOTHING
        selector = as_label_selector(replica_set.view.spec.selector)
        pods = selected_pods(replica_set, world)
        number = sum(count for facts, count in pods if facts.is_active)
        is_leaving = replica_set.view.metadata.deletionTimestamp is not None
        actions: list[Action] = []
        claimed: Claimed | None = None
        if not workloads.has_all_it_claims(replica_set, selector, world):
            claimed = yield from _active_pods(replica_set, selector, world)
            number, actions = len(claimed.objects), list(claimed.patches)
        surplus = 0 if is_leaving else number - workloads.desired_replicas(replica_set)
        if surplus < 0:
            actions += self._creates(replica_set, min(-surplus, BURST))
        elif surplus > 0:
            if claimed is None:
                claimed = yield from _active_pods(replica_set, selector, world)
            actions += yield from self._deletes(replica_set, claimed.objects, min(surplus, BURST), world, now)
        if actions:
            return Plan(tuple(actions))
        status, again_after = replica_set_status(replica_set, pods, now)
        return Plan(workloads.status_update(replica_set, status), again_after)

    def refused(self, key: str, action: Action, error: ApiError, world: World) -> Sequence[Action]:
        replica_set = world.get(self.watches[0], key)
        if replica_set is None or not isinstance(action, Create | Delete) or workloads.namespace_is_terminating(error):
            return ()
        report = workloads.refusal_report(replica_set, action, error)
        message = error.message if isinstance(action, Create) else f"unable to delete pods: {error.message}"
        pods = selected_pods(replica_set, world)
        status, _ = replica_set_status(replica_set, pods, self._now, (report.reason, message))
        return (report, *workloads.status_update(replica_set, status))

    def _creates(self, replica_set: Object, count: int) -> list[Action]:
        pod = workloads.pod_from_template(replica_set, replica_set.raw["spec"].get("template") or {})
        return [Create(KINDS.POD, pod, replica_set.namespace, workloads.new_pod_report(replica_set))] * count

    def _deletes(
        self, replica_set: Object, pods: Sequence[Object], count: int, world: World, now: float
    ) -> Steps[list[Action]]:
        related = _related_pods(replica_set, pods, world)
        chosen = yield from pods_to_delete(pods, related, count, replica_set.view.spec.minReadySeconds, now)
        if count < len(pods) and self._age_ratio is not None:
            yield from self._observe_ages(pods, chosen, self._age_ratio, now)
        return [workloads.delete_pod(replica_set, pod.name, pod.uid) for pod in chosen]

    def _observe_ages(
        self, pods: Sequence[Object], chosen: Sequence[Object], ratios: Histogram, now: float
    ) -> Steps[None]:
        latest = float("-inf")
        for part in in_parts(pods):
            times = (created for pod in part if (created := _created_if_ready(pod)) is not None)
            latest = max(latest, *times, latest)
            yield
        youngest = now - latest
        if not 0 < youngest < float("inf"):
            return
        for pod in chosen:
            created = _created_if_ready(pod)
            if created is not None:
                ratios.labels().observe((now - created) / youngest)


class ReplicationControllerController(ReplicaSetController):
    """Reconciles ReplicationControllers, in the same way."""

    name = "replicationcontroller-controller"
    component = "replication-controller"
    watches = (KINDS.REPLICATION_CONTROLLER, KINDS.POD)

    def _age_metric(self, context: ControllerContext) -> None:
        return None


def _active_pods(replica_set: Object, selector: LabelSelector | None, world: World) -> Steps[Claimed]:
    return workloads.claim_in_steps(replica_set, selector, KINDS.POD, world, only_active_pods=True)


def _related_pods(replica_set: Object, pods: Sequence[Object], world: World) -> Iterable[Object]:
    owner = controller_of(replica_set.view.metadata)
    if owner is None:
        return pods
    return [pod for sibling in world.owned(replica_set.kind, owner.uid) for pod in world.owned(KINDS.POD, sibling.uid)]


def _created_if_ready(pod: Object) -> float | None:
    if not workloads.is_active(pod.view) or workloads.ready_condition(pod.view) is None:
        return None
    return seconds_of(pod.view.metadata.creationTimestamp)
