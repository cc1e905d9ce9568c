"""Convert requests of pods and allocatable amounts of nodes to integers: CPU in thousandths, everything else in units.

Kubernetes: component-helpers/resource (`PodRequests`) and the scheduler's `framework.Resource`.
"""

from collections.abc import Iterable, Mapping

from moorage.model.quantity import Quantity
from moorage.model.types.container import Container
from moorage.model.types.pod import PodSpec

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


def pod_requests(spec: PodSpec) -> Amounts:
    """Return the most a pod uses at a time: containers and sidecars, or an init container, plus overhead.

    Requests at pod level replace those of the containers.
    """
    return _requests(spec, _NO_DEFAULTS, _pod_level(spec))


def non_zero_requests(spec: PodSpec, requests: Amounts) -> Amounts:
    """Return the requests of a placed pod for scoring, with defaults for containers without CPU or memory.

    What a pod requests at pod level needs no default.
    """
    pod_level = _pod_level(spec)
    defaults = NON_ZERO_DEFAULTS
    if pod_level:
        defaults = {name: value for name, value in NON_ZERO_DEFAULTS.items() if name not in requests}
    return _requests(spec, defaults, pod_level)


def scored_requests(spec: PodSpec) -> Amounts:
    """Return what NodeResourcesFit adds to a node when it scores it for this pod.

    As in Kubernetes, requests at pod level do not count here.
    """
    return _requests(spec, NON_ZERO_DEFAULTS, {})


def _requests(spec: PodSpec, defaults: Mapping[str, int], pod_level: Mapping[str, int]) -> Amounts:
    total = _aggregate(spec.containers, spec.initContainers, defaults)
    total.update(pod_level)
    _add(total, amounts(spec.overhead))
    return total


def _pod_level(spec: PodSpec) -> Amounts:
    if spec.resources is None:
        return {}
    return {
        name: amount(name, quantity)
        for name, quantity in spec.resources.requests.items()
        if name in (CPU, MEMORY) or name.startswith(_HUGE_PAGES)
    }


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
        if container.is_sidecar:
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
