"""The ResourceSlices of a simulated node, from the devices in its annotation.

Kubernetes: dynamic-resource-allocation/resourceslice, as drivers use it through kubeletplugin.
"""

import hashlib
import json
from typing import Any

from moorage.model.types.node import Node
from moorage.run.devices.spec import DEVICES, DeviceSpecError, devices_of, parse_devices
from moorage.run.node_objects import SIMULATOR_LABEL
from moorage.telemetry.logs import get_logger

Raw = dict[str, Any]

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
