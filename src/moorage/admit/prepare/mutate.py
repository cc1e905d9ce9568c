"""What the API server changes in a pod or template of its own accord, before it validates.

In: a raw object with its defaults, the old one on update, and the gates. Out: the same object, changed in place:
fields of disabled gates dropped unless the old object has them, matchLabelKeys merged into selectors (on creation of
a pod only), generation and status as they begin. Kubernetes: podStrategy.PrepareForCreate and PrepareForUpdate,
podutil.DropDisabledPodFields, DropDisabledTemplateFields. Differs: `expression` and the Semver operators are not
dropped but rejected by validation, as their documents ask.
"""

from collections.abc import Iterable, Iterator

from moorage.admit.pod.containers.profiles import APPARMOR_CONTAINER_PREFIX, LOCALHOST_PREFIX, is_apparmor_localhost
from moorage.admit.prepare.qos import pod_qos
from moorage.admit.raw import Raw, items, part
from moorage.match.label_keys import merge_label_keys
from moorage.model.gates import MATCH_LABEL_KEYS_IN_POD_AFFINITY, MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD, GateSet

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
