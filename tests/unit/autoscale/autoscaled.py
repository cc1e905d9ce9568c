"""Small clusters with an autoscaler at work, in few words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from tests.unit.plan.planning import node, spec
from tests.unit.plan.pools.pool_worlds import TYPES, Raw, node_pool, planner_of, pools_of

from moorage.autoscale.options import read_options
from moorage.autoscale.timeline import Did
from moorage.model.kinds import KINDS
from moorage.plan.autoscaling.attached import Attached, Autoscaling
from moorage.plan.simulation.simulation import Simulation
from moorage.pools.node_template import Scaler

KARPENTER, CLUSTER_AUTOSCALER = Scaler.KARPENTER, Scaler.CLUSTER_AUTOSCALER
HOUR = 3600.0
ON_DEMAND = [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}]
SMALL_ONLY = [*ON_DEMAND, {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["c.large"]}]


def deployment(name: str, replicas: int, cpu: str = "1", *, annotations: Raw | None = None, **fields: Any) -> Raw:
    template = {
        "metadata": {"labels": {"app": name}, "annotations": annotations or {}},
        "spec": spec(cpu, **fields),
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template},
    }


def budget(name: str, app: str, **rule: Any) -> Raw:
    about = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
    }
    return {**about, "spec": {"selector": {"matchLabels": {"app": app}}, **rule}}


def group(
    name: str,
    cpu: str = "4",
    *,
    least: int = 0,
    most: int = 10,
    price: float | None = 0.1,
    zones: Iterable[str] = ("a",),
    taints: list[Raw] | None = None,
    startup: list[Raw] | None = None,
    priority: int = 0,
    memory: str = "8Gi",
) -> str:
    template = {
        "metadata": {"labels": {"group": name}},
        "spec": {"taints": taints or [], "startupTaints": startup or []},
        "status": {"capacity": {"cpu": cpu, "memory": memory, "pods": "20"}},
    }
    about = {"apiVersion": "capacity.moorage.dev/v1", "kind": "NodeGroup", "metadata": {"name": name}}
    fields = {"minSize": least, "maxSize": most, "zones": list(zones), "priority": priority, "template": template}
    return json.dumps({**about, "spec": {**fields, **({} if price is None else {"price": price})}})


def node_of_group(name: str, pool: str, cpu: str = "4") -> Raw:
    made = node(name, cpu, group=pool)
    made["metadata"]["labels"] |= {"capacity.moorage.dev/pool": pool, "topology.kubernetes.io/zone": "a"}
    return made


def node_of_pool(name: str, pool: str, kind: str = "c.large", cpu: str = "4", how: str = "on-demand") -> Raw:
    made = node(name, cpu)
    made["metadata"]["labels"] |= {
        "karpenter.sh/nodepool": pool,
        "karpenter.sh/capacity-type": how,
        "node.kubernetes.io/instance-type": kind,
        "topology.kubernetes.io/zone": "a",
    }
    return made


def buffer(name: str, *, of: Raw | str | None = None, replicas: int | None = None, **fields: Any) -> str:
    """Write a CapacityBuffer of a PodTemplate, or of a workload."""
    about = {"apiVersion": "autoscaling.x-k8s.io/v1beta1", "kind": "CapacityBuffer", "metadata": {"name": name}}
    reference = {"podTemplateRef": {"name": of}} if isinstance(of, str) else {"scalableRef": of}
    number = {} if replicas is None else {"replicas": replicas}
    return json.dumps({**about, "spec": {**reference, **number, **fields}})


def pod_template(name: str, cpu: str = "1", *, labels: Raw | None = None, **fields: Any) -> Raw:
    template = {"metadata": {"labels": labels or {}}, "spec": spec(cpu, **fields)}
    about = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": name, "namespace": "default"}}
    return {**about, "template": template}


class Autoscaled:
    """A cluster with an autoscaler, which goes on as it is told."""

    def __init__(
        self, scaler: Scaler, pools: Iterable[str], *documents: Raw, words: Iterable[str] = (), seed: int = 0
    ) -> None:
        planner = planner_of(*documents, seed=seed)
        texts = [TYPES, *pools] if scaler is KARPENTER else list(pools)
        read = pools_of(*texts)
        options = read_options(scaler, words)
        planner.autoscaling = Autoscaling(scaler, tuple(read.pools), options, tuple(read.buffers), read.templates)
        self.simulation: Simulation = planner.build(lives=True)
        self.planner = planner
        assert self.simulation.autoscaler is not None
        self.attached: Attached = self.simulation.autoscaler

    def until(self, seconds: float, *, check: Callable[[Simulation], None] | None = None) -> Autoscaled:
        """Go on until so many seconds after the beginning; with `check`, look at every moment."""
        if check is not None:
            self.simulation.after_round.append(lambda: check(self.simulation))
        self.simulation.run_until(self.simulation.clock.start + seconds)
        assert not self.simulation.stopped
        return self

    def scale(self, name: str, replicas: int) -> Autoscaled:
        self.simulation.api.patch(KINDS.DEPLOYMENT, name, "default", {"spec": {"replicas": replicas}})
        return self

    @property
    def nodes(self) -> list[str]:
        """The names of all nodes."""
        return sorted(one.name for one in self.simulation.world.all(KINDS.NODE))

    def added(self) -> list[tuple[int, str]]:
        return self._steps(Did.ADDED)

    def removed(self) -> list[tuple[int, str]]:
        return self._steps(Did.REMOVED)

    def _steps(self, did: Did) -> list[tuple[int, str]]:
        start = self.simulation.clock.start
        steps = self.attached.controller.timeline.steps
        return [(round(step.time - start), step.node) for step in steps if step.did is did]

    def kinds(self) -> list[str]:
        """The kinds of the nodes that were asked for."""
        return [step.kind for step in self.attached.controller.timeline.steps if step.did is Did.REQUESTED]

    def waiting(self) -> list[str]:
        return sorted(pod.name for pod in self.simulation.pods() if not pod.view.spec.nodeName)

    def events(self, reason: str) -> list[str]:
        return [report.message for _, report in self.simulation.reports if report.reason == reason]


__all__ = ["node_pool"]
