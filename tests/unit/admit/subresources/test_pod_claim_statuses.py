"""What a pod's status says of its ResourceClaims."""

from typing import Any

import pytest

from moorage.admit.admission import Admitted, Rejected, admit
from moorage.admit.subresources.status_update import admit_status
from moorage.model.gates import GateSet, default_gates, gates_from

Raw = dict[str, Any]

ALL = gates_from({"DRANodeAllocatableResources": True})
POD: Raw = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {
        "containers": [
            {
                "name": "c",
                "image": "i",
                "resources": {"limits": {"example.com/gpu": "1"}, "requests": {"example.com/gpu": "1"}},
            }
        ],
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}],
    },
}
EXTENDED = {
    "resourceClaimName": "made",
    "requestMappings": [{"containerName": "c", "resourceName": "example.com/gpu", "requestName": "r"}],
}
TAKEN = {"resourceClaimName": "made", "containers": ["c"], "resources": {"cpu": "1"}}
MADE = [{"name": "gpu", "resourceClaimName": "made"}]


def reported(status: Raw, gates: GateSet = ALL) -> Admitted | Rejected:
    made = admit(POD, None, default_gates(), plugins=())
    assert isinstance(made, Admitted)
    old = made.object | {"metadata": made.object["metadata"] | {"resourceVersion": "1"}}
    return admit_status(old | {"status": old["status"] | status}, old, gates)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"resourceClaimStatuses": MADE, "extendedResourceClaimStatus": EXTENDED}, []),
        ({"resourceClaimStatuses": MADE, "nodeAllocatableResourceClaimStatuses": [TAKEN]}, []),
        (
            {"resourceClaimStatuses": [*MADE, {"name": "gpu", "resourceClaimName": "A"}, {"name": "x"}]},
            [
                'status.resourceClaimStatuses[1].name: Duplicate value: "gpu"',
                'status.resourceClaimStatuses[1].resourceClaimName: Invalid value: "A": a lowercase RFC 1123 subdomain',
                'status.resourceClaimStatuses[2].name: Invalid value: "x": must match the name of an entry in '
                "`spec.resourceClaims`",
            ],
        ),
        (
            {"extendedResourceClaimStatus": {}},
            [
                "status.extendedResourceClaimStatus.requestMappings: Required value: at least one request mapping",
                "status.extendedResourceClaimStatus.resourceClaimName: Required value",
            ],
        ),
        (
            {
                "extendedResourceClaimStatus": {
                    "resourceClaimName": "made",
                    "requestMappings": [
                        {"containerName": "c", "resourceName": "example.com/other", "requestName": "r"},
                        {"containerName": "d", "resourceName": "example.com/gpu", "requestName": "r"},
                        *EXTENDED["requestMappings"],
                        *EXTENDED["requestMappings"],
                    ],
                }
            },
            [
                'status.extendedResourceClaimStatus.requestMappings[0].resourceName: Invalid value: "example.com',
                'status.extendedResourceClaimStatus.requestMappings[1].containerName: Invalid value: "d": must match',
                'status.extendedResourceClaimStatus.requestMappings[3].containerName: Duplicate value: "c"',
                "status.extendedResourceClaimStatus.requestMappings[3].resourceName: Duplicate value",
                "status.extendedResourceClaimStatus.requestMappings[3].requestName: Duplicate value",
            ],
        ),
        (
            {"nodeAllocatableResourceClaimStatuses": [{"resourceClaimName": "x"}]},
            [
                'status.nodeAllocatableResourceClaimStatuses[0].resourceClaimName: Invalid value: "x": no mapping',
                "status.nodeAllocatableResourceClaimStatuses[0].containers: Required value: must not be empty",
                "status.nodeAllocatableResourceClaimStatuses[0].resources: Required value: must not be empty",
            ],
        ),
        (
            {
                "resourceClaimStatuses": MADE,
                "nodeAllocatableResourceClaimStatuses": [TAKEN | {"resources": {"example.com/gpu": "1", "cpu": "-1"}}],
            },
            [
                "status.nodeAllocatableResourceClaimStatuses[0].resources[example.com/gpu]: Invalid value: "
                '"example.com/gpu": must be a node allocatable resource name',
                'status.nodeAllocatableResourceClaimStatuses[0].resources[cpu]: Invalid value: "-1": must be non',
            ],
        ),
    ],
)
def test_the_claims_of_a_pods_status_are_checked(status: Raw, expected: list[str]) -> None:
    answer = reported(status)
    errors = [str(error) for error in answer.errors] if isinstance(answer, Rejected) else []
    assert len(errors) == len(expected)
    assert all(error.startswith(start) for error, start in zip(errors, expected, strict=True)), errors


def test_what_a_gate_does_not_know_is_dropped() -> None:
    status = {
        "resourceClaimStatuses": MADE,
        "extendedResourceClaimStatus": EXTENDED,
        "nodeAllocatableResourceClaimStatuses": [TAKEN],
    }
    answer = reported(status, gates_from({"DRAExtendedResource": False}))
    assert isinstance(answer, Admitted)
    assert answer.object["status"]["resourceClaimStatuses"] == MADE
    assert "extendedResourceClaimStatus" not in answer.object["status"]
    assert "nodeAllocatableResourceClaimStatuses" not in answer.object["status"]
