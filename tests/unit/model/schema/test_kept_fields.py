"""What is left of a document: what the API knows, and what says something."""

from typing import Any

import pytest

from moorage.model.schema.known_fields import kept_part, write_as_go
from moorage.model.types.devices import DeviceCapacity, DeviceClass, ResourceClaim
from moorage.model.types.meta import TypedLocalObjectReference
from moorage.model.types.networking import Ingress, NetworkPolicy
from moorage.model.types.pod import Pod
from moorage.model.types.policy import PodDisruptionBudget
from moorage.model.types.view import View
from moorage.model.types.workload import Deployment

_NO_DISRUPTIONS = {"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0}

POD = {"spec": {"containers": [{"name": "c", "image": "i", "resources": {}}], "tolerations": []}}


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        ({"odd": 1, "spec": {"nodeName": "n"}}, {"spec": {"nodeName": "n"}}),
        (
            {"spec": {"contaners": [], "containers": [{"nam": "x", "name": "c"}]}},
            {"spec": {"containers": [{"name": "c"}]}},
        ),
        ({"spec": {"nodeName": None, "containers": None}}, {"spec": {}}),
        (
            {"spec": {"containers": [{"env": None, "name": "c"}, None]}},
            {"spec": {"containers": [{"name": "c"}, {"name": ""}]}},
        ),
        ({"metadata": {"deletionTimestamp": None}, "status": {"startTime": None}}, {"metadata": {}, "status": {}}),
        ({"metadata": {"creationTimestamp": None, "labels": {"a": None}}}, {"metadata": {"labels": {"a": ""}}}),
        ({"status": {"conditions": [{"type": "Ready", "status": "True", "lastProbeTime": None}]}}, None),
        ({"spec": {"hostNetwork": False, "priority": 0, "schedulerName": ""}}, {"spec": {"priority": 0}}),
        ({"spec": {"hostNetwork": 0, "nodeName": [], "tolerations": []}}, None),
        (
            {"spec": {"overhead": {"cpu": 0.5, "memory": "1024Mi", "pods": "1", "x": "odd", "y": None}}},
            {"spec": {"overhead": {"cpu": "500m", "memory": "1Gi", "pods": "1", "x": "odd", "y": "0"}}},
        ),
        ({"status": {"conditions": [{}]}}, {"status": {"conditions": [{"type": "", "status": ""}]}}),
        ({"metadata": {"annotations": {"odd": "1"}, "labels": None}}, {"metadata": {"annotations": {"odd": "1"}}}),
        ({"spec": {"nodeSelector": {"odd": "1"}, "containers": "none"}}, None),
        (POD, None),
        ("no document", None),
    ],
)
def test_what_is_kept(raw: Any, kept: Any) -> None:
    """Without an expectation: all of it, and not even a copy."""
    found = kept_part(raw, Pod)
    if kept is None:
        assert found is raw
    else:
        assert found == kept


def test_null_creation_timestamp_of_a_template_is_dropped() -> None:
    template: dict[str, Any] = {"metadata": {"creationTimestamp": None, "labels": {"app": "web"}}, "spec": POD["spec"]}
    kept = kept_part({"spec": {"template": template}, "status": {}}, Deployment)
    assert kept == {"spec": {"template": {**template, "metadata": {"labels": {"app": "web"}}}}, "status": {}}
    assert kept["spec"]["template"]["spec"] is POD["spec"]
    assert "creationTimestamp" in template["metadata"]


def test_empty_lists_and_maps_are_left_out_but_for_those_always_written() -> None:
    container = {"name": "c", "env": [], "resources": {"limits": {}}, "securityContext": {}}
    pod: dict[str, Any] = {"metadata": {"labels": {}}, "spec": {"nodeSelector": {}, "containers": [container]}}
    write_as_go(pod, Pod)
    kept = {"name": "c", "resources": {}, "securityContext": {}}
    assert pod == {"metadata": {}, "spec": {"containers": [kept]}, "status": {}}


@pytest.mark.parametrize(
    ("view", "written"),
    [
        (PodDisruptionBudget, {"spec": {}, "status": _NO_DISRUPTIONS}),
        (DeviceClass, {"spec": {}}),
        (ResourceClaim, {"spec": {"devices": {"requests": None}}, "status": {}}),
        (NetworkPolicy, {"spec": {"podSelector": {}}}),
        (Ingress, {"spec": {}, "status": {"loadBalancer": {}}}),
    ],
)
def test_structs_that_are_no_pointers_are_written_though_nothing_in_them_is_set(
    view: type[View], written: dict[str, Any]
) -> None:
    raw: dict[str, Any] = {"metadata": {}}
    write_as_go(raw, view)
    assert raw == {"metadata": {}, **written}
    empty: dict[str, Any] = {"metadata": {}, "spec": {}}
    write_as_go(empty, view)
    assert empty == raw


def test_quantities_are_written_as_zero_and_pointers_without_omitempty_as_null() -> None:
    capacity: dict[str, Any] = {"requestPolicy": {}}
    write_as_go(capacity, DeviceCapacity)
    assert capacity == {"requestPolicy": {"default": None}, "value": "0"}
    reference: dict[str, Any] = {"kind": "C", "name": "d"}
    write_as_go(reference, TypedLocalObjectReference)
    assert reference == {"kind": "C", "name": "d", "apiGroup": None}


def test_nulls_in_a_list_of_texts_are_empty_texts() -> None:
    kept = kept_part({"spec": {"containers": [{"name": "c", "args": [None, "x"]}]}}, Pod)
    assert kept["spec"]["containers"][0]["args"] == ["", "x"]
