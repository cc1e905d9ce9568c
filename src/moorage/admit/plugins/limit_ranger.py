"""LimitRanger: requests and limits that containers lack come from the namespace's LimitRanges; bounds are enforced.

Kubernetes: plugin/pkg/admission/limitranger. Differs: complaints come in the order of resource names.
"""

from collections.abc import Iterator, Mapping

from moorage.admit.kinds.quotas import CLAIM, CONTAINER, POD, go_fixed_point
from moorage.admit.plugins import Forbidden, Plugin
from moorage.admit.prepare.pod_defaults import default_pod_level_resources
from moorage.admit.raw import Raw, items, part
from moorage.admit.world import AdmissionWorld
from moorage.match.quota.pods import pod_amounts
from moorage.model.kinds import KINDS, Kind
from moorage.model.quantity import MAX_MILLI_VALUE, Quantity
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import Pod
from moorage.model.types.policy import LimitRange, LimitRangeItem
from moorage.model.types.storage import PersistentVolumeClaim

ANNOTATION = "kubernetes.io/limit-ranger"
_ZERO = Quantity.from_int(0)


class LimitRanger(Plugin):
    """Completes and checks pods and claims by the LimitRanges of their namespace."""

    def __init__(self, world: AdmissionWorld) -> None:
        self._world = world

    def admit(self, kind: Kind, new: Raw, old: Raw | None) -> None:
        if kind is KINDS.POD and old is None:
            for limit_range in self._world.limit_ranges(part(new, "metadata").get("namespace") or ""):
                _set_defaults(new, limit_range)

    def validate(self, kind: Kind, new: Raw, old: Raw | None) -> None:
        if kind is KINDS.POD and old is None:
            self._validate_pod(new)
        elif kind is KINDS.PERSISTENT_VOLUME_CLAIM and (old is None or not _is_being_deleted(old)):
            for limit_range in self._world.limit_ranges(new["metadata"].get("namespace") or ""):
                requests = convert_view(new, PersistentVolumeClaim).spec.resources.requests
                _refuse(_claim_complaints(limit_range, requests))

    def resize(self, new: Raw, view: Pod, old_view: Pod) -> None:
        self._validate_pod(new)

    def _validate_pod(self, pod: Raw) -> None:
        ranges = self._world.limit_ranges(pod["metadata"].get("namespace") or "")
        view = convert_view(pod, Pod) if ranges else None
        for limit_range in ranges:
            if view is not None:
                _refuse(_pod_complaints(limit_range, view))


def _is_being_deleted(old: Raw) -> bool:
    return (old.get("metadata") or {}).get("deletionTimestamp") is not None


def _refuse(complaints: Iterator[str]) -> None:
    texts = list(dict.fromkeys(complaints))
    if texts:
        raise Forbidden(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")


def _set_defaults(pod: Raw, limit_range: LimitRange) -> None:
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    for item in limit_range.spec.limits:
        if item.type == CONTAINER:
            requests.update(item.defaultRequest)
            limits.update(item.default)
    if not requests and not limits:
        return
    notes: list[str] = []
    spec = part(pod, "spec")
    for field, label in (("containers", "container"), ("initContainers", "init container")):
        for container in items(spec, field):
            for side, defaults, word in (("requests", requests, "request"), ("limits", limits, "limit")):
                added = _fill(part(container, "resources"), side, defaults)
                if added:
                    notes.append(f"{', '.join(added)} {word} for {label} {container.get('name') or ''}")
    if notes:
        default_pod_level_resources(spec)  # as upstream does when it reads what it has stored
        part(part(pod, "metadata"), "annotations")[ANNOTATION] = f"LimitRanger plugin set: {'; '.join(notes)}"


def _fill(resources: Raw, side: str, defaults: Mapping[str, Quantity]) -> list[str]:
    """Set the amounts that are absent; return their names."""
    given = resources.get(side) or {}
    added = sorted(name for name in defaults if name not in given)
    if added:
        resources[side] = {**given, **{name: str(defaults[name]) for name in added}}
    return added


def _pod_complaints(limit_range: LimitRange, pod: Pod) -> Iterator[str]:
    for item in limit_range.spec.limits:
        if item.type == CONTAINER:
            for container in (*pod.spec.containers, *pod.spec.initContainers):
                yield from _complaints(item, container.resources.requests, container.resources.limits)
        elif item.type == POD:
            alone = Pod(spec=pod.spec)  # what its containers have been given does not count
            requests = pod_amounts(alone, "requests", with_overhead=False)
            yield from _complaints(item, requests, pod_amounts(alone, "limits", with_overhead=False))


def _complaints(
    item: LimitRangeItem, requests: Mapping[str, Quantity], limits: Mapping[str, Quantity]
) -> Iterator[str]:
    for name, least in sorted(item.min.items()):
        yield from _below(item.type, name, least, requests, limits)
    for name, most in sorted(item.max.items()):
        yield from _above(item.type, name, most, requests, limits)
    for name, ratio in sorted(item.maxLimitRequestRatio.items()):
        yield from _apart(item.type, name, ratio, requests, limits)


def _claim_complaints(limit_range: LimitRange, requests: Mapping[str, Quantity]) -> Iterator[str]:
    for item in limit_range.spec.limits:
        if item.type == CLAIM:
            for name, least in sorted(item.min.items()):
                yield from _below(item.type, name, least, requests, {})
            for name, most in sorted(item.max.items()):
                yield from _above_request(item.type, name, most, requests)


def _values(*amounts: Quantity | None) -> list[int]:
    """Return amounts in thousandths, or in units where one of them would be too large; 0 for what is absent."""
    values = [(amount or _ZERO).value() for amount in amounts]
    if max(values) <= MAX_MILLI_VALUE:
        values = [(amount or _ZERO).milli_value() for amount in amounts]
    return values


def _below(
    limit_type: str, name: str, least: Quantity, requests: Mapping[str, Quantity], limits: Mapping[str, Quantity]
) -> Iterator[str]:
    request, limit = requests.get(name), limits.get(name)
    asked, limited, enforced = _values(request, limit, least)
    text = f"minimum {name} usage per {limit_type} is {least}"
    if request is None:
        yield f"{text}.  No request is specified"
    elif asked < enforced:
        yield f"{text}, but request is {request}"
    elif limit is not None and limited < enforced:
        yield f"{text}, but limit is {limit}"


def _above(
    limit_type: str, name: str, most: Quantity, requests: Mapping[str, Quantity], limits: Mapping[str, Quantity]
) -> Iterator[str]:
    request, limit = requests.get(name), limits.get(name)
    asked, limited, enforced = _values(request, limit, most)
    text = f"maximum {name} usage per {limit_type} is {most}"
    if limit is None:
        yield f"{text}.  No limit is specified"
    elif limited > enforced:
        yield f"{text}, but limit is {limit}"
    elif request is not None and asked > enforced:
        yield f"{text}, but request is {request}"


def _above_request(limit_type: str, name: str, most: Quantity, requests: Mapping[str, Quantity]) -> Iterator[str]:
    request = requests.get(name)
    asked, enforced = _values(request, most)
    text = f"maximum {name} usage per {limit_type} is {most}"
    if request is None:
        yield f"{text}.  No request is specified"
    elif asked > enforced:
        yield f"{text}, but request is {request}"


def _apart(
    limit_type: str, name: str, ratio: Quantity, requests: Mapping[str, Quantity], limits: Mapping[str, Quantity]
) -> Iterator[str]:
    request, limit = requests.get(name), limits.get(name)
    asked, limited, _ = _values(request, limit, ratio)
    text = f"{name} max limit to request ratio per {limit_type} is {ratio}, but"
    if request is None or not asked:
        yield f"{text} no request is specified or request is 0"
        return
    if limit is None or not limited:
        yield f"{text} no limit is specified or limit is 0"
        return
    actual = shown = float(limited) / float(asked)
    allowed = float(ratio.value())
    if ratio.value() <= MAX_MILLI_VALUE:
        actual, allowed = actual * 1000, float(ratio.milli_value())
    if actual > allowed:
        yield f"{text} provided ratio is {go_fixed_point(shown)}"
