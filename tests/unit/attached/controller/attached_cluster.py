"""A cluster that knows no thresholds, with the controllers of attach beside it, in virtual time.

Nodes are written as the mirror policy has them: with their labels, in the same write.
"""

from collections.abc import Callable, Iterable
from typing import Any

from tests.controller_context import controller_context
from tests.unit.control.cluster_objects import pod
from tests.unit.control.cluster_objects import taint as taint
from tests.virtual_cluster import VirtualCluster

from moorage.attach.mirror import mirrored
from moorage.attach.objects import lowered
from moorage.attached.controller.registry import CONTROLLERS, AttachedContext, EvictBy
from moorage.control.framework.controller import Controller
from moorage.control.taint_eviction import TaintEvictionController
from moorage.match.evaluation.accounts import Evaluations
from moorage.model.api_error import ApiError
from moorage.model.gates import GateSet, all_gates, gates_from
from moorage.model.kinds import KINDS
from moorage.telemetry.metrics import Metrics

Raw = dict[str, Any]
ALL_OFF: GateSet = gates_from({"AllAlpha": False})


def tolerates(operator: str, value: str = "", key: str = "spot", effect: str = "NoExecute", **more: Any) -> Raw:
    fields = {"key": key, "operator": operator, "value": value, "effect": effect, **more}
    return {name: field for name, field in fields.items() if field != ""}


def lowered_pod(name: str, on: str, *tolerations: Raw, **more: Any) -> Raw:
    return lowered(pod(name, on, *tolerations, **more))


def attached(
    *names: str, metrics: Metrics | None = None, evict_by: EvictBy = EvictBy.DELETE, evaluations: Any = None
) -> list[Controller]:
    """Return the controllers of attach with these names; all without any."""
    framework = controller_context(all_gates(), metrics or Metrics(), evaluations=evaluations or Evaluations())
    context = AttachedContext(framework, evict_by=evict_by)
    return [row.make(context) for row in CONTROLLERS if not names or row.name in names]


def beside_a_cluster(
    *names: str, metrics: Metrics | None = None, evict_by: EvictBy = EvictBy.DELETE
) -> Callable[[], Iterable[Controller]]:
    """Return what makes the cluster's own eviction of pods, and controllers of attach."""

    def make() -> Iterable[Controller]:
        own = TaintEvictionController(controller_context(ALL_OFF))
        return [own, *attached(*names, metrics=metrics, evict_by=evict_by)]

    return make


async def put_node(cluster: VirtualCluster, name: str, *taints: Raw, **labels: str) -> None:
    """Create or change a node; its labels are those given, and what the mirror makes of all."""
    try:
        old: Raw | None = (await cluster.client.get(KINDS.NODE, name)).raw
    except ApiError:
        old = None
    metadata: Raw = {"name": name, "labels": dict(labels)}
    if old is not None:
        ours = {key: value for key, value in old["metadata"]["labels"].items() if "moorage.dev/" in key}
        metadata = {**old["metadata"], "labels": {**labels, **ours}}
        metadata.pop("managedFields", None)
    node = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"taints": list(taints)}}
    metadata["labels"] = mirrored(node, old)
    if old is None:
        await cluster.client.create(KINDS.NODE, {**node, "status": {}})
    else:
        await cluster.client.update(KINDS.NODE, {**old, **node})


async def names_of_pods(cluster: VirtualCluster) -> set[str]:
    return {found.name for found in await cluster.all(KINDS.POD)}


def metric(metrics: Metrics, line: str) -> float:
    """Return the value of a metric by its name and labels, as they are rendered; 0 if it is absent."""
    lines = metrics.render()[0].decode().splitlines()
    return next((float(each.split()[-1]) for each in lines if each.startswith(line + " ")), 0.0)
