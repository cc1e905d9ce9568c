"""Extended resources that devices serve: the class of each, and the requests of a pod's claim."""

from typing import Any

import pytest

from moorage.match.devices.extended_resources import (
    classes_by_resource,
    may_be_backed,
    requested_resources,
    requests_and_mappings,
)
from moorage.model.schema.conversion import convert_view
from moorage.model.types.devices import DeviceClass
from moorage.model.types.pod import PodSpec

Raw = dict[str, Any]
GPU, NIC = "example.com/gpu", "example.com/nic"


def device_class(name: str, resource: str | None = None, created: str | None = None) -> DeviceClass:
    metadata = {"name": name, "creationTimestamp": created}
    return convert_view({"metadata": metadata, "spec": {"extendedResourceName": resource}}, DeviceClass)


CLASSES = {"g": device_class("g", GPU), "n": device_class("n", NIC)}
BY_RESOURCE = classes_by_resource(CLASSES)


def container(name: str, sidecar: bool = False, **requests: int) -> Raw:
    named = {{"gpu": GPU, "nic": NIC}.get(key, key): str(value) for key, value in requests.items()}
    more = {"restartPolicy": "Always"} if sidecar else {}
    return {"name": name, "image": "i", "resources": {"requests": named}, **more}


def spec(*containers: Raw, init: tuple[Raw, ...] = ()) -> PodSpec:
    return convert_view({"containers": list(containers), "initContainers": list(init)}, PodSpec)


def made(pod: PodSpec) -> tuple[dict[str, tuple[str, int]], set[tuple[str, str]]]:
    """Return class and count of each request, and which container uses which request."""
    found = requests_and_mappings(pod, [name for name in requested_resources(pod) if name in BY_RESOURCE], BY_RESOURCE)
    requests = {one["name"]: (one["exactly"]["deviceClassName"], one["exactly"]["count"]) for one in found.requests}
    return requests, {(one["containerName"], one["requestName"]) for one in found.mappings}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (GPU, True),
        ("deviceclass.resource.kubernetes.io/g", True),
        ("cpu", False),
        ("hugepages-2Mi", False),
        ("kubernetes.io/batteries", False),
        ("requests.example.com/gpu", False),
    ],
)
def test_resources_that_devices_may_serve(name: str, expected: bool) -> None:
    assert may_be_backed(name) is expected


def test_a_class_serves_what_it_names_and_its_own_name() -> None:
    found = {name: one.metadata.name for name, one in BY_RESOURCE.items()}
    prefix = "deviceclass.resource.kubernetes.io/"
    assert found == {GPU: "g", NIC: "n", f"{prefix}g": "g", f"{prefix}n": "n"}


@pytest.mark.parametrize(
    ("first", "second", "serves"),
    [
        (None, None, "a"),
        ("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z", "b"),
        ("2026-02-01T00:00:00Z", "2026-01-01T00:00:00Z", "a"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "a"),
    ],
)
def test_of_two_classes_the_newer_serves_then_the_first_by_name(
    first: str | None, second: str | None, serves: str
) -> None:
    classes = {"a": device_class("a", GPU, first), "b": device_class("b", GPU, second)}
    assert classes_by_resource(classes)[GPU].metadata.name == serves


def test_every_container_has_its_own_request() -> None:
    pod = spec(container("a", cpu=1, gpu=2), container("b", gpu=1, nic=1))
    requests, mappings = made(pod)
    assert requests == {
        "container-0-request-1": ("g", 2),
        "container-1-request-0": ("g", 1),
        "container-1-request-1": ("n", 1),
    }
    assert mappings == {
        ("a", "container-0-request-1"),
        ("b", "container-1-request-0"),
        ("b", "container-1-request-1"),
    }


def test_an_init_container_uses_what_later_containers_have_and_requests_the_rest() -> None:
    pod = spec(container("a", gpu=1), container("b", gpu=1), init=(container("i", gpu=3), container("j", gpu=2)))
    requests, mappings = made(pod)
    assert requests == {
        "container-0-request-0": ("g", 1),
        "container-2-request-0": ("g", 1),
        "container-3-request-0": ("g", 1),
    }
    used_by_i = {request for name, request in mappings if name == "i"}
    used_by_j = {request for name, request in mappings if name == "j"}
    assert used_by_i == {"container-0-request-0", "container-2-request-0", "container-3-request-0"}
    assert used_by_j == {"container-2-request-0", "container-3-request-0"}


def test_of_several_init_containers_the_largest_request_serves_all() -> None:
    pod = spec(container("a"), init=(container("i", gpu=1), container("j", gpu=3), container("k", gpu=2)))
    requests, mappings = made(pod)
    assert requests == {"container-1-request-0": ("g", 3)}
    assert mappings == {(name, "container-1-request-0") for name in "ijk"}


def test_a_sidecar_keeps_its_devices() -> None:
    pod = spec(container("a", gpu=1), init=(container("s", sidecar=True, gpu=1), container("i", gpu=1)))
    requests, mappings = made(pod)
    assert requests == {"container-0-request-0": ("g", 1), "container-2-request-0": ("g", 1)}
    assert ("i", "container-2-request-0") in mappings  # not the sidecar's, which started before
    assert ("i", "container-0-request-0") not in mappings
