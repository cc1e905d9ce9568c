"""Small clusters with pools beside them, in few words."""

from __future__ import annotations

import json
from typing import Any

from tests.unit.pools.inputs import instance_type, instance_types

from moorage.lint.sources import Source
from moorage.model.gates import gates_from
from moorage.plan.planner import Planner, Settings
from moorage.plan.pools.reading import read_pool_sources
from moorage.plan.simulation.simulation import Simulation
from moorage.pools.reading import Pools

Raw = dict[str, Any]
GATE = "TaintTolerationComparisonOperators"

SMALL = instance_type("c.large", "4", "8Gi", spot={"a": 0.03, "b": 0.04}, on_demand={"a": 0.1})
BIG = instance_type("m.2xlarge", "16", "64Gi", spot={"a": 0.2}, on_demand={"a": 0.5, "b": 0.5})
TYPES = instance_types(SMALL, BIG)


def planner_of(*documents: Raw, seed: int = 0) -> Planner:
    planner = Planner(Settings(gates_from({GATE: True}), seed=seed))
    planner.load([Source("cluster", content=b"\n---\n".join(json.dumps(one).encode() for one in documents))])
    assert not planner.inventory.rejected, planner.inventory.notes
    return planner


def settled(*documents: Raw) -> Simulation:
    """Return the cluster of these documents once nothing more happens."""
    simulation = planner_of(*documents).build()
    simulation.settle()
    return simulation


def pools_of(*texts: str) -> Pools:
    """Return the pools of these files, which must be free of problems."""
    pools = read_pool_sources(Source(str(number), content=text.encode()) for number, text in enumerate(texts, 1))
    assert not pools.problems, pools.problems
    return pools


def node_pool(
    name: str = "spot", requirements: list[Raw] | None = None, taints: list[Raw] | None = None, **spec: Any
) -> str:
    inner = {"requirements": requirements or [], "taints": taints or []}
    pool = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name}}
    return json.dumps({**pool, "spec": {"template": {"spec": inner}, **spec}})


def daemon_set(name: str = "agent", cpu: str = "1", tier: str = "node", **fields: Any) -> Raw:
    container = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": cpu}}}
    labels = {"app": name}
    template = {"metadata": {"labels": {**labels, "tier": tier}}, "spec": {"containers": [container], **fields}}
    about = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name, "namespace": "default"}}
    return {**about, "spec": {"selector": {"matchLabels": labels}, "template": template}}
