"""Room that autoscalers keep by CapacityBuffers: nodes, conditions and Events, as in both projects' own tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.unit.autoscale.autoscaled import (
    CLUSTER_AUTOSCALER,
    KARPENTER,
    SMALL_ONLY,
    Autoscaled,
    buffer,
    deployment,
    group,
    node_of_group,
    node_of_pool,
    pod_template,
)
from tests.unit.plan.pools.pool_worlds import node_pool

from moorage.cli.commands.plan import command
from moorage.model.quantity import parse_quantity
from moorage.plan.autoscaling.report import scaling_of
from moorage.pools.buffers import NO_COUNT, NO_RESOURCE, NoSize, pods_of_buffer
from moorage.pools.node_template import Buffer, Scaler, WrittenAt

BOTH = pytest.mark.parametrize("scaler", [KARPENTER, CLUSTER_AUTOSCALER])
WEB = {"apiGroup": "apps", "kind": "Deployment", "name": "web"}


def pool(scaler: Scaler) -> str:
    return node_pool("a", requirements=SMALL_ONLY) if scaler is KARPENTER else group("a")


def said(world: Autoscaled) -> dict[str, tuple[bool, str, str]]:
    """The conditions of the only buffer."""
    [state] = world.attached.controller.room.states
    return {one.type: (one.status, one.reason, one.message) for one in state.conditions.values()}


def about_buffers(world: Autoscaled) -> list[tuple[str, str]]:
    reports = [report for _, report in world.simulation.reports if report.regarding["kind"] == "CapacityBuffer"]
    return [(report.reason, report.message) for report in reports]


@pytest.mark.parametrize(
    ("fields", "replicas", "number"),
    [
        ({"replicas": 5}, None, 5),
        ({"replicas": 0}, None, 0),
        ({"percentage": 20}, 10, 2),
        ({"percentage": 1}, 10, 1),
        ({"percentage": 50}, 3, 2),
        ({"percentage": 50}, 0, 0),
        ({"replicas": 3, "percentage": 50}, 10, 5),
        ({"replicas": 7, "percentage": 50}, 10, 7),
        ({"limits": {"cpu": "3500m"}}, None, 3),
        ({"replicas": 10, "limits": {"cpu": "3"}}, None, 3),
        ({"replicas": 2, "limits": {"cpu": "3"}}, None, 2),
        ({"limits": {"cpu": "8", "memory": "2Gi"}}, None, 2),
        ({"limits": {"cpu": "8", "nvidia.com/gpu": "1"}}, None, 8),
        ({}, 3, NO_COUNT),
        ({"replicas": 2, "limits": {"nvidia.com/gpu": "1"}}, None, NO_RESOURCE),
    ],
)
def test_how_many_pods_a_buffer_has(fields: dict[str, Any], replicas: int | None, number: int | str) -> None:
    limits = {name: parse_quantity(text) for name, text in fields.pop("limits", {}).items()}
    one = Buffer(namespace="default", name="b", place=WrittenAt("", 0), limits=limits, **fields)
    try:
        found: int | str = pods_of_buffer(one, {"cpu": 1000, "memory": 2**30}, replicas)
    except NoSize as error:
        found = str(error)
    assert found == number


@BOTH
def test_nodes_come_for_a_buffer_and_stay(scaler: Scaler) -> None:
    world = Autoscaled(scaler, [pool(scaler), buffer("b", of="t", replicas=3)], pod_template("t", "1900m")).until(3600)
    assert world.nodes == ["a-1", "a-2"]
    assert not world.removed()
    assert not world.waiting()
    ready = said(world)["ReadyForProvisioning"]
    if scaler is KARPENTER:
        assert ready == (True, "Resolved", "Pod template resolved successfully")
        text = "All 3 virtual pods fit on existing capacity"
        assert said(world)["Provisioning"] == (True, "FitsExistingCapacity", text)
        assert {f'Node "a-{n}" has buffer pods' for n in (1, 2)} <= {*world.events("Unconsolidatable")}
    else:
        assert ready == (True, "AttributesSetSuccessfully", "ready")
        assert said(world)["Provisioning"] == (True, "FakePodsInjected", "")
        text = "capacity buffer 3 fake pods triggered scale-up: [{a 0->2 (max: 10)}]"
        assert about_buffers(world) == [("TriggeredScaleUp", text)]


@BOTH
def test_pods_that_come_find_the_room_and_it_is_made_again(scaler: Scaler) -> None:
    texts = [pool(scaler), buffer("b", of=WEB, replicas=2)]
    world = Autoscaled(scaler, texts, deployment("web", 1, "1900m")).until(1200)
    before = len(world.nodes)
    world.scale("web", 3).until(1201)
    assert not world.waiting()
    world.until(1800)
    assert len(world.nodes) > before


@BOTH
def test_a_percentage_follows_the_workload(scaler: Scaler) -> None:
    world = Autoscaled(scaler, [pool(scaler), buffer("b", of=WEB, percentage=50)], deployment("web", 2)).until(600)
    [state] = world.attached.controller.room.states
    assert state.replicas == 1
    world.scale("web", 7).until(900)
    assert state.replicas == 4


@BOTH
def test_room_is_not_given_up_by_consolidation(scaler: Scaler) -> None:
    """Two nodes of which one would do for the pods; the second is kept for the buffer's, and goes without it."""
    if scaler is KARPENTER:
        nodes = [node_of_pool("n1", "a"), node_of_pool("n2", "a")]
    else:
        nodes = [node_of_group("n1", "a"), node_of_group("n2", "a")]
    documents = [*nodes, deployment("web", 2, "900m"), pod_template("t", "900m")]
    kept = Autoscaled(scaler, [pool(scaler), buffer("b", of="t", replicas=4)], *documents).until(3600)
    assert kept.nodes == ["n1", "n2"]
    without = Autoscaled(scaler, [pool(scaler)], *documents).until(3600)
    assert len(without.nodes) == 1


@pytest.mark.parametrize(
    ("scaler", "of", "reason", "message"),
    [
        (
            CLUSTER_AUTOSCALER,
            "none",
            "error",
            'Buffer not ready for provisioning: podtemplates "none" not found',
        ),
        (
            CLUSTER_AUTOSCALER,
            WEB,
            "error",
            "Buffer not ready for provisioning: failed to resolve scalable object: failed to get Deployment: "
            'deployments.apps "web" not found',
        ),
        (KARPENTER, "none", "PodTemplateNotFound", 'PodTemplate "none" not found'),
        (KARPENTER, WEB, "ScalableRefNotFound", 'Deployment.apps "web" not found'),
        (KARPENTER, {"kind": "Job", "name": "x", "apiGroup": "apps"}, "ResolutionFailed", 'unsupported kind "Job"'),
        (
            KARPENTER,
            {"kind": "Job", "name": "x", "apiGroup": "batch"},
            "ResolutionFailed",
            'unsupported scalableRef API group "batch"',
        ),
    ],
)
def test_what_a_buffer_refers_to_may_be_missing(scaler: Scaler, of: Any, reason: str, message: str) -> None:
    world = Autoscaled(scaler, [pool(scaler), buffer("b", of=of, replicas=1)]).until(60)
    assert said(world)["ReadyForProvisioning"] == (False, reason, message)
    assert said(world)["Provisioning"][:2] == (False, "NotReadyForProvisioning")
    assert world.nodes == []


@BOTH
def test_room_that_no_pool_can_have(scaler: Scaler) -> None:
    texts = [pool(scaler), buffer("b", of="t", replicas=2)]
    world = Autoscaled(scaler, texts, pod_template("t", "99")).until(120)
    [refused] = scaling_of(world.simulation, world.attached).not_helped
    assert refused.pods == ("default/capacity-buffer-b-1", "default/capacity-buffer-b-2")
    if scaler is KARPENTER:
        text = "0/2 virtual pods required new capacity, 2 failed"
        assert said(world)["Provisioning"] == (False, "RequiresNewCapacity", text)
    else:
        text = "capacity buffer 2 fake pods didn't trigger scale-up: 1 Insufficient cpu,1 Insufficient cpu"
        assert about_buffers(world) == [("NotTriggerScaleUp", text)]


@BOTH
def test_an_empty_buffer_and_one_of_another_strategy(scaler: Scaler) -> None:
    world = Autoscaled(scaler, [pool(scaler), buffer("b", of="t", replicas=0)], pod_template("t")).until(60)
    assert said(world)["Provisioning"][1] == ("BufferEmpty" if scaler is KARPENTER else "BufferIsEmpty")
    other = buffer("b", of="t", replicas=2, provisioningStrategy="buffer.example.com/other")
    world = Autoscaled(scaler, [pool(scaler), other], pod_template("t")).until(120)
    assert (world.nodes, world.attached.controller.room.states) == ([], [])


@pytest.mark.parametrize(
    ("scaler", "word"), [(KARPENTER, "capacity-buffer"), (CLUSTER_AUTOSCALER, "capacity-buffer-pod-injection-enabled")]
)
def test_buffers_can_be_left_alone(scaler: Scaler, word: str) -> None:
    texts = [pool(scaler), buffer("b", of="t", replicas=2)]
    world = Autoscaled(scaler, texts, pod_template("t"), words=[f"{word}=false"]).until(120)
    assert world.nodes == []


def test_claims_of_a_template_do_not_keep_karpenter_from_imagining_its_pods() -> None:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "gone"}}]
    texts = [node_pool("a"), buffer("b", of="t", replicas=1)]
    assert Autoscaled(KARPENTER, texts, pod_template("t", volumes=volumes)).until(120).nodes == ["a-1"]


def test_the_plan_prints_buffers_with_templates_beside_the_pools(tmp_path: Path) -> None:
    (tmp_path / "app.json").write_text(json.dumps(deployment("web", 1)))
    beside = [group("a"), buffer("b", of="t", replicas=3), json.dumps(pod_template("t"))]
    (tmp_path / "pools.yaml").write_text("\n---\n".join(beside))
    words = [str(tmp_path / "app.json"), "--autoscale", "cluster-autoscaler", "--pools", str(tmp_path / "pools.yaml")]
    text = " ".join(CliRunner().invoke(command, words).output.split())
    assert "default/b room for 3 pods; ReadyForProvisioning (AttributesSetSuccessfully: ready); Provisioning" in text
    assert "CapacityBuffers" in CliRunner().invoke(command, [*words, "-o", "markdown"]).output
    [found] = json.loads(CliRunner().invoke(command, [*words, "-o", "json"]).stdout)["autoscaling"]["buffers"]
    assert (found["name"], found["replicas"]) == ("default/b", 3)
    assert found["conditions"][1]["reason"] == "FakePodsInjected"
