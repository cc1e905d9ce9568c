"""Which pods are behind a Service, by which ports and addresses, and which changes of them matter.

Kubernetes: k8s.io/endpointslice/util. Differs: a Service with many pods is looked at less often, so that thousands of
pods that become ready cost a few writes.
"""

from collections.abc import Iterable, Sequence

from moorage.client.protocol import Object
from moorage.control.framework.steps import Steps, in_parts
from moorage.control.framework.workloads import is_finished, ready_condition
from moorage.control.framework.world import World
from moorage.model.kinds import KINDS
from moorage.model.types.core import ServicePort, ServiceSpec
from moorage.model.types.pod import Pod
from moorage.model.well_known.labels import ZONE

HEADLESS = "service.kubernetes.io/headless"
TRIGGER_TIME = "endpoints.kubernetes.io/last-change-trigger-time"
NO_ADDRESS = "None"

_PODS_PER_SECOND, _MAX_PAUSE, _FEW_PODS = 1000, 2.0, 50


def wants_endpoints(spec: ServiceSpec) -> bool:
    """Return whether controllers find the pods of a Service."""
    return bool(spec.selector) and spec.type != "ExternalName"


def is_headless(spec: ServiceSpec) -> bool:
    return spec.clusterIP in ("", NO_ADDRESS)


def is_endpoint(pod: Pod, *, with_terminating: bool) -> bool:
    if is_finished(pod) or not (pod.status.podIPs or pod.status.podIP):
        return False
    return with_terminating or pod.metadata.deletionTimestamp is None


def matters(old: Object | None, new: Object | None) -> bool:
    """Return whether a change of a pod may change the endpoints of a Service."""
    if old is None or new is None:
        changed = new or old
        return changed is not None and bool(changed.view.status.podIPs)
    before, after = old.view, new.view
    if not before.status.podIPs and not after.status.podIPs:
        return False
    if before.metadata is not after.metadata and (
        before.metadata.labels != after.metadata.labels
        or before.metadata.deletionTimestamp != after.metadata.deletionTimestamp
    ):
        return True
    return (
        before.status.podIPs != after.status.podIPs
        or is_finished(before) != is_finished(after)
        or (ready_condition(before) is None) != (ready_condition(after) is None)
    )


def services_of(old: Object | None, new: Object | None, world: World) -> Iterable[str]:
    """Return the keys of the Services that select a pod, or did so before a change."""
    if not world.has_selectors or not matters(old, new):
        return ()
    changed = new or old
    assert changed is not None
    labels = [one.view.metadata.labels for one in (new, old) if one is not None]
    if len(labels) > 1 and labels[0] == labels[1]:
        labels = labels[:1]
    return {
        service.key: None
        for each in labels
        for service in world.selecting(KINDS.SERVICE, changed.namespace, each)
        if service.view.spec.selector.items() <= each.items()
    }


def services_on(old: Object | None, new: Object | None, world: World) -> Iterable[str]:
    """Return the keys of the Services with pods on a node that has come or is in another zone."""
    if new is None or (old is not None and zone_of(old) == zone_of(new)):
        return ()
    keys: dict[str, None] = {}
    for pod in world.pods_on(new.name):
        keys |= dict.fromkeys(services_of(None, pod, world))
    return keys


def zone_of(node: Object) -> str:
    return str(node.view.metadata.labels.get(ZONE, ""))


def address_types(spec: ServiceSpec) -> Sequence[str]:
    """Return the families of a Service: IPv4, IPv6 or both."""
    if spec.ipFamilies:
        return tuple(dict.fromkeys(spec.ipFamilies))
    if not is_headless(spec):
        return ("IPv6" if ":" in spec.clusterIP else "IPv4",)
    return "IPv4", "IPv6"


def addresses_of(pod: Pod, address_type: str) -> list[str]:
    wants_colon = address_type == "IPv6"
    return [address.ip for address in pod.status.podIPs if (":" in address.ip) is wants_colon]


def container_port(pod: Pod, port: ServicePort) -> int | None:
    """Return the number of the pod's port that a Service leads to, or None if the pod has no port of that name."""
    target = port.targetPort
    if isinstance(target, int):
        return target
    sidecars = [one for one in pod.spec.initContainers if one.restartPolicy == "Always"]
    for container in (*pod.spec.containers, *sidecars):
        for found in container.ports:
            if found.name == target and found.protocol == port.protocol:
                return found.containerPort
    return None


def host_name(pod: Pod, service: Object) -> str:
    """Return the name of a pod in the domain of a Service, if it has one."""
    return pod.spec.hostname if pod.spec.subdomain == service.name else ""


class Pace:
    """How long to wait until the next look at a Service, by how many pods it had at the last."""

    def __init__(self) -> None:
        self._next: dict[str, float] = {}

    def wait(self, key: str, now: float) -> float:
        """Return the seconds to wait. A clock that was set back does not count."""
        left = self._next.get(key, 0.0) - now
        return left if 0 < left <= _MAX_PAUSE else 0.0

    def looked(self, key: str, pods: int, now: float) -> None:
        if pods > _FEW_PODS:
            self._next[key] = now + min(_MAX_PAUSE, pods / _PODS_PER_SECOND)
        else:
            self._next.pop(key, None)

    def forget(self, key: str) -> None:
        self._next.pop(key, None)


class TriggerTimes:
    """When what is written of a Service was caused: the earliest change since the last look.

    Kubernetes: TriggerTimeTracker.
    """

    def __init__(self) -> None:
        self._seen: dict[str, tuple[str, dict[str, str]]] = {}

    def since_last(self, service: Object, pods: Sequence[Object]) -> Steps[str]:
        """Return the time, or an empty text if nothing has changed."""
        seen = self._seen.get(service.key)
        created, ready = seen or ("", {})
        times = {}
        for part in in_parts(pods):
            for pod in part:
                condition = next((one for one in pod.view.status.conditions if one.type == "Ready"), None)
                if condition is not None and condition.lastTransitionTime:
                    times[pod.name] = condition.lastTransitionTime
            yield
        changed = [time for name, time in times.items() if time > ready.get(name, "")]
        if (made := service.view.metadata.creationTimestamp or "") > created:
            changed.append(made)
        self._seen[service.key] = made, times
        return min(changed, default="") if seen is not None else made

    def forget(self, key: str) -> None:
        self._seen.pop(key, None)
