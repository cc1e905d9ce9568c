"""Rules that a defaulted object cannot break, asked of bare views; and limits that take long values to reach."""

from collections.abc import Callable
from typing import Any

import pytest

from moorage.admit.kinds.apps import validate_daemon_set, validate_deployment, validate_stateful_set
from moorage.admit.kinds.cluster import validate_node, validate_storage_class
from moorage.admit.kinds.job import validate_cron_job, validate_job, validate_job_update
from moorage.admit.kinds.persistent_volume import validate_persistent_volume
from moorage.admit.options import STRICT, ValidationOptions
from moorage.admit.pod.pod import validate_pod_update
from moorage.model.field_error import FieldError
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.model.types.storage import PersistentVolume, StorageClass
from moorage.model.types.view import View
from moorage.model.types.workload import CronJob, DaemonSet, Deployment, Job, StatefulSet

Raw = dict[str, Any]
Validate = Callable[[Any, ValidationOptions], list[FieldError]]

EXIT_CODES = "spec.podFailurePolicy.rules[0].onExitCodes"
INDEXED = {"completionMode": "Indexed", "completions": 1}


def failure(**rule: Any) -> Raw:
    return {"podFailurePolicy": {"rules": [{"action": "Ignore", **rule}]}}


@pytest.mark.parametrize(
    ("validate", "view", "spec", "expected"),
    [
        (
            validate_deployment,
            Deployment,
            {"strategy": {"type": "RollingUpdate"}},
            "spec.strategy.rollingUpdate: Required value: this should be defaulted and never be nil",
        ),
        (
            validate_deployment,
            Deployment,
            {"strategy": {"type": "Odd"}},
            'spec.strategy: Unsupported value: {"Type":"Odd","RollingUpdate":null}: supported values: "Recreate", '
            '"RollingUpdate"',
        ),
        (
            validate_daemon_set,
            DaemonSet,
            {"updateStrategy": {"type": "RollingUpdate"}},
            "spec.updateStrategy.rollingUpdate: Required value",
        ),
        (
            validate_daemon_set,
            DaemonSet,
            {"updateStrategy": {"type": "Odd", "rollingUpdate": {"maxSurge": "1%"}}},
            "spec.updateStrategy: Unsupported value: "
            '{"Type":"Odd","RollingUpdate":{"MaxUnavailable":0,"MaxSurge":"1%"}}: '
            'supported values: "RollingUpdate", "OnDelete"',
        ),
        (validate_stateful_set, StatefulSet, {}, "spec.podManagementPolicy: Required value"),
        (validate_stateful_set, StatefulSet, {}, "spec.updateStrategy: Required value"),
        (
            validate_stateful_set,
            StatefulSet,
            {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "0%"}}},
            'spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "0%": cannot be 0',
        ),
        (validate_cron_job, CronJob, {}, "spec.concurrencyPolicy: Required value"),
        (validate_storage_class, StorageClass, {}, "volumeBindingMode: Required value"),
        (validate_job, Job, {}, "spec.selector: Required value"),
        (validate_job, Job, {"managedBy": ""}, "spec.managedBy: Required value"),
        (validate_job, Job, {"selector": {}}, "metadata.uid: Required value"),
        (
            validate_job,
            Job,
            {"selector": {}},
            "spec.template.metadata.labels[batch.kubernetes.io/job-name]: Required value: must be ''",
        ),
        (
            validate_job,
            Job,
            {"template": {"spec": {"restartPolicy": "Odd"}}},
            'spec.template.spec.restartPolicy: Unsupported value: "Odd": supported values: "OnFailure", "Never"',
        ),
        (
            validate_job,
            Job,
            {
                "completionMode": "Indexed",
                "completions": 100001,
                "backoffLimitPerIndex": 1,
                "maxFailedIndexes": 10001,
            },
            "spec.maxFailedIndexes: Invalid value: 10001: must be less than or equal to 10000 when completions are "
            "above "
            "100000 and used with backoff limit per index",
        ),
        (
            validate_job,
            Job,
            failure(onExitCodes={}, onPodConditions=[{}]),
            "spec.podFailurePolicy.rules[0]: Invalid value: specifying both OnExitCodes and OnPodConditions is not "
            "supported",
        ),
        (
            validate_job,
            Job,
            failure(onPodConditions=[{}]),
            "spec.podFailurePolicy.rules[0].onPodConditions[0].status: Required value: valid values: "
            '["False" "True" "Unknown"]',
        ),
        (
            validate_job,
            Job,
            failure(onExitCodes={"operator": "Odd"}),
            f'{EXIT_CODES}.operator: Unsupported value: "Odd": supported values: "In", "NotIn"',
        ),
        (
            validate_job,
            Job,
            failure(onExitCodes={"operator": "In", "values": list(range(1, 257))}),
            f"{EXIT_CODES}.values: Too many: 256: must have at most 255 items",
        ),
        (
            validate_job,
            Job,
            {"podFailurePolicy": {"rules": [{"onPodConditions": [{}] * 21}] * 21}},
            "spec.podFailurePolicy.rules: Too many: 21: must have at most 20 items",
        ),
        (
            validate_job,
            Job,
            {"podFailurePolicy": {"rules": [{"onPodConditions": [{}] * 21}]}},
            "spec.podFailurePolicy.rules[0].onPodConditions: Too many: 21: must have at most 20 items",
        ),
        (
            validate_job,
            Job,
            {**INDEXED, "successPolicy": {"rules": [{}] * 21}},
            "spec.successPolicy.rules: Too many: 21: must have at most 20 items",
        ),
        (
            validate_job,
            Job,
            {**INDEXED, "successPolicy": {"rules": [{"succeededIndexes": "0," * 32769}]}},
            "spec.successPolicy.rules[0].succeededIndexes: Too long: may not be more than 65536 bytes",
        ),
        (
            validate_node,
            Node,
            {"podCIDRs": ["x/y"]},
            'spec.podCIDRs[0]: Invalid value: "x/y": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
        ),
        (
            validate_persistent_volume,
            PersistentVolume,
            {"storageClassName": "A"},
            'spec.storageClassName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case '
            "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. "
            "'example.com', regex used for validation is "
            "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        ),
    ],
)
def test_bare_views(validate: Validate, view: type[View], spec: Raw, expected: str) -> None:
    errors = validate(convert_view({"spec": spec}, view), STRICT)
    assert expected in [str(error) for error in errors]


def test_long_feature_names() -> None:
    node = convert_view({"status": {"declaredFeatures": ["A" * 254]}}, Node)
    assert "must be no more than 253 characters" in str([*validate_node(node, STRICT)][-1])


def test_containers_that_cannot_be_compared_are_not() -> None:
    container = {"name": "c", "image": "i"}
    spec = {"suspend": True, "template": {"spec": {"containers": [container]}}}
    old = convert_view({"spec": spec}, Job)
    spec = {"suspend": True, "template": {"spec": {"containers": [container, {"name": "d", "image": "i"}]}}}
    new = convert_view({"spec": spec}, Job)
    assert "spec.template.spec" in [error.path for error in validate_job_update(new, old, STRICT)]


def _pod(**spec: Any) -> Pod:
    return convert_view({"spec": {"containers": [{"name": "c", "image": "i"}], **spec}}, Pod)


def test_pods_as_they_cannot_be_stored_any_more() -> None:
    """A negative grace period becomes 1 when a pod is read, so the rule about it is for pods that were not."""
    old, new = _pod(terminationGracePeriodSeconds=-5), _pod(terminationGracePeriodSeconds=1)
    assert "spec" not in [error.path for error in validate_pod_update(new, old, STRICT)]
    other = _pod(terminationGracePeriodSeconds=2)
    assert "spec" in [error.path for error in validate_pod_update(other, old, STRICT)]


def test_deadlines_and_images_out_of_range() -> None:
    errors = validate_pod_update(_pod(activeDeadlineSeconds=2**31), _pod(), STRICT)
    assert str(errors[-1]) == (
        "spec.activeDeadlineSeconds: Invalid value: 2147483648: must be between 0 and 2147483647, inclusive"
    )
    errors = validate_pod_update(_pod(containers=[{"name": "c"}]), _pod(), STRICT)
    assert [str(error) for error in errors].count("spec.containers[0].image: Required value") == 2
