from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.lint.linting import lint
from tests.unit.plan.planning import node, pod
from tests.unit.plan.pools.pool_worlds import TYPES, node_pool, pools_of

from moorage.lint.catalogue import rules
from moorage.lint.engine import Linter
from moorage.lint.finding import Finding
from moorage.model.gates import all_gates

Raw = dict[str, Any]
SPOT = {"key": "spot", "value": "20", "effect": "NoSchedule"}


def found(*documents: Raw | str) -> list[Finding]:
    texts = [one if isinstance(one, str) else json.dumps(one) for one in documents]
    kinds = ("pool-invalid", "pool-taint-not-tolerated", "pool-threshold-unmet", "pool-label-missing")
    return [one for one in lint("\n---\n".join(texts)) if one.rule in kinds]


def below(value: str, **fields: str) -> Raw:
    return pod("p", tolerations=[{"key": "spot", "operator": "Lt", "value": value, "effect": "NoSchedule", **fields}])


def group(**template: Any) -> Raw:
    template.setdefault("status", {"capacity": {"cpu": "4", "memory": "8Gi", "pods": "20"}})
    about = {"apiVersion": "capacity.moorage.dev/v1", "kind": "NodeGroup", "metadata": {"name": "g"}}
    return {**about, "spec": {"price": 1, "template": template}}


@pytest.mark.parametrize("pool", [node_pool(taints=[SPOT]), json.dumps(group(spec={"taints": [SPOT]}))])
def test_taints_and_thresholds_of_pools(pool: str) -> None:
    assert found(pool, below("30")) == []
    assert [one.rule for one in found(pool, pod("p"))] == ["pool-taint-not-tolerated"]
    assert found(pool) == []  # a pool alone is judged by nobody's tolerations
    [untolerated, unmet] = sorted(found(pool, below("10")), key=lambda one: one.rule)
    assert (untolerated.rule, unmet.rule) == ("pool-taint-not-tolerated", "pool-threshold-unmet")
    assert "20 < 10 is false" in untolerated.message
    assert "20 < 10 is false" in unmet.message
    assert "the values are 20" in unmet.message


def test_a_node_that_meets_the_threshold_is_enough() -> None:
    there = node("n", taints=[{**SPOT, "value": "5"}])
    assert [one.rule for one in found(node_pool(taints=[SPOT]), there, below("10"))] == ["pool-taint-not-tolerated"]


def test_soft_taints_keep_nobody_off() -> None:
    assert found(node_pool(taints=[{**SPOT, "effect": "PreferNoSchedule"}]), pod("p")) == []


def test_labels_of_nodes_that_a_template_lacks() -> None:
    there = node("n", disktype="nvme", tier="fast")
    there["metadata"]["labels"] |= {"capacity.moorage.dev/pool": "g", "topology.kubernetes.io/zone": "a"}
    [missing] = found(group(metadata={"labels": {"tier": "fast"}}), there)
    assert missing.rule == "pool-label-missing"
    assert "disktype=nvme" in missing.message
    assert "tier" not in missing.message
    other = node("m")
    other["metadata"]["labels"]["capacity.moorage.dev/pool"] = "g"
    assert found(group(metadata={"labels": {"tier": "fast"}}), there, other) == []  # not all of them have it


def test_a_pool_that_cannot_be_used_is_an_error_with_its_place() -> None:
    [invalid] = found(json.dumps({**group(), "spec": {**group()["spec"], "minSize": -1}}))
    assert (invalid.rule, invalid.severity.value) == ("pool-invalid", "error")
    assert "spec.minSize: Invalid value" in invalid.message
    assert invalid.line == 1


def test_a_node_pool_without_instance_types_is_not_judged_by_them() -> None:
    assert found(node_pool()) == []


def test_pools_that_were_read_elsewhere_count() -> None:
    linter = Linter(all_gates(), frozenset(rules()), pools=pools_of(node_pool("spot", taints=[SPOT]), TYPES))
    complaints = list(linter.finish())
    assert complaints == []
