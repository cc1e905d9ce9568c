"""Small clusters for tests: raw objects in, a `Cluster` and `Candidates` out."""

from collections.abc import Callable, Iterator
from typing import Any

from moorage.columns.cluster import Cluster, PodRecord
from moorage.model.gates import GateSet, default_gates
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.schedule.candidates import NO_SLOT, Candidates, Engine
from moorage.schedule.config.default_profile import default_profile
from moorage.schedule.cycle import Action, NoNode, Scheduler
from moorage.schedule.framework.plugin import Plugin, Profile, Verdict

Raw = dict[str, Any]


def node(name: str, labels: Raw | None = None, status: Raw | None = None, **spec: Any) -> Node:
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    return convert_view(
        {
            "metadata": {"name": name, "labels": labels or {}},
            "spec": spec,
            "status": {"allocatable": allocatable, **(status or {})},
        },
        Node,
    )


def pod(name: str = "p", labels: Raw | None = None, **spec: Any) -> Pod:
    container = {"name": "c", "image": "web:1"}
    metadata = {"name": name, "namespace": "default", "labels": labels or {}}
    return convert_view({"metadata": metadata, "spec": {"containers": [container], **spec}}, Pod)


def requests(**amounts: str) -> list[Raw]:
    """The containers of a pod that asks for this much."""
    return [{"name": "c", "image": "web:1", "resources": {"requests": amounts}}]


def cluster_of(*nodes: Node) -> Cluster:
    cluster = Cluster()
    cluster.set_namespace("default", {"kubernetes.io/metadata.name": "default"})
    for one in nodes:
        cluster.add_node(one)
    return cluster


def place(cluster: Cluster, placed: Pod, on: str) -> None:
    record = cluster.record(f"{placed.metadata.namespace}/{placed.metadata.name}", placed)
    cluster.add_pod(record, cluster.nodes.slot_of[on])


def candidates_of(cluster: Cluster, asked: Pod, gates: GateSet | None = None) -> Candidates:
    """The default profile's candidates; `spec.nodeName` is the pod's wish."""
    profile = default_profile(gates or default_gates())
    return Candidates(profile, cluster.shape_of(asked, asked.spec.nodeName), cluster)


def alone(plugin: Plugin[Any], cluster: Cluster, asked: Pod) -> Candidates:
    """The same with one plugin, which filters and scores."""
    profile = Profile("alone", (plugin,), ((plugin, 1),))
    return Candidates(profile, cluster.shape_of(asked, asked.spec.nodeName), cluster)


def verdicts(candidates: Candidates) -> dict[str, Verdict]:
    """What the only plugin says against each node, once it is sure that mask, slot and explanation agree."""
    cluster = candidates.cluster
    refused: dict[str, Verdict] = {}
    for item in candidates.filters:
        mask = candidates.mask(item)
        for slot, one in cluster.nodes:
            verdict = item.plugin.explain(item.prepared.want, cluster, slot)
            passes = item.plugin.filter_slot(item.prepared.want, cluster, slot)
            assert passes is bool(mask[slot]) is (verdict is None)
            if verdict is not None:
                refused[one.metadata.name] = verdict
    return refused


def passing(candidates: Candidates) -> set[str]:
    """The nodes nobody objects to."""
    feasible = candidates.feasible()
    refused = verdicts(candidates)
    names = {one.metadata.name for slot, one in candidates.cluster.nodes if feasible[slot]}
    assert not names & refused.keys()
    return names


def scores(candidates: Candidates) -> dict[str, int]:
    """What the only plugin gives each feasible node, weighted and normalised."""
    feasible = candidates.feasible()
    table = candidates.score_table(feasible)
    return {
        one.metadata.name: sum(int(score[slot]) for score in table.values())
        for slot, one in candidates.cluster.nodes
        if feasible[slot]
    }


def play(
    scheduler: Scheduler, now: float, evicted: Callable[[PodRecord], None] = lambda record: None
) -> Iterator[Action]:
    """Step until no pod can be scheduled any more; evicted pods are gone at once."""
    while (action := scheduler.step(now)) is not None:
        yield action
        if isinstance(action, NoNode):
            for victim in action.victims:
                scheduler.pod_gone(victim.key, now)
                evicted(victim)


def place_best(engine: Engine, record: PodRecord) -> int:
    """Find the best slot and put the pod there."""
    slot = engine.find(record)
    if slot != NO_SLOT:
        engine.reserve(record, slot)
        engine.cluster.add_pod(record, slot)
    return slot
