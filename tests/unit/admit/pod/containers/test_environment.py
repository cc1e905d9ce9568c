"""Environment variables: names, sources, and references to the pod itself."""

from typing import Any

import pytest
from tests.unit.admit.pod.manifests import NOT_A_KEY, NOT_A_LABEL, NOT_A_SUBDOMAIN, container_errors, pod_errors

FIELDS = (
    '"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", '
    '"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"'
)
RESOURCES = (
    '"limits.cpu", "limits.ephemeral-storage", "limits.memory", '
    '"requests.cpu", "requests.ephemeral-storage", "requests.memory"'
)
BYTES = "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the"
PRINTABLE = "a valid environment variable name must consist only of printable ASCII characters other than '='"


def field(path: str, version: str = "v1") -> dict[str, Any]:
    return {"fieldRef": {"apiVersion": version, "fieldPath": path}}


def resource(name: str, divisor: str = "0") -> dict[str, Any]:
    return {"resourceFieldRef": {"resource": name, "divisor": divisor}}


VALUES: list[tuple[dict[str, Any], list[str]]] = [
    (field("spec.host"), []),
    (field("metadata.labels['app']"), []),
    (field("metadata.annotations['App']"), []),
    (field(""), ["valueFrom.fieldRef.fieldPath: Required value"]),
    (field("metadata.name", ""), ["valueFrom.fieldRef.apiVersion: Required value"]),
    (
        field("metadata.name", "v2"),
        [
            'valueFrom.fieldRef.fieldPath: Invalid value: "metadata.name": '
            "error converting fieldPath: unsupported pod version: v2"
        ],
    ),
    (
        field("spec.x['y']"),
        [
            "valueFrom.fieldRef.fieldPath: Invalid value: \"spec.x['y']\": "
            "error converting fieldPath: field label does not support subscript: spec.x['y']"
        ],
    ),
    (
        field("['y']"),
        [
            "valueFrom.fieldRef.fieldPath: Invalid value: \"['y']\": "
            "error converting fieldPath: field label not supported: ['y']"
        ],
    ),
    (
        field("status.phase"),
        [f'valueFrom.fieldRef.fieldPath: Unsupported value: "status.phase": supported values: {FIELDS}'],
    ),
    (
        field("metadata.labels"),
        [f'valueFrom.fieldRef.fieldPath: Unsupported value: "metadata.labels": supported values: {FIELDS}'],
    ),
    (field("metadata.annotations['_']"), [f'valueFrom.fieldRef: Invalid value: "_": {NOT_A_KEY}']),
    (resource("limits.cpu", "1m"), []),
    (resource("requests.hugepages-2Mi", "1Mi"), []),
    (resource(""), ["valueFrom.resourceFieldRef.resource: Required value"]),
    (
        resource("limits.odd", "7"),
        [f'valueFrom.resourceFieldRef.resource: Unsupported value: "limits.odd": supported values: {RESOURCES}'],
    ),
    (
        resource("requests.memory", "2Mi"),
        [f'valueFrom.resourceFieldRef.divisor: Invalid value: "requests.memory": {BYTES} memory resource'],
    ),
    (
        resource("limits.ephemeral-storage", "1m"),
        [
            'valueFrom.resourceFieldRef.divisor: Invalid value: "limits.ephemeral-storage": '
            f"{BYTES} local ephemeral storage resource"
        ],
    ),
    (
        resource("limits.hugepages-1Gi", "3"),
        [f'valueFrom.resourceFieldRef.divisor: Invalid value: "limits.hugepages-1Gi": {BYTES} hugepages resource'],
    ),
    ({"configMapKeyRef": {"name": "n", "key": "k"}}, []),
    (
        {"secretKeyRef": {"name": "_", "key": ""}},
        [
            f'valueFrom.secretKeyRef.name: Invalid value: "_": {NOT_A_SUBDOMAIN}',
            "valueFrom.secretKeyRef.key: Required value",
        ],
    ),
    (
        {"configMapKeyRef": {"name": "n", "key": ".."}},
        ["valueFrom.configMapKeyRef.key: Invalid value: \"..\": must not be '..'"],
    ),
    (
        {**field("metadata.name"), **resource("limits.cpu")},
        ['valueFrom: Invalid value: "": may not have more than one field specified at a time'],
    ),
    (
        {},
        [
            'valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, '
            "`secretKeyRef` or `fileKeyRef`"
        ],
    ),
]


@pytest.mark.parametrize(("source", "expected"), VALUES)
def test_sources_of_a_variable(source: dict[str, Any], expected: list[str]) -> None:
    found = container_errors({"env": [{"name": "A", "valueFrom": source}]})
    assert found == [f"env[0].{error}" for error in expected]


def test_names_and_values() -> None:
    env = [
        {"name": "a b%"},
        {"name": ""},
        {"name": "ä"},
        {"name": "A", "value": "x", "valueFrom": field("metadata.name")},
    ]
    assert container_errors({"env": env}) == [
        "env[1].name: Required value",
        f'env[2].name: Invalid value: "ä": {PRINTABLE}',
        'env[3].valueFrom: Invalid value: "": may not be specified when `value` is not empty',
    ]


def test_whole_config_maps_and_secrets() -> None:
    sources = [
        {"prefix": "=", "configMapRef": {"name": "ab-"}},
        {"secretRef": {"name": "a_"}},
        {},
        {"configMapRef": {}, "secretRef": {"name": "s"}},
    ]
    assert container_errors({"envFrom": sources}) == [
        f'envFrom[0].prefix: Invalid value: "=": {PRINTABLE}',
        f'envFrom[1].secretRef.name: Invalid value: "a_": {NOT_A_SUBDOMAIN}',
        'envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`',
        "envFrom[3].configMapRef.name: Required value",
        'envFrom: Invalid value: "": may not have more than one field specified at a time',
    ]


def test_variables_from_files_need_an_empty_dir() -> None:
    def variable(volume: str, path: str = "p", key: str = "k") -> dict[str, Any]:
        return {"name": "A", "valueFrom": {"fileKeyRef": {"volumeName": volume, "path": path, "key": key}}}

    volumes = [{"name": "e", "emptyDir": {}}, {"name": "h", "hostPath": {"path": "/"}}]
    spec = {
        "volumes": volumes,
        "containers": [{"env": [variable("e"), variable("h")]}],
        "initContainers": [{"env": [variable("x", "a/../b", "=")]}],
    }
    at = "valueFrom.fileKeyRef"
    assert pod_errors(spec) == [
        f'spec.initContainers[0].env[0].{at}.key: Invalid value: "=": {PRINTABLE}',
        f"spec.initContainers[0].env[0].{at}.path: Invalid value: \"a/../b\": must not contain '..'",
        f'spec.initContainers[0].env[0].{at}.volumeName: Not found: "x"',
        f'spec.containers[0].env[1].{at}.volumeName: Invalid value: "h": referenced volume must be of type emptyDir',
    ]
    assert container_errors({"env": [variable("", "", ""), variable("_")]}) == [
        f"env[0].{at}.key: Required value",
        f"env[0].{at}.volumeName: Required value",
        f"env[0].{at}.path: Required value",
        f'env[1].{at}.volumeName: Invalid value: "_": {NOT_A_LABEL}',
        f'env[0].{at}.volumeName: Not found: ""',
        f'env[1].{at}.volumeName: Not found: "_"',
    ]
