"""A HorizontalPodAutoscaler and a node autoscaler at work together: traffic doubles, and goes again."""

from __future__ import annotations

from itertools import count

import pytest
from tests.unit.autoscale.autoscaled import CLUSTER_AUTOSCALER, KARPENTER, ON_DEMAND, Autoscaled, deployment, group
from tests.unit.plan.pools.pool_worlds import Raw, node_pool

from moorage.model.kinds import KINDS
from moorage.plan.autoscaling.report import scaling_of
from moorage.pools.node_template import Scaler

SPOT = {"key": "spot", "value": "true", "effect": "NoSchedule"}
TYPE = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["c.large"]}


def scaled_workload() -> list[Raw]:
    """Four pods whose load doubles for twenty minutes, and an autoscaler that keeps them at half of their requests."""
    tolerates: Raw = {"tolerations": [{"key": "spot", "operator": "Exists"}]}
    web = deployment("web", 4, "1", **tolerates)
    web["metadata"]["annotations"] = {"simulate.moorage.dev/load": "cpu=steps(0s=2, 10m=4, 30m=2)"}
    resource = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
    spec = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "minReplicas": 2,
        "maxReplicas": 20,
        "metrics": [{"type": "Resource", "resource": resource}],
    }
    about = {"name": "web", "namespace": "default"}
    scaler = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": about, "spec": spec}
    return [web, scaler]


def pools(scaler: Scaler) -> list[str]:
    """One node of the first pool, then others of spot."""
    if scaler is CLUSTER_AUTOSCALER:
        return [group("base", most=1, price=0.1, priority=9), group("spot", price=0.03, taints=[SPOT])]
    spot = [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}, TYPE]
    quick = {"consolidateAfter": "1m", "budgets": [{"nodes": "100%"}]}
    base = node_pool("base", requirements=[*ON_DEMAND, TYPE], weight=9, limits={"nodes": "1"}, disruption=quick)
    return [base, node_pool("spot", requirements=spot, taints=[SPOT], disruption=quick)]


@pytest.mark.parametrize("scaler", [KARPENTER, CLUSTER_AUTOSCALER])
def test_traffic_that_doubles_overflows_to_spot_and_leaves_again(scaler: Scaler) -> None:
    words = [] if scaler is KARPENTER else ["expander=priority"]
    world = Autoscaled(scaler, pools(scaler), *scaled_workload(), words=words).until(500)
    calm = len(world.nodes)
    world.until(1700)
    replicas = world.simulation.world.view(KINDS.DEPLOYMENT, "default/web").spec.replicas
    assert replicas > 4, "the load has doubled"
    assert not world.waiting()
    busy = scaling_of(world.simulation, world.attached)
    assert {pool.name: pool.last for pool in busy.pools}["spot"] >= 1
    world.until(5000)
    after = scaling_of(world.simulation, world.attached)
    assert world.simulation.world.view(KINDS.DEPLOYMENT, "default/web").spec.replicas == 4
    assert len(world.nodes) <= calm
    assert after.per_hour < busy.highest
    assert after.cost > busy.cost > 0
    assert not world.waiting()


@pytest.mark.parametrize("scaler", [KARPENTER, CLUSTER_AUTOSCALER])
def test_an_autoscaler_that_is_woken_late_still_looks(scaler: Scaler, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a cluster, where a controller is woken a little after the time that it asked for."""
    texts = [node_pool("a", [TYPE])] if scaler is KARPENTER else [group("a")]
    world = Autoscaled(scaler, texts, deployment("web", 0))
    controller = world.attached.controller
    reconcile, late = controller.reconcile, count(1)
    monkeypatch.setattr(controller, "reconcile", lambda key, there, now: reconcile(key, there, now + next(late) / 1000))
    world.until(35).scale("web", 3).until(600)
    assert not world.waiting()
    world.scale("web", 0).until(3600)
    assert world.nodes == []
