"""What any transport promises about pods: bound once, evicted if their budget allows it."""

import pytest
from tests.contract.client.transports import pod

from moorage.client.protocol import Client
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS

pytestmark = pytest.mark.real_time


async def test_a_pod_is_bound_once(client: Client) -> None:
    made = await client.create(KINDS.POD, pod("web"))
    await client.bind("default", "web", made.uid, "n1")
    bound = await client.get(KINDS.POD, "web", "default")
    assert bound.raw["spec"]["nodeName"] == "n1"
    assert bound.view.spec.nodeName == "n1"
    assert bound.uid == made.uid
    conditions = {condition["type"]: condition["status"] for condition in bound.raw["status"]["conditions"]}
    assert conditions == {"PodScheduled": "True"}
    with pytest.raises(ApiError) as refusal:
        await client.bind("default", "web", made.uid, "n2")
    assert (refusal.value.code, refusal.value.reason) == (409, "Conflict")


async def test_a_binding_for_another_pod_of_that_name_is_refused(client: Client) -> None:
    await client.create(KINDS.POD, pod("web"))
    with pytest.raises(ApiError) as refusal:
        await client.bind("default", "web", "another", "n1")
    assert refusal.value.code == 409


async def test_an_eviction_deletes(client: Client) -> None:
    made = await client.create(KINDS.POD, pod("web"))
    with pytest.raises(ApiError) as refusal:
        await client.evict("default", "web", "another")
    assert refusal.value.code == 409
    await client.evict("default", "web", made.uid)
    with pytest.raises(ApiError) as refusal:
        await client.get(KINDS.POD, "web", "default")
    assert refusal.value.code == 404


async def test_a_budget_can_refuse_an_eviction(client: Client) -> None:
    await client.create(KINDS.POD, pod("web", {"app": "web"}))
    ready = [{"type": "Ready", "status": "True"}]
    status = {"status": {"phase": "Running", "conditions": ready}}
    await client.bind("default", "web", "", "n1")
    await client.patch(KINDS.POD, "web", "default", status, subresource="status")
    budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    made = await client.create(
        KINDS.POD_DISRUPTION_BUDGET, {"metadata": {"name": "b", "namespace": "default"}, "spec": budget}
    )
    counted = {"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
    observed = {**counted, "observedGeneration": made.raw["metadata"].get("generation", 0)}
    await client.update(KINDS.POD_DISRUPTION_BUDGET, {**made.raw, "status": observed}, subresource="status")
    with pytest.raises(ApiError) as refusal:
        await client.evict("default", "web")
    assert (refusal.value.code, refusal.value.reason) == (429, "TooManyRequests")
    assert "disruption budget" in refusal.value.message
