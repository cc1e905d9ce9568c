"""Binding and eviction: who is bound and evicted, who is not, and what is left behind when it fails."""

from typing import Any

import pytest
from tests.unit.serve.verbs.bench import DRY, ME, Raw, document, make, pod, read, refused

from moorage.model.kinds import KINDS, Ref
from moorage.serve.requests.options import WriteOptions
from moorage.serve.subresources.pods import bind, evict
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.changing import replace


def binding(name: str = "p", **rest: Any) -> Raw:
    return {"metadata": {"name": name}, "target": {"kind": "Node", "name": "n1"}, **rest}


async def test_a_pod_is_bound_once(api: Api) -> None:
    await make(api, KINDS.POD, pod("p"))
    await bind(api, "default", "p", binding(), DRY)
    found = await read(api, KINDS.POD, "p")
    assert found is not None
    assert "nodeName" not in found["spec"]
    await bind(api, "default", "p", binding())
    found = await read(api, KINDS.POD, "p")
    assert found is not None
    assert found["spec"]["nodeName"] == "n1"
    (condition,) = (item for item in found["status"]["conditions"] if item["type"] == "PodScheduled")
    assert condition["status"] == "True"
    said = 'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"'
    assert await refused(bind(api, "default", "p", binding())) == (409, said)


REFUSED: list[tuple[Raw, int, str]] = [
    (binding("q"), 400, "name in URL does not match name in Binding object"),
    (binding(target={}), 422, 'Binding "p" is invalid: target.name: Required value'),
    (
        binding(target={"kind": "Pod", "name": "x"}),
        422,
        'Binding "p" is invalid: target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
    ),
]


@pytest.mark.parametrize(("said", "code", "answer"), REFUSED)
async def test_what_binds_nothing(said: Raw, code: int, answer: str, api: Api) -> None:
    await make(api, KINDS.POD, pod("p"))
    before = api.store.revision
    assert await refused(bind(api, "default", "p", said)) == (code, answer)
    assert api.store.revision == before


async def test_nobody_is_bound_or_evicted(api: Api) -> None:
    assert await refused(bind(api, "default", "p", binding())) == (404, 'pods "p" not found')
    assert await refused(evict(api, "default", "p", {})) == (404, 'pods "p" not found')


async def running(api: Api) -> Raw:
    """A pod that runs and is ready."""
    raw = pod("p", labels={"app": "web"})
    raw["spec"]["nodeName"] = "n1"
    await make(api, KINDS.POD, raw)
    raw["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await replace(api, Ref(KINDS.POD, "default", "p"), raw, ME, "status")
    found = await read(api, KINDS.POD, "p")
    assert found is not None
    return found


def eviction(**options: Any) -> Raw:
    return {"metadata": {"name": "p"}, "deleteOptions": options}


async def test_a_pod_is_marked_and_goes(api: Api) -> None:
    before = await running(api)
    await evict(api, "default", "p", eviction(), DRY)
    await evict(api, "default", "p", eviction(dryRun=["All"]))
    assert await read(api, KINDS.POD, "p") == before
    await evict(api, "default", "p", eviction())
    found = await read(api, KINDS.POD, "p")
    assert found is not None
    assert found["metadata"]["deletionGracePeriodSeconds"] == 30
    reasons = [item.get("reason") for item in found["status"]["conditions"] if item["type"] == "DisruptionTarget"]
    assert reasons == ["EvictionByEvictionAPI"]


@pytest.mark.parametrize("wrong", [{"uid": "x"}, {"resourceVersion": "1"}])
@pytest.mark.parametrize("dry", [False, True])
async def test_a_pod_that_is_not_the_one_is_left_alone(wrong: Raw, dry: bool, api: Api) -> None:
    before = await running(api)
    attempt = evict(api, "default", "p", eviction(preconditions=wrong), WriteOptions(dry_run=dry))
    code, said = await refused(attempt)
    assert (code, "in the precondition" in said) == (409, True)
    assert await read(api, KINDS.POD, "p") == before


async def test_the_one_that_was_meant_goes_though_it_is_marked_in_between(api: Api) -> None:
    metadata = (await running(api))["metadata"]
    right = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    await evict(api, "default", "p", eviction(preconditions=right, gracePeriodSeconds=0))
    assert await read(api, KINDS.POD, "p") is None


@pytest.mark.parametrize("allowed", [0, 1])
async def test_a_budget_is_used_up(allowed: int, api: Api) -> None:
    before = await running(api)
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    budget = document(KINDS.POD_DISRUPTION_BUDGET, "b", spec=spec)
    await make(api, KINDS.POD_DISRUPTION_BUDGET, budget)
    budget = await read(api, KINDS.POD_DISRUPTION_BUDGET, "b") or {}
    counts = {"disruptionsAllowed": allowed, "currentHealthy": 1 + allowed, "desiredHealthy": 1, "expectedPods": 2}
    budget["status"] = {**counts, "observedGeneration": 1}
    await replace(api, Ref(KINDS.POD_DISRUPTION_BUDGET, "default", "b"), budget, ME, "status")
    attempt = evict(api, "default", "p", eviction(gracePeriodSeconds=0))
    if allowed:
        await attempt
        left = await read(api, KINDS.POD_DISRUPTION_BUDGET, "b")
        assert left is not None
        assert left["status"]["disruptionsAllowed"] == 0
        assert list(left["status"]["disruptedPods"]) == ["p"]
        assert await read(api, KINDS.POD, "p") is None
    else:
        said = "Cannot evict pod as it would violate the pod's disruption budget."
        assert await refused(attempt) == (429, said)
        assert await read(api, KINDS.POD, "p") == before
