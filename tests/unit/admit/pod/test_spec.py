"""The pod's spec beyond its containers and volumes, and the order of everything."""

from typing import Any

import pytest
from tests.unit.admit.pod.manifests import NOT_A_KEY, NOT_A_SUBDOMAIN, pod_errors

SPECS: list[tuple[dict[str, Any], list[str]]] = [
    ({"terminationGracePeriodSeconds": None}, ["terminationGracePeriodSeconds: Required value"]),
    ({"restartPolicy": ""}, ["restartPolicy: Required value"]),
    (
        {"restartPolicy": "always"},
        ['restartPolicy: Unsupported value: "always": supported values: "Always", "OnFailure", "Never"'],
    ),
    ({"activeDeadlineSeconds": 2**31 - 1}, []),
    (
        {"activeDeadlineSeconds": 2**31},
        ["activeDeadlineSeconds: Invalid value: 2147483648: must be between 1 and 2147483647, inclusive"],
    ),
    ({"nodeSelector": {"_": ""}}, [f'nodeSelector: Invalid value: "_": {NOT_A_KEY}']),
    ({"preemptionPolicy": ""}, ["preemptionPolicy: Required value"]),
    (
        {"preemptionPolicy": "Maybe"},
        ['preemptionPolicy: Unsupported value: "Maybe": supported values: "PreemptLowerPriority", "Never"'],
    ),
    ({"runtimeClassName": ""}, [f'runtimeClassName: Invalid value: "": {NOT_A_SUBDOMAIN}']),
    (
        {"readinessGates": [{"conditionType": "a"}, {"conditionType": "_"}]},
        [f'readinessGates[1].conditionType: Invalid value: "_": {NOT_A_KEY}'],
    ),
    (
        {"schedulingGates": [{"name": "_"}, {"name": "_"}]},
        [
            f'schedulingGates[0]: Invalid value: "_": {NOT_A_KEY}',
            f'schedulingGates[1]: Invalid value: "_": {NOT_A_KEY}',
            'schedulingGates[1]: Duplicate value: "_"',
        ],
    ),
    (
        {"schedulingGates": [{"name": "g"}], "nodeName": "n"},
        ["nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"],
    ),
    (
        {"schedulingGroup": {}},
        ["schedulingGroup.podGroupName: Invalid value: null: must specify one of: `podGroupName`"],
    ),
    (
        {"schedulingGroup": {"podGroupName": "_"}},
        [f'schedulingGroup.podGroupName: Invalid value: "_": {NOT_A_SUBDOMAIN}'],
    ),
    (
        {"serviceAccountName": "_", "nodeName": "_", "priorityClassName": "_"},
        [
            f'{name}: Invalid value: "_": {NOT_A_SUBDOMAIN}'
            for name in ("serviceAccountName", "nodeName", "priorityClassName")
        ],
    ),
]


@pytest.mark.parametrize(("spec", "expected"), SPECS)
def test_fields(spec: dict[str, Any], expected: list[str]) -> None:
    assert pod_errors(spec) == [f"spec.{error}" for error in expected]


def test_a_good_pod() -> None:
    assert pod_errors() == []


def test_order() -> None:
    """One mistake in every part, in the order of the API server's messages."""
    bad = "_"
    spec: dict[str, Any] = {
        "terminationGracePeriodSeconds": None,
        "volumes": [{"name": "v"}],
        "resourceClaims": [{"name": bad, "resourceClaimName": "x"}],
        "containers": [{"image": "i ", "ports": [{"containerPort": 1, "protocol": "TCP"}]}],
        "initContainers": [{"image": " i", "imagePullPolicy": bad}],
        "ephemeralContainers": [{"imagePullPolicy": bad}],
        "resources": {"limits": {"cpu": "-1"}},
        "hostNetwork": True,
        "restartPolicy": bad,
        "dnsPolicy": bad,
        "nodeSelector": {bad: ""},
        "securityContext": {"fsGroup": -1},
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}},
        "dnsConfig": {"nameservers": [bad]},
        "readinessGates": [{"conditionType": bad}],
        "schedulingGates": [{"name": bad}],
        "topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}],
        "hostUsers": False,
        "hostnameOverride": "a",
        "serviceAccountName": bad,
        "nodeName": bad,
        "activeDeadlineSeconds": 0,
        "hostname": bad,
        "subdomain": bad,
        "tolerations": [{"key": bad}],
        "hostAliases": [{"ip": bad}],
        "priorityClassName": bad,
        "runtimeClassName": bad,
        "preemptionPolicy": bad,
        "overhead": {"cpu": "-1"},
        "os": {"name": bad},
        "schedulingGroup": {},
    }
    metadata = {"namespace": "", "labels": {bad: ""}, "annotations": {bad: "", "kubernetes.io/config.mirror": ""}}
    found = [error.partition(": ")[0] for error in pod_errors(spec, metadata)]
    assert found == [
        "metadata.namespace",
        "metadata.labels",
        "metadata.annotations",
        "spec.terminationGracePeriodSeconds",
        "spec.volumes[0]",
        "[]",
        "spec.initContainers[0].imagePullPolicy",
        "spec.ephemeralContainers[0].imagePullPolicy",
        "spec.resources.limits[cpu]",
        "spec.containers[0].ports[0].hostPort",
        "spec.restartPolicy",
        "spec.dnsPolicy",
        "spec.nodeSelector",
        "spec.securityContext.fsGroup",
        "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms",
        "spec.dnsConfig.nameservers[0]",
        "spec.readinessGates[0].conditionType",
        "spec.schedulingGates[0]",
        "spec.topologySpreadConstraints[0].maxSkew",
        "spec.hostNetwork",
        "spec.hostnameOverride",
        "spec.serviceAccountName",
        "spec.nodeName",
        "spec.activeDeadlineSeconds",
        "spec.hostname",
        "spec.subdomain",
        "spec.tolerations[0].key",
        "spec.hostAliases[0].ip",
        "spec.priorityClassName",
        "spec.runtimeClassName",
        "spec.preemptionPolicy",
        "spec.overhead.limits[cpu]",
        "spec.os",
        "spec.schedulingGroup.podGroupName",
        "spec.containers[0].image",
        "spec.initContainers[0].image",
        "spec.ephemeralContainers",
        "spec.nodeName",
    ]
