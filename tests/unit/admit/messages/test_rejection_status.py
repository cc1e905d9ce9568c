"""Rejections as clients see them."""

from tests.unit.admit.objects import document, pod, rejected, workload

from moorage.admit.messages.rejections import invalid_status, undecodable
from moorage.model.api_error import forbidden
from moorage.model.field_error import required
from moorage.model.kinds import KINDS


def test_one_error() -> None:
    status = rejected(pod(restartPolicy="Sometimes")).status
    body = 'Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"'
    assert status == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f'Pod "p" is invalid: spec.restartPolicy: {body}',
        "reason": "Invalid",
        "details": {
            "name": "p",
            "kind": "Pod",
            "causes": [{"reason": "FieldValueNotSupported", "message": body, "field": "spec.restartPolicy"}],
        },
        "code": 422,
    }


def test_several_errors_and_a_group() -> None:
    status = rejected(workload("Deployment", {"replicas": -1, "minReadySeconds": -1})).status
    assert status["message"] == (
        'Deployment.apps "x" is invalid: [spec.replicas: Invalid value: -1: must be greater than or equal to 0, '
        "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0]"
    )
    assert status["details"]["group"] == "apps"
    assert len(status["details"]["causes"]) == 2


def test_the_message_says_each_thing_once_but_the_causes_say_all() -> None:
    node = document("Node", spec={"taints": [{"key": "a"}]})
    old = document("Node")
    node["metadata"]["resourceVersion"] = "1"
    status = rejected(node, old).status
    assert status["message"] == 'Node "x" is invalid: metadata.taints[0].effect: Required value'
    assert len(status["details"]["causes"]) == 2
    assert (
        invalid_status(KINDS.POD, 'a"b', [required("x"), required("x")])["message"]
        == 'Pod "a\\"b" is invalid: x: Required value'
    )


def test_other_failures() -> None:
    assert forbidden(KINDS.DEPLOYMENT, "", "no").message == "deployments.apps is forbidden: no"
    status = undecodable(KINDS.DEPLOYMENT, "a").status
    assert status["message"] == 'Deployment in version "v1" cannot be handled as a Deployment: a'
    assert "details" not in status
