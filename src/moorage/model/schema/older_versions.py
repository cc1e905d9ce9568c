"""Convert documents between a kind's own version and the older ones in which clients may send and get it.

In: raw documents, or parts of them such as merge patches. Out: new documents; unknown fields stay where they are. Only
v1beta1 of resource.k8s.io has another structure: requests for one class of devices have no `exactly`, and devices
have all but their name below `basic`; autoscaling/v1 has a module of its own. Kubernetes: the conversions of
pkg/apis/resource.
"""

from collections.abc import Callable, Iterator
from typing import Any

from moorage.model.kinds import OLDER_VERSIONS, Kind
from moorage.model.schema import autoscaler_versions
from moorage.model.text.documents import Document
from moorage.model.text.patterns import Pattern
from moorage.model.text.readers import reads_text
from moorage.model.types.devices import Device

Raw = dict[str, Any]

EXACT_FIELDS = ("deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity")
_DEVICE_FIELDS = frozenset(Device.__struct_fields__) - {"name"}
_EXACTLY = Pattern(r"\.requests\[[0-9]+\](\.exactly)\.")
_DEVICE = Pattern(r"spec\.devices\[[0-9]+\]\.")


def in_current_version(raw: Raw) -> Raw:
    """Return a document of an older version in its kind's own; any other document as it is."""
    api_version = raw.get("apiVersion")
    kind = OLDER_VERSIONS.get((api_version, str(raw.get("kind")))) if isinstance(api_version, str) else None
    return raw if kind is None or api_version is None else from_older(raw, kind, api_version.rpartition("/")[2])


def convert_document(document: Document) -> None:
    """Convert a document that was read to its kind's own version; places of its fields are still found."""
    version = str(document.raw.get("apiVersion")).rpartition("/")[2]
    current = in_current_version(document.raw)
    if current is not document.raw:
        document.misplaced = tuple(misplaced_fields(document.raw))
        document.raw = current
        if version == "v1beta1":
            document.path_as_written = path_in_v1beta1


def misplaced_fields(raw: Raw) -> Iterator[str]:
    """Yield the paths of fields that only newer versions have where the document has them."""
    api_version = raw.get("apiVersion")
    kind = OLDER_VERSIONS.get((api_version, str(raw.get("kind")))) if isinstance(api_version, str) else None
    if kind is None or not has_other_structure(kind, str(api_version).rpartition("/")[2]):
        return
    if kind.older_views:
        for holder, name in autoscaler_versions.NEWER_FIELDS:
            if isinstance(raw.get(holder), dict) and name in raw[holder]:
                yield f"{holder}.{name}"
        return
    value: Any = raw
    for name in _PATHS[kind.name]:
        value = value.get(name) if isinstance(value, dict) else None
    wrong = _DEVICE_FIELDS if kind.name == "ResourceSlice" else {"exactly"}
    for index, item in enumerate(value if isinstance(value, list) else ()):
        if isinstance(item, dict):
            yield from (f"{'.'.join(_PATHS[kind.name])}[{index}].{name}" for name in item if name in wrong)


@reads_text("spec.devices", "[0]", ".requests", ".exactly", ".", "name")
def path_in_v1beta1(path: str) -> str:
    """Return where v1beta1 has a field of the kind's own version."""
    if (exactly := _EXACTLY.search(path)) is not None:
        path = path[: exactly.start(1)] + path[exactly.end(1) :]
    device = _DEVICE.match(path)
    if device is None or path[device.end() :] == "name":
        return path
    return f"{path[: device.end()]}basic.{path[device.end() :]}"


def from_older(raw: Raw, kind: Kind, version: str, *, keeps_misplaced: bool = False) -> Raw:
    """Return a document, or a part of one, of an older version in the kind's own.

    Fields that only newer versions have where they are count as unknown, and are left out.
    """
    if kind.older_views:
        return autoscaler_versions.from_v1(raw) | {"apiVersion": kind.api_version}
    request, device = (_exactly, _without_basic) if keeps_misplaced else (_only_flat, _only_basic)
    return _convert(raw, kind, version, request, device) | {"apiVersion": kind.api_version}


def to_older(raw: Raw, kind: Kind, version: str) -> Raw:
    """Return a document in an older version."""
    if kind.older_views:
        return autoscaler_versions.to_v1(raw) | {"apiVersion": f"{kind.group}/{version}"}
    return _convert(raw, kind, version, _flat, _with_basic) | {"apiVersion": f"{kind.group}/{version}"}


def has_other_structure(kind: Kind, version: str) -> bool:
    """Return whether documents of the version differ by more than its name."""
    return bool(kind.older_views) or (version == "v1beta1" and kind.name in _PATHS)


#: The fields that lead to the lists that v1beta1 has in another form.
_PATHS: dict[str, tuple[str, ...]] = {
    "ResourceClaim": ("spec", "devices", "requests"),
    "ResourceClaimTemplate": ("spec", "spec", "devices", "requests"),
    "ResourceSlice": ("spec", "devices"),
}


def _convert(raw: Raw, kind: Kind, version: str, request: Callable[[Raw], Raw], device: Callable[[Raw], Raw]) -> Raw:
    if not has_other_structure(kind, version):
        return dict(raw)
    if kind.name != "ResourceSlice":
        return _at(raw, _PATHS[kind.name], request)
    converted = _at(raw, _PATHS[kind.name], device)
    spec = converted.get("spec")
    if isinstance(spec, dict):
        # In v1beta1 an empty name and false mean absence.
        absent = [name for name, empty in (("nodeName", ""), ("allNodes", False)) if spec.get(name) == empty]
        converted["spec"] = {name: value for name, value in spec.items() if name not in absent}
    return converted


def _at(raw: Raw, path: tuple[str, ...], convert: Callable[[Raw], Raw]) -> Raw:
    """Return the document with each item of the list at the path converted, if there is such a list."""
    name, *rest = path
    value = raw.get(name)
    if rest and isinstance(value, dict):
        return {**raw, name: _at(value, tuple(rest), convert)}
    if not rest and isinstance(value, list):
        return {**raw, name: [convert(item) if isinstance(item, dict) else item for item in value]}
    return dict(raw)


def _exactly(request: Raw) -> Raw:
    exact = {name: request[name] for name in EXACT_FIELDS if name in request}
    rest = {name: value for name, value in request.items() if name not in exact}
    is_set = any(value not in (None, "", 0) or value is False for value in exact.values())
    return {**rest, "exactly": exact} if is_set else rest


def _only_flat(request: Raw) -> Raw:
    return _exactly({name: value for name, value in request.items() if name != "exactly"})


def _only_basic(device: Raw) -> Raw:
    return _without_basic({name: value for name, value in device.items() if name not in _DEVICE_FIELDS})


def _flat(request: Raw) -> Raw:
    exact = request.get("exactly")
    rest = {name: value for name, value in request.items() if name != "exactly"}
    return {**rest, **exact} if isinstance(exact, dict) else rest


def _without_basic(device: Raw) -> Raw:
    basic = device.get("basic")
    rest = {name: value for name, value in device.items() if name != "basic"}
    return {**rest, **basic} if isinstance(basic, dict) else rest


def _with_basic(device: Raw) -> Raw:
    basic = {name: value for name, value in device.items() if name != "name"}
    return {**({"name": device["name"]} if "name" in device else {}), "basic": basic}
