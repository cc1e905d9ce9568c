"""What a plan says is what a cluster does: the same manifests give the same objects, placements and reasons.

The cluster is the API server in memory with all controllers, the live scheduler and the kubelets, in virtual time.
Names that are generated differ by their random suffix, so pods are compared by their workload.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.unit.plan.planning import Plan, Raw, node, pod, workload
from tests.virtual_cluster import VirtualCluster
from tests.virtual_time import run_virtual, time_of_day

from moorage.control.framework.controller import ControllerContext
from moorage.control.framework.world import controller_of
from moorage.control.registry import chosen
from moorage.model.gates import GateSet, default_gates
from moorage.model.kinds import KINDS, kind_of
from moorage.run.kubelets import Kubelets
from moorage.schedule.live.loop import LiveScheduler
from moorage.serve.requests.loopback import LoopbackClient
from moorage.telemetry.metrics import Metrics

CPU = st.sampled_from(["100m", "1", "3"])
TAINTS = st.sampled_from([[], [{"key": "a", "effect": "NoSchedule"}]])
TOLERATIONS = st.sampled_from([[], [{"key": "a", "operator": "Exists"}]])
COMPARED = ("ReplicaSet", "ControllerRevision", "PersistentVolumeClaim", "PersistentVolume")
#: Long enough for every pod that waits to be tried again.
SECONDS = 400.0

Summary = dict[str, Any]


@st.composite
def manifests(draw: st.DrawFn) -> list[Raw]:
    """Nodes first, then one workload or pod after the other."""
    made = [node(f"n{i}", draw(st.sampled_from(["1", "2", "4"])), taints=draw(TAINTS)) for i in range(3)]
    for number in range(draw(st.integers(1, 2))):
        kind = draw(st.sampled_from(["Deployment", "StatefulSet", "DaemonSet", "Pod"]))
        fields: dict[str, Any] = {"tolerations": draw(TOLERATIONS)}
        if kind == "Pod":
            made.append(pod(f"w{number}", draw(CPU), **fields))
            continue
        one = workload(kind, f"w{number}", draw(CPU), fields)
        if kind != "DaemonSet":
            one["spec"]["replicas"] = draw(st.integers(0, 3))
        if kind == "StatefulSet":
            one["spec"]["serviceName"] = "s"
        made.append(one)
    return made


class _Silent:
    """Events that are reported to no one."""

    def report(self, *reported: object, **fields: object) -> None:
        """Forget it."""

    def named(self, component: str) -> _Silent:
        return self


async def cluster_summary(documents: list[Raw]) -> Summary:
    """Apply the manifests to a cluster and say what is in it after a while."""
    return summary_of(await cluster_objects(documents, (*COMPARED, "Pod"), default_gates()))


async def cluster_objects(documents: list[Raw], names: tuple[str, ...], gates: GateSet) -> dict[str, list[Any]]:
    """Apply the manifests to a cluster and return the objects of these kinds after a while."""
    context = ControllerContext(gates, Metrics(), lambda: 0.5, simulates_storage=True)
    rows = chosen(("*", "-serviceaccount-controller"))
    async with VirtualCluster.running(
        lambda: [row.make(context) for row in rows], collects_garbage=True, gates=gates
    ) as cluster:
        loop = asyncio.get_running_loop()
        for document in documents:
            kind = kind_of(document)
            assert kind is not None
            await cluster.client.create(kind, document, "default" if kind.namespaced else "")
        kubelets = Kubelets(LoopbackClient(cluster.api, "kubelet"), _Silent(), gates, takes_all=True, clock=time_of_day)
        scheduler = LiveScheduler(LoopbackClient(cluster.api, "scheduler"), _Silent(), gates, clock=loop.time)
        tasks = [asyncio.create_task(kubelets.run()), asyncio.create_task(scheduler.run())]
        await cluster.settle(SECONDS)
        found = {name: await cluster.all(kind) for (_, name), kind in KINDS.items() if name in names}
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
    return found


def plan_summary(documents: list[Raw]) -> Summary:
    plan = Plan(*documents)
    world = plan.simulation.world
    found = {name: list(world.all(kind)) for (_, name), kind in KINDS.items() if name in (*COMPARED, "Pod")}
    waiting = [line.message for line in plan.outcome.pending if line.reason == "Unschedulable"]
    return summary_of(found) | {"reasons": Counter(waiting)}


def summary_of(found: dict[str, list[Any]], compared: tuple[str, ...] = COMPARED) -> Summary:
    pods = [one.view for one in found["Pod"]]
    return {
        "objects": {name: sorted(one.key for one in found[name]) for name in compared},
        "placements": Counter((workload_of(one), one.spec.nodeName, one.status.phase) for one in pods),
        "reasons": Counter(
            condition.message
            for one in pods
            for condition in one.status.conditions
            if condition.type == "PodScheduled" and condition.status == "False"
        ),
    }


def workload_of(view: Any) -> str:
    owner = controller_of(view.metadata)
    return f"{owner.kind} {owner.name}" if owner is not None else f"Pod {view.metadata.name}"


def law_of_one_truth(plan: Callable[[list[Raw]], Summary]) -> None:
    @settings(LAW_SETTINGS, max_examples=examples(30))
    @given(manifests())
    def law(documents: list[Raw]) -> None:
        assert plan(documents) == run_virtual(cluster_summary(documents))

    law()


def test_a_plan_says_what_a_cluster_does() -> None:
    law_of_one_truth(plan_summary)


def test_a_plan_that_ignores_taints_is_noticed() -> None:
    def careless(documents: list[Raw]) -> Summary:
        return plan_summary([{**one, "spec": {}} if one["kind"] == "Node" else one for one in documents])

    assert_notices(lambda: law_of_one_truth(careless))
