"""The question `thresholds`: which values pods name, and what else a what-if can move."""

from pathlib import Path
from typing import Any

import yaml

from moorage.dashboard.questions import QUESTIONS, Base
from moorage.dashboard.questions.base import parts_of
from moorage.lint.sources import sources_of
from moorage.model.gates import all_gates
from moorage.plan.planner import Planner, Settings


def thresholds(*paths: str, **arguments: str) -> dict[str, Any]:
    planner = Planner(Settings(all_gates()))
    planner.load(sources_of(paths))
    simulation = planner.build()
    (part,) = parts_of(QUESTIONS["thresholds"], Base(planner, simulation, planner.plan(simulation)), arguments)
    return part


def test_tolerations_name_thresholds_of_taints() -> None:
    ticks = thresholds("examples/inference-eviction-on-sla-drop")["taints"]["node.kubernetes.io/sla"]["ticks"]
    (tick,) = [one for one in ticks if (one["operator"], one["value"]) == ("Gt", "950")]
    assert tick["rule"] == "> 950"
    assert tick["pods"] > 0
    assert "Deployment default/inference-service" in tick["workloads"]


def test_affinity_and_node_selectors_name_thresholds_of_labels() -> None:
    part = thresholds("examples/kubelet-version-rollout")
    operators = {tick["operator"] for scale in part["labels"].values() for tick in scale["ticks"]}
    assert operators & {"SemverGt", "SemverLt", "Gt"}


def test_keys_that_pods_compare_come_first_and_kubernetes_own_last() -> None:
    labels = list(thresholds("examples/cluster")["labels"].items())
    compared = [scale["compared"] for _, scale in labels]
    assert compared == sorted(compared, reverse=True)
    others = ["kubernetes.io/" in key for key, scale in labels if not scale["compared"]]
    assert others == sorted(others)


def test_a_value_that_is_typed_is_placed_on_the_scale_of_its_key() -> None:
    example, key = "examples/inference-eviction-on-sla-drop", "node.kubernetes.io/sla"
    part = thresholds(example, kind="taint", key=key, value="9007199254740993")
    assert part["stops"][part["value"]["stop"]] == "9007199254740993"
    assert part["done"]
    assert thresholds(example, kind="taint", key=key, value="high")["value"]["unreadable"]
    assert "error" in thresholds(example, kind="tint", key=key, value="1")
    assert "error" in thresholds(example, kind="taint", key=key)


def test_claims_name_thresholds_of_device_taints() -> None:
    part = thresholds("examples/gpu-error-budget")
    assert part["deviceTaints"]
    (driver,) = part["devices"]
    assert all(pool["devices"] for pool in driver["pools"])
    assert all(one["devices"] > 0 for one in part["devicesTainted"])


def test_workloads_come_with_their_replicas() -> None:
    part = thresholds("examples/cluster")
    wanted = {
        (one["kind"], one["metadata"]["name"]): one["spec"].get("replicas", 1)
        for path in ("ai", "shop", "tenants", "versions")
        for one in yaml.safe_load_all(Path(f"examples/cluster/{path}.yaml").read_text(encoding="utf-8"))
        if one and one["kind"] in ("Deployment", "StatefulSet")
    }
    assert {(one["kind"], one["name"]): one["replicas"] for one in part["workloads"]} == wanted
