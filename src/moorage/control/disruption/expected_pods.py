"""How many pods a budget expects, and how many of them must be healthy.

In: a budget, the pods that it selects, the world. Out: two numbers and the pods that nobody controls; or
`CannotExpect`, in words for the user. What is said in percent, or as pods that may be missing, counts from the replicas
that the pods' controllers want, and not from the pods that there are. Kubernetes: getExpectedPodCount and the finders
of pkg/controller/disruption.
"""

from collections.abc import Sequence
from typing import NamedTuple

from moorage.client.protocol import Object
from moorage.control.deployment.bounds import scaled
from moorage.control.framework.world import World, controller_of
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.meta import OwnerReference
from moorage.model.types.policy import PodDisruptionBudgetSpec

DEPLOYMENT, REPLICA_SET = KINDS["apps/v1", "Deployment"], KINDS["apps/v1", "ReplicaSet"]
STATEFUL_SET = KINDS["apps/v1", "StatefulSet"]
#: Kinds that have a number of replicas.
SCALABLE = (DEPLOYMENT, REPLICA_SET, STATEFUL_SET)


class CannotExpect(Exception):
    """Why the number of pods cannot be known."""


class Expected(NamedTuple):
    """`unmanaged` are the names of pods without a controller, which are not counted."""

    pods: int
    healthy: int
    unmanaged: Sequence[str] = ()


class _Scale(NamedTuple):
    uid: str
    replicas: int


def expected_pods(spec: PodDisruptionBudgetSpec, pods: Sequence[Object], world: World) -> Expected:
    """Raises CannotExpect."""
    if spec.maxUnavailable is not None:
        expected, unmanaged = _wanted_replicas(pods, world)
        return Expected(expected, max(0, expected - scaled(spec.maxUnavailable, expected, up=True)), unmanaged)
    if isinstance(spec.minAvailable, int):
        return Expected(len(pods), spec.minAvailable)
    if spec.minAvailable is not None:
        expected, unmanaged = _wanted_replicas(pods, world)
        return Expected(expected, scaled(spec.minAvailable, expected, up=True), unmanaged)
    return Expected(0, 0)


def _wanted_replicas(pods: Sequence[Object], world: World) -> tuple[int, list[str]]:
    scales: dict[str, _Scale] = {}
    unmanaged: list[str] = []
    for pod in pods:
        owner = controller_of(pod.view.metadata)
        if owner is None:
            unmanaged.append(pod.name)
        elif owner.uid not in scales:
            scales[owner.uid] = _scale_of(owner, pod, world)
    replicas = {scale.uid: scale.replicas for scale in scales.values()}
    return sum(replicas.values()), unmanaged


def _scale_of(owner: OwnerReference, pod: Object, world: World) -> _Scale:
    kind = KINDS.get((owner.apiVersion, owner.kind))
    if kind is None:
        raise CannotExpect(f'no matches for kind "{owner.kind}" in version "{owner.apiVersion}"')
    if kind not in SCALABLE:
        name = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
        raise CannotExpect(f"{name} does not implement the scale subresource")
    controller = _find(kind, owner, pod.namespace, world)
    if controller is None:
        raise CannotExpect(f'found no controllers for pod "{pod.name}"')
    above = controller_of(controller.view.metadata)
    if kind is REPLICA_SET and above is not None and (above.apiVersion, above.kind) == ("apps/v1", "Deployment"):
        controller = _find(DEPLOYMENT, above, pod.namespace, world) or controller
    replicas = controller.view.spec.replicas
    return _Scale(controller.uid, 1 if replicas is None else replicas)


def _find(kind: Kind, owner: OwnerReference, namespace: str, world: World) -> Object | None:
    found = world.get(kind, f"{namespace}/{owner.name}")
    return found if found is not None and found.uid == owner.uid else None
