"""Containers: regular, init and ephemeral ones."""

from typing import Any

import pytest
from tests.unit.admit.pod.manifests import NOT_A_LABEL, POD, container_errors, pod_errors

from moorage.admit.options import ValidationOptions

PORT = {"containerPort": 80, "protocol": "TCP"}
ACTIONS = {"exec": {"command": ["x"]}}
PROBE = {**ACTIONS, "successThreshold": 1}
RULE = {"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}
RANGE = "must be between 1 and 65535, inclusive"
NOT_NEGATIVE = "must be greater than or equal to 0"
ONLY_FOR_SIDECARS = "Forbidden: may not be set for init containers without restartPolicy=Always"
NOT_FOR_EPHEMERAL = "Forbidden: cannot be set for an Ephemeral Container"

CONTAINERS: list[tuple[dict[str, Any], list[str]]] = [
    ({"image": "i"}, []),
    ({"name": "", "image": ""}, ["name: Required value", "image: Required value"]),
    ({"name": "A"}, [f'name: Invalid value: "A": {NOT_A_LABEL}']),
    ({"image": " i\u00a0"}, ['image: Invalid value: " i\\u00a0": must not have leading or trailing whitespace']),
    ({"image": "\x1ci"}, []),
    (
        {"terminationMessagePolicy": "Odd", "imagePullPolicy": "Odd"},
        [
            'terminationMessagePolicy: Unsupported value: "Odd": supported values: "File", "FallbackToLogsOnError"',
            'imagePullPolicy: Unsupported value: "Odd": supported values: "Always", "IfNotPresent", "Never"',
        ],
    ),
    (
        {"terminationMessagePolicy": "", "imagePullPolicy": ""},
        ["terminationMessagePolicy: Required value", "imagePullPolicy: Required value"],
    ),
    ({"ports": [PORT, {**PORT, "name": "http", "hostPort": 1}]}, []),
    ({"ports": [{}]}, ["ports[0].containerPort: Required value", "ports[0].protocol: Required value"]),
    (
        {"ports": [{"name": "-A", "containerPort": -1, "hostPort": 65536, "protocol": "tcp"}]},
        [
            'ports[0].name: Invalid value: "-A": '
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
            'ports[0].name: Invalid value: "-A": must contain at least one letter (a-z)',
            'ports[0].name: Invalid value: "-A": must not begin or end with a hyphen',
            f"ports[0].containerPort: Invalid value: -1: {RANGE}",
            f"ports[0].hostPort: Invalid value: 65536: {RANGE}",
            'ports[0].protocol: Unsupported value: "tcp": supported values: "SCTP", "TCP", "UDP"',
        ],
    ),
    (
        {"ports": [{**PORT, "name": "a"}, {**PORT, "name": "a"}]},
        ['ports[1].name: Duplicate value: "a"'],
    ),
    (
        {"ports": [{**PORT, "hostPort": 1, "hostIP": "1.1.1.1"}, {**PORT, "hostPort": 1, "hostIP": "1.1.1.1"}]},
        ['ports[1].hostPort: Duplicate value: "TCP/1.1.1.1/1"'],
    ),
    ({"livenessProbe": PROBE, "readinessProbe": {**PROBE, "successThreshold": 3}, "startupProbe": PROBE}, []),
    ({"livenessProbe": {"grpc": {"port": 1}, "successThreshold": 1}}, []),
    (
        {"livenessProbe": {**PROBE, "grpc": {"port": 0}, "httpGet": {}, "tcpSocket": {"port": 0}}},
        [
            f"livenessProbe.{name}: Forbidden: may not specify more than 1 handler type"
            for name in ("httpGet", "tcpSocket", "grpc")
        ],
    ),
    (
        {"startupProbe": {"exec": {}, "failureThreshold": -1, "terminationGracePeriodSeconds": -1}},
        [
            "startupProbe.exec.command: Required value",
            f"startupProbe.failureThreshold: Invalid value: -1: {NOT_NEGATIVE}",
            "startupProbe.terminationGracePeriodSeconds: Invalid value: -1: must be greater than 0",
            "startupProbe.successThreshold: Invalid value: 0: must be 1",
        ],
    ),
    (
        {"readinessProbe": {"grpc": {"port": 0}, "terminationGracePeriodSeconds": 1}},
        [
            f"readinessProbe.grpc.port: Invalid value: 0: {RANGE}",
            "readinessProbe.terminationGracePeriodSeconds: Invalid value: 1: must not be set for readinessProbes",
        ],
    ),
    (
        {"readinessProbe": {"httpGet": {"port": "x", "httpHeaders": [{"name": "a b"}]}}},
        [
            "readinessProbe.httpGet.path: Required value",
            'readinessProbe.httpGet.scheme: Unsupported value: "": supported values: "HTTP", "HTTPS"',
            'readinessProbe.httpGet.httpHeaders: Invalid value: "a b": a valid HTTP header must consist of '
            "alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
        ],
    ),
    (
        {"lifecycle": {"preStop": {}, "postStart": {"tcpSocket": {"port": ""}, "sleep": {"seconds": 1}}}},
        [
            'lifecycle.postStart.tcpSocket.port: Invalid value: "": '
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
            'lifecycle.postStart.tcpSocket.port: Invalid value: "": must contain at least one letter (a-z)',
            "lifecycle.postStart.sleep: Forbidden: may not specify more than 1 handler type",
            "lifecycle.preStop: Required value: must specify a handler type",
        ],
    ),
    ({"lifecycle": {"preStop": {"sleep": {"seconds": 30}}, "postStart": {"sleep": {"seconds": 0}}}}, []),
    (
        {"lifecycle": {"preStop": {"sleep": {"seconds": 31}}}},
        [
            "lifecycle.preStop.sleep: Invalid value: 31: "
            "must be non-negative and less than terminationGracePeriodSeconds (30)"
        ],
    ),
    (
        {"lifecycle": {"stopSignal": "SIGTERM"}},
        ["lifecycle.stopSignal: Forbidden: may not be set for containers with empty `spec.os.name`"],
    ),
    ({"restartPolicy": "Never", "restartPolicyRules": [RULE]}, []),
    (
        {"restartPolicyRules": [RULE]},
        ["restartPolicy: Required value: must specify restartPolicy when restart rules are used"],
    ),
    (
        {"restartPolicy": "Odd", "restartPolicyRules": [{"exitCodes": {"values": list(range(256))}}, {"action": "No"}]},
        [
            'restartPolicy: Unsupported value: "Odd": supported values: "Always", "Never", "OnFailure"',
            'restartPolicyRules[0].action: Unsupported value: "": supported values: "Restart", "RestartAllContainers"',
            'restartPolicyRules[0].exitCodes.operator: Unsupported value: "": supported values: "In", "NotIn"',
            "restartPolicyRules[0].exitCodes.values: Too many: 256: must have at most 255 items",
            'restartPolicyRules[1].action: Unsupported value: "No": '
            'supported values: "Restart", "RestartAllContainers"',
            "restartPolicyRules[1].exitCodes: Required value: must be specified",
        ],
    ),
    (
        {"restartPolicy": "Always", "restartPolicyRules": [RULE] * 21},
        ["restartPolicyRules: Too many: 21: must have at most 20 items"],
    ),
    (
        {"resizePolicy": [{}, {"resourceName": "gpu", "restartPolicy": "Odd"}]},
        [
            "resizePolicy: Required value",
            "resizePolicy: Required value",
            'resizePolicy: Unsupported value: "gpu": supported values: "cpu", "memory"',
            'resizePolicy: Unsupported value: "Odd": supported values: "NotRequired", "RestartContainer"',
        ],
    ),
]


@pytest.mark.parametrize(("container", "expected"), CONTAINERS)
def test_one_container(container: dict[str, Any], expected: list[str]) -> None:
    assert container_errors(container) == expected


def test_containers_of_a_pod() -> None:
    assert pod_errors({"containers": []}) == ["spec.containers: Required value"]
    taken = {**PORT, "hostPort": 1}
    assert pod_errors({"containers": [{"name": "a", "ports": [taken]}, {"name": "a", "ports": [taken]}]}) == [
        'spec.containers[1].name: Duplicate value: "a"',
        'spec.containers[1].ports[0].hostPort: Duplicate value: "TCP//1"',
    ]


def test_resizing_in_a_pod_that_never_restarts() -> None:
    resize = {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]}
    assert container_errors(resize, {"restartPolicy": "Never"}) == [
        "resizePolicy: Invalid value: \"RestartContainer\": must be 'NotRequired' when pod `restartPolicy` is 'Never'"
    ]


@pytest.mark.parametrize(
    ("os", "signal", "expected"),
    [
        ("linux", "SIGRTMAX-14", ""),
        ("linux", "SIGRTMIN+15", ""),
        ("linux", "SIGRTMAX-15", 'Unsupported value: "SIGRTMAX-15": supported values: "SIGABRT", "SIGALRM"'),
        ("windows", "SIGTERM", ""),
        ("windows", "SIGHUP", 'Unsupported value: "SIGHUP": supported values: "SIGKILL", "SIGTERM"'),
        ("odd", "SIGHUP", ""),
    ],
)
def test_stop_signals(os: str, signal: str, expected: str) -> None:
    found = container_errors({"lifecycle": {"stopSignal": signal}}, {"os": {"name": os}})
    about_signals = [error for error in found if error.startswith("lifecycle")]
    assert len(about_signals) == bool(expected)
    assert all(error.startswith(f"lifecycle.stopSignal: {expected}") for error in about_signals)


def test_host_network_ports() -> None:
    ports = {"containers": [{"ports": [PORT, {**PORT, "hostPort": 80}, {**PORT, "hostPort": 81}]}], "hostNetwork": True}
    detail = "must match `containerPort` when `hostNetwork` is true"
    assert pod_errors(ports) == [
        f"spec.containers[0].ports[0].hostPort: Invalid value: 0: {detail}",
        f"spec.containers[0].ports[2].hostPort: Invalid value: 81: {detail}",
    ]
    assert pod_errors(ports, options=ValidationOptions()) == [
        f"spec.containers[0].ports[2].hostPort: Invalid value: 81: {detail}"
    ]


INIT: list[tuple[list[dict[str, Any]], list[str]]] = [
    ([{"restartPolicy": "Always", "livenessProbe": PROBE, "lifecycle": {"preStop": ACTIONS}}], []),
    ([{"restartPolicy": "Never"}, {"restartPolicy": "OnFailure"}], []),
    (
        [{"livenessProbe": PROBE, "readinessProbe": PROBE, "startupProbe": PROBE, "lifecycle": {"preStop": ACTIONS}}],
        [
            f"[0].{name}: {ONLY_FOR_SIDECARS}"
            for name in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
        ],
    ),
    (
        [{"restartPolicyRules": [{}]}, {"restartPolicy": "x"}],
        [
            "[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used",
            '[1].restartPolicy: Unsupported value: "x": supported values: "Always", "Never", "OnFailure"',
        ],
    ),
    (
        [{"name": "c0"}, {"name": ""}, {"name": ""}],
        [
            '[0].name: Duplicate value: "c0"',
            "[1].name: Required value",
            "[2].name: Required value",
        ],
    ),
    (
        [{}, {"ports": [{**PORT, "hostPort": 1}, {**PORT, "hostPort": 1}]}],
        ['[0].ports[1].hostPort: Duplicate value: "TCP//1"'],
    ),
    (
        [
            {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]},
            {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}], "restartPolicy": "Always"},
        ],
        [
            '[0].resizePolicy[0].restartPolicy: Invalid value: "RestartContainer": '
            "must not be set to 'RestartContainer' for non-sidecar initContainers"
        ],
    ),
]


@pytest.mark.parametrize(("containers", "expected"), INIT)
def test_init_containers(containers: list[dict[str, Any]], expected: list[str]) -> None:
    found = pod_errors({"initContainers": containers})
    assert found == [f"spec.initContainers{error}" for error in expected]


def test_ephemeral_containers() -> None:
    everything = {
        "name": "e",
        "image": " ",
        "ports": [PORT],
        "resources": {"requests": {"cpu": "1"}},
        "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}],
        "restartPolicy": "Never",
        "restartPolicyRules": [RULE],
        "livenessProbe": {},
        "readinessProbe": {},
        "startupProbe": {},
        "lifecycle": {},
        "targetContainerName": "x",
        "volumeMounts": [
            {"name": "v", "mountPath": "/a", "subPath": "s"},
            {"name": "v", "mountPath": "/b", "subPathExpr": "s"},
        ],
    }
    spec = {"volumes": [{"name": "v", "emptyDir": {}}], "ephemeralContainers": [everything, {"name": "c0"}]}
    forbidden = (
        *("ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules"),
        *("livenessProbe", "readinessProbe", "startupProbe", "lifecycle"),
        *("volumeMounts[0].subPath", "volumeMounts[1].subPathExpr"),
    )
    at = "spec.ephemeralContainers[0]"
    assert pod_errors(spec) == [
        f'{at}.image: Invalid value: " ": must not have leading or trailing whitespace',
        f'{at}.targetContainerName: Not found: "x"',
        *(f"{at}.{name}: {NOT_FOR_EPHEMERAL}" for name in forbidden),
        'spec.ephemeralContainers[1].name: Duplicate value: "c0"',
        "spec.ephemeralContainers: Forbidden: cannot be set on create",
    ]
    plain = {"ephemeralContainers": [{"targetContainerName": "c0", "resources": {}}]}
    assert pod_errors(plain) == ["spec.ephemeralContainers: Forbidden: cannot be set on create"]
    # What is written is set, even if nothing is in it.
    for name, value in (("resources", {"limits": {}}), ("ports", []), ("resizePolicy", [])):
        found = pod_errors({"ephemeralContainers": [{"targetContainerName": "c0", name: value}]})
        assert found[0] == f"spec.ephemeralContainers[0].{name}: {NOT_FOR_EPHEMERAL}"


def test_what_the_old_pod_had_may_stay() -> None:
    resize = {"initContainers": [{"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]}]}
    allowed = ValidationOptions(
        resource_is_pod=True, allow_existing_restart_container_for_non_sidecar_init_container=True
    )
    assert pod_errors(resize, options=allowed) == []
    assert len(pod_errors(resize, options=POD)) == 1
