"""Budgets: how many pods are expected and healthy, how many may go, and what becomes of evictions."""

from typing import Any

import pytest
from tests.controller_context import controller_context
from tests.virtual_cluster import VirtualCluster

from moorage.client.protocol import Object
from moorage.control.disruption import DisruptionController
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Kind

Raw = dict[str, Any]
LABELS = {"app": "web"}
SPEC: Raw = {"containers": [{"name": "main", "image": "example.com/app"}]}
READY = {"type": "Ready", "status": "True"}


class Stage:
    """Pods, ready or not, what controls them, and a budget called `budget`."""

    def __init__(self, cluster: VirtualCluster) -> None:
        self.cluster, self.client = cluster, cluster.client

    async def controller(self, facts: Kind, name: str, replicas: int | None, owner: Object | None = None) -> Object:
        template: Raw = {"metadata": {"labels": LABELS}, "spec": SPEC}
        spec: Raw = {"selector": {"matchLabels": LABELS}, "template": template, "replicas": replicas}
        if facts is KINDS.STATEFUL_SET:
            spec["serviceName"] = "web"
        if facts is KINDS.JOB:
            spec = {"template": {"spec": {**SPEC, "restartPolicy": "Never"}}}
        metadata = {"name": name, "ownerReferences": [controlled_by(owner)] if owner is not None else []}
        document = {"apiVersion": facts.api_version, "kind": facts.name, "metadata": metadata, "spec": spec}
        return await self.client.create(facts, document, "default")

    async def pods(self, count: int, owner: Object | None = None, *, ready: int | None = None, start: int = 0) -> None:
        for number in range(start, start + count):
            metadata: Raw = {"name": f"web-{number}", "labels": LABELS}
            if owner is not None:
                metadata["ownerReferences"] = [controlled_by(owner)]
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**SPEC, "nodeName": "n1"}}
            await self.client.create(KINDS.POD, pod, "default")
            if number - start < (count if ready is None else ready):
                await self.report(f"web-{number}", phase="Running", conditions=[READY])

    async def report(self, pod: str, **status: Any) -> None:
        await self.client.patch(KINDS.POD, pod, "default", {"status": status}, subresource="status")

    async def budget(self, name: str = "budget", **spec: Any) -> None:
        document = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name},
            "spec": {"selector": {"matchLabels": LABELS}, **spec},
        }
        await self.client.create(KINDS.POD_DISRUPTION_BUDGET, document, "default")

    async def status(self, name: str = "budget") -> Any:
        return (await self.client.get(KINDS.POD_DISRUPTION_BUDGET, name, "default")).view.status

    async def numbers(self) -> tuple[int, int, int, int]:
        """Allowed, healthy, desired, expected."""
        await self.cluster.settle()
        status = await self.status()
        return status.disruptionsAllowed, status.currentHealthy, status.desiredHealthy, status.expectedPods


def controlled_by(owner: Object) -> Raw:
    facts = owner.kind
    named = {"apiVersion": facts.api_version, "kind": facts.name, "name": owner.name, "uid": owner.uid}
    return {**named, "controller": True}


def disrupting() -> Any:
    return VirtualCluster.running(lambda: [DisruptionController(controller_context())])


@pytest.mark.parametrize(
    ("spec", "numbers"),
    [
        ({"minAvailable": 2}, (1, 3, 2, 4)),
        ({"minAvailable": 4}, (0, 3, 4, 4)),
        ({"minAvailable": "50%"}, (0, 3, 3, 6)),
        ({"minAvailable": "34%"}, (0, 3, 3, 6)),
        ({"minAvailable": "20%"}, (1, 3, 2, 6)),
        ({"maxUnavailable": 4}, (1, 3, 2, 6)),
        ({"maxUnavailable": 9}, (3, 3, 0, 6)),
        ({"maxUnavailable": "50%"}, (0, 3, 3, 6)),
        ({"maxUnavailable": "51%"}, (1, 3, 2, 6)),
    ],
)
async def test_numbers(spec: Raw, numbers: tuple[int, int, int, int]) -> None:
    """Four pods, three of them ready, of a Deployment that wants six."""
    async with disrupting() as cluster:
        stage = Stage(cluster)
        deployment = await stage.controller(KINDS.DEPLOYMENT, "web", 6)
        await stage.pods(4, await stage.controller(KINDS.REPLICA_SET, "web-1", 5, deployment), ready=3)
        await stage.budget(**spec)
        assert await stage.numbers() == numbers
        found = await cluster.client.get(KINDS.POD_DISRUPTION_BUDGET, "budget", "default")
        assert found.view.status.observedGeneration == found.view.metadata.generation == 1
        (condition,) = found.view.status.conditions
        fine = ("True", "SufficientPods") if numbers[0] else ("False", "InsufficientPods")
        assert (condition.type, condition.status, condition.reason) == ("DisruptionAllowed", *fine)
        await cluster.settle(600)
        assert (await cluster.client.get(KINDS.POD_DISRUPTION_BUDGET, "budget", "default")).revision == found.revision
        assert not cluster.events


@pytest.mark.parametrize("facts", [KINDS.REPLICA_SET, KINDS.STATEFUL_SET])
async def test_who_says_how_many_pods_there_should_be(facts: Kind) -> None:
    async with disrupting() as cluster:
        stage = Stage(cluster)
        owner = await stage.controller(facts, "web", 3)
        await stage.pods(2, owner)
        await stage.budget(maxUnavailable=1)
        assert await stage.numbers() == (0, 2, 2, 3)
        await cluster.client.patch(facts, "web", "default", {"spec": {"replicas": 2}})
        assert await stage.numbers() == (1, 2, 1, 2)


@pytest.mark.parametrize(
    ("kind", "version", "why"),
    [
        ("Job", "batch/v1", "jobs.batch does not implement the scale subresource"),
        ("Widget", "example.com/v1", 'no matches for kind "Widget" in version "example.com/v1"'),
        ("ReplicaSet", "apps/v1", 'found no controllers for pod "web-0"'),
    ],
)
async def test_what_cannot_be_known_is_not_allowed(kind: str, version: str, why: str) -> None:
    async with disrupting() as cluster:
        stage = Stage(cluster)
        await stage.budget(maxUnavailable=1)
        owner = await stage.controller(KINDS.JOB, "once", None)
        await stage.pods(1, owner)
        references = [{**controlled_by(owner), "kind": kind, "apiVersion": version}]
        if kind != "Job":
            await cluster.client.patch(KINDS.POD, "web-0", "default", {"metadata": {"ownerReferences": references}})
        await cluster.settle()
        status = await stage.status()
        assert status.disruptionsAllowed == 0
        (condition,) = status.conditions
        assert (condition.status, condition.reason, condition.message) == ("False", "SyncFailed", why)
        said = {event.message for event in cluster.events if event.reason == "CalculateExpectedPodCountFailed"}
        assert f"Failed to calculate the number of expected pods: {why}" in said


async def test_pods_without_a_controller_are_not_counted() -> None:
    async with disrupting() as cluster:
        stage = Stage(cluster)
        await stage.pods(2)
        await stage.budget(maxUnavailable=1)
        assert await stage.numbers() == (0, 2, 0, 0)
        text = next(event.message for event in cluster.events if event.reason == "UnmanagedPods")
        assert text.startswith(
            "Pods selected by this PodDisruptionBudget (selector: &LabelSelector{MatchLabels:map[string]string"
            "{app: web,},MatchExpressions:[]LabelSelectorRequirement{},}) were found to be unmanaged."
        )


async def test_a_budget_without_pods_says_so() -> None:
    async with disrupting() as cluster:
        stage = Stage(cluster)
        await stage.budget(minAvailable=1)
        assert await stage.numbers() == (0, 0, 1, 0)
        assert {(event.type, event.message) for event in cluster.events} == {("Normal", "No matching pods found")}


async def test_an_empty_selector_selects_all_and_none_nothing() -> None:
    async with disrupting() as cluster:
        stage = Stage(cluster)
        await stage.pods(2)
        await stage.budget(minAvailable=1, selector={})
        assert await stage.numbers() == (1, 2, 1, 2)


async def test_evictions_are_counted_until_the_pod_goes() -> None:
    async with disrupting() as cluster:
        stage = Stage(cluster)
        owner = await stage.controller(KINDS.REPLICA_SET, "web", 3)
        await stage.pods(3, owner)
        await stage.budget(minAvailable=2)
        assert await stage.numbers() == (1, 3, 2, 3)
        await cluster.client.evict("default", "web-0")
        with pytest.raises(ApiError, match="disruption budget"):
            await cluster.client.evict("default", "web-1")
        assert await stage.numbers() == (0, 2, 2, 3)
        assert (await stage.status()).disruptedPods == {}
        await cluster.client.delete(KINDS.POD, "web-0", "default", grace_seconds=0)
        await stage.pods(1, owner, start=3)
        assert await stage.numbers() == (1, 3, 2, 3)
        await cluster.client.evict("default", "web-1")
        assert await stage.numbers() == (0, 2, 2, 3)


async def test_an_eviction_that_never_comes_is_forgotten_after_two_minutes() -> None:
    async with disrupting() as cluster:
        stage = Stage(cluster)
        await stage.pods(3)
        await stage.budget(minAvailable=2)
        await cluster.settle()
        granted = {"status": {"disruptedPods": {"web-0": cluster.api.now_text(), "gone": cluster.api.now_text()}}}
        await cluster.client.patch(KINDS.POD_DISRUPTION_BUDGET, "budget", "default", granted, subresource="status")
        assert await stage.numbers() == (0, 2, 2, 3)
        assert set((await stage.status()).disruptedPods) == {"web-0"}
        await cluster.settle(118)
        assert (await stage.numbers())[0] == 0
        await cluster.restart()
        await cluster.settle(5)
        assert await stage.numbers() == (1, 3, 2, 3)
        text = "Pod was expected by PDB default/budget to be deleted but it wasn't"
        assert [event.message for event in cluster.events if event.reason == "NotDeleted"] == [text]


async def test_a_mark_that_leads_to_nothing_is_taken_back() -> None:
    async with disrupting() as cluster:
        stage = Stage(cluster)
        await stage.pods(3)
        marked = {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": cluster.api.now_text()}
        for number, reason in enumerate(("PreemptionByScheduler", "TerminationByKubelet", "EvictionByEvictionAPI")):
            phase = "Failed" if number == 2 else "Running"
            await stage.report(f"web-{number}", phase=phase, conditions=[{**marked, "reason": reason}])
        await cluster.settle(115)
        await cluster.restart()
        states = []
        for wait in (1, 10):
            await cluster.settle(wait)
            found = [(await cluster.client.get(KINDS.POD, f"web-{number}", "default")).view for number in range(3)]
            states.append(
                [
                    (condition.status, condition.reason)
                    for pod in found
                    for condition in pod.status.conditions
                    if condition.type == "DisruptionTarget"
                ]
            )
        others = [("True", "TerminationByKubelet"), ("True", "EvictionByEvictionAPI")]
        assert states == [[("True", "PreemptionByScheduler"), *others], [("False", ""), *others]]


async def test_two_budgets_for_one_pod() -> None:
    async with disrupting() as cluster:
        stage = Stage(cluster)
        await stage.pods(1)
        await stage.budget("first", minAvailable=0)
        await stage.budget("second", minAvailable=0)
        await cluster.settle()
        assert (await stage.status("first")).disruptionsAllowed == 1
        assert (await stage.status("second")).disruptionsAllowed == 1
        await stage.report("web-0", phase="Running", conditions=[{**READY, "status": "False"}])
        await cluster.settle()
        text = 'Pod "default"/"web-0" matches multiple PodDisruptionBudgets.  Chose "first" arbitrarily.'
        assert text in {event.message for event in cluster.events}
        assert (await stage.status("second")).currentHealthy == 0
