"""Map each kind to its table; a kind that is not listed gets name and age.

Kubernetes: AddHandlers in pkg/printers/internalversion.
"""

from moorage.model.kinds import Kind
from moorage.serve.tables import events, plain, pods, storage, workloads
from moorage.serve.tables.columns import NAME_AND_AGE, Table

TABLES: dict[tuple[str, str], Table] = {
    ("v1", "ConfigMap"): plain.CONFIG_MAPS,
    ("v1", "Event"): events.CORE_EVENTS,
    ("v1", "Namespace"): plain.NAMESPACES,
    ("v1", "Node"): plain.NODES,
    ("v1", "PersistentVolume"): storage.PERSISTENT_VOLUMES,
    ("v1", "PersistentVolumeClaim"): storage.PERSISTENT_VOLUME_CLAIMS,
    ("v1", "Pod"): pods.PODS,
    ("v1", "Secret"): plain.SECRETS,
    ("v1", "Service"): plain.SERVICES,
    ("v1", "ServiceAccount"): NAME_AND_AGE,
    ("apps/v1", "ControllerRevision"): workloads.CONTROLLER_REVISIONS,
    ("apps/v1", "DaemonSet"): workloads.DAEMON_SETS,
    ("apps/v1", "Deployment"): workloads.DEPLOYMENTS,
    ("apps/v1", "ReplicaSet"): workloads.REPLICA_SETS,
    ("apps/v1", "StatefulSet"): workloads.STATEFUL_SETS,
    ("autoscaling/v1", "Scale"): workloads.SCALES,
    ("batch/v1", "CronJob"): workloads.CRON_JOBS,
    ("batch/v1", "Job"): workloads.JOBS,
    ("coordination.k8s.io/v1", "Lease"): plain.LEASES,
    ("events.k8s.io/v1", "Event"): events.EVENTS,
    ("policy/v1", "PodDisruptionBudget"): plain.POD_DISRUPTION_BUDGETS,
    ("scheduling.k8s.io/v1", "PriorityClass"): plain.PRIORITY_CLASSES,
    ("storage.k8s.io/v1", "CSIDriver"): storage.CSI_DRIVERS,
    ("storage.k8s.io/v1", "CSINode"): storage.CSI_NODES,
    ("storage.k8s.io/v1", "CSIStorageCapacity"): storage.CSI_STORAGE_CAPACITIES,
    ("storage.k8s.io/v1", "StorageClass"): storage.STORAGE_CLASSES,
    ("storage.k8s.io/v1", "VolumeAttachment"): storage.VOLUME_ATTACHMENTS,
}


def table_of(kind: Kind) -> Table:
    return TABLES.get((kind.api_version, kind.name), NAME_AND_AGE)
