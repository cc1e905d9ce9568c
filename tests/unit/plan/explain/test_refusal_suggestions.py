"""Workloads whose pods the API server refuses: what lets it take them, tried on the whole workload."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.plan.planning import Raw, node, pod, workload, written

from moorage.model.gates import gates_from
from moorage.plan.explain.explanation import Explanation, explain_pod
from moorage.plan.explain.target import find_target
from moorage.plan.planner import Planner, Settings


def explained(*documents: Raw, kind: str = "Deployment") -> Explanation:
    """Explain a pod of the workload `web` that is refused; what is not in the input does not exist."""
    planner = Planner(Settings(gates_from({})))
    planner.inventory.is_live = True
    planner.load(written(*documents))
    simulation, inventory = planner.build(), planner.inventory
    return explain_pod(simulation, inventory, find_target(simulation, inventory, f"{kind.lower()}/web"))


def quota(name: str = "q", **hard: str) -> Raw:
    amounts = {key.replace("_", "."): value for key, value in hard.items()}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name}, "spec": {"hard": amounts}}


def of_class(kind: str, version: str, name: str, **fields: Any) -> Raw:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}


URGENT = of_class("PriorityClass", "scheduling.k8s.io/v1", "urgent", value=9)
GVISOR = of_class("RuntimeClass", "node.k8s.io/v1", "gvisor", handler="runsc")


@pytest.mark.parametrize(
    ("documents", "kind", "expected"),
    [
        (
            [node("n1", "16"), quota(requests_cpu="2"), workload("Deployment", "web", replicas=5)],
            "Deployment",
            {"replicas 5 → 2: as many as fit": (3, 0), "ResourceQuota q: requests.cpu 2 → 5": (3, 0)},
        ),
        (
            [node("n1", "16"), quota(requests_cpu="2"), pod("p", "500m"), workload("StatefulSet", "web", replicas=5)],
            "StatefulSet",
            {
                "cpu 1 → at most 300m (lower by 700m)": (4, 3),  # the pod that is there is updated last
                "replicas 5 → 1: as many as fit": (4, 0),
                "ResourceQuota q: requests.cpu 2 → 5500m": (4, 0),
            },
        ),
        (
            [node("n1", "16"), quota(requests_cpu="2"), quota("p", pods="3"), workload("Job", "web", parallelism=5)],
            "Job",
            {
                "parallelism 5 → 2: as many as fit": (3, 0),
                "ResourceQuota p: pods 3 → 5; ResourceQuota q: requests.cpu 2 → 5": (3, 0),
            },
        ),
        (
            [node("n1", "16"), quota(requests_cpu="500m"), workload("Deployment", "web", replicas=5)],
            "Deployment",
            {"cpu 1 → at most 100m (lower by 900m)": (5, 0), "ResourceQuota q: requests.cpu 500m → 5": (5, 0)},
        ),
        (
            [node("n1", "3"), quota(requests_cpu="2"), workload("Deployment", "web", replicas=5)],
            "Deployment",
            {"replicas 5 → 2: as many as fit": (3, 0), "ResourceQuota q: requests.cpu 2 → 5": (3, 2)},
        ),
        (
            [node("n1"), URGENT, workload("Deployment", "web", replicas=2, pods={"priorityClassName": "urgnt"})],
            "Deployment",
            {"priorityClassName urgnt → urgent: there is no PriorityClass urgnt": (2, 0)},
        ),
        (
            [node("n1"), GVISOR, workload("Deployment", "web", replicas=2, pods={"runtimeClassName": "gviso"})],
            "Deployment",
            {"runtimeClassName gviso → gvisor": (2, 0), "drop runtimeClassName gviso": (2, 0)},
        ),
    ],
    ids=["quota", "used by others", "two quotas", "small quota", "small node", "PriorityClass", "RuntimeClass"],
)
def test_what_lets_the_api_server_take_the_pods(
    documents: list[Raw], kind: str, expected: dict[str, tuple[int, int]]
) -> None:
    told = explained(*documents, kind=kind)
    assert {one.change.summary: (one.pending_before, one.pending_after) for one in told.suggestions} == expected


def test_the_remedy_of_a_quota_is_its_manifest() -> None:
    told = explained(node("n1", "16"), quota(requests_cpu="2"), workload("Deployment", "web", replicas=5))
    remedy = next(one.remedy for one in told.suggestions if one.change.summary.startswith("ResourceQuota"))
    assert remedy is not None
    assert remedy.verb == "patch"
    assert 'requests.cpu: "5"' in remedy.manifest
    body = '\'{"spec":{"hard":{"requests.cpu":"5"}}}\''
    assert remedy.command == f"kubectl patch resourcequota q -n default --type=merge -p {body}"
