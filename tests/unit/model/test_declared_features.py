"""Which features pods and updates need of their node: the features of component-helpers/nodedeclaredfeatures."""

from typing import Any

import pytest

from moorage.model.declared_features import (
    FEATURES,
    features_of_kubelet,
    missing_features,
    needed_to_run,
    needed_to_update,
)
from moorage.model.gates import default_gates, gates_from
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import PodSpec

RESTART_ALL = [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [1]}}]
RESTART = [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}]


def spec(**fields: Any) -> PodSpec:
    return convert_view({"containers": [{"name": "c"}], **fields}, PodSpec)


def init(cpu: str, **fields: Any) -> dict[str, Any]:
    return {"initContainers": [{"name": "i", "resources": {"requests": {"cpu": cpu}}, **fields}]}


def pod_level(cpu: str) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": cpu}}}


@pytest.mark.parametrize(
    ("fields", "needed"),
    [
        ({}, ()),
        ({"hostNetwork": True}, ()),
        ({"hostUsers": False}, ()),
        ({"hostNetwork": True, "hostUsers": True}, ()),
        ({"hostNetwork": True, "hostUsers": False}, ("UserNamespacesHostNetworkSupport",)),
        ({"containers": [{"name": "c", "restartPolicyRules": RESTART}]}, ()),
        (
            {"containers": [{"name": "c", "restartPolicyRules": [*RESTART, *RESTART_ALL]}]},
            ("RestartAllContainersOnContainerExits",),
        ),
        (
            {"initContainers": [{"name": "i", "restartPolicyRules": RESTART_ALL}]},
            ("RestartAllContainersOnContainerExits",),
        ),
        ({**pod_level("1"), **init("1")}, ()),
    ],
)
def test_scheduling_needs_what_the_spec_uses(fields: Any, needed: tuple[str, ...]) -> None:
    assert needed_to_run(spec(**fields)) == needed


@pytest.mark.parametrize(
    ("old", "new", "needed"),
    [
        ({}, {}, ()),
        (pod_level("1"), pod_level("1000m"), ()),
        (pod_level("1"), pod_level("2"), ("InPlacePodLevelResourcesVerticalScaling",)),
        ({}, pod_level("2"), ("InPlacePodLevelResourcesVerticalScaling",)),
        (init("1"), init("2"), ("InPlacePodVerticalScalingInitContainers",)),
        (init("1", restartPolicy="Always"), init("2", restartPolicy="Always"), ()),
        ({"hostNetwork": True, "hostUsers": False}, {"hostNetwork": True, "hostUsers": False}, ()),
    ],
)
def test_update_needs_what_it_changes(old: Any, new: Any, needed: tuple[str, ...]) -> None:
    assert needed_to_update(spec(**old), spec(**new)) == needed


def test_kubelet_declares_the_features_of_its_gates_sorted() -> None:
    declared = features_of_kubelet(default_gates())
    assert declared == (
        "ExtendWebSocketsToKubelet",
        "InPlacePodLevelResourcesVerticalScaling",
        "InPlacePodVerticalScalingInitContainers",
        "RestartAllContainersOnContainerExits",
    )
    everything = features_of_kubelet(gates_from({"AllAlpha": True}))
    assert everything == tuple(sorted(feature.name for feature in FEATURES))
    assert features_of_kubelet(gates_from({"AllBeta": False})) == ()
    one_less = features_of_kubelet(gates_from({"ExtendWebSocketsToKubelet": False}))
    assert one_less == declared[1:]


def test_missing_features_ignore_declared_ones_that_are_unknown() -> None:
    assert missing_features(("A", "B"), ("B", "Z")) == ("A",)
    assert missing_features(("A",), ("A", "Z")) == ()
