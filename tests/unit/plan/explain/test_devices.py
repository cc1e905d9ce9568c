"""Why a node has no devices for a pod, and which changes of its claims would help: each is tried."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.plan.device_worlds import (
    BUDGET,
    DRIVER,
    above,
    claim,
    device_class,
    gpu,
    of_claim,
    of_template,
    request,
    template,
    with_claim,
    with_gpus,
)
from tests.unit.plan.explaining import explained
from tests.unit.plan.planning import Raw, node

from moorage.plan.explain.explanation import Explanation, plain
from moorage.plan.explain.remedies import trials
from moorage.plan.explain.remedies.change import ChangeKind
from moorage.plan.explain.sentence.standings import Standing
from moorage.plan.explain.text import ExplanationText


def wanting(*world: Raw, **fields: Any) -> Explanation:
    """Explain a pod whose claim has one request with these fields."""
    return explained(*world, device_class(), claim("c", request(**fields)), with_claim("p", of_claim("c")))


def summaries(told: Explanation) -> dict[ChangeKind, str]:
    return {one.change.kind: one.change.summary for one in told.suggestions}


def details(told: Explanation) -> str:
    return " ".join(d for group in told.refused for one in group.refusals for d in one.verdict.details)


def test_a_pod_that_fits_is_told_its_devices() -> None:
    told = wanting(*with_gpus("n1", gpu("gpu-0"), gpu("gpu-1")), count=2)
    assert told.standing is Standing.FITS
    assert [one.name for one in told.devices] == [f"{DRIVER}/n1/gpu-0", f"{DRIVER}/n1/gpu-1"]
    assert plain(told)["devices"][0]["device"] == "gpu-0"
    text = "\n".join(ExplanationText(colour=False, width=100, everything=False).lines(told))
    assert f"Devices\n  gpu (claim c): {DRIVER}/n1/gpu-0, {DRIVER}/n1/gpu-1" in text


def test_the_inequality_of_a_taint_and_the_nearest_threshold() -> None:
    told = wanting(*with_gpus("n1", gpu("gpu-0", "8")), *with_gpus("n2", gpu("gpu-0", "20")), tolerations=above("24"))
    assert told.standing is Standing.PENDING
    assert "8 > 24 is false" in details(told)
    assert "20 > 24 is false" in details(told)
    thresholds = [one for one in told.suggestions if one.change.kind is ChangeKind.DEVICE_THRESHOLD]
    assert [(one.change.summary.rpartition(": ")[2], one.nodes) for one in thresholds] == [
        ("Gt 24 → Gt 19", ("n2",)),
        ("Gt 24 → Gt 7", ("n1", "n2")),
    ]
    assert 'value: "19"' in thresholds[0].change.yaml
    assert "spec:\n  devices:\n    requests:\n    - name: gpu\n      exactly:" in thresholds[0].change.yaml


def test_a_toleration_to_add() -> None:
    told = wanting(*with_gpus("n1", gpu("gpu-0", "8")))
    found = [one.change for one in told.suggestions if one.change.kind is ChangeKind.DEVICE_TOLERATION]
    assert found[0].summary == (
        f"ResourceClaim c (recreated), request gpu: add a toleration for {BUDGET}: Equal 8, NoSchedule"
    )


def test_fewer_devices() -> None:
    told = wanting(*with_gpus("n1", gpu("gpu-0"), gpu("gpu-1")), *with_gpus("n2", gpu("gpu-0")), count=4)
    assert "2 of 4 devices" in details(told)
    found = [one for one in told.suggestions if one.change.kind is ChangeKind.DEVICE_COUNT]
    assert [(one.change.summary.rpartition(": ")[2], one.nodes) for one in found] == [
        ("count 4 → 2", ("n1",)),
        ("count 4 → 1", ("n1", "n2")),
    ]


def test_a_selector_to_drop_names_the_expression() -> None:
    expression = f"device.attributes['{DRIVER}'].model == 'h100'"
    told = wanting(*with_gpus("n1", gpu("gpu-0")), selectors=[{"cel": {"expression": expression}}])
    assert f"is not true: {expression}" in details(told)
    assert summaries(told)[ChangeKind.DEVICE_SELECTOR].endswith(f"drop the selector {expression}")


def test_what_is_proposed_for_a_template_is_written_for_a_template() -> None:
    told = explained(
        *with_gpus("n1", gpu("gpu-0")),
        device_class(),
        template("t", request(count=2)),
        with_claim("p", of_template("t")),
    )
    (found,) = [one.change for one in told.suggestions if one.change.kind is ChangeKind.DEVICE_COUNT]
    assert found.summary.startswith("ResourceClaimTemplate t (recreated), request gpu")
    assert found.yaml.startswith("spec:\n  spec:\n    devices:")


def test_missing_claims_templates_and_classes() -> None:
    told = explained(node("n1"), with_claim("p", of_claim("absent")))
    assert told.rejection is not None
    assert summaries(told) == {
        ChangeKind.DEVICE_CLAIM: "create ResourceClaim absent in namespace default: it is missing"
    }
    told = explained(node("n1"), with_claim("p", of_template("absent")))
    assert "create ResourceClaimTemplate absent" in summaries(told)[ChangeKind.DEVICE_CLAIM]
    told = explained(*with_gpus("n1", gpu("gpu-0")), claim("c"), with_claim("p", of_claim("c")))
    assert "create DeviceClass gpu" in summaries(told)[ChangeKind.DEVICE_CLASS]


def test_a_pod_that_has_the_device_could_leave() -> None:
    told = explained(
        *with_gpus("n1", gpu("gpu-0")),
        device_class(),
        template("t"),
        with_claim("first", of_template("t")),
        with_claim("p", of_template("t")),
    )
    assert "1 of 1: it is in use by another claim" in details(told)
    assert summaries(told)[ChangeKind.OTHER_POD] == (
        "move pod default/first (priority 0) away from node n1: it has the device"
    )


def test_a_rule_to_delete() -> None:
    rule = {
        "apiVersion": "resource.k8s.io/v1beta2",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "bad"},
        "spec": {"deviceSelector": {"driver": DRIVER}, "taint": {"key": "bad", "value": "x", "effect": "NoSchedule"}},
    }
    world = (rule, *with_gpus("n1", gpu("gpu-0")), device_class(), claim("c"))
    told = explained(*world, with_claim("p", of_claim("c")), gates={"DRADeviceTaintRules": True})
    found = [one.change for one in told.suggestions if one.change.kind is ChangeKind.DEVICE_TAINT]
    assert [one.command for one in found] == ["kubectl delete devicetaintrule bad"]


def test_a_taint_of_the_node_and_one_of_the_device_take_two_changes() -> None:
    tainted, slice_ = with_gpus("n1", gpu("gpu-0", "8"))
    tainted["spec"] = {"taints": [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]}
    told = wanting(tainted, slice_, tolerations=above("24"))
    assert not told.suggestions
    assert told.together is not None
    assert {one.kind for one in told.together.changes} == {ChangeKind.TOLERATION, ChangeKind.DEVICE_THRESHOLD}


def test_trials_leave_the_cluster_as_it_was() -> None:
    world = (*with_gpus("n1", gpu("gpu-0", "8")), *with_gpus("n2", gpu("gpu-0")))
    one, other = wanting(*world, count=2), wanting(*world, count=2)
    assert plain(one)["refused"] == plain(other)["refused"]
    assert summaries(one) == summaries(other)


def test_one_node_in_full() -> None:
    told = explained(
        *with_gpus("n1", gpu("gpu-0")), device_class(), claim("c"), with_claim("p", of_claim("c")), node="n1"
    )
    assert told.column is not None
    (cell,) = [one for one in told.column.plugins if one.plugin == "DynamicResources"]
    assert cell.details == (f"claim c, request gpu: {DRIVER}/n1/gpu-0",)


def test_a_threshold_that_is_moved_also_lets_the_pod_stay() -> None:
    tolerations = [{"key": BUDGET, "operator": "Gt", "value": "24"}]
    told = wanting(*with_gpus("n1", gpu("gpu-0", "8", effect="NoExecute")), tolerations=tolerations)
    change = next(one.change for one in told.suggestions if one.change.kind is ChangeKind.DEVICE_THRESHOLD)
    assert "Gt 24 → Gt 7, NoExecute" in change.summary
    assert "effect: NoExecute" in change.yaml
    mixed = wanting(
        *with_gpus("n1", gpu("gpu-0", "8", effect="NoExecute"), gpu("gpu-1", "8")), tolerations=tolerations, count=2
    )
    change = next(one.change for one in mixed.suggestions if one.change.kind is ChangeKind.DEVICE_THRESHOLD)
    assert "Gt 24 → Gt 7, and the same for NoExecute" in change.summary
    assert change.yaml.count("operator: Gt") == 2


def test_a_missing_claim_that_containers_use_is_proposed() -> None:
    pod = with_claim("p", of_claim("c"))
    pod["spec"]["containers"][0]["resources"]["claims"] = [{"name": "gpu"}]
    told = explained(*with_gpus("n1", gpu("gpu-0")), device_class(), pod)
    assert summaries(told) == {
        ChangeKind.DEVICE_CLAIM: "create ResourceClaim c in namespace default: it is missing",
    }


def test_devices_that_come_closest_are_told_first() -> None:
    others = [gpu(f"other-{index}", model=f"m{index}") for index in range(3)]
    selectors = [{"cel": {"expression": f"device.attributes['{DRIVER}'].model != 'm{index}'"}} for index in range(3)]
    told = wanting(*with_gpus("n1", *others, gpu("gpu-0", "8")), selectors=selectors, tolerations=above("24"))
    first, *_, last = details(told).partition("; ")[2].split("; ")
    assert first.startswith(f"1 of 4: taint {BUDGET}=8 is not tolerated: 8 > 24 is false")
    assert last.startswith("1 of 4: selector #2 of the request is not true"), "no reason is left out"


def test_trials_that_take_too_long_are_said_to_be_incomplete(monkeypatch: pytest.MonkeyPatch) -> None:
    world = with_gpus("n1", gpu("gpu-0", "8"))
    assert not wanting(*world).not_all_tried
    monkeypatch.setattr(trials, "MAX_SECONDS", -1.0)
    told = wanting(*world)
    assert told.not_all_tried
    assert not told.suggestions
    text = "\n".join(ExplanationText(colour=False, width=120, everything=False).lines(told))
    assert "not all were tried" in text
