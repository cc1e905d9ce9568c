"""Binding, evicting, scaling: the decisions, and the words of the refusals."""

import copy
from typing import Any

import pytest
from tests.unit.admit.objects import Raw, document, pod, stored, workload

from moorage.admit.subresources.pods import (
    bind_pod,
    bound_view,
    decide_eviction,
    marked_for_eviction,
    read_binding,
    read_eviction,
)
from moorage.admit.subresources.scaling import apply_scale, render_scale
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, view_of
from moorage.model.types.pod import Pod
from moorage.model.types.policy import PodDisruptionBudget

NOW = "2025-01-01T00:00:00Z"


def binding(node: str = "n1", **metadata: Any) -> Raw:
    return {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p", **metadata}, "target": {"name": node}}


def test_a_pod_is_bound() -> None:
    old = stored(pod())
    old["status"]["nominatedNodeName"] = "n2"
    before = copy.deepcopy(old)
    bound = bind_pod(old, read_binding(binding(labels={"a": "b"}, annotations={"c": "d"}), "p"), NOW)
    assert old == before
    assert bound["spec"]["nodeName"] == "n1"
    assert bound["metadata"]["labels"] == {"a": "b"}
    assert bound["metadata"]["annotations"] == {"c": "d"}
    assert "nominatedNodeName" not in bound["status"]
    assert bound["status"]["conditions"] == [
        {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": NOW}
    ]
    view = view_of(old)
    assert isinstance(view, Pod)
    assert bound_view(view, bound) == view_of(bound)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"spec": {"nodeName": "n2"}}, 'pod p is already assigned to node "n2"'),
        ({"spec": {"schedulingGates": [{"name": "g"}]}}, "pod p has non-empty .spec.schedulingGates"),
        ({"metadata": {"deletionTimestamp": NOW}}, "pod p is being deleted, cannot be assigned to a host"),
    ],
)
def test_a_pod_that_cannot_be_bound(change: Raw, text: str) -> None:
    old = stored(pod())
    for name, fields in change.items():
        old[name] |= fields
    with pytest.raises(ApiError) as caught:
        bind_pod(old, read_binding(binding(), "p"), NOW)
    assert (caught.value.code, caught.value.reason) == (409, "Conflict")
    assert caught.value.message == f'Operation cannot be fulfilled on pods/binding "p": {text}'


def test_a_binding_may_insist() -> None:
    old = stored(pod())
    with pytest.raises(ApiError, match="UID in precondition: other, UID in object meta: 0000"):
        bind_pod(old, read_binding(binding(uid="other"), "p"), NOW)
    with pytest.raises(ApiError, match="ResourceVersion in precondition: 1, ResourceVersion in object meta: 7"):
        bind_pod(old, read_binding(binding(resourceVersion="1"), "p"), NOW, "7")


@pytest.mark.parametrize(
    ("sent", "code", "text"),
    [
        (binding("") | {"target": {"kind": "Pod"}}, 422, "target.kind: Unsupported value"),
        (binding(""), 422, 'Binding "p" is invalid: target.name: Required value'),
        (binding() | {"metadata": {"name": "q"}}, 400, "name in URL does not match name in Binding object"),
        (binding() | {"target": 5}, 400, "cannot be handled as a Binding"),
    ],
)
def test_invalid_bindings_are_refused(sent: Raw, code: int, text: str) -> None:
    with pytest.raises(ApiError) as caught:
        read_binding(sent, "p")
    assert caught.value.code == code
    assert text in caught.value.message


def running(ready: bool = True, **status: Any) -> Pod:
    raw = stored(pod({"app": "web"}))
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    raw["status"] |= {"phase": "Running", "conditions": conditions, **status}
    view = view_of(raw)
    assert isinstance(view, Pod)
    return view


def budget(allowed: int = 0, policy: str | None = None, name: str = "web", **status: Any) -> tuple[Raw, Any]:
    spec: Raw = {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}}
    if policy is not None:
        spec["unhealthyPodEvictionPolicy"] = policy
    raw = stored(document("PodDisruptionBudget", name, spec=spec))
    raw["status"] = {"disruptionsAllowed": allowed, "observedGeneration": 1, **status}
    view = view_of(raw)
    assert isinstance(view, PodDisruptionBudget)
    return raw, view


def refusal(pod_view: Pod, *budgets: tuple[Raw, Any]) -> ApiError:
    with pytest.raises(ApiError) as caught:
        decide_eviction(pod_view, budgets, NOW)
    return caught.value


def test_a_budget_refuses() -> None:
    error = refusal(running(), budget(currentHealthy=2, desiredHealthy=2))
    assert (error.code, error.reason) == (429, "TooManyRequests")
    assert error.message == "Cannot evict pod as it would violate the pod's disruption budget."
    message = "The disruption budget web needs 2 healthy pods and has 2 currently"
    assert error.status["details"]["causes"] == [{"reason": "DisruptionBudget", "message": message}]


def test_a_budget_is_used_up() -> None:
    raw, view = budget(1)
    before = copy.deepcopy(raw)
    verdict = decide_eviction(running(), [(raw, view)], NOW)
    assert raw == before
    assert verdict.budget is not None
    status = verdict.budget["status"]
    assert status["disruptionsAllowed"] == 0
    assert status["disruptedPods"] == {"p": NOW}
    assert status["conditions"][0]["reason"] == "InsufficientPods"


def test_several_budgets_are_too_many() -> None:
    error = refusal(running(), budget(5), budget(5, name="other"))
    assert error.code == 500
    assert error.message.startswith("This pod has more than one PodDisruptionBudget")


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed"])
def test_pods_that_do_not_run_may_always_go(phase: str) -> None:
    verdict = decide_eviction(running(phase=phase), [budget()], NOW)
    assert verdict.budget is None
    assert verdict.same_state == (phase == "Pending")


def test_unready_pods() -> None:
    unready = running(ready=False)
    assert decide_eviction(unready, [budget(policy="AlwaysAllow")], NOW).same_state
    assert decide_eviction(unready, [budget(currentHealthy=2, desiredHealthy=2)], NOW).same_state
    assert refusal(unready, budget(currentHealthy=1, desiredHealthy=2)).code == 429


def test_other_reasons_of_budgets() -> None:
    behind = budget(5, observedGeneration=0)
    assert "still being processed" in refusal(running(), behind).status["details"]["causes"][0]["message"]
    assert refusal(running(), budget(-1)).code == 403
    failed = {"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": "no"}
    said = refusal(running(), budget(currentHealthy=3, desiredHealthy=2, conditions=[failed]))
    assert said.status["details"]["causes"][0]["message"].endswith("because it failed sync: no")
    other = failed | {"reason": "Odd"}
    said = refusal(running(), budget(currentHealthy=3, desiredHealthy=2, conditions=[other]))
    assert said.status["details"]["causes"][0]["message"].endswith("currently (Odd): no")
    said = refusal(running(), budget(currentHealthy=3, desiredHealthy=2))
    assert said.status["details"]["causes"][0]["message"].endswith("does not allow evicting pods currently")
    assert decide_eviction(running(), [], NOW).budget is None


def test_evictions_are_read() -> None:
    sent = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    assert read_eviction({**sent, "deleteOptions": {"gracePeriodSeconds": 5}}, "p").gracePeriodSeconds == 5
    with pytest.raises(ApiError, match="name in URL"):
        read_eviction(sent, "q")
    with pytest.raises(ApiError, match="cannot be handled as a Eviction"):
        read_eviction({**sent, "deleteOptions": 5}, "p")
    marked = marked_for_eviction(stored(pod()), NOW)
    assert marked["status"]["conditions"][-1]["reason"] == "EvictionByEvictionAPI"


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet"])
def test_scaling(kind: str) -> None:
    facts = KINDS["apps/v1", kind]
    old = stored(workload(kind))
    scale = render_scale(old)
    assert scale["spec"] == {"replicas": 1}
    assert scale["status"] == {"replicas": 0, "selector": "app=web"}
    assert scale["metadata"]["resourceVersion"] == "7"
    scale["spec"]["replicas"] = 3
    scaled = apply_scale(facts, old, scale)
    assert scaled["spec"]["replicas"] == 3
    assert scaled["metadata"]["resourceVersion"] == "7"
    for change, code, text in (
        ({"spec": {"replicas": -1}}, 422, 'Scale.autoscaling "x" is invalid: spec.replicas: Invalid value: -1'),
        ({"metadata": {**scale["metadata"], "uid": "other"}}, 409, "Precondition failed: UID in precondition: other"),
        ({"spec": 5}, 400, "cannot be handled as a Scale"),
    ):
        with pytest.raises(ApiError) as caught:
            apply_scale(facts, old, scale | change)
        assert caught.value.code == code
        assert text in caught.value.message


def test_a_selector_that_cannot_be_read_has_no_scale() -> None:
    old = stored(workload("Deployment"))
    old["spec"]["selector"] = {"matchExpressions": [{"key": "a", "operator": "Odd"}]}
    with pytest.raises(ApiError):
        render_scale(old)
