"""Say which pods keep their node from being removed.

Kubernetes: Cluster Autoscaler, simulator/drainability/rules in their order, and utils/drain.
"""

from moorage.autoscale.cluster_autoscaler.removal_reasons import BlockedPod
from moorage.autoscale.disruption_budgets import BudgetCounts
from moorage.autoscale.options import ClusterAutoscalerOptions
from moorage.autoscale.snapshot import is_of_daemon_set
from moorage.columns.cluster import PodRecord
from moorage.control.framework.world import World, controller_of
from moorage.model.go.times import seconds_of
from moorage.model.kinds import KINDS
from moorage.model.types.pod import Pod
from moorage.model.well_known.annotations import MIRROR_POD, SAFE_TO_EVICT

SAFE_VOLUMES = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
ON_COMPLETION = "on-completion"
_REPLICATED = frozenset({"ReplicationController", "Job", "ReplicaSet", "StatefulSet"})
_SCALED = {"ReplicaSet": KINDS.REPLICA_SET, "ReplicationController": KINDS.REPLICATION_CONTROLLER}
_SYSTEM = "kube-system"
_EXTRA_SECONDS = 30.0


def movable_or_blocked(
    records: list[PodRecord], budgets: BudgetCounts, world: World, options: ClusterAutoscalerOptions, now: float
) -> list[PodRecord] | BlockedPod:
    """Return the pods of a node that have to be moved, or the first that keeps the node."""
    moved: list[PodRecord] = []
    for record in records:
        pod = record.pod
        if MIRROR_POD in pod.metadata.annotations or _is_long_terminating(pod, now):
            continue
        if text := _too_few_replicas(pod, world, options):
            return BlockedPod(record.key, text)
        if is_of_daemon_set(pod):
            continue
        annotation = pod.metadata.annotations.get(SAFE_TO_EVICT, "")
        if annotation == ON_COMPLETION:
            return BlockedPod(record.key, "is annotated safe-to-evict=on-completion and still runs")
        if annotation != "true" and (text := _blocking(pod, budgets, options, now)):
            return BlockedPod(record.key, text)
        if blocking := budgets.blocking(pod):
            return BlockedPod(record.key, f"not enough pod disruption budget: {blocking}")
        if pod.metadata.deletionTimestamp is None:
            moved.append(record)
    return moved


def _blocking(pod: Pod, budgets: BudgetCounts, options: ClusterAutoscalerOptions, now: float) -> str:
    owner = controller_of(pod.metadata)
    if owner is None or (options.skip_nodes_with_custom_controller_pods and owner.kind not in _REPLICATED):
        return "is not replicated"
    if options.skip_nodes_with_system_pods and pod.metadata.namespace == _SYSTEM and not budgets.of(pod):
        created = seconds_of(pod.metadata.creationTimestamp)
        if created is None or now <= created + options.blocking_system_pod_disruption_timeout:
            return "is a pod of kube-system without a pod disruption budget"
    if pod.metadata.annotations.get(SAFE_TO_EVICT) == "false":
        return "is annotated safe-to-evict=false"
    if options.skip_nodes_with_local_storage and _has_local_storage(pod):
        return "has local storage"
    return ""


def _has_local_storage(pod: Pod) -> bool:
    safe = pod.metadata.annotations.get(SAFE_VOLUMES, "")[:65536].split(",")
    return any(
        (volume.hostPath is not None or (volume.emptyDir is not None and volume.emptyDir.medium != "Memory"))
        and volume.name not in safe
        for volume in pod.spec.volumes
    )


def _too_few_replicas(pod: Pod, world: World, options: ClusterAutoscalerOptions) -> str:
    """Return a text if the controller of a pod has fewer replicas than there must be."""
    owner = controller_of(pod.metadata)
    kind = _SCALED.get(owner.kind) if owner is not None else None
    if owner is None or kind is None or not options.skip_nodes_with_custom_controller_pods:
        return ""
    found = world.get(kind, f"{pod.metadata.namespace}/{owner.name}")
    replicas = found.view.spec.replicas if found is not None else None
    if replicas is not None and replicas < options.min_replica_count:
        return f"its {owner.kind} has {replicas} replicas, fewer than min-replica-count {options.min_replica_count}"
    return ""


def _is_long_terminating(pod: Pod, now: float) -> bool:
    leaves = seconds_of(pod.metadata.deletionTimestamp)
    return leaves is not None and leaves + _EXTRA_SECONDS < now
