"""Values that cannot be compared: event, plan and explain name them in the same words."""

import asyncio
import copy
from contextlib import suppress
from typing import Any

import pytest
from tests.unit.plan.explaining import explained
from tests.unit.plan.planning import Plan, Raw, node, pod
from tests.virtual_cluster import VirtualCluster

from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS
from moorage.schedule.live.loop import LiveScheduler

ALL = {"AllAlpha": True}
HIGH = [{"key": "load", "value": "high", "effect": "NoSchedule"}]
AFFINITY = "node(s) didn't match Pod's node affinity/selector"
TAINT = "node(s) had untolerated taint {load: high}"


def affinity(operator: str, value: str) -> Raw:
    terms = [{"matchExpressions": [{"key": "version", "operator": operator, "values": [value]}]}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def bound_volume() -> list[Raw]:
    selector = affinity("SemverGt", "1.0")["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    reference = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "data"}
    common = {"storageClassName": "", "accessModes": ["ReadWriteOnce"]}
    volume = {
        **common,
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/d"},
        "nodeAffinity": {"required": selector},
        "claimRef": reference,
    }
    claim = {**common, "resources": {"requests": {"storage": "1Gi"}}, "volumeName": "disk"}
    bound = {"pv.kubernetes.io/bind-completed": "yes"}
    return [
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "disk"}, "spec": volume},
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data", "namespace": "default", "annotations": bound},
            "spec": claim,
            "status": {"phase": "Bound"},
        },
    ]


class Events:
    """Keeps the notes of FailedScheduling."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def report(self, regarding: Raw, kind: str, reason: str, action: str, note: str, *more: Any, by: str) -> None:
        if reason == "FailedScheduling":
            self.notes.append(note)

    def rewrite(self, *reported: Any, **fields: Any) -> None:
        """Forget it."""


async def event_in_a_cluster(documents: list[Raw]) -> str:
    gates, events = gates_from(ALL), Events()
    async with VirtualCluster.running(lambda: (), gates=gates) as cluster:
        for document in documents:
            kind = KINDS[document["apiVersion"], document["kind"]]
            await cluster.client.create(kind, copy.deepcopy(document), "default" if kind.namespaced else "")
        live = LiveScheduler(cluster.client, events, gates, clock=asyncio.get_running_loop().time)
        task = asyncio.create_task(live.run())
        await cluster.settle(5)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    return events.notes[0]


VOLUME = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}


@pytest.mark.parametrize(
    ("spec", "more", "reason"),
    [
        (
            {"tolerations": [{"key": "load", "operator": "Lt", "value": "5"}]},
            [],
            f"{TAINT} ({{load: high}} is not a 64-bit integer)",
        ),
        (
            {"tolerations": [{"key": "load", "operator": "SemverLt", "value": "5"}]},
            [],
            f"{TAINT} ({{load: high}} is not a semantic version)",
        ),
        (
            {"tolerations": [{"expression": "int(taint.value) < 5"}]},
            [],
            f"{TAINT} (the expression failed: type conversion error from 'string' to 'int')",
        ),
        (
            {"affinity": affinity("SemverGt", "1.0"), "tolerations": [{"operator": "Exists"}]},
            [],
            f"{AFFINITY} ({{version: 1.2.x}} is not a semantic version)",
        ),
        (
            {**VOLUME, "tolerations": [{"operator": "Exists"}]},
            bound_volume(),
            "node(s) didn't match PersistentVolume's node affinity ({version: 1.2.x} is not a semantic version)",
        ),
    ],
    ids=["number", "version", "expression", "affinity", "volume"],
)
async def test_event_plan_and_explain_have_one_text(spec: Raw, more: list[Raw], reason: str) -> None:
    documents = [node("odd", taints=HIGH, version="1.2.x"), *more, pod("p", **spec)]
    documents[0]["status"]["allocatable"] = documents[0]["status"]["capacity"]
    text = f"0/1 nodes are available: 1 {reason}."
    event = await event_in_a_cluster(documents)
    assert event.startswith(text)
    (line,) = Plan(*documents, gates=ALL).outcome.pending
    assert line.message == event
    told = explained(*documents)
    assert told.message == event
    (group,) = told.refused
    assert group.refusals[0].verdict.reasons == (reason,)
