"""Resizes that the pod's node cannot carry out: TestValidate of nodedeclaredfeatures and podresize."""

from typing import Any

import pytest
from tests.unit.admit.objects import Raw

from moorage.admit.admission import Admitted, Rejected
from moorage.admit.chain import Admission
from moorage.admit.objects_world import ObjectsWorld
from moorage.admit.prepare.pod_defaults import default_pod
from moorage.model.gates import GateSet, default_gates, gates_from
from moorage.model.kinds import KINDS
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node

INIT = {"name": "i", "image": "i", "resources": {"requests": {"cpu": "1"}}}
FEATURE = "InPlacePodVerticalScalingInitContainers"


def world(system: str = "linux", features: tuple[str, ...] = (), *, is_complete: bool = True) -> ObjectsWorld:
    raw = {
        "metadata": {"name": "n", "labels": {"kubernetes.io/os": system} if system else {}},
        "status": {"allocatable": {"cpu": "4", "memory": "1Gi", "pods": "9"}, "declaredFeatures": list(features)},
    }
    return ObjectsWorld.of([(KINDS.NODE, convert_view(raw, Node))], is_complete=is_complete)


def bound_pod(node: str = "n", **spec: Any) -> Raw:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1", "memory": "64Mi"}}}
    metadata = {"name": "p", "namespace": "default", "uid": "u", "generation": 1, "resourceVersion": "1"}
    raw = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"nodeName": node, "containers": [container], **spec},
        "status": {"phase": "Running", "qosClass": "Burstable"},
    }
    default_pod(raw)
    return raw


def resized(old: Raw, field: str = "containers", **requests: str) -> Raw:
    containers = [
        {**one, "resources": {"requests": {**one["resources"]["requests"], **requests}}} for one in old["spec"][field]
    ]
    return {**old, "spec": {**old["spec"], field: containers}}


def answer(old: Raw, new: Raw, where: ObjectsWorld, gates: GateSet | None = None) -> Admitted | Rejected:
    return Admission(where, gates or default_gates()).update_part("resize", new, old, None)


def message(old: Raw, new: Raw, where: ObjectsWorld, gates: GateSet | None = None) -> str:
    result = answer(old, new, where, gates)
    return str(result.status["message"]) if isinstance(result, Rejected) else ""


def test_resize_within_the_node_is_admitted() -> None:
    old = bound_pod()
    assert not message(old, resized(old, cpu="4"), world())
    assert not message(old, resized(old, cpu="4"), world(system=""))


@pytest.mark.parametrize(
    ("requests", "text"),
    [
        ({"cpu": "4001m"}, "cpu, requested: 4001, allocatable: 4000"),
        ({"memory": "2Gi"}, "memory, requested: 2147483648, allocatable: 1073741824"),
        (
            {"cpu": "5", "memory": "2Gi"},
            "cpu, requested: 5000, allocatable: 4000; memory, requested: 2147483648, allocatable: 1073741824",
        ),
    ],
)
def test_resize_beyond_the_node_is_refused_with_a_cause(requests: dict[str, str], text: str) -> None:
    old = bound_pod()
    result = answer(old, resized(old, **requests), world())
    assert isinstance(result, Rejected)
    assert result.status["message"] == (
        f'pods "p" is forbidden: node didn\'t have enough allocatable resources: {text}'
    )
    assert result.status["code"] == 403
    assert result.status["details"]["causes"] == [{"reason": "NodeCapacity"}]


def test_resize_on_another_system_is_refused() -> None:
    old = bound_pod()
    result = answer(old, resized(old, cpu="2"), world("windows"))
    assert isinstance(result, Rejected)
    text = 'pod resize is only supported on linux nodes, node "n" is "windows"'
    assert result.status["message"] == f'pods "p" is forbidden: {text}'
    assert result.status["details"]["causes"] == [{"reason": "UnsupportedPlatform"}]


def test_node_must_exist_unless_the_world_is_a_part_of_a_cluster() -> None:
    old = bound_pod("gone")
    new = resized(old, cpu="2")
    assert message(old, new, world()) == 'pods "p" is forbidden: node "gone" not found'
    result = answer(old, new, world(is_complete=False))
    assert isinstance(result, Admitted)
    unbound = bound_pod("")
    assert not message(unbound, resized(unbound, cpu="99"), world())


def test_nothing_changed_is_not_looked_at() -> None:
    old = bound_pod("gone")
    assert not message(old, old, world())


def test_init_containers_need_a_node_that_declares_their_resize() -> None:
    old = bound_pod(initContainers=[INIT])
    new = resized(old, "initContainers", cpu="2")
    text = f'pod update requires features {FEATURE} which are not available on node "n"'
    assert message(old, new, world()) == f'pods "p" is forbidden: {text}'
    assert not message(old, new, world(features=(FEATURE,)))
    without = gates_from({"AllBeta": False, FEATURE: False})
    assert "non-sidecar init containers are immutable" in message(old, new, world(), without)
