"""What a pod asks for and what a node has, as whole numbers: CPU in thousandths, everything else in units.

In: typed views of a pod's spec and of a node's allocatable. Out: mappings of resource names to integers. Kubernetes:
component-helpers/resource (`PodRequests`) and the scheduler's `framework.Resource`.
"""

from collections.abc import Iterable, Mapping

from moorage.model.pod import Container, PodSpec
from moorage.model.quantity import Quantity

CPU = "cpu"
MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"
PODS = "pods"

# What scoring assumes of a container that asks for nothing, so that such pods do not all pile up on one node.
DEFAULT_MILLI_CPU = 100
DEFAULT_MEMORY = 200 * 1024 * 1024

Amounts = dict[str, int]
_HUGE_PAGES = "hugepages-"
_NO_DEFAULTS: Mapping[str, int] = {}
NON_ZERO_DEFAULTS: Mapping[str, int] = {CPU: DEFAULT_MILLI_CPU, MEMORY: DEFAULT_MEMORY}


def amount(name: str, quantity: Quantity) -> int:
    return quantity.milli_value() if name == CPU else quantity.value()


def amounts(quantities: Mapping[str, Quantity]) -> Amounts:
    return {name: amount(name, quantity) for name, quantity in quantities.items()}


def pod_requests(spec: PodSpec, defaults: Mapping[str, int] = _NO_DEFAULTS) -> Amounts:
    """The most a pod uses at any moment of its life: its containers and sidecars, or an init container, plus overhead.

    `defaults` stand in for what a container does not mention (`NON_ZERO_DEFAULTS` when scoring).
    """
    total = _aggregate(spec.containers, spec.initContainers, defaults)
    if spec.resources is not None:
        for name, quantity in spec.resources.requests.items():
            if name in (CPU, MEMORY) or name.startswith(_HUGE_PAGES):
                total[name] = amount(name, quantity)
    _add(total, amounts(spec.overhead))
    return total


def _aggregate(
    containers: Iterable[Container], init_containers: Iterable[Container], defaults: Mapping[str, int]
) -> Amounts:
    total: Amounts = {}
    for container in containers:
        _add(total, _container_requests(container, defaults))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in init_containers:
        needs = _container_requests(container, defaults)
        if container.restartPolicy == "Always":
            _add(total, needs)
            _add(sidecars, needs)
            needs = sidecars
        else:
            needs = dict(needs)
            _add(needs, sidecars)
        _raise_to(peak, needs)
    _raise_to(total, peak)
    return total


def _container_requests(container: Container, defaults: Mapping[str, int]) -> Amounts:
    return {**defaults, **amounts(container.resources.requests)}


def _add(total: Amounts, more: Mapping[str, int]) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _raise_to(total: Amounts, floor: Mapping[str, int]) -> None:
    for name, value in floor.items():
        if value > total.get(name, 0) or name not in total:
            total[name] = value
