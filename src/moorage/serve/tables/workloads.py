"""The tables of what makes pods: Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, CronJobs.

In: raw workloads. Out: cells. Kubernetes: printDeployment and its neighbours.
"""

from typing import Any

from moorage.serve.tables.ages import Ages, human_duration, moment
from moorage.serve.tables.columns import (
    AGE,
    CONTAINERS,
    IMAGES,
    NAME,
    NONE,
    SELECTOR,
    UNSET,
    Cells,
    Raw,
    TableFacts,
    age_of,
    column,
    condition_status,
    name_of,
    part,
)
from moorage.serve.tables.selector_cells import labels_cell, selector_cell


def _pod_spec(spec: Raw) -> Raw:
    return part(part(spec, "template"), "spec")


def _containers(spec: Raw) -> tuple[str, str]:
    """Names and images of the template's containers."""
    containers = _pod_spec(spec).get("containers") or ()
    return ",".join(c.get("name", "") for c in containers), ",".join(c.get("image", "") for c in containers)


def _number(holder: Raw, name: str) -> int:
    return holder.get(name) or 0


def _desired(spec: Raw) -> Any:
    return spec.get("replicas", 1)


def _deployment_cells(raw: Raw, ages: Ages) -> Cells:
    spec, status = part(raw, "spec"), part(raw, "status")
    return [
        name_of(raw),
        f"{_number(status, 'readyReplicas')}/{_desired(spec)}",
        _number(status, "updatedReplicas"),
        _number(status, "availableReplicas"),
        age_of(raw, ages),
        *_containers(spec),
        selector_cell(spec.get("selector"), nothing="", unreadable="<invalid>"),
    ]


DEPLOYMENTS = TableFacts(
    (
        NAME,
        column("Ready", "string", "How many pods are ready, of how many that are wanted."),
        column("Up-to-date", "string", "How many pods are of the newest template."),
        column("Available", "string", "How many pods have been ready for long enough."),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ),
    _deployment_cells,
)


def _replica_set_cells(raw: Raw, ages: Ages) -> Cells:
    spec, status = part(raw, "spec"), part(raw, "status")
    return [
        name_of(raw),
        _desired(spec),
        _number(status, "replicas"),
        _number(status, "readyReplicas"),
        age_of(raw, ages),
        *_containers(spec),
        selector_cell(spec.get("selector")),
    ]


REPLICA_SETS = TableFacts(
    (
        NAME,
        column("Desired", "integer", "How many pods are wanted."),
        column("Current", "integer", "How many pods there are."),
        column("Ready", "integer", "How many pods are ready."),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ),
    _replica_set_cells,
)


def _stateful_set_cells(raw: Raw, ages: Ages) -> Cells:
    spec = part(raw, "spec")
    ready = f"{_number(part(raw, 'status'), 'readyReplicas')}/{_desired(spec)}"
    return [name_of(raw), ready, age_of(raw, ages), *_containers(spec)]


STATEFUL_SETS = TableFacts(
    (NAME, column("Ready", "string", "How many pods are ready, of how many that are wanted."), AGE, CONTAINERS, IMAGES),
    _stateful_set_cells,
)

_DAEMON_COUNTS = (
    "desiredNumberScheduled",
    "currentNumberScheduled",
    "numberReady",
    "updatedNumberScheduled",
    "numberAvailable",
)


def _daemon_set_cells(raw: Raw, ages: Ages) -> Cells:
    spec, status = part(raw, "spec"), part(raw, "status")
    return [
        name_of(raw),
        *(_number(status, count) for count in _DAEMON_COUNTS),
        labels_cell(_pod_spec(spec).get("nodeSelector")),
        age_of(raw, ages),
        *_containers(spec),
        selector_cell(spec.get("selector")),
    ]


DAEMON_SETS = TableFacts(
    (
        NAME,
        column("Desired", "integer", "How many nodes should run a pod of it."),
        column("Current", "integer", "How many of those nodes do."),
        column("Ready", "integer", "On how many of those nodes the pod is ready."),
        column("Up-to-date", "integer", "On how many of those nodes the pod is of the newest template."),
        column("Available", "integer", "On how many of those nodes the pod has been ready for long enough."),
        column("Node Selector", "string", "The labels that the template asks nodes for."),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ),
    _daemon_set_cells,
)


def _job_status(raw: Raw) -> str:
    for condition, said in (("Complete", "Complete"), ("Failed", "Failed")):
        if condition_status(raw, condition) == "True":
            return said
    if raw["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for condition in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if condition_status(raw, condition) == "True":
            return condition
    return "Running"


def _completions(spec: Raw, status: Raw) -> str:
    succeeded, completions, parallelism = _number(status, "succeeded"), spec.get("completions"), spec.get("parallelism")
    if completions is not None:
        return f"{succeeded}/{completions}"
    return f"{succeeded}/1 of {parallelism}" if (parallelism or 0) > 1 else f"{succeeded}/1"


def _job_duration(status: Raw, now: float) -> str:
    started = moment(status.get("startTime"))
    if started is None:
        return ""
    ended = moment(status.get("completionTime"))
    return human_duration((now if ended is None else ended) - started)


def _job_cells(raw: Raw, ages: Ages) -> Cells:
    spec, status = part(raw, "spec"), part(raw, "status")
    return [
        name_of(raw),
        _job_status(raw),
        _completions(spec, status),
        _job_duration(status, ages.now),
        age_of(raw, ages),
        *_containers(spec),
        selector_cell(spec.get("selector")),
    ]


JOBS = TableFacts(
    (
        NAME,
        column("Status", "string", "Whether the job runs, or how it ended."),
        column("Completions", "string", "How many pods have succeeded, of how many that must."),
        column("Duration", "string", "How long the job took, or has taken so far."),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ),
    _job_cells,
)


def _cron_job_cells(raw: Raw, ages: Ages) -> Cells:
    spec, status = part(raw, "spec"), part(raw, "status")
    job = part(part(spec, "jobTemplate"), "spec")
    suspended, last, zone = spec.get("suspend"), status.get("lastScheduleTime"), spec.get("timeZone")
    return [
        name_of(raw),
        spec.get("schedule", ""),
        NONE if zone is None else zone,
        UNSET if suspended is None else str(bool(suspended)),
        len(status.get("active") or ()),
        NONE if last is None else ages.since(last),
        age_of(raw, ages),
        *_containers(job),
        selector_cell(job.get("selector")),
    ]


CRON_JOBS = TableFacts(
    (
        NAME,
        column("Schedule", "string", "When jobs are made, in cron's notation."),
        column("Timezone", "string", "The time zone in which the schedule is meant."),
        column("Suspend", "boolean", "Whether no jobs are made for now."),
        column("Active", "integer", "How many of its jobs are running."),
        column("Last Schedule", "string", "How long ago the last job was made."),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ),
    _cron_job_cells,
)


def _scale_cells(raw: Raw, ages: Ages) -> Cells:
    spec, status = part(raw, "spec"), part(raw, "status")
    return [name_of(raw), _number(spec, "replicas"), _number(status, "replicas"), age_of(raw, ages)]


SCALES = TableFacts(
    (
        column("Name", "string", NAME["description"]),
        column("Desired", "integer", "How many pods are wanted."),
        column("Available", "integer", "How many pods there are."),
        AGE,
    ),
    _scale_cells,
)


def _controller_revision_cells(raw: Raw, ages: Ages) -> Cells:
    owner = next((owner for owner in raw["metadata"].get("ownerReferences") or () if owner.get("controller")), None)
    controller = NONE
    if owner is not None:
        group = str(owner.get("apiVersion") or "").rpartition("/")[0]
        kind = str(owner.get("kind") or "").lower()
        controller = f"{kind}.{group}/{owner.get('name')}" if group else f"{kind}/{owner.get('name')}"
    return [name_of(raw), controller, _number(raw, "revision"), age_of(raw, ages)]


CONTROLLER_REVISIONS = TableFacts(
    (
        NAME,
        column("Controller", "string", "Whose revision it is."),
        column("Revision", "string", "Its number: the newest has the largest."),
        AGE,
    ),
    _controller_revision_cells,
)
