"""Change a pod or template before it is validated.

Fields of disabled gates are dropped unless the old object has them, matchLabelKeys are merged into selectors (on
creation of a pod only), generation, status and QoS class get their first values. Kubernetes:
podStrategy.PrepareForCreate and PrepareForUpdate, podutil.DropDisabledPodFields, DropDisabledTemplateFields,
ComputePodQOS. Differs: `expression` (KEP-5500) and the Semver operators (KEP-5721) are not dropped but rejected by
validation.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from moorage.admit.pod.security import APPARMOR_CONTAINER_PREFIX, LOCALHOST_PREFIX, is_apparmor_localhost
from moorage.admit.prepare.pod_defaults import amount_text
from moorage.admit.raw import Raw, items, part
from moorage.match.label_keys import merge_label_keys
from moorage.model.gates import (
    DYNAMIC_RESOURCE_ALLOCATION,
    MATCH_LABEL_KEYS_IN_POD_AFFINITY,
    MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD,
    GateSet,
)
from moorage.model.quantity import Quantity, parse_quantity

_COUNTED = ("cpu", "memory")


def pod_qos(spec: Raw) -> str:
    holders = items(spec, "containers") + items(spec, "initContainers")
    if spec.get("resources") is not None:
        holders = [spec]
    if not any(holder.get("resources") for holder in holders):
        return "BestEffort"
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    guaranteed = True
    for holder in holders:
        resources = holder.get("resources") or {}
        _add_positive(requests, resources.get("requests"))
        limited = _add_positive(limits, resources.get("limits"))
        if limited < len(_COUNTED) and (holder is not spec or resources.get("limits")):
            guaranteed = False
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed and requests == limits else "Burstable"


def _add_positive(total: dict[str, Quantity], amounts: Mapping[str, Any] | None) -> int:
    """Add what counts, and say how many resources did."""
    found = 0
    for name in _COUNTED:
        if amounts and amounts.get(name) is not None:
            amount = parse_quantity(amount_text(amounts[name]))
            if amount.sign() > 0:
                found += 1
                total[name] = amount.add(total[name]) if name in total else amount
    return found


SCHEDULING_GATED = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}

_LABEL_KEY_LISTS = ("matchLabelKeys", "mismatchLabelKeys")
#: Sources of projected volumes whose gates are off by default and are no concern of Moorage's.
_DISABLED_PROJECTIONS = ("clusterTrustBundle", "podCertificate")


def prepare_pod_for_create(pod: Raw, gates: GateSet) -> None:
    spec = part(pod, "spec")
    part(pod, "metadata")["generation"] = 1
    status: Raw = {"phase": "Pending", "qosClass": pod_qos(spec)}
    if spec.get("schedulingGates"):
        status["conditions"] = [dict(SCHEDULING_GATED)]
    pod["status"] = status
    drop_disabled_fields(spec, None, gates)
    merge_label_keys(pod, gates)
    _copy_apparmor_annotations(pod)


def prepare_pod_for_update(pod: Raw, old: Raw, gates: GateSet) -> None:
    spec, old_spec = part(pod, "spec"), old.get("spec") or {}
    if "status" in old:
        pod["status"] = old["status"]
    else:
        pod.pop("status", None)
    drop_disabled_fields(spec, old_spec, gates)


def drop_disabled_fields(spec: Raw, old: Raw | None, gates: GateSet) -> None:
    """Silently remove what a disabled gate does not know, unless the old spec has it."""
    old = old or {}
    if not gates.enabled(MATCH_LABEL_KEYS_IN_POD_AFFINITY) and not any(map(_has_label_keys, _affinity_terms(old))):
        _drop_label_keys(_affinity_terms(spec))
    constraints = "topologySpreadConstraints"
    if not gates.enabled(MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD) and not any(
        map(_has_label_keys, items(old, constraints))
    ):
        _drop_label_keys(items(spec, constraints))
    if not gates.enabled(DYNAMIC_RESOURCE_ALLOCATION) and not old.get("resourceClaims"):
        spec.pop("resourceClaims", None)
        for container in _containers(spec):
            if container.get("resources"):
                container["resources"].pop("claims", None)
    if old.get("schedulingGroup") is None:
        spec.pop("schedulingGroup", None)
    projections = list(_projections(spec))
    for name in _DISABLED_PROJECTIONS if projections else ():
        if not any(source.get(name) is not None for source in _projections(old)):
            for source in projections:
                source.pop(name, None)
    with_signal = [container for container in _containers(spec) if "lifecycle" in container and _stop_signal(container)]
    if with_signal and not any(map(_stop_signal, _containers(old))):
        for container in with_signal:
            _drop_stop_signal(container)


def _affinity_terms(spec: Raw) -> Iterator[Raw]:
    affinity = spec.get("affinity") or {}
    for name in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(name) or {}
        yield from items(rules, "requiredDuringSchedulingIgnoredDuringExecution")
        for weighted in items(rules, "preferredDuringSchedulingIgnoredDuringExecution"):
            if weighted.get("podAffinityTerm"):
                yield weighted["podAffinityTerm"]


def _has_label_keys(term: Raw) -> bool:
    return any(term.get(name) for name in _LABEL_KEY_LISTS)


def _drop_label_keys(terms: Iterable[Raw]) -> None:
    for term in terms:
        for name in _LABEL_KEY_LISTS:
            term.pop(name, None)


def _projections(spec: Raw) -> Iterator[Raw]:
    for volume in items(spec, "volumes"):
        if volume.get("projected"):
            yield from items(volume["projected"], "sources")


def _containers(spec: Raw) -> Iterator[Raw]:
    for name in ("initContainers", "containers", "ephemeralContainers"):
        yield from items(spec, name)


def _stop_signal(container: Raw) -> bool:
    return (container.get("lifecycle") or {}).get("stopSignal") is not None


def _drop_stop_signal(container: Raw) -> None:
    del container["lifecycle"]["stopSignal"]
    if not container["lifecycle"]:
        del container["lifecycle"]


def _copy_apparmor_annotations(pod: Raw) -> None:
    """Copy the deprecated annotations into the fields which replaced them, where these are not set."""
    annotations = (pod.get("metadata") or {}).get("annotations")
    spec = pod["spec"]
    if not annotations or (spec.get("os") or {}).get("name") == "windows":
        return
    pod_profile = (spec.get("securityContext") or {}).get("appArmorProfile")
    for container in _containers(spec):
        profile = _apparmor_profile(annotations.get(APPARMOR_CONTAINER_PREFIX + (container.get("name") or "")))
        context = container.get("securityContext") or {}
        if profile is not None and context.get("appArmorProfile") is None and not _same_profile(profile, pod_profile):
            part(container, "securityContext")["appArmorProfile"] = profile


def _apparmor_profile(annotation: str | None) -> Raw | None:
    match annotation:
        case "unconfined":
            return {"type": "Unconfined"}
        case "runtime/default":
            return {"type": "RuntimeDefault"}
        case str() if annotation.startswith(LOCALHOST_PREFIX):
            name = annotation.removeprefix(LOCALHOST_PREFIX)
            return {"type": "Localhost", "localhostProfile": name} if is_apparmor_localhost(name) else None
        case _:
            return None


def _same_profile(profile: Raw, other: Raw | None) -> bool:
    return other is not None and all(profile.get(name) == other.get(name) for name in ("type", "localhostProfile"))
