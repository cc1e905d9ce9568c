"""The question `thresholds`: which values pods name, and what else a what-if can move."""

from pathlib import Path
from typing import Any

import yaml

from moorage.dashboard.questions import QUESTIONS, Base
from moorage.dashboard.questions.base import parts_of
from moorage.lint.sources import sources_of
from moorage.model.gates import all_gates
from moorage.plan.planner import Planner, Settings


def thresholds(*paths: str) -> dict[str, Any]:
    planner = Planner(Settings(all_gates()))
    planner.load(sources_of(paths))
    simulation = planner.build()
    (part,) = parts_of(QUESTIONS["thresholds"], Base(planner, simulation, planner.plan(simulation)), {})
    return part


def test_tolerations_name_thresholds_of_taints() -> None:
    part = thresholds("examples/inference-eviction-on-sla-drop")
    named = [(one["operator"], one["value"]) for one in part["taints"]["node.kubernetes.io/sla"]]
    assert ("Gt", "950") in named
    (one,) = [
        one for one in part["taints"]["node.kubernetes.io/sla"] if one["value"] == "950" and one["operator"] == "Gt"
    ]
    assert one["pods"] > 0
    assert "Deployment default/inference-service" in one["workloads"]


def test_affinity_and_node_selectors_name_thresholds_of_labels() -> None:
    part = thresholds("examples/kubelet-version-rollout")
    operators = {one["operator"] for rows in part["labels"].values() for one in rows}
    assert operators & {"SemverGt", "SemverLt", "Gt", "In"}


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
