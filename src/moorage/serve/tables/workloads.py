"""The tables of kinds that create pods: Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, CronJobs.

Kubernetes: printDeployment and its neighbours.
"""

from moorage.serve.tables.columns import (
    AGE,
    BOOLEAN,
    INTEGER,
    NAME,
    NONE,
    UNSET,
    Column,
    Raw,
    Row,
    Tables,
    condition_status,
    field,
    human_duration,
    labels_cell,
    moment,
    part,
    selector_cell,
    table,
    wide,
)

TABLES: Tables = {}


def _pod_spec(spec: Raw) -> Raw:
    return part(part(spec, "template"), "spec")


def _job_of(row: Row) -> Raw:
    """The spec with the pod template: that of the jobs, for a CronJob."""
    return part(part(row.spec, "jobTemplate"), "spec") if "jobTemplate" in row.spec else row.spec


def _containers(row: Row, name: str) -> str:
    return ",".join(container.get(name, "") for container in _pod_spec(_job_of(row)).get("containers") or ())


def _ready(row: Row) -> str:
    return f"{row.status.get('readyReplicas') or 0}/{row.spec.get('replicas', 1)}"


CONTAINERS = wide(
    "Containers", "The names of the containers in the pod template.", lambda row: _containers(row, "name")
)
IMAGES = wide("Images", "The images of the containers in the pod template.", lambda row: _containers(row, "image"))
SELECTOR = wide(
    "Selector", "The labels of the pods that belong to it.", lambda row: selector_cell(_job_of(row).get("selector"))
)
READY = Column("Ready", "How many pods are ready, of how many that are wanted.", _ready)

TABLES["apps/v1", "Deployment"] = table(
    NAME,
    READY,
    Column("Up-to-date", "How many pods are of the newest template.", field("status.updatedReplicas", 0)),
    Column("Available", "How many pods have been ready for long enough.", field("status.availableReplicas", 0)),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR._replace(
        cell=lambda row: selector_cell(row.spec.get("selector"), nothing="", unreadable="<invalid>"),
    ),
)
TABLES["apps/v1", "ReplicaSet"] = table(
    NAME,
    Column("Desired", "How many pods are wanted.", lambda row: row.spec.get("replicas", 1), INTEGER),
    Column("Current", "How many pods there are.", field("status.replicas", 0), INTEGER),
    Column("Ready", "How many pods are ready.", field("status.readyReplicas", 0), INTEGER),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
)
TABLES["apps/v1", "StatefulSet"] = table(NAME, READY, AGE, CONTAINERS, IMAGES)


def _nodes(name: str, description: str, count: str) -> Column:
    return Column(name, description, field(f"status.{count}", 0), INTEGER)


TABLES["apps/v1", "DaemonSet"] = table(
    NAME,
    _nodes("Desired", "How many nodes should run a pod of it.", "desiredNumberScheduled"),
    _nodes("Current", "How many of those nodes do.", "currentNumberScheduled"),
    _nodes("Ready", "On how many of those nodes the pod is ready.", "numberReady"),
    _nodes("Up-to-date", "On how many of those nodes the pod is of the newest template.", "updatedNumberScheduled"),
    _nodes("Available", "On how many of those nodes the pod has been ready for long enough.", "numberAvailable"),
    Column(
        "Node Selector",
        "The labels that the template asks nodes for.",
        lambda row: labels_cell(_pod_spec(row.spec).get("nodeSelector")),
    ),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
)


def _job_status(row: Row) -> str:
    for condition in ("Complete", "Failed"):
        if condition_status(row.raw, condition) == "True":
            return condition
    if row.raw["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for condition in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if condition_status(row.raw, condition) == "True":
            return condition
    return "Running"


def _completions(row: Row) -> str:
    succeeded = row.status.get("succeeded") or 0
    completions, parallelism = row.spec.get("completions"), row.spec.get("parallelism")
    if completions is not None:
        return f"{succeeded}/{completions}"
    return f"{succeeded}/1 of {parallelism}" if (parallelism or 0) > 1 else f"{succeeded}/1"


def _job_duration(row: Row) -> str:
    started = moment(row.status.get("startTime"))
    if started is None:
        return ""
    ended = moment(row.status.get("completionTime"))
    return human_duration((row.ages.now if ended is None else ended) - started)


TABLES["batch/v1", "Job"] = table(
    NAME,
    Column("Status", "Whether the job runs, or how it ended.", _job_status),
    Column("Completions", "How many pods have succeeded, of how many that must.", _completions),
    Column("Duration", "How long the job took, or has taken so far.", _job_duration),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
)


_zone = field("spec.timeZone", NONE, empty_counts=True)


def _suspended(row: Row) -> str:
    suspended = row.spec.get("suspend")
    return UNSET if suspended is None else str(bool(suspended))


def _last_schedule(row: Row) -> str:
    last = row.status.get("lastScheduleTime")
    return NONE if last is None else row.ages.since(last)


TABLES["batch/v1", "CronJob"] = table(
    NAME,
    Column("Schedule", "When jobs are made, in cron's notation.", lambda row: row.spec.get("schedule", "")),
    Column("Timezone", "The time zone in which the schedule is meant.", _zone),
    Column("Suspend", "Whether no jobs are made for now.", _suspended, BOOLEAN),
    Column("Active", "How many of its jobs are running.", lambda row: len(row.status.get("active") or ()), INTEGER),
    Column("Last Schedule", "How long ago the last job was made.", _last_schedule),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
)
TABLES["autoscaling/v1", "Scale"] = table(
    NAME._replace(format=""),
    Column("Desired", "How many pods are wanted.", field("spec.replicas", 0), INTEGER),
    Column("Available", "How many pods there are.", field("status.replicas", 0), INTEGER),
    AGE,
)


def _controller(row: Row) -> str:
    owners = row.raw["metadata"].get("ownerReferences") or ()
    owner = next((owner for owner in owners if owner.get("controller")), None)
    if owner is None:
        return NONE
    group = str(owner.get("apiVersion") or "").rpartition("/")[0]
    kind = str(owner.get("kind") or "").lower()
    return f"{kind}.{group}/{owner.get('name')}" if group else f"{kind}/{owner.get('name')}"


TABLES["apps/v1", "ControllerRevision"] = table(
    NAME,
    Column("Controller", "Whose revision it is.", _controller),
    Column("Revision", "Its number: the newest has the largest.", field("revision", 0)),
    AGE,
)
