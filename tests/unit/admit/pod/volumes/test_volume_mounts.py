"""Mounts and devices of a container."""

from typing import Any

import pytest
from tests.unit.admit.pod.manifests import container_errors

VOLUMES = {
    "volumes": [
        {"name": "v", "emptyDir": {}},
        {"name": "w", "emptyDir": {}},
        {"name": "b", "persistentVolumeClaim": {"claimName": "x"}},
    ]
}
MOUNT = {"name": "v", "mountPath": "/x"}
PROPAGATIONS = '"Bidirectional", "HostToContainer", "None"'

MOUNTS: list[tuple[list[dict[str, Any]], list[str]]] = [
    ([MOUNT, {**MOUNT, "mountPath": "/y"}], []),
    ([{}], ["[0].name: Required value", '[0].name: Not found: ""', "[0].mountPath: Required value"]),
    ([MOUNT, {"name": "w", "mountPath": "/x"}], ['[1].mountPath: Invalid value: "/x": must be unique']),
    (
        [{**MOUNT, "subPath": "/../a", "subPathExpr": "b/.."}],
        [
            '.subPath: Invalid value: "/../a": must be a relative path',
            ".subPath: Invalid value: \"/../a\": must not contain '..'",
            '[0].subPathExpr: Invalid value: "b/..": subPathExpr and subPath are mutually exclusive',
            ".subPathExpr: Invalid value: \"b/..\": must not contain '..'",
        ],
    ),
    (
        [{**MOUNT, "mountPropagation": "Bidirectional"}],
        [".mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers"],
    ),
    (
        [{**MOUNT, "mountPropagation": ""}],
        [f'.mountPropagation: Unsupported value: "": supported values: {PROPAGATIONS}'],
    ),
    ([{**MOUNT, "recursiveReadOnly": "Disabled"}], []),
    ([{**MOUNT, "readOnly": True, "recursiveReadOnly": "Enabled", "mountPropagation": "None"}], []),
    (
        [{**MOUNT, "recursiveReadOnly": "IfPossible", "mountPropagation": "HostToContainer"}],
        [
            ".recursiveReadOnly: Forbidden: may only be specified when readOnly is true",
            ".recursiveReadOnly: Forbidden: may only be specified when mountPropagation is None or not specified",
        ],
    ),
    (
        [{**MOUNT, "recursiveReadOnly": "Odd"}],
        ['.recursiveReadOnly: Unsupported value: "Odd": supported values: "Disabled", "Enabled", "IfPossible"'],
    ),
]

DEVICES: list[tuple[list[dict[str, Any]], list[str]]] = [
    ([{"name": "b", "devicePath": "/d"}], []),
    ([{}], ["[0].name: Required value", '[0].name: Not found: ""', "[0].devicePath: Required value"]),
    (
        [{"name": "v", "devicePath": "/d"}],
        [
            '[0].name: Invalid value: "v": '
            "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        ],
    ),
    (
        [{"name": "b", "devicePath": "/d"}, {"name": "b", "devicePath": "/d"}],
        ['[1].name: Invalid value: "b": must be unique', '[1].devicePath: Invalid value: "/d": must be unique'],
    ),
    (
        [{"name": "b", "devicePath": "/../d"}],
        ["[0].devicePath: Invalid value: \"/../d\": can not contain backsteps ('..')"],
    ),
]


@pytest.mark.parametrize(("mounts", "expected"), MOUNTS)
def test_mounts(mounts: list[dict[str, Any]], expected: list[str]) -> None:
    assert container_errors({"volumeMounts": mounts}, VOLUMES) == [f"volumeMounts{error}" for error in expected]


@pytest.mark.parametrize(("devices", "expected"), DEVICES)
def test_devices(devices: list[dict[str, Any]], expected: list[str]) -> None:
    assert container_errors({"volumeDevices": devices}, VOLUMES) == [f"volumeDevices{error}" for error in expected]


def test_a_volume_is_mounted_or_a_device() -> None:
    both = {
        "volumeMounts": [{"name": "b", "mountPath": "/m"}, {"name": "v", "mountPath": "/d"}],
        "volumeDevices": [{"name": "b", "devicePath": "/d"}],
    }
    assert container_errors(both, VOLUMES) == [
        'volumeMounts[0].name: Invalid value: "b": must not already exist in volumeDevices',
        'volumeMounts[1].mountPath: Invalid value: "/d": must not already exist as a path in volumeDevices',
        'volumeDevices[0].name: Invalid value: "b": must not already exist in volumeMounts',
        'volumeDevices[0].devicePath: Invalid value: "/d": must not already exist as a path in volumeMounts',
    ]


def test_user_namespaces_have_no_devices() -> None:
    device = {"volumeDevices": [{"name": "b", "devicePath": "/d"}]}
    assert container_errors(device, {**VOLUMES, "hostUsers": False}) == [
        "volumeDevices: Forbidden: when `hostUsers` is false"
    ]
