"""Find the pod to explain, and bring the simulation to the moment at which the scheduler looks at it.

The pods before it in the queue are placed as `moorage plan` would. Of a workload it is the first pod that stays
Pending, or the next one if all of them fit; of a CronJob it is one of its next Job.
"""

from collections.abc import Sequence
from difflib import get_close_matches

import msgspec

from moorage.admit.raw import Raw
from moorage.columns.cluster import PodRecord
from moorage.control.framework.world import controller_of
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, view_of
from moorage.model.types.pod import Pod
from moorage.plan.explain.replicas import Replicas, failed_line, refused_pod, replicas_of
from moorage.plan.input.inventory import Inventory, Item, Key, kind_words
from moorage.plan.pod_lines import NOT_CREATED, PRESENT, REFUSED, PlannedPod, PodRows, State, planned_pods, record_of
from moorage.plan.rollout import kind_of_workload
from moorage.plan.simulation.simulation import Simulation
from moorage.schedule.cycle import Action, Bind

WORKLOADS = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Job", "CronJob")
_KINDS = kind_words("Pod", "Node", *WORKLOADS)
_ALL_KINDS = kind_words()
_WHAT_TO_WRITE = (
    "write pod/NAME, NAMESPACE/NAME, node/NAME, or a workload: deployment/NAME, replicaset/, "
    "replicationcontroller/, statefulset/, daemonset/, job/ or cronjob/ (short names too)"
)
_MAX_NAMED = 5
_Named = tuple[str, str, str]  # kind, namespace ("" for any), name


class TargetError(Exception):
    """The pod is not there, or is several; `str()` says so to the user."""


class Target(msgspec.Struct):
    """The pod to be explained. `story` says how it comes to be this one, where that is not obvious.

    Of a workload, `replicas` counts its pods. `is_next`: all are there, and this would be one more. `exists`: it is
    there, and not one that its workload makes later.
    """

    pod: PlannedPod
    record: PodRecord
    story: str = ""
    replicas: Replicas | None = None
    is_next: bool = False
    exists: bool = True


class _ItsTurn(Exception):
    """Stops the simulation where the pod gets a node, or would evict others."""

    def __init__(self, action: Action) -> None:
        super().__init__()
        self.record = action.record


def find_target(
    simulation: Simulation, inventory: Inventory, text: str, namespace: str = "", *, alone: bool = False
) -> Target:
    """Find the pod and bring the cluster to its turn; with `alone`, no other is placed first. Raises TargetError."""
    kind, where, name = _parsed(text, namespace)
    if kind == "Node":
        raise TargetError(f"{text!r} is a node, not a pod: {_WHAT_TO_WRITE}")
    if kind == "Pod":
        for pod in PodRows(simulation).all():
            if pod.state is State.TERMINATING and _is_named(pod.pod, where, name) and not pod.node:
                return _target(simulation, pod)
    simulation.controllers.work()
    simulation.scheduling.take_in()
    if kind == "Pod":
        _check_one(simulation, where, name)
        record = None if alone else _wait_for_turn(simulation, where, name)
        pod = _pod_named(simulation, inventory, where, name)
        return _target(simulation, pod, record)
    item = _workload_named(inventory, kind, where, name)
    if not alone:
        simulation.settle()
    return _of_cron_job(simulation, item) if kind == "CronJob" else _of_workload(simulation, inventory, item)


def daemon_set_named(inventory: Inventory, text: str, namespace: str = "") -> Item | None:
    """Return the DaemonSet that the text names; None if it names something else. Raises TargetError."""
    kind, where, name = _parsed(text, namespace)
    return _workload_named(inventory, kind, where, name) if kind == "DaemonSet" else None


def node_named(text: str) -> str:
    """Return the node's name if the text names a node, such as `node/NAME`; else an empty string."""
    word, _, name = text.partition("/")
    return name if _KINDS.get(word.lower()) == "Node" else ""


def with_namespace(text: str, namespace: str) -> str:
    """Return the same target with the namespace it has by itself or else this one. Raises TargetError."""
    kind, where, name = _parsed(text, namespace)
    if not where:
        return text
    return f"{where}/{name}" if kind == "Pod" else f"{kind.lower()}/{where}/{name}"


def _parsed(text: str, namespace: str) -> _Named:
    parts = text.split("/")
    kind = "Pod"
    if len(parts) > 1 and parts[0].lower() in _KINDS:
        kind = _KINDS[parts.pop(0).lower()]
    if len(parts) == 2 and all(parts):
        if namespace and parts[0] != namespace:
            raise TargetError(f"{text!r} is not in namespace {namespace!r}")
        return kind, parts[0], parts[1]
    if len(parts) == 1 and parts[0]:
        return kind, namespace, parts[0]
    raise TargetError(f"{text!r} names no pod: {_WHAT_TO_WRITE}")


# -- pods -------------------------------------------------------------------------------------------------------------


def _is_named(pod: Pod, namespace: str, name: str) -> bool:
    return pod.metadata.name == name and namespace in ("", pod.metadata.namespace)


def _check_one(simulation: Simulation, namespace: str, name: str) -> None:
    found = [pod for pod in simulation.pods() if _is_named(pod.view, namespace, name)]
    if len(found) > 1:
        raise TargetError(f"there are several pods {name!r}: {', '.join(pod.key for pod in found)}; which one?")


def _pod_named(simulation: Simulation, inventory: Inventory, namespace: str, name: str) -> PlannedPod:
    pods = PodRows(simulation).all()
    for states in (PRESENT, (State.TERMINATING,), (State.FAILED, State.EVICTED)):
        for pod in pods:
            if pod.state in states and _is_named(pod.pod, namespace, name):
                return pod
    raise TargetError(_not_there(pods, inventory, namespace, name))


def _not_there(pods: Sequence[PlannedPod], inventory: Inventory, namespace: str, name: str) -> str:
    where = f" in namespace {namespace!r}" if namespace else ""
    for pod in pods:
        if _is_named(pod.pod, namespace, name):
            if pod.state in (State.ENDED, State.SUCCEEDED):
                return f"pod {name!r}{where} has ended ({pod.pod.status.phase}): it needs no node"
            return f"pod {name!r}{where} is gone ({pod.state.value}): {pod.message}"
    refused = [n for n in inventory.notes if n.object.endswith((f" {name}", f"/{name}")) and n.level == "error"]
    if refused:
        return f"pod {name!r} was refused: {refused[0].message}"
    workloads = [i.key for i in inventory.of_kind(*WORKLOADS, "Node") if i.key.name == name]
    if workloads:
        hints = [f"{key.kind.lower()}/{key.name}" for key in workloads]
        return f"there is no pod {name!r}{where} in the input; did you mean {', '.join(hints)}?"
    known = [pod for pod in pods if namespace in ("", pod.pod.metadata.namespace)]
    close = _close(name, [pod.pod.metadata.name for pod in known])
    if not close and namespace:
        elsewhere = [pod.key for pod in pods if pod.pod.metadata.name == name]
        close = elsewhere[:_MAX_NAMED]
    if not close and (kind := _ALL_KINDS.get(namespace.lower())):
        return f"{namespace}/{name} is a {kind}, which runs no pods: {_WHAT_TO_WRITE}"
    return f"there is no pod {name!r}{where} in the input" + (f"; did you mean {', '.join(close)}?" if close else "")


def _close(name: str, known: Sequence[str]) -> list[str]:
    begins = [other for other in known if other.startswith(f"{name}-")]
    similar = get_close_matches(name, known, n=_MAX_NAMED, cutoff=0.7)
    return list(dict.fromkeys([*begins[:_MAX_NAMED], *similar]))[:_MAX_NAMED]


def _wait_for_turn(simulation: Simulation, namespace: str, name: str) -> PodRecord | None:
    """Go on until it is the pod's turn and it gets a node, then undo that; or until nothing more happens."""

    def follow(action: Action) -> None:
        if _is_named(action.record.pod, namespace, name) and (isinstance(action, Bind) or action.victims):
            raise _ItsTurn(action)

    # A pod that runs is explained while it does, whatever else takes its time.
    leaves = (timer.due for timer in simulation.evictions.timers() if _is_named(timer.pod.view, namespace, name))
    simulation.scheduling.follow = follow
    try:
        simulation.settle(before=min(leaves, default=float("inf")))
    except _ItsTurn as turn:
        record = turn.record
        if record.slot >= 0:
            simulation.cluster.remove_pod(record)
            simulation.scheduler.engines[record.pod.spec.schedulerName].unreserve(record)
        simulation.scheduler.nominations.remove(record.key)
        return record
    return None


def _target(simulation: Simulation, pod: PlannedPod, record: PodRecord | None = None, story: str = "") -> Target:
    if record is not None:
        pod.reason = pod.message = ""  # whatever it waited for before is there now
    else:
        record = simulation.cluster.pods.get(pod.key) or record_of(simulation, pod.key, pod.pod)
    simulation.scheduler.nominations.remove(pod.key)
    return Target(pod, record, story, exists=pod.reason not in (NOT_CREATED, REFUSED))


# -- workloads --------------------------------------------------------------------------------------------------------


def _workload_named(inventory: Inventory, kind: str, namespace: str, name: str) -> Item:
    items = list(inventory.of_kind(kind))
    found = [item for item in items if item.key.name == name and namespace in ("", item.key.namespace)]
    if len(found) == 1:
        return found[0]
    if found:
        several = ", ".join(f"{kind.lower()}/{item.key.namespace}/{name}" for item in found)
        raise TargetError(f"there are several {kind}s {name!r}: {several}; which one?")
    close = get_close_matches(name, [item.key.name for item in items], n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    raise TargetError(f"there is no {kind} {name!r} in the input{hint}")


def _waiting(simulation: Simulation, pods: Sequence[PlannedPod], key: Key) -> Target | None:
    """Return the first of a workload's pods that waits for a node."""
    pending = [pod for pod in pods if not pod.node]
    if not pending:
        return None
    count = f"{len(pending)} of {len(pods)} pods" if len(pods) > 1 else "the pod"
    waits, which = ("wait", "one of them") if len(pending) > 1 else ("waits", "it")
    return _target(simulation, pending[0], story=f"{count} of {key} {waits} for a node; this is {which}")


def _of_cron_job(simulation: Simulation, item: Item) -> Target:
    """Return a pod of one of its Jobs that waits, or one of the next Job, which is made for it."""
    key = item.key
    name, uid = f"{key.name[:50]}-next", item.view.metadata.uid
    jobs = {
        Key("Job", key.namespace, job.name)
        for job in simulation.world.in_namespace(KINDS.JOB, key.namespace)
        if (owner := controller_of(job.view.metadata)) is not None and (owner.kind, owner.name) == (key.kind, key.name)
    }
    pods = [pod for pod in planned_pods(simulation) if pod.owner in jobs]
    waiting = _waiting(simulation, pods, key)
    if waiting is not None:
        return waiting
    template = item.raw["spec"].get("jobTemplate") or {}
    metadata = {**(template.get("metadata") or {}), "name": name, "namespace": key.namespace}
    reference = {"apiVersion": item.kind.api_version, "kind": key.kind, "name": key.name, "uid": uid}
    metadata["ownerReferences"] = [{**reference, "controller": True}]
    document = {
        "apiVersion": KINDS.JOB.api_version,
        "kind": KINDS.JOB.name,
        "metadata": metadata,
        "spec": template.get("spec"),
    }
    try:
        simulation.api.create(KINDS.JOB, document, key.namespace)
    except ApiError as error:
        raise TargetError(f"{key} makes no Job: {error.message}") from None
    simulation.controllers.work()
    simulation.scheduling.take_in()
    made = Key("Job", key.namespace, name)
    following = next((pod for pod in planned_pods(simulation) if pod.owner == made), None)
    if following is None:
        reasons = (message for _, owner, message in simulation.controllers.refused_creates() if owner.endswith(name))
        raise TargetError(f"the Jobs of {key} have no pods: {next(reasons, 'they ask for none')}")
    suspended = ", although it is suspended" if item.view.spec.suspend else ""
    target = _target(
        simulation, following, story=f"no pod of {key} waits; this would be one of its next Job{suspended}"
    )
    target.exists = False
    return target


def _of_workload(simulation: Simulation, inventory: Inventory, item: Item) -> Target:
    """Return the first of its pods that waits; else one that is refused; else the next one it would create."""
    found = simulation.world.get(item.kind, f"{item.key.namespace}/{item.key.name}")
    key = Key(*simulation.workload_of(found)) if found is not None else item.key
    owner = simulation.world.get(kind_of_workload(key.kind), f"{key.namespace}/{key.name}") or found
    if owner is None:
        raise TargetError(f"{key} has no pods")
    pods = [pod for pod in planned_pods(simulation) if pod.owner == key]
    replicas = replicas_of(simulation, inventory, key, owner, pods)
    # A pod that waits for the turn of a refused one is not what there is to explain.
    created = [pod for pod in pods if pod.reason != NOT_CREATED] if replicas.refusal else pods
    target = _waiting(simulation, created, key)
    if target is None and replicas.refusal:
        target = _target(simulation, refused_pod(owner, key, replicas.refusal))
    if target is None and key.kind == "DaemonSet" and pods:
        target = _target(simulation, pods[0], story=f"every node that should run a pod of {key} does; this is one")
    if target is None:
        following = _next_pod(simulation, key, pods)
        failed = failed_line(simulation, inventory, key) if following is None else None
        if failed is not None:
            following = refused_pod(owner, key, failed.message)
        if following is None:
            raise TargetError(f"{key} makes no pods")
        target = _target(simulation, following)
        target.is_next, target.exists = True, False
    target.replicas = replicas
    return target


def _next_pod(simulation: Simulation, key: Key, pods: Sequence[PlannedPod]) -> PlannedPod | None:
    """Return the pod that a controller makes if it is asked for one more; None for a DaemonSet."""
    count = len(pods) + 1
    if key.kind == "DaemonSet":
        return None
    found = simulation.world.get(kind_of_workload(key.kind), f"{key.namespace}/{key.name}")
    if found is None:
        return None
    wanted: Raw = {"replicas": count}
    if key.kind == "Job":
        wanted = {"parallelism": count, "completions": None, "suspend": False}
    raw = {**found.raw, "spec": {**found.raw["spec"], **wanted}}
    simulation.api.put(found.kind, raw, view_of(raw))
    simulation.controllers.work()
    simulation.scheduling.take_in()
    known = {pod.key for pod in pods}
    return next((pod for pod in planned_pods(simulation) if pod.owner == key and pod.key not in known), None)
