"""Convert requests of pods and allocatable amounts of nodes to integers: CPU in thousandths, everything else in units.

Quantities of containers are added exactly and the sum is rounded up once, to an int64. What does not fit becomes what
`Quantity.Value` and `MilliValue` make of it: most often 0 or the low 64 bits.
Kubernetes: component-helpers/resource (`PodRequests`) and the scheduler's `framework.Resource`.
"""

from collections.abc import Mapping

from moorage.model.quantity import Quantity, ResourceAmounts, add_amounts, total_amounts
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
_MANY = 1 << 62
_HUGE_PAGES = "hugepages-"
Defaults = Mapping[str, Quantity]
_NO_DEFAULTS: Defaults = {}
NON_ZERO_DEFAULTS: Defaults = {
    CPU: Quantity.from_milli(DEFAULT_MILLI_CPU),
    MEMORY: Quantity.from_int(DEFAULT_MEMORY),
}


def amount(name: str, quantity: Quantity) -> int:
    return quantity.milli_value() if name == CPU else quantity.value()


def amounts(quantities: Mapping[str, Quantity]) -> Amounts:
    return {name: amount(name, quantity) for name, quantity in quantities.items()}


def countable(pods: int) -> int:
    """Return how many pods a node may hold, small enough for counts to be taken from it without an overflow."""
    return max(-_MANY, min(pods, _MANY))


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


def request_quantities(spec: PodSpec) -> ResourceAmounts:
    """Return what `pod_requests` does, as quantities."""
    return _quantities(spec, _NO_DEFAULTS, _pod_level(spec))


def has_pod_level_requests(spec: PodSpec) -> bool:
    return bool(_pod_level(spec))


def _requests(spec: PodSpec, defaults: Defaults, pod_level: Mapping[str, Quantity]) -> Amounts:
    return amounts(_quantities(spec, defaults, pod_level))


def _quantities(spec: PodSpec, defaults: Defaults, pod_level: Mapping[str, Quantity]) -> ResourceAmounts:
    total = total_amounts(
        [_container_requests(container, defaults) for container in spec.containers],
        [(container.is_sidecar, _container_requests(container, defaults)) for container in spec.initContainers],
    )
    total.update(pod_level)
    add_amounts(total, spec.overhead)
    return total


def _pod_level(spec: PodSpec) -> ResourceAmounts:
    if spec.resources is None:
        return {}
    return {
        name: quantity
        for name, quantity in spec.resources.requests.items()
        if name in (CPU, MEMORY) or name.startswith(_HUGE_PAGES)
    }


def _container_requests(container: Container, defaults: Defaults) -> Mapping[str, Quantity]:
    requests = container.resources.requests
    return {**defaults, **requests} if defaults else requests
