"""A scheduler written to be read: Kubernetes' default plugins for one pod, from nothing, node by node and pod by pod.

In: a `World` of plain dicts and lists. Out: who refuses which node, what each plugin scores, and the best node. Nothing
is kept between two questions or shared with the engine but what `moorage.match` says of one selector or toleration; the
laws compare the engine with it. Spread and pod affinity are in `naive_spread_and_affinity`; volumes are left out.
Kubernetes: pkg/scheduler/schedule_one.go and framework/plugins, with the weights of apis/config/v1/default_plugins.go.
Differs, as Moorage does: all nodes are asked, an image is as large as the node says, and ties are broken by a number.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cmp_to_key, reduce

import msgspec
from tests.laws.naive_int64 import go, improved, least, weighted
from tests.laws.naive_spread_and_affinity import (
    World,
    affinity_refusals,
    affinity_scores,
    spread_refusals,
    spread_scores,
)

from moorage.match.label_selector import compile_label_set
from moorage.match.node_selector import compile_preferred_terms, compile_required_node_affinity
from moorage.match.tolerations import compile_tolerations
from moorage.model.quantity import Quantity
from moorage.model.types.container import Container
from moorage.model.types.node import Node, Taint
from moorage.model.types.pod import Pod, TopologySpreadConstraint

Scores = dict[str, int]  # by the node's name
_MIB = 1024 * 1024

# What a pod without constraints gets if a Service selects it.
SPREAD_BY_DEFAULT = (
    TopologySpreadConstraint(maxSkew=3, topologyKey="kubernetes.io/hostname", whenUnsatisfiable="ScheduleAnyway"),
    TopologySpreadConstraint(maxSkew=5, topologyKey="topology.kubernetes.io/zone", whenUnsatisfiable="ScheduleAnyway"),
)


# -- what a pod asks for ----------------------------------------------------------------------------------------------


def _number(resource: str, quantity: Quantity) -> int:
    return quantity.milli_value() if resource == "cpu" else quantity.value()


def request(pod: Pod, resource: str, if_unsaid: int = 0) -> int:
    """The most of a resource that a pod uses at any moment: while an init container runs, or when all have started.

    Quantities are added exactly; the sum becomes an int64.
    """
    default = Quantity.from_milli(if_unsaid) if resource == "cpu" else Quantity.from_int(if_unsaid)

    def of(container: Container) -> Quantity:
        return container.resources.requests.get(resource, default)

    sidecars = Quantity.from_int(0)
    moments: list[Quantity] = []
    for container in pod.spec.initContainers:
        if container.restartPolicy == "Always":
            sidecars = sidecars.add(of(container))
            moments.append(sidecars)
        else:
            moments.append(sidecars.add(of(container)))
    moments.append(reduce(Quantity.add, map(of, pod.spec.containers), sidecars))
    most = max(moments, key=cmp_to_key(Quantity.compare))
    overhead = pod.spec.overhead.get(resource)
    return _number(resource, most if overhead is None else most.add(overhead))


def _taken(pods: Iterable[Pod], resource: str, if_unsaid: int = 0) -> int:
    """What pods take together, in Go's int64, which wraps around."""
    return go(sum(request(pod, resource, if_unsaid) for pod in pods))


def resources_of(pod: Pod) -> set[str]:
    named = [container.resources.requests for container in (*pod.spec.containers, *pod.spec.initContainers)]
    return {resource for requests in (*named, pod.spec.overhead) for resource in requests}


def capacity(node: Node, resource: str) -> int:
    quantity = node.status.allocatable.get(resource)
    return 0 if quantity is None else _number(resource, quantity)


def ports(pod: Pod) -> list[tuple[str, str, int]]:
    sidecars = [container for container in pod.spec.initContainers if container.restartPolicy == "Always"]
    return [
        (port.hostIP or "0.0.0.0", port.protocol or "TCP", port.hostPort)
        for container in (*pod.spec.containers, *sidecars)
        for port in container.ports
        if port.hostPort
    ]


def ports_conflict(one: Iterable[tuple[str, str, int]], other: Iterable[tuple[str, str, int]]) -> bool:
    wildcard = "0.0.0.0"
    return any(
        (protocol, number) == (their_protocol, their_number) and (ip == their_ip or wildcard in (ip, their_ip))
        for ip, protocol, number in one
        for their_ip, their_protocol, their_number in other
    )


# -- filters ----------------------------------------------------------------------------------------------------------


def _unschedulable(pod: Pod, node: Node, world: World) -> bool:
    cordon = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
    return node.spec.unschedulable and not compile_tolerations(pod.spec.tolerations, world.gates).tolerates(cordon)


def _another_name(pod: Pod, node: Node, world: World) -> bool:
    return pod.spec.nodeName not in ("", node.metadata.name)


def _tainted(pod: Pod, node: Node, world: World) -> bool:
    tolerations = compile_tolerations(pod.spec.tolerations, world.gates)
    return any(
        taint.effect in ("NoSchedule", "NoExecute") and not tolerations.tolerates(taint) for taint in node.spec.taints
    )


def _another_affinity(pod: Pod, node: Node, world: World) -> bool:
    required = compile_required_node_affinity(pod.spec.nodeSelector, pod.spec.affinity, world.gates)
    return not required.match(node.metadata.labels, node.metadata.name)


def _ports_taken(pod: Pod, node: Node, world: World) -> bool:
    return any(ports_conflict(ports(pod), ports(other)) for other in world.pods[node.metadata.name])


def _too_full(pod: Pod, node: Node, world: World) -> bool:
    there = world.pods[node.metadata.name]
    if len(there) + 1 > capacity(node, "pods"):
        return True
    for resource in resources_of(pod):
        free = go(capacity(node, resource) - _taken(there, resource))
        if 0 < request(pod, resource) > free:
            return True
    return False


_NODE_FILTERS: tuple[tuple[str, Callable[[Pod, Node, World], bool]], ...] = (
    ("NodeUnschedulable", _unschedulable),
    ("NodeName", _another_name),
    ("TaintToleration", _tainted),
    ("NodeAffinity", _another_affinity),
    ("NodePorts", _ports_taken),
    ("NodeResourcesFit", _too_full),
)


def _needed_features(pod: Pod) -> set[str]:
    needed = {"UserNamespacesHostNetworkSupport"} if pod.spec.hostNetwork and pod.spec.hostUsers is False else set()
    for container in [*pod.spec.containers, *pod.spec.initContainers]:
        if "RestartAllContainers" in [rule.action for rule in container.restartPolicyRules]:
            needed.add("RestartAllContainersOnContainerExits")
    return needed


def refusals(pod: Pod, world: World) -> dict[str, str]:
    """For each node that is refused, the first plugin that does."""
    refused: dict[str, str] = {}
    spread, affinity = spread_refusals(pod, world), affinity_refusals(pod, world)
    for name, node in world.nodes.items():
        by = [plugin for plugin, refuses in _NODE_FILTERS if refuses(pod, node, world)]
        by += ["PodTopologySpread"] if name in spread else []
        by += ["InterPodAffinity"] if name in affinity else []
        by += ["NodeDeclaredFeatures"] if _needed_features(pod) - set(node.status.declaredFeatures) else []
        if by:
            refused[name] = by[0]
    return refused


# -- scores -----------------------------------------------------------------------------------------------------------


def _in_proportion(raw: Scores, is_reversed: bool = False) -> Scores:
    highest = max(raw.values(), default=0)
    if highest == 0:
        return dict.fromkeys(raw, 100) if is_reversed else raw
    scaled = {name: 100 * score // highest for name, score in raw.items()}
    return {name: 100 - score for name, score in scaled.items()} if is_reversed else scaled


def _soft_taints(pod: Pod, world: World, feasible: list[str]) -> Scores:
    soft = [toleration for toleration in pod.spec.tolerations if toleration.effect in ("", "PreferNoSchedule")]
    tolerations = compile_tolerations(soft, world.gates)
    counted = {
        name: sum(
            taint.effect == "PreferNoSchedule" and not tolerations.tolerates(taint)
            for taint in world.nodes[name].spec.taints
        )
        for name in feasible
    }
    return _in_proportion(counted, is_reversed=True)


def _preferred_labels(pod: Pod, world: World, feasible: list[str]) -> Scores:
    affinity = pod.spec.affinity.nodeAffinity if pod.spec.affinity is not None else None
    wishes = affinity.preferredDuringSchedulingIgnoredDuringExecution if affinity is not None else ()
    preferred = compile_preferred_terms(wishes, world.gates)
    return _in_proportion(
        {name: preferred.score(world.nodes[name].metadata.labels, name) for name in feasible}
        if wishes
        else dict.fromkeys(feasible, 0)
    )


def _least_allocated(pod: Pod, world: World, feasible: list[str]) -> Scores:
    def score(name: str) -> int:
        needs = []
        for resource, if_unsaid in (("cpu", 100), ("memory", 200 * _MIB)):
            asked = _taken((*world.pods[name], pod), resource, if_unsaid)
            needs.append((asked, capacity(world.nodes[name], resource)))
        return weighted(least, needs)

    return {name: score(name) for name in feasible}


def _balanced(pod: Pod, world: World, feasible: list[str]) -> Scores:
    resources = ("cpu", "memory")
    if not any(request(pod, resource) for resource in resources):
        return {}

    def needs(node: Node, pods: Iterable[Pod]) -> list[tuple[int, int]]:
        there = list(pods)
        return [(_taken(there, resource), capacity(node, resource)) for resource in resources]

    def score(name: str) -> int:
        node, there = world.nodes[name], world.pods[name]
        return improved(needs(node, there), needs(node, (*there, pod)))

    return {name: score(name) for name in feasible}


def _images(pod: Pod, world: World, feasible: list[str]) -> Scores:
    containers = (*pod.spec.initContainers, *pod.spec.containers)

    def sizes(node: Node, image: str) -> list[int]:
        tagged = image if ":" in image.rpartition("/")[2] else f"{image}:latest"
        return [there.sizeBytes for there in node.status.images if tagged in there.names]

    def score(name: str) -> int:
        total = 0
        for container in containers:
            having = sum(bool(sizes(node, container.image)) for node in world.nodes.values())
            here = sizes(world.nodes[name], container.image)
            if here:
                total += int(here[0] * (having / len(world.nodes)))
        least, most = 23 * _MIB, 1000 * _MIB * len(containers)
        return 100 * (min(max(total, least), most) - least) // (most - least)

    return {name: score(name) for name in feasible}


class ReferenceScheduler(msgspec.Struct, frozen=True):
    """Kubernetes' default profile over a world. `services` has the selector of each namespace's one Service."""

    world: World
    services: Mapping[str, Mapping[str, str]]

    def feasible(self, pod: Pod) -> list[str]:
        refused = refusals(pod, self.world)
        return [name for name in self.world.nodes if name not in refused]

    def scores(self, pod: Pod, feasible: list[str]) -> dict[str, Scores]:
        """What each plugin adds to each feasible node; a plugin that adds nothing anywhere is left out."""
        world = self.world
        selector = self.services.get(pod.metadata.namespace, {})
        served = all(pod.metadata.labels.get(key) == value for key, value in selector.items())
        by_service = compile_label_set(selector if served else {})
        spread = spread_scores(pod, world, feasible, SPREAD_BY_DEFAULT, by_service)
        table: tuple[tuple[str, int, Scores | None], ...] = (
            ("TaintToleration", 3, _soft_taints(pod, world, feasible)),
            ("NodeAffinity", 2, _preferred_labels(pod, world, feasible)),
            ("PodTopologySpread", 2, spread),
            ("InterPodAffinity", 2, affinity_scores(pod, world, feasible)),
            ("NodeResourcesFit", 1, _least_allocated(pod, world, feasible)),
            ("NodeResourcesBalancedAllocation", 1, _balanced(pod, world, feasible)),
            ("ImageLocality", 1, _images(pod, world, feasible)),
        )
        return {
            plugin: {name: weight * score for name, score in scores.items()}
            for plugin, weight, scores in table
            if scores and any(scores.values())
        }

    def best(self, pod: Pod, tie: Mapping[str, int]) -> str | None:
        """The node with the highest total; between equals, that with the largest number."""
        feasible = self.feasible(pod)
        if not feasible:
            return None
        table = self.scores(pod, feasible).values()
        return max(feasible, key=lambda name: (sum(scores[name] for scores in table), tie[name]))


def overcommitted(world: World) -> list[str]:
    """The nodes that hold more than they have, or two pods that need one port."""

    def is_too_much(name: str) -> bool:
        node, there = world.nodes[name], world.pods[name]
        asked = {resource: _taken(there, resource) for pod in there for resource in resources_of(pod)}
        return (
            len(there) > capacity(node, "pods")
            or any(amount > capacity(node, resource) for resource, amount in asked.items())
            or any(ports_conflict(ports(one), ports(other)) for i, one in enumerate(there) for other in there[:i])
        )

    return [name for name in world.nodes if is_too_much(name)]
