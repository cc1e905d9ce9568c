"""What the panel of a pod shows of the object itself."""

from typing import Any

import pytest
from tests.unit.plan.planning import Plan, Raw, node, pod, running

from moorage.client.protocol import Object
from moorage.dashboard.questions import QUESTIONS, Base
from moorage.dashboard.questions.base import parts_of
from moorage.dashboard.state.details import Document, pod_details
from moorage.model.kinds import KINDS, Kind, view_of


class Known:
    """Objects by their keys."""

    def __init__(self, *documents: Raw) -> None:
        self._objects = {}
        for document in documents:
            kind = KINDS.POD if document["kind"] == "Pod" else KINDS.RESOURCE_CLAIM
            key = f"{document['metadata'].setdefault('namespace', 'default')}/{document['metadata']['name']}"
            self._objects[kind.name, key] = Object(kind, key, 1, raw=document, view=view_of(document))

    def all(self, kind: Kind) -> list[Object]:
        return [found for (name, _), found in self._objects.items() if name == kind.name]

    def get(self, kind: Kind, key: str) -> Object | None:
        return self._objects.get((kind.name, key))


def told(*documents: Raw) -> Document:
    found = pod_details(Known(*documents), "default/web", [], lambda key: None)
    assert found is not None
    return found


def test_requests_limits_devices_and_times_are_those_of_the_object() -> None:
    web = running("web", "n1", resourceClaims=[{"name": "gpu", "resourceClaimName": "card"}])
    web["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    web["spec"]["containers"][0]["resources"]["limits"] = {"cpu": "2", "memory": "1Gi"}
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:05Z"}
    web["status"]["conditions"] = [scheduled]
    result = {"request": "gpu", "driver": "gpu.example.com", "pool": "n1", "device": "gpu-3"}
    claim: Raw = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "card"}}
    claim["status"] = {"allocation": {"devices": {"results": [result]}}}
    document = told(web, claim)
    assert document["requests"] == {"cpu": 1000}
    assert document["limits"] == {"cpu": 2000, "memory": 1 << 30}
    assert document["devices"] == [{"claim": "card", "devices": ["gpu.example.com/n1/gpu-3"]}]
    assert (document["created"], document["since"]) == ("2026-01-01T00:00:00Z", "2026-01-01T00:00:05Z")
    assert document["wrong"] == []


def condition(kind: str, status: str, reason: str = "", message: str = "") -> Raw:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def waiting(reason: str) -> Raw:
    return {"containerStatuses": [{"name": "c", "state": {"waiting": {"reason": reason, "message": "back-off 5m"}}}]}


@pytest.mark.parametrize(
    ("status", "wrong"),
    [
        ({"conditions": [condition("Ready", "True")]}, []),
        ({"phase": "Succeeded", "conditions": [condition("Ready", "False", "PodCompleted")]}, []),
        (
            {"conditions": [condition("Ready", "False", "ContainersNotReady")]},
            [("Ready is False", "ContainersNotReady")],
        ),
        (
            {"conditions": [condition("DisruptionTarget", "True", "DeletionByTaintManager")]},
            [("DisruptionTarget is True", "DeletionByTaintManager")],
        ),
        ({"conditions": [condition("DisruptionTarget", "False")]}, []),
        (waiting("CrashLoopBackOff"), [("container c", "CrashLoopBackOff")]),
        (waiting("ContainerCreating"), []),
        ({"containerStatuses": [{"name": "c", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}]}, []),
        (
            {"containerStatuses": [{"name": "c", "state": {"terminated": {"exitCode": 3, "reason": "Error"}}}]},
            [("container c", "Error")],
        ),
        ({"phase": "Failed", "reason": "OutOfcpu", "message": "no room"}, [("Failed", "OutOfcpu")]),
    ],
)
def test_only_what_is_wrong_is_told(status: Raw, wrong: list[tuple[str, str]]) -> None:
    web = running("web", "n1")
    web["status"] |= status
    assert [(one["what"], one["reason"]) for one in told(web)["wrong"]] == wrong


def test_a_pod_that_is_not_there_has_no_details() -> None:
    assert pod_details(Known(), "default/web", [], lambda key: None) is None


def details_of_files(*documents: Raw) -> dict[str, Any]:
    plan = Plan(*documents)
    (part,) = parts_of(QUESTIONS["details"], Base(plan.planner, plan.simulation, plan.outcome), {"pod": "default/web"})
    return part


def test_files_tell_no_times_that_the_simulation_invented() -> None:
    part = details_of_files(node("n1"), pod("web"))
    assert part["node"] == "n1"
    assert (part["created"], part["since"]) == ("", "")
    there = running("web", "n1")
    there["metadata"]["creationTimestamp"] = "2025-11-01T00:00:00Z"
    assert details_of_files(node("n1"), there)["created"] == "2025-11-01T00:00:00Z"
