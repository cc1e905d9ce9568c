"""Count what objects use of a ResourceQuota, by kind: pods, services, claims to storage and devices, or one more.

Kubernetes: pkg/quota/v1/evaluator/core, and CalculateUsage of apiserver/pkg/quota/v1. Differs: extended resources that
devices serve are counted for pods only.
"""

from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Any

from moorage.match.quota.pods import (
    claim_classes,
    claim_in_scope,
    has_deadline,
    has_pod_level_resources,
    pod_amounts,
    pod_in_scope,
)
from moorage.match.volumes.claims import claim_class
from moorage.model.go.times import seconds_of
from moorage.model.kinds import KINDS, CustomKind, Kind
from moorage.model.names import label_key_errors
from moorage.model.quantity import Quantity, ResourceAmounts, add_amounts
from moorage.model.types.core import Service
from moorage.model.types.devices import ResourceClaim
from moorage.model.types.pod import FINISHED_PHASES, Pod
from moorage.model.types.policy import ResourceQuota, ScopedResourceSelectorRequirement
from moorage.model.types.storage import PersistentVolumeClaim

ONE, _NONE = Quantity.from_int(1), Quantity.from_int(0)
_REQUESTS, _HUGE_PAGES = "requests.", "hugepages-"
_DEVICE_CLASS = "deviceclass.resource.kubernetes.io/"
_NATIVE = "kubernetes.io/"
_A_FEW = 16  # objects that are counted between two pauses
_MAX_ALLOCATED = 32  # devices of one request, where all are asked for


def count_name(kind: Kind) -> str:
    """Return what the number of objects of a kind is called in a quota."""
    return f"count/{kind.plural}.{kind.group}" if kind.group else f"count/{kind.plural}"


class QuotaUsage:
    """How objects of a kind are counted: each is one, under the names that the kind has in quotas."""

    def __init__(self, kind: Kind, alias: str = "") -> None:
        self.kind = kind
        self.counted = frozenset({count_name(kind), alias} - {""})
        self._one = dict.fromkeys(self.counted, ONE)

    def names(self, hard: Iterable[str]) -> list[str]:
        """Return the names among those of a quota that objects of this kind use."""
        return sorted(name for name in hard if name in self.counted)

    def usage(self, view: Any, now: float) -> ResourceAmounts:
        return self._one

    def in_scope(self, requirement: ScopedResourceSelectorRequirement, view: Any) -> bool:
        return False

    def missing(self, names: Iterable[str], view: Any) -> str:
        """Say which amounts the object must specify because a quota limits them; empty if none."""
        return ""

    def is_charged(self, new: Any, old: Any, subresource: str) -> bool:
        """Return whether a write of an object, created if `old` is None, may use more than before."""
        return old is None and not subresource

    def is_released(self, old: Any, new: Any, now: float) -> bool:
        """Return whether a change of an object may let it use less than before."""
        return False

    def matches(self, quota: ResourceQuota, view: Any) -> bool:
        """Return whether a quota that limits such objects counts this one, by its scopes."""
        return all(self.in_scope(requirement, view) for requirement in scope_requirements(quota))


def scope_requirements(quota: ResourceQuota) -> list[ScopedResourceSelectorRequirement]:
    selector = quota.spec.scopeSelector
    exist = [ScopedResourceSelectorRequirement(scope, "Exists") for scope in quota.spec.scopes]
    return [*exist, *(selector.matchExpressions if selector is not None else ())]


_POD_NAMES = frozenset(
    {"cpu", "memory", "ephemeral-storage", "pods"}
    | {f"{side}.{name}" for side in ("requests", "limits") for name in ("cpu", "memory", "ephemeral-storage")}
)
#: What every container must specify if a quota limits it.
_MANDATORY = _POD_NAMES - {"pods", "ephemeral-storage", "requests.ephemeral-storage", "limits.ephemeral-storage"}


class PodUsage(QuotaUsage):
    """Pods: what they request and are limited to, until they have finished or should be gone."""

    def names(self, hard: Iterable[str]) -> list[str]:
        return sorted(name for name in hard if self._is_counted(name))

    def _is_counted(self, name: str) -> bool:
        if name in self.counted or name in _POD_NAMES or name.startswith((_HUGE_PAGES, f"{_REQUESTS}{_HUGE_PAGES}")):
            return True
        return name.startswith(_REQUESTS) and (
            ("/" in name and _NATIVE not in name) or name.startswith(f"{_REQUESTS}{_DEVICE_CLASS}")
        )

    def usage(self, view: Pod, now: float) -> ResourceAmounts:
        if not is_counted_pod(view, now):
            return self._one
        amounts = _compute_amounts(pod_amounts(view, "requests"), pod_amounts(view, "limits"))
        return {**self._one, **amounts, "pods": ONE}

    def in_scope(self, requirement: ScopedResourceSelectorRequirement, view: Pod) -> bool:
        return pod_in_scope(requirement, view)

    def missing(self, names: Iterable[str], view: Pod) -> str:
        if has_pod_level_resources(view.spec):
            return ""
        needed = _MANDATORY.intersection(names)
        lacking: dict[str, set[str]] = {}
        for container in (*view.spec.containers, *view.spec.initContainers):
            has = _compute_amounts(container.resources.requests, container.resources.limits)
            for name in needed.difference(has):
                lacking.setdefault(name, set()).add(container.name)
        if not lacking:
            return ""
        texts = (f"{name} for: {','.join(sorted(lacking[name]))}" for name in sorted(lacking))
        return f"must specify {'; '.join(texts)}"

    def is_charged(self, new: Pod, old: Pod | None, subresource: str) -> bool:
        if old is None or subresource:
            return not subresource or subresource == "resize"
        return has_deadline(new) is not has_deadline(old)

    def is_released(self, old: Pod, new: Pod, now: float) -> bool:
        if old.status is not new.status and _container_resources(old) != _container_resources(new):
            return True
        if has_deadline(new) is not has_deadline(old):
            return True
        return is_counted_pod(old, now) and not is_counted_pod(new, now)


def is_counted_pod(pod: Pod, now: float) -> bool:
    """Return whether a pod uses anything: not if it has finished, or if its grace period ended long ago."""
    if pod.status.phase in FINISHED_PHASES:
        return False
    deleted, grace = pod.metadata.deletionTimestamp, pod.metadata.deletionGracePeriodSeconds
    return deleted is None or grace is None or now <= (seconds_of(deleted) or now) + grace


def _container_resources(pod: Pod) -> list[Any]:
    return [
        (status.name, status.resources) for status in (*pod.status.containerStatuses, *pod.status.initContainerStatuses)
    ]


def _compute_amounts(requests: Mapping[str, Quantity], limits: Mapping[str, Quantity]) -> ResourceAmounts:
    result: ResourceAmounts = {}
    for name, amount in requests.items():
        if name in ("cpu", "memory", "ephemeral-storage") or name.startswith(_HUGE_PAGES):
            result[name] = result[f"{_REQUESTS}{name}"] = amount
        elif is_extended(name) or name.startswith(_DEVICE_CLASS):
            result[f"{_REQUESTS}{name}"] = amount
    for name in ("cpu", "memory", "ephemeral-storage"):
        if name in limits:
            result[f"limits.{name}"] = limits[name]
    return result


def is_extended(name: str) -> bool:
    if "/" not in name or _NATIVE in name or name.startswith(_REQUESTS):
        return False
    return not label_key_errors(f"{_REQUESTS}{name}")


class ServiceUsage(QuotaUsage):
    """Services: node ports and load balancers, too."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind, "services")
        self._names = self.counted | {"services.nodeports", "services.loadbalancers"}

    def names(self, hard: Iterable[str]) -> list[str]:
        return sorted(self._names.intersection(hard))

    def usage(self, view: Service, now: float) -> ResourceAmounts:
        spec = view.spec
        balanced = spec.type == "LoadBalancer"
        ports = len(spec.ports) if balanced or spec.type == "NodePort" else 0
        if balanced and spec.allocateLoadBalancerNodePorts is False:
            ports = sum(port.nodePort != 0 for port in spec.ports)
        return {
            **self._one,
            "services.loadbalancers": ONE if balanced else _NONE,
            "services.nodeports": Quantity.from_int(ports),
        }

    def is_charged(self, new: Service, old: Service | None, subresource: str) -> bool:
        return not subresource

    def is_released(self, old: Service, new: Service, now: float) -> bool:
        exposed = ("NodePort", "LoadBalancer")
        return old.spec.type != new.spec.type and (old.spec.type in exposed or new.spec.type in exposed)


_BY_CLASS = ".storageclass.storage.k8s.io/"


class ClaimUsage(QuotaUsage):
    """Claims to storage: their number and size, in all and of each StorageClass."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind, "persistentvolumeclaims")

    def names(self, hard: Iterable[str]) -> list[str]:
        by_class = (f"{_BY_CLASS}persistentvolumeclaims", f"{_BY_CLASS}requests.storage")
        return sorted(
            name for name in hard if name in self.counted or name == "requests.storage" or name.endswith(by_class)
        )

    def usage(self, view: PersistentVolumeClaim, now: float) -> ResourceAmounts:
        result = dict(self._one)
        size = view.spec.resources.requests.get("storage")
        if size is not None:
            allocated = view.status.allocatedResources.get("storage")
            size = _whole(allocated if allocated is not None and allocated > size else size)
            result["requests.storage"] = size
        storage_class = claim_class(view)
        if storage_class:
            result[f"{storage_class}{_BY_CLASS}persistentvolumeclaims"] = ONE
            if size is not None:
                result[f"{storage_class}{_BY_CLASS}requests.storage"] = size
        return result

    def in_scope(self, requirement: ScopedResourceSelectorRequirement, view: PersistentVolumeClaim) -> bool:
        return claim_in_scope(requirement, view)

    def is_charged(self, new: Any, old: Any, subresource: str) -> bool:
        return subresource in ("", "status")

    def is_released(self, old: PersistentVolumeClaim, new: PersistentVolumeClaim, now: float) -> bool:
        sizes = (old.status.allocatedResources, new.status.allocatedResources)
        return sizes[0] != sizes[1] or claim_classes(old) != claim_classes(new)


def _whole(amount: Quantity) -> Quantity:
    return amount if amount.is_integer() else Quantity.from_int(amount.value(), amount.format)


class DeviceClaimUsage(QuotaUsage):
    """Claims to devices: the most that may be allocated of each DeviceClass."""

    def names(self, hard: Iterable[str]) -> list[str]:
        return sorted(name for name in hard if name in self.counted or name.endswith(_DEVICES))

    def usage(self, view: ResourceClaim, now: float) -> ResourceAmounts:
        totals: dict[str, int] = {}
        for request in view.spec.devices.requests:
            most: dict[str, int] = {}
            for alternative in request.firstAvailable or ((request.exactly,) if request.exactly is not None else ()):
                devices = alternative.count if alternative.allocationMode == "ExactCount" else 0
                devices = _MAX_ALLOCATED if alternative.allocationMode == "All" else devices
                most[alternative.deviceClassName] = max(devices, most.get(alternative.deviceClassName, 0))
            for name, devices in most.items():
                totals[name] = totals.get(name, 0) + devices
        return {**self._one, **{f"{name}{_DEVICES}": Quantity.from_int(number) for name, number in totals.items()}}

    def is_charged(self, new: Any, old: Any, subresource: str) -> bool:
        return not subresource


_DEVICES = ".deviceclass.resource.k8s.io/devices"
_SPECIAL: Mapping[tuple[str, str], Callable[[Kind], QuotaUsage]] = {
    ("", "pods"): PodUsage,
    ("", "services"): ServiceUsage,
    ("", "persistentvolumeclaims"): ClaimUsage,
    ("resource.k8s.io", "resourceclaims"): DeviceClaimUsage,
}
_ALIASES = ("configmaps", "resourcequotas", "replicationcontrollers", "secrets")
_made: dict[Kind, QuotaUsage | None] = {}


def usage_of(kind: Kind) -> QuotaUsage | None:
    """Return how objects of a kind are counted, or None for events and kinds without a namespace: no quota counts them.

    Kinds of custom resource definitions come and go, and are not remembered.
    """
    if isinstance(kind, CustomKind):
        return QuotaUsage(kind) if kind.namespaced else None
    known = _made.get(kind)
    if known is None and kind not in _made:
        special = _SPECIAL.get((kind.group, kind.plural))
        if special is not None:
            known = special(kind)
        elif kind.namespaced and kind.plural != "events":
            known = QuotaUsage(kind, kind.plural if not kind.group and kind.plural in _ALIASES else "")
        _made[kind] = known
    return known


#: The kinds that quotas count, of those that every server has.
COUNTED_KINDS = tuple(kind for kind in KINDS.values() if usage_of(kind) is not None)


_ZERO = Quantity.from_int(0)


def count_used(
    quota: ResourceQuota, views: Callable[[Kind], Iterable[Any]], now: float, custom: Iterable[Kind] = ()
) -> ResourceAmounts:
    """Return what is used of the amounts that the spec limits. `views` gives the namespace's objects of a kind.

    `custom` are the kinds of custom resource definitions. Amounts that no known kind uses stay as in the status.
    """
    counting = count_in_steps(quota, views, now, custom)
    while True:
        try:
            next(counting)
        except StopIteration as done:
            used: ResourceAmounts = done.value
            return used


def count_in_steps(
    quota: ResourceQuota, views: Callable[[Kind], Iterable[Any]], now: float, custom: Iterable[Kind] = ()
) -> Generator[None, None, ResourceAmounts]:
    """Count the same, object by object, pausing after each few."""
    hard = quota.spec.hard
    used = {name: amount for name, amount in quota.status.used.items() if name in hard}
    for kind in (*COUNTED_KINDS, *custom):
        counting = usage_of(kind)
        names = counting.names(hard) if counting is not None else []
        if not names or counting is None:
            continue
        total = dict.fromkeys(names, _ZERO)
        for place, view in enumerate(views(kind)):
            if not place % _A_FEW:
                yield
            if counting.matches(quota, view):
                usage = counting.usage(view, now)
                add_amounts(total, {name: usage[name] for name in names if name in usage})
        used.update(total)
    return used
