"""Wait until a cluster has settled: nodes ready, pods created and running, or found not to fit.

Workloads whose pods are refused at admission, such as by a ResourceQuota, do not settle by waiting: if nothing else is
waited for, that is an error at once. Kubernetes: kind's --wait, kubectl wait.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any, NamedTuple

from moorage.client.protocol import Client
from moorage.cluster.cannot_start import CannotStart
from moorage.control.framework.workloads import is_ready
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.pod import FINISHED_PHASES
from moorage.plan.report.node_lists import MAX_NAMED, shown_nodes

_WORKLOADS = (
    KINDS.DEPLOYMENT,
    KINDS.REPLICA_SET,
    KINDS.STATEFUL_SET,
    KINDS.DAEMON_SET,
    KINDS.REPLICATION_CONTROLLER,
    KINDS.JOB,
)
_LOOK_EVERY = 0.1
_MAX_NAMED = 3
_NODE = "node "
#: How long refusals last that count: a new namespace has no service account for a moment.
_PATIENCE = 3.0
_FAILED_CREATE, _REPLICA_FAILURE = "FailedCreate", "ReplicaFailure"
_FORBIDDEN = " is forbidden: "


class _Unsettled(NamedTuple):
    """What is waited for. Of a workload, `pods` says how many there are; `refusal` is why there are not more."""

    name: str
    pods: str = ""
    refusal: str = ""


async def settled(client: Client, seconds: float) -> str:
    """Wait this many seconds at most; return what is not settled by then, empty if all is.

    Raises CannotStart if all that is left are workloads whose pods are refused.
    """
    waiting: list[_Unsettled] = []
    refused_since: float | None = None
    try:
        async with asyncio.timeout(seconds):
            while waiting := [item async for item in _unsettled(client)]:
                now = asyncio.get_running_loop().time()
                if not all(item.refusal for item in waiting):
                    refused_since = None
                elif refused_since is None:
                    refused_since = now
                elif now - refused_since >= _PATIENCE:
                    break
                await asyncio.sleep(_LOOK_EVERY)
    except TimeoutError:
        named = _listed(list(_names(waiting)))
        return f"not everything is ready after {seconds:g} seconds: {named}"
    if waiting:
        refused = _listed([f"{item.name} has {item.pods}: {item.refusal}" for item in waiting], "; ")
        raise CannotStart(
            f"--wait: pods are refused, which waiting does not change: {refused}\n"
            "without --wait the cluster starts all the same"
        )
    return ""


def _names(waiting: list[_Unsettled]) -> Iterator[str]:
    """Return what is waited for; many nodes as one entry."""
    nodes = [item.name.removeprefix(_NODE) for item in waiting if item.name.startswith(_NODE)]
    if len(nodes) > MAX_NAMED:
        yield shown_nodes(nodes)
    yield from (item.name for item in waiting if len(nodes) <= MAX_NAMED or not item.name.startswith(_NODE))


def _listed(names: list[str], between: str = ", ") -> str:
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return between.join(names[:_MAX_NAMED]) + more


async def _unsettled(client: Client) -> AsyncIterator[_Unsettled]:
    for node in (await client.list_all(KINDS.NODE)).items:
        if not is_ready(node.view):
            yield _Unsettled(f"{_NODE}{node.key}")
    refusals: dict[str, str] | None = None
    for kind in _WORKLOADS:
        for item in (await client.list_all(kind)).items:
            view = item.view
            if kind is KINDS.REPLICA_SET and any(owner.controller for owner in view.metadata.ownerReferences):
                continue  # its Deployment says the same
            existing, expected = _pod_counts(kind, view)
            failure = _replica_failure(view)
            if _is_observed(kind, view) and existing == expected and not failure:
                continue
            if refusals is None:
                refusals = await _refusals(client)
            refusal = failure or refusals.get(view.metadata.uid, "")
            yield _Unsettled(f"{kind.name.lower()} {item.key}", f"{existing} of {expected} pods", refusal)
    for pod in (await client.list_all(KINDS.POD)).items:
        if not _is_pod_settled(pod.view):
            yield _Unsettled(f"pod {pod.key}")


async def _refusals(client: Client) -> dict[str, str]:
    """Return why pods of workloads were refused, by the workload's uid, as events say."""
    events = (await client.list_all(KINDS.EVENT, fields=f"reason={_FAILED_CREATE}")).items
    return {event.view.involvedObject.uid: _reason(event.view.message) for event in events}


def _replica_failure(view: Any) -> str:
    for condition in getattr(view.status, "conditions", ()):
        if (condition.type, condition.status, condition.reason) == (_REPLICA_FAILURE, "True", _FAILED_CREATE):
            return _reason(condition.message)
    return ""


def _reason(message: str) -> str:
    """Leave out which pod was refused: its name is made up at each try."""
    before, forbidden, reason = message.partition(_FORBIDDEN)
    return reason if forbidden else before


def _is_observed(kind: Kind, view: Any) -> bool:
    """Return whether the controller has seen the workload as it is now."""
    if kind is KINDS.JOB:
        return view.status.startTime is not None or bool(view.spec.suspend or view.spec.managedBy)
    return (view.status.observedGeneration or 0) >= (view.metadata.generation or 0)


def _pod_counts(kind: Kind, view: Any) -> tuple[int, int]:
    """Return how many pods a workload has, or had, and how many it should have."""
    spec, status = view.spec, view.status
    if kind is KINDS.DAEMON_SET:
        return status.currentNumberScheduled, status.desiredNumberScheduled
    if kind is KINDS.JOB:
        parallelism = 1 if spec.parallelism is None else spec.parallelism
        expected = parallelism if spec.completions is None else min(parallelism, spec.completions)
        over = spec.suspend or spec.managedBy or any(condition.status == "True" for condition in status.conditions)
        created = status.active + status.succeeded + status.failed + (status.terminating or 0)
        return (expected if over else min(created, expected)), expected
    existing = status.replicas or 0
    if kind is KINDS.DEPLOYMENT and _replica_failure(view):
        existing = status.updatedReplicas or 0
    return existing, existing if spec.replicas is None else spec.replicas


def _conditions(view: Any) -> Iterator[tuple[str, str]]:
    return ((condition.type, condition.status) for condition in view.status.conditions)


def _is_pod_settled(pod: Any) -> bool:
    if pod.metadata.deletionTimestamp is not None or pod.status.phase in ("Running", *FINISHED_PHASES):
        return True
    return not pod.spec.nodeName and ("PodScheduled", "False") in _conditions(pod)
