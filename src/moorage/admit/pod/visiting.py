"""All containers of a pod spec, in upstream's order: init, regular, ephemeral.

In: a `PodSpec` and its path. Out: its containers, with their paths where those are wanted. Kubernetes:
VisitContainersWithPath (pkg/apis/core/pods).
"""

from collections.abc import Iterator
from typing import TypeAlias

from moorage.model.types.container import Container, EphemeralContainer
from moorage.model.types.pod import PodSpec

AnyContainer: TypeAlias = Container | EphemeralContainer


def all_containers(spec: PodSpec) -> tuple[AnyContainer, ...]:
    return (*spec.initContainers, *spec.containers, *spec.ephemeralContainers)


def containers_with_paths(spec: PodSpec, path: str) -> Iterator[tuple[AnyContainer, str]]:
    for index, init in enumerate(spec.initContainers):
        yield init, f"{path}.initContainers[{index}]"
    for index, container in enumerate(spec.containers):
        yield container, f"{path}.containers[{index}]"
    for index, ephemeral in enumerate(spec.ephemeralContainers):
        yield ephemeral, f"{path}.ephemeralContainers[{index}]"
