"""Which pod is to be explained, and the cluster at the moment at which the scheduler looks at it.

In: `pod/web-1`, `web-1`, `shop/web-1`, `deployment/web`, and a world with all pods made and none placed. Out: a
`Target`: the pod, and a world in which whoever comes before it in the queue has been placed, as `moorage plan` would.
Of a workload it is the first pod that stays Pending, or the next one if all of them fit.
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

import msgspec

from moorage.columns.cluster import PodRecord
from moorage.plan.input.inventory import Item, Key
from moorage.plan.owners import WORKLOADS
from moorage.plan.placement import Placement
from moorage.plan.planned_pod import PlannedPod
from moorage.plan.world import World
from moorage.schedule.actions import Action, Bind

_KINDS = {
    **dict.fromkeys(("pod", "pods", "po"), "Pod"),
    **dict.fromkeys(("deployment", "deployments", "deploy", "deployment.apps"), "Deployment"),
    **dict.fromkeys(("replicaset", "replicasets", "rs", "replicaset.apps"), "ReplicaSet"),
    **dict.fromkeys(("statefulset", "statefulsets", "sts", "statefulset.apps"), "StatefulSet"),
    **dict.fromkeys(("daemonset", "daemonsets", "ds", "daemonset.apps"), "DaemonSet"),
    **dict.fromkeys(("job", "jobs", "job.batch"), "Job"),
}
_MAX_NAMED = 5
_Named = tuple[str, str, str]  # kind, namespace ("" for any), name


class TargetError(Exception):
    """The pod is not there, or is several; `str()` says so to the user."""


class Target(msgspec.Struct):
    """The pod to be explained. `story` says how it comes to be this one, where that is not obvious."""

    pod: PlannedPod
    record: PodRecord
    story: str = ""


class _ItsTurn(Exception):
    """Stops the placement where the pod gets a node, or would evict others."""


def find_target(world: World, placement: Placement, text: str, namespace: str = "", *, alone: bool = False) -> Target:
    """Find the pod and bring the world to its turn; with `alone`, nobody is placed before it. Raises TargetError."""
    kind, where, name = _parsed(text, namespace)
    if kind == "Pod":
        pod = _pod_named(world, where, name)
        if not pod.node and not alone:
            _wait_for_turn(world, placement, pod)
        return _target(pod)
    item = _workload_named(world, kind, where, name)
    if not alone:
        placement.run()
    return _of_workload(world, item)


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
    raise TargetError(f"{text!r} names no pod: write pod/NAME, NAMESPACE/NAME or deployment/NAME")


# -- pods -------------------------------------------------------------------------------------------------------------


def _pod_named(world: World, namespace: str, name: str) -> PlannedPod:
    found = [
        pod
        for pod in world.pods.values()
        if pod.pod.metadata.name == name and namespace in ("", pod.pod.metadata.namespace)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise TargetError(f"there are several pods {name!r}: {_listed(pod.key for pod in found)}; which one?")
    raise TargetError(_not_there(world, namespace, name))


def _not_there(world: World, namespace: str, name: str) -> str:
    where = f" in namespace {namespace!r}" if namespace else ""
    finished = [
        item
        for item in world.inventory.of_kind("Pod")
        if item.key.name == name and namespace in ("", item.key.namespace)
    ]
    if finished:
        return f"pod {name!r}{where} has ended ({finished[0].view.status.phase}): it needs no node"
    refused = [n for n in world.inventory.notes if n.subject.endswith((f" {name}", f"/{name}")) and n.level == "error"]
    if refused:
        return f"pod {name!r} was refused: {refused[0].message}"
    workloads = [i.key for i in world.inventory.of_kind(*WORKLOADS) if i.key.name == name]
    if workloads:
        hints = [f"{key.kind.lower()}/{key.name}" for key in workloads]
        return f"there is no pod {name!r}{where} in the input; did you mean {_listed(hints)}?"
    known = [pod for pod in world.pods.values() if namespace in ("", pod.pod.metadata.namespace)]
    close = _close(name, [pod.pod.metadata.name for pod in known])
    if not close and namespace:
        elsewhere = [pod.key for pod in world.pods.values() if pod.pod.metadata.name == name]
        close = elsewhere[:_MAX_NAMED]
    return f"there is no pod {name!r}{where} in the input" + (f"; did you mean {_listed(close)}?" if close else "")


def _close(name: str, known: Sequence[str]) -> list[str]:
    begins = [other for other in known if other.startswith(f"{name}-")]
    similar = get_close_matches(name, known, n=_MAX_NAMED, cutoff=0.7)
    return list(dict.fromkeys([*begins[:_MAX_NAMED], *similar]))[:_MAX_NAMED]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def _wait_for_turn(world: World, placement: Placement, target: PlannedPod) -> None:
    """Place pods until it is the target's turn and it gets a node, then undo that; or until nobody can be placed."""

    def follow(action: Action) -> None:
        if action.record.key == target.key and (isinstance(action, Bind) or action.victims):
            raise _ItsTurn

    placement.follow = follow
    try:
        placement.run()
    except _ItsTurn:
        target.reason = target.message = ""  # whatever it waited for before is there now
        record = target.record
        if record is not None and record.slot >= 0:
            world.cluster.remove_pod(record)
            world.scheduler.engines[target.pod.spec.schedulerName].unreserve(record)
    world.scheduler.nominations.remove(target.key)


def _target(pod: PlannedPod, story: str = "") -> Target:
    if pod.record is None:
        raise TargetError(f"pod {pod.key} is not part of the plan")
    return Target(pod, pod.record, story)


# -- workloads --------------------------------------------------------------------------------------------------------


def _workload_named(world: World, kind: str, namespace: str, name: str) -> Item:
    items = list(world.inventory.of_kind(kind))
    found = [item for item in items if item.key.name == name and namespace in ("", item.key.namespace)]
    if len(found) == 1:
        return found[0]
    if found:
        several = _listed(f"{kind.lower()}/{item.key.namespace}/{name}" for item in found)
        raise TargetError(f"there are several {kind}s {name!r}: {several}; which one?")
    close = get_close_matches(name, [item.key.name for item in items], n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    raise TargetError(f"there is no {kind} {name!r} in the input{hint}")


def _of_workload(world: World, item: Item) -> Target:
    above = world.owners.above(item)
    key = above or item.key
    pods = world.pods_of(key)
    pending = [pod for pod in pods if not pod.node]
    if pending:
        count = f"{len(pending)} of {len(pods)} pods" if len(pods) > 1 else "the pod"
        waits = "wait" if len(pending) > 1 else "waits"
        return _target(pending[0], f"{count} of {key} {waits} for a node; this is one")
    if key in world.failed:
        raise TargetError(f"{key} has no pods: {world.failed[key].message}")
    following = _next_pod(world, world.inventory.items[key], pods)
    if following is not None:
        whole = "the pod" if len(pods) == 1 else f"all {len(pods)} pods"
        has = f"{whole} of {key} {'has' if len(pods) == 1 else 'have'} a node" if pods else f"{key} has no pods"
        return _target(following, f"{has}; this would be the next one")
    if pods:
        return _target(pods[0], f"every node that should run a pod of {key} does; this is one")
    raise TargetError(f"{key} has no pods")


def _next_pod(world: World, item: Item, pods: Sequence[PlannedPod]) -> PlannedPod | None:
    """The pod that a controller would make if it were asked for one more; None for a DaemonSet."""
    view, count = item.view, len(pods) + 1
    if item.key.kind == "DaemonSet":
        return None
    if item.key.kind == "Job":
        wanted = {"parallelism": count, "completions": None, "suspend": False}
    else:
        wanted = {"replicas": count}
    larger = msgspec.structs.replace(view, spec=msgspec.structs.replace(view.spec, **wanted))
    world.inventory.items[item.key] = msgspec.structs.replace(item, view=larger)
    made = world.reconcile(only={item.key})
    return made[-1] if made else None


def owner_text(owner: Key | None) -> str:
    return str(owner) if owner is not None else ""
