"""Find the device class that serves an extended resource, and write the requests of the claim made for a pod.

A class serves the resource that it names and, by its own name, an implicit one. Kubernetes:
dynamicresources/extendeddynamicresources.go and deviceclass/extendedresourcecache.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from moorage.model.types.container import Container
from moorage.model.types.devices import DeviceClass
from moorage.model.types.pod import PodSpec

#: The name of a claim before it is created, which no claim can have.
SPECIAL_NAME = "<extended-resources>"
_IMPLICIT = "deviceclass.resource.kubernetes.io/"
_NATIVE, _QUOTA = "kubernetes.io/", "requests."
Raw = dict[str, Any]


class RequestsAndMappings(msgspec.Struct, frozen=True):
    """The raw requests of a claim, and which of them serves which resource of which container."""

    requests: tuple[Raw, ...]
    mappings: tuple[Raw, ...]


def may_be_backed(name: str) -> bool:
    """Return whether a resource can be served by devices: it is extended, or names a class."""
    if name.startswith(_IMPLICIT):
        return True
    return "/" in name and _NATIVE not in name and not name.startswith(_QUOTA)


def classes_by_resource(classes: Mapping[str, DeviceClass]) -> dict[str, DeviceClass]:
    """Return the class of every resource that one serves: of several the newest, then the first by name."""
    by_resource = {f"{_IMPLICIT}{name}": device_class for name, device_class in classes.items()}
    for device_class in sorted(classes.values(), key=lambda class_: class_.metadata.name, reverse=True):
        resource = device_class.spec.extendedResourceName
        if resource is None:
            continue
        known = by_resource.get(resource)
        if known is None or (known.metadata.creationTimestamp or "") <= (device_class.metadata.creationTimestamp or ""):
            by_resource[resource] = device_class
    return by_resource


def requested_resources(spec: PodSpec) -> list[str]:
    """Return the extended resources that a pod requests, in order."""
    names = {
        name
        for container in (*spec.initContainers, *spec.containers)
        for name, quantity in container.resources.requests.items()
        if may_be_backed(name) and not quantity.is_zero()
    }
    return sorted(names)


def requests_and_mappings(
    spec: PodSpec, resources: Collection[str], classes: Mapping[str, DeviceClass]
) -> RequestsAndMappings:
    """Return the requests of the claim that serves these resources of a pod."""
    containers = [*spec.initContainers, *spec.containers]
    first = len(spec.initContainers)
    short_lived = [i for i in range(first) if not containers[i].is_sidecar]
    requests: list[Raw] = []
    mappings: list[Raw] = []
    for resource in sorted(resources):
        name = classes[resource].metadata.name
        own: list[Raw | None] = [None] * len(containers)
        for i, container in enumerate(containers):
            if i not in short_lived:
                own[i], mapped = _request(i, container, resource, name, ())
                mappings += mapped
        largest: Raw | None = None
        replaced: set[str] = set()
        of_short_lived: list[Raw] = []
        for i in short_lived:
            request, mapped = _request(i, containers[i], resource, name, own[i:])
            of_short_lived += mapped
            if request is not None:
                replaced.add(request["name"])
                if largest is None or largest["exactly"]["count"] < request["exactly"]["count"]:
                    largest = request
        if largest is not None:
            requests.append(largest)
            for mapping in of_short_lived:
                if mapping["requestName"] in replaced:
                    mapping["requestName"] = largest["name"]
        requests += [request for request in own if request is not None]
        mappings += of_short_lived
    return RequestsAndMappings(tuple(sorted(requests, key=lambda request: str(request["name"]))), tuple(mappings))


def _request(
    index: int, container: Container, resource: str, device_class: str, reusable: Sequence[Raw | None]
) -> tuple[Raw | None, list[Raw]]:
    """Return what a container needs besides requests that it may use, and the requests that serve it."""
    requests = container.resources.requests
    quantity = requests.get(resource)
    needed = quantity.value() if quantity is not None else 0
    mappings: list[Raw] = []
    if not needed:
        return None, mappings
    for other in reusable:
        if other is not None:
            needed -= other["exactly"]["count"]
            mappings.append(_mapping(container, resource, other["name"]))
            if needed <= 0:
                return None, mappings
    name = f"container-{index}-request-{sorted(requests).index(resource)}"
    exactly = {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": needed}
    mappings.append(_mapping(container, resource, name))
    return {"name": name, "exactly": exactly}, mappings


def _mapping(container: Container, resource: str, request: str) -> Raw:
    return {"containerName": container.name, "resourceName": resource, "requestName": request}
