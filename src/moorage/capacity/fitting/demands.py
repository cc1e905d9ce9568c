"""Say which pods of a simulated cluster wait for nodes, and make a problem of them and of the kinds of node of pools.

Pods that need the same and are taken by the same kinds of node are one shape. What depends on other nodes or on where
other pods are (affinity, spread, volumes that follow the first pod) is left to the simulation.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
import numpy as np

from moorage.capacity.fitting.model.problem import NO_BOUND, Bound, Mask, Problem
from moorage.columns.resources import PODS, Amounts, amount, amounts
from moorage.columns.shape import EVERY_ADDRESS, Shape
from moorage.match.pod_affinity import compile_pod_affinity
from moorage.model.types.pod import Pod
from moorage.model.well_known.labels import HOSTNAME
from moorage.plan.pod_lines import PlannedPod, State, planned_pods, why_kept_out
from moorage.plan.pools.pool_nodes import NodeKind, without_node
from moorage.plan.simulation.simulation import Simulation
from moorage.pools.growth import Growth
from moorage.pools.node_template import Pool

_KEPT_OUT = "waits for something else than nodes"


class Waiting(msgspec.Struct, frozen=True, eq=False):
    """Pods of one shape that wait for a node: one of them, how many of each workload, and what one needs."""

    pod: Pod
    key: str
    workloads: Mapping[str, int]
    amounts: Amounts

    @property
    def number(self) -> int:
        return sum(self.workloads.values())

    @property
    def names(self) -> str:
        return ", ".join(self.workloads)


class Demands(msgspec.Struct, frozen=True, eq=False):
    """Pods that wait for nodes by shape, and pods that no node would help, with the reason.

    `reasons` say why pods wait, by the first of each shape.
    """

    waiting: list[Waiting]
    kept_out: dict[str, str]
    reasons: dict[str, str] = {}

    @property
    def number(self) -> int:
        return sum(one.number for one in self.waiting)


def demands_of(simulation: Simulation) -> Demands:
    """Return the pods without a node, also those that a StatefulSet has yet to make."""
    by_shape: dict[Shape, list[PlannedPod]] = {}
    with_claims: dict[object, Shape] = {}
    kept_out: dict[str, str] = {}
    for pod in planned_pods(simulation):
        if pod.state is not State.PENDING:
            continue
        reason = why_kept_out(simulation, pod.pod)
        if reason is not None:
            kept_out[pod.key] = reason[1] or _KEPT_OUT
            continue
        shape = simulation.cluster.shape_of(without_node(pod.pod), by_name=True)
        if (alike := _but_for_claims(pod)) is not None:
            shape = with_claims.setdefault(alike, shape)
        by_shape.setdefault(shape, []).append(pod)
    waiting = [
        Waiting(
            pods[0].pod,
            pods[0].key,
            Counter(pod.workload or f"Pod {pod.key}" for pod in pods),
            {**shape.requests, PODS: 1, **dict.fromkeys(_single(shape), 1)},
        )
        for shape, pods in by_shape.items()
    ]
    return Demands(waiting, kept_out, {pods[0].key: pods[0].message for pods in by_shape.values()})


def _but_for_claims(pod: PlannedPod) -> object:
    """Return what pods of a workload have in common that differ by claims made of templates; None for other pods."""
    spec = pod.pod.spec
    is_own = bool(spec.resourceClaims) and all(one.resourceClaimTemplateName for one in spec.resourceClaims)
    if not is_own or not pod.workload or any(one.persistentVolumeClaim is not None for one in spec.volumes):
        return None
    return pod.workload, repr(msgspec.structs.replace(spec, hostname="", nodeName=""))


def _single(shape: Shape) -> Iterator[str]:
    """Yield names for what only one pod of a node may have: host ports, and the place beside pods like itself."""
    for address, protocol, port in shape.host_ports:
        if address == EVERY_ADDRESS:
            yield f"host port {port}/{protocol}"
    for term in compile_pod_affinity(shape.spec.affinity, shape.namespace).required_anti_affinity:
        if term.topologyKey == HOSTNAME and term.match(shape.labels, shape.namespace, {}):
            yield f"one pod per node: {shape.namespace} {term.selector!r}"


class Shapes(msgspec.Struct, frozen=True, eq=False):
    """A problem, and which pods its shapes stand for."""

    problem: Problem
    waiting: list[list[Waiting]]


def problem_of(
    waiting: Sequence[Waiting], takes: Mask, kinds: Sequence[NodeKind], growths: Mapping[str, Growth]
) -> Shapes:
    """Return the problem of placing pods on new nodes of these kinds, with what their pools may still start."""
    resources = list(dict.fromkeys(name for one in waiting for name in one.amounts))
    groups: dict[tuple[object, ...], list[int]] = {}
    for index, one in enumerate(waiting):
        key = tuple(one.amounts.get(name, 0) for name in resources), takes[index].tobytes()
        groups.setdefault(key, []).append(index)
    first = [indexes[0] for indexes in groups.values()]
    rooms = np.zeros((len(kinds), len(resources)))
    for row, kind in enumerate(kinds):
        room = kind.room
        rooms[row] = [room.get(name, 1 if _is_single(name) else 0) for name in resources]
    problem = Problem(
        resources,
        np.array([sum(waiting[i].number for i in indexes) for indexes in groups.values()], np.int64),
        np.array([[waiting[i].amounts.get(name, 0) for name in resources] for i in first], np.float64).reshape(
            len(first), len(resources)
        ),
        rooms,
        takes[first].reshape(len(first), len(kinds)),
        np.array([kind.template.price for kind in kinds], np.float64),
        tuple(bounds_of(kinds, growths)),
    )
    return Shapes(problem, [[waiting[i] for i in indexes] for indexes in groups.values()])


def _is_single(name: str) -> bool:
    return " " in name


def bounds_of(kinds: Sequence[NodeKind], growths: Mapping[str, Growth]) -> Iterable[Bound]:
    """Yield what pools may still start: nodes, and amounts of resources that they have a limit of."""
    for growth in growths.values():
        pool = growth.pool
        mine = np.array([kind.pool.name == pool.name for kind in kinds], np.float64)
        if not mine.any():
            continue
        more, least = growth.more_nodes, (pool.least if pool.replicas is None else pool.replicas) - growth.nodes
        if more is not None or least > 0:
            yield Bound(
                f"{pool.name}: {_bound_name(pool, growth)}",
                mine,
                NO_BOUND if more is None else float(more),
                float(max(least, 0)),
            )
        for resource, limit in pool.limits.items():
            shares = np.array(
                [amounts(kind.template.capacity).get(resource, 0) if mine[i] else 0 for i, kind in enumerate(kinds)],
                np.float64,
            )
            used = amount(resource, growth.used[resource]) if resource in growth.used else 0
            yield Bound(f"{pool.name}: limits.{resource}", shares, float(amount(resource, limit) - used))


def _bound_name(pool: Pool, growth: Growth) -> str:
    if pool.replicas is not None:
        return "replicas"
    if growth.more_nodes is None:
        return "minSize"
    return "limits.nodes" if pool.kind == "NodePool" else "maxSize"
