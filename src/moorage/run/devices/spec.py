"""Read which devices simulated nodes have (`gpu.example.com=8`, or a YAML list of sets), and make their ResourceSlices.

The text stands after `--devices` or in the annotation `simulate.moorage.dev/devices` of a Node. A set has a driver, a
count, a node selector, and whatever else a device of a ResourceSlice may have. Attributes and capacities may be written
plainly (`model: A100`, `memory: 80Gi`). Kubernetes: dynamic-resource-allocation/resourceslice, as drivers use it
through kubeletplugin.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from moorage.match.label_selector import Selector, parse_selector
from moorage.match.requirement import SelectorError
from moorage.model.names import dns1123_label_errors, dns1123_subdomain_errors
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.text.decode_error import DecodeError
from moorage.model.text.yaml_text import YamlConstructor, compose_documents
from moorage.model.types.devices import Device
from moorage.model.types.node import Node
from moorage.run.node_objects import SIMULATOR_LABEL
from moorage.telemetry.logs import get_logger

Raw = dict[str, Any]

#: Annotation of a Node with its devices.
DEVICES = "simulate.moorage.dev/devices"
MAX_COUNT = 4096
#: What the devices of one node may take as JSON.
MAX_BYTES = 16 * 1024 * 1024
_OWN = frozenset({"driver", "count", "nodes", "name"})
_OF_DEVICES = frozenset(Device.__struct_fields__) - {"name", "nodeName", "nodeSelector", "allNodes"}


class DeviceSpecError(Exception):
    """Says what is wrong with a description of devices."""


class DeviceSet(msgspec.Struct, frozen=True, eq=False):
    """Equal devices of one driver. `name` is what their names begin with, `device` all they have but the name."""

    driver: str
    count: int
    name: str
    nodes: Selector
    device: Raw
    written: Raw  # as the user wrote it, without `nodes`

    def on(self, labels: dict[str, str]) -> bool:
        return self.nodes.match(labels)


@lru_cache(maxsize=64)
def parse_devices(text: str, source: str = "devices") -> tuple[DeviceSet, ...]:
    """Read `driver=count,…` or a YAML or JSON list. Raises DeviceSpecError."""
    if _is_short(text):
        return tuple(_read_short(part.strip()) for part in text.split(",") if part.strip())
    sets = _read_yaml(text, source)
    return tuple(_read_set(raw, f"{source}[{index}]") for index, raw in enumerate(sets))


def annotation(sets: Iterable[DeviceSet], labels: dict[str, str]) -> str:
    """Return the text that gives a node with these labels its devices; empty without any."""
    here = [device_set for device_set in sets if device_set.on(labels)]
    if all(chosen.written.keys() == {"driver", "count"} for chosen in here):
        return ",".join(f"{chosen.driver}={chosen.count}" for chosen in here)
    return json.dumps([chosen.written for chosen in here], separators=(",", ":"))


def devices_of(sets: Sequence[DeviceSet]) -> dict[str, list[Raw]]:
    """Return the devices of each driver, numbered by their name. Raises DeviceSpecError if there are too many."""
    if sum(device_set.count for device_set in sets) > MAX_COUNT:
        raise DeviceSpecError(f"a node has at most {MAX_COUNT} devices")
    if sum(device_set.count * len(json.dumps(device_set.device)) for device_set in sets) > MAX_BYTES:
        raise DeviceSpecError(f"the devices of a node take at most {MAX_BYTES // 1024} KiB")
    devices: dict[str, list[Raw]] = {}
    numbers: dict[tuple[str, str], int] = {}
    for device_set in sets:
        first = numbers.get((device_set.driver, device_set.name), 0)
        numbers[device_set.driver, device_set.name] = first + device_set.count
        of_driver = devices.setdefault(device_set.driver, [])
        of_driver += (
            {"name": f"{device_set.name}-{number}", **device_set.device}
            for number in range(first, first + device_set.count)
        )
    return devices


def _is_short(text: str) -> bool:
    return "\n" not in text.strip() and not text.lstrip().startswith(("[", "{", "-"))


def _read_short(part: str) -> DeviceSet:
    driver, equals, count = part.partition("=")
    if not equals or not (count.isascii() and count.isdigit() and len(count) <= 6):
        raise DeviceSpecError(f"{part!r}: must be DRIVER=COUNT, as gpu.example.com=8, or the name of a YAML file")
    return _read_set({"driver": driver, "count": int(count)}, part)


def _read_yaml(text: str, source: str) -> list[Any]:
    try:
        roots = list(compose_documents(text.encode(), source, 1))
        values = [YamlConstructor(source, 1, "*" in text and "&" in text).construct(root) for root in roots]
    except DecodeError as error:
        raise DeviceSpecError(str(error)) from None
    if len(values) != 1 or not isinstance(values[0], list):
        raise DeviceSpecError(f"{source}: must be one list of sets of devices, each with a driver and a count")
    return values[0]


def _read_set(raw: Any, at: str) -> DeviceSet:
    if not isinstance(raw, dict):
        raise DeviceSpecError(f"{at}: must be a mapping with a driver and a count")
    if unknown := raw.keys() - _OWN - _OF_DEVICES:
        known = ", ".join(sorted(_OWN | _OF_DEVICES))
        raise DeviceSpecError(f"{at}: unknown field {sorted(unknown)[0]!r} (known fields: {known})")
    driver, count, nodes = raw.get("driver"), raw.get("count", 1), raw.get("nodes", "")
    if not isinstance(driver, str) or dns1123_subdomain_errors(driver):
        raise DeviceSpecError(f"{at}: driver must be a DNS name such as gpu.example.com, not {driver!r}")
    if type(count) is not int or not 0 <= count <= MAX_COUNT:
        raise DeviceSpecError(f"{at}: count must be a number between 0 and {MAX_COUNT}, not {count!r}")
    name = raw.get("name", driver.partition(".")[0][:50])
    if not isinstance(name, str) or dns1123_label_errors(f"{name}-{MAX_COUNT}"):
        raise DeviceSpecError(f"{at}: name must be a DNS label such as gpu, not {name!r}")
    try:
        selector = parse_selector(nodes if isinstance(nodes, str) else repr(nodes))
    except SelectorError as error:
        raise DeviceSpecError(f"{at}: nodes must be a label selector such as gpu=a100: {error}") from None
    device = {field: value for field, value in raw.items() if field in _OF_DEVICES}
    device |= _plain_values(device, at)
    try:
        convert_view({"name": name, **device}, Device)
    except ConversionError as error:
        path, reason = error.problems[0]
        raise DeviceSpecError(f"{at}.{path}: {reason}") from None
    written = {"driver": driver, "count": count} | {field: raw[field] for field in raw if field != "nodes"}
    return DeviceSet(driver, count, name, selector, device, written)


def _plain_values(device: Raw, at: str) -> Raw:
    """Return attributes and capacities in the form of the API."""
    plain = {}
    for field, read in (("attributes", _attribute), ("capacity", _capacity)):
        if isinstance(values := device.get(field), dict):
            plain[field] = {name: read(value, f"{at}.{field}.{name}") for name, value in values.items()}
    return plain


def _attribute(value: Any, at: str) -> Any:
    if isinstance(value, dict):
        return value
    for kind, name in ((bool, "bool"), (int, "int"), (str, "string")):
        if isinstance(value, kind):
            return {name: value}
    raise DeviceSpecError(f"{at}: must be a string, a whole number, true or false, or a mapping such as version: 1.2.0")


def _capacity(value: Any, at: str) -> Any:
    if isinstance(value, dict):
        return value
    if isinstance(value, str | int) and not isinstance(value, bool):
        return {"value": str(value)}
    raise DeviceSpecError(f"{at}: must be a quantity such as 80Gi")


#: Annotation of a ResourceSlice with a digest of the devices that were published last.
PUBLISHED = "simulate.moorage.dev/published"
_MAX_DEVICES, _MAX_WITH_TAINTS = 128, 64
_FEWEST_DIGITS = 5
_ADVANCED = ("taints", "consumesCounters")
_LISTS = ("ints", "bools", "strings", "versions")
_LOG = get_logger("kubelet")


def wanted_devices(node: Node) -> dict[str, list[Raw]]:
    """Return the devices of a node by driver. An annotation that cannot be read counts as absent."""
    text = node.metadata.annotations.get(DEVICES, "")
    try:
        return devices_of(parse_devices(text, DEVICES))
    except DeviceSpecError as error:
        _LOG.warning("The devices of a node cannot be read", node=node.metadata.name, err=str(error))
        return {}


def digest(devices: list[Raw]) -> str:
    text = json.dumps(devices, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def in_slices(devices: list[Raw]) -> list[list[Raw]]:
    """Cut a driver's devices into slices of the size that the API allows; one empty slice without any."""
    advanced = any(field in device for device in devices for field in _ADVANCED) or any(
        kind in attribute
        for device in devices
        for attribute in (device.get("attributes") or {}).values()
        for kind in _LISTS
    )
    most = _MAX_WITH_TAINTS if advanced else _MAX_DEVICES
    return [devices[start : start + most] for start in range(0, len(devices), most)] or [[]]


def slice_prefix(index: int, count: int, driver: str, node: str) -> str:
    """Return the generateName of one of `count` slices; it begins with the index."""
    digits = max(_FEWEST_DIGITS, len(f"{count - 1:x}"))
    return f"{index:0{digits}x}-{driver}-{node}-"


def new_slices(node: Node, driver: str, devices: list[Raw], generation: int, simulator: str) -> list[Raw]:
    """Return all slices of one driver on a node, without names."""
    name, parts, published = node.metadata.name, in_slices(devices), digest(devices)
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node.metadata.uid, "controller": True}
    pool = {"name": name, "generation": generation, "resourceSliceCount": len(parts)}
    slices = []
    for index, part in enumerate(parts):
        metadata: Raw = {
            "generateName": slice_prefix(index, len(parts), driver, name),
            "labels": {SIMULATOR_LABEL: simulator},
            "annotations": {PUBLISHED: published},
            "ownerReferences": [owner],
        }
        spec: Raw = {"driver": driver, "pool": pool, "nodeName": name}
        slices.append({"metadata": metadata, "spec": {**spec, "devices": part} if part else spec})
    return slices


def keep_times(devices: list[Raw], before: list[Raw]) -> list[Raw]:
    """Return the devices with `timeAdded` of the taints that they had before."""
    old = {device.get("name"): device.get("taints") or () for device in before}
    kept = []
    for device in devices:
        taints = [
            taint if "timeAdded" in taint else {**taint, **_time_added(taint, old.get(device["name"], ()))}
            for taint in device.get("taints") or ()
        ]
        kept.append({**device, "taints": taints} if taints else device)
    return kept


def _time_added(taint: Raw, before: Any) -> Raw:
    for known in before:
        if all(known.get(field) == taint.get(field) for field in ("key", "value", "effect")):
            return {"timeAdded": known["timeAdded"]} if "timeAdded" in known else {}
    return {}
