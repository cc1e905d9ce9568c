"""Deployments, ReplicaSets, StatefulSets, DaemonSets: selectors, strategies, and what stays as it is."""

import copy
from typing import Any

import pytest
from tests.unit.admit.objects import Raw, complaints, stored, workload

NOT_NEGATIVE = "must be greater than or equal to 0"
NOT_SELECTED = "`selector` does not match template `labels`"
PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for "
    "validation is '[0-9]+%')"
)
OTHER = {"matchLabels": {"app": "other"}}
ODD = {"matchExpressions": [{"key": "app", "operator": "Odd"}]}
NOT_AN_OPERATOR = 'spec.selector.matchExpressions[0].operator: Invalid value: "Odd": not a valid selector operator'
SHOWN_ODD = '{"matchExpressions":[{"key":"app","operator":"Odd"}]}'


def rolling(**fields: Any) -> Raw:
    return {"type": "RollingUpdate", "rollingUpdate": fields}


CASES: list[tuple[str, Raw, list[str]]] = [
    ("Deployment", {"replicas": -1}, [f"spec.replicas: Invalid value: -1: {NOT_NEGATIVE}"]),
    ("Deployment", {"selector": None}, ["spec.selector: Required value", f"LABELS {NOT_SELECTED}"]),
    ("Deployment", {"selector": {}}, ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"]),
    ("Deployment", {"selector": OTHER}, [f"LABELS {NOT_SELECTED}"]),
    (
        "Deployment",
        {"selector": ODD},
        [NOT_AN_OPERATOR, f"spec.selector: Invalid value: {SHOWN_ODD}: invalid label selector"],
    ),
    ("Deployment", {"strategy": {"type": "Recreate"}}, []),
    (
        "Deployment",
        {"strategy": {"type": "Recreate", "rollingUpdate": {}}},
        ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
    ),
    (
        "Deployment",
        {"strategy": {"type": "Odd", "rollingUpdate": {"maxSurge": 1}}},
        [
            'spec.strategy: Unsupported value: {"Type":"Odd","RollingUpdate":{"MaxUnavailable":0,"MaxSurge":1}}: '
            'supported values: "Recreate", "RollingUpdate"'
        ],
    ),
    (
        "Deployment",
        {"strategy": rolling(maxUnavailable="x", maxSurge=-1)},
        [
            f'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "x": {PERCENT}',
            f"spec.strategy.rollingUpdate.maxSurge: Invalid value: -1: {NOT_NEGATIVE}",
        ],
    ),
    (
        "Deployment",
        {"strategy": rolling(maxUnavailable="0%", maxSurge=0)},
        ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "0%": may not be 0 when `maxSurge` is 0'],
    ),
    (
        "Deployment",
        {"strategy": rolling(maxUnavailable="101%", maxSurge="200%")},
        ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%'],
    ),
    (
        "Deployment",
        {"minReadySeconds": 600, "revisionHistoryLimit": -1},
        [
            f"spec.revisionHistoryLimit: Invalid value: -1: {NOT_NEGATIVE}",
            "spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds",
        ],
    ),
    (
        "ReplicaSet",
        {"replicas": -1, "minReadySeconds": -1, "selector": {}},
        [
            f"spec.replicas: Invalid value: -1: {NOT_NEGATIVE}",
            f"spec.minReadySeconds: Invalid value: -1: {NOT_NEGATIVE}",
            "spec.selector: Invalid value: {}: empty selector is invalid for deployment",
        ],
    ),
    ("DaemonSet", {"selector": None}, [f"LABELS {NOT_SELECTED}"]),
    ("DaemonSet", {"selector": {}}, ["spec.selector: Invalid value: {}: empty selector is invalid for daemonset"]),
    ("DaemonSet", {"selector": ODD}, [NOT_AN_OPERATOR]),
    (
        "DaemonSet",
        {"updateStrategy": rolling(maxUnavailable="", maxSurge=1)},
        [f'spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "": {PERCENT}'],
    ),
    (
        "DaemonSet",
        {"updateStrategy": rolling(maxUnavailable="-5", maxSurge=1)},
        [
            f'spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "-5": {PERCENT}',
            "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is "
            "non-zero",
        ],
    ),
    ("DaemonSet", {"updateStrategy": {"type": "OnDelete"}}, []),
    (
        "DaemonSet",
        {"updateStrategy": {"type": "Odd"}},
        [
            'spec.updateStrategy: Unsupported value: {"Type":"Odd","RollingUpdate":null}: supported values: '
            '"RollingUpdate", "OnDelete"'
        ],
    ),
    (
        "DaemonSet",
        {"updateStrategy": rolling(maxUnavailable=1, maxSurge="101%")},
        [
            'spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: "101%": must not be greater than 100%',
            'spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: "101%": may not be set when maxUnavailable is '
            "non-zero",
        ],
    ),
    (
        "DaemonSet",
        {"updateStrategy": rolling(maxUnavailable=0)},
        ["spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0"],
    ),
    ("StatefulSet", {"updateStrategy": {"type": "OnDelete"}}, []),
    ("StatefulSet", {"selector": {}}, ["spec.selector: Invalid value: {}: empty selector is invalid for statefulset"]),
    ("StatefulSet", {"selector": ODD}, [NOT_AN_OPERATOR, f"spec.selector: Invalid value: {SHOWN_ODD}"]),
    (
        "StatefulSet",
        {"podManagementPolicy": "Odd"},
        ["spec.podManagementPolicy: Invalid value: \"Odd\": must be 'OrderedReady' or 'Parallel'"],
    ),
    (
        "StatefulSet",
        {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 1}}},
        [
            'spec.updateStrategy.rollingUpdate: Invalid value: {"Partition":1,"MaxUnavailable":null}: only allowed for '
            "updateStrategy 'RollingUpdate'"
        ],
    ),
    (
        "StatefulSet",
        {"updateStrategy": {"type": "Odd"}},
        [
            'spec.updateStrategy: Invalid value: {"Type":"Odd","RollingUpdate":null}: must be \'RollingUpdate\' or '
            "'OnDelete'"
        ],
    ),
    (
        "StatefulSet",
        {"updateStrategy": rolling(partition=-1)},
        [f"spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: {NOT_NEGATIVE}"],
    ),
    (
        "StatefulSet",
        {"persistentVolumeClaimRetentionPolicy": {"whenScaled": "Odd"}},
        [
            'spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: "Odd": supported values: '
            '"Retain", '
            '"Delete"'
        ],
    ),
    (
        "StatefulSet",
        {"ordinals": {"start": -1}, "serviceName": "a.b"},
        [
            f"spec.ordinals.start: Invalid value: -1: {NOT_NEGATIVE}",
            'spec.serviceName: Invalid value: "a.b": must not contain dots',
        ],
    ),
    (
        "StatefulSet",
        {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]},
        [
            "spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required",
            "spec.volumeClaimTemplates[0].spec.resources[storage]: Required value",
        ],
    ),
]


@pytest.mark.parametrize(("kind", "spec", "expected"), CASES)
def test_create(kind: str, spec: Raw, expected: list[str]) -> None:
    labels = 'spec.template.metadata.labels: Invalid value: {"app":"web"}:'
    assert complaints(workload(kind, spec)) == [text.replace("LABELS", labels) for text in expected]


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"])
def test_pods_must_restart_and_never_end(kind: str) -> None:
    named = "ReplicaSet" if kind == "Deployment" else kind
    assert complaints(workload(kind, restartPolicy="Never", activeDeadlineSeconds=5)) == [
        'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
        f"spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in {named} is not Supported",
    ]


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "DaemonSet"])
def test_selectors_are_immutable(kind: str) -> None:
    old = stored(workload(kind))
    new = copy.deepcopy(old)
    new["spec"]["selector"] = {"matchLabels": {"app": "web", "b": "c"}}
    new["spec"]["template"]["metadata"]["labels"]["b"] = "c"
    assert complaints(new, old) == [
        'spec.selector: Invalid value: {"matchLabels":{"app":"web","b":"c"}}: field is immutable'
    ]


def test_an_old_selector_of_a_daemon_set_may_keep_its_mistake() -> None:
    old = stored(workload("DaemonSet"))
    expressions = [{"key": "app", "operator": "NotIn", "values": ["-"]}]
    old["spec"]["selector"]["matchExpressions"] = expressions
    assert complaints(old, old) == []
    assert len(complaints(workload("DaemonSet", {"selector": {"matchExpressions": expressions}}))) == 1


def test_stateful_sets() -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    mount = {"name": "c", "image": "i", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    made = workload("StatefulSet", {"volumeClaimTemplates": [claim]}, containers=[mount], hostname="Not_A_Name")
    old = stored(made)
    for field, value in (("replicas", 3), ("minReadySeconds", 5), ("revisionHistoryLimit", -1)):
        new = copy.deepcopy(old)
        new["spec"][field] = value
        assert complaints(new, old) == []
    new = copy.deepcopy(old)
    new["spec"]["serviceName"] = "other"
    assert complaints(new, old) == [
        "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
        "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are "
        "forbidden"
    ]


def test_a_stateful_set_that_was_invalid_before_may_stay_so() -> None:
    old = stored(workload("StatefulSet"))
    old["spec"]["template"]["spec"]["tolerations"] = [{"key": "bad key"}]
    new = copy.deepcopy(old)
    new["spec"]["replicas"] = 5
    assert complaints(new, old) == []
    assert len(complaints(new, stored(workload("StatefulSet")))) == 1


def test_labels_of_a_stateful_sets_template_are_reported_twice() -> None:
    made = workload("StatefulSet")
    made["spec"]["template"]["metadata"]["labels"]["x"] = "-"
    assert [text.partition(" ")[0] for text in complaints(made)] == ["spec.template.labels:"] * 2
