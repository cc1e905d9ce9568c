"""What happened before the dashboard started: Events and timestamps, told once, within bounds."""

from typing import Any

import pytest
from tests.unit.client.small_server import Asked, Reply, small_server

from moorage.client.http_client import HttpClient
from moorage.client.protocol import Object
from moorage.dashboard.earlier import reading
from moorage.dashboard.earlier.reading import entries_before, read_earlier, without_live
from moorage.model.go.times import micro_time_text, time_text
from moorage.model.kinds import KINDS, Kind
from moorage.watch.happenings import Happening, HappeningKind

Raw = dict[str, Any]
NOW = 1_790_000_000.0


def event(
    reason: str, message: str, about: str = "Pod shop/web-1-a", *, at: float = NOW - 60, uid: str = "u", **fields: Any
) -> Object:
    kind, _, key = about.partition(" ")
    namespace, _, name = key.rpartition("/")
    reference = {"kind": kind, "namespace": namespace, "name": name, "uid": uid}
    raw = {
        "metadata": {"name": f"{reason}-{message}-{at}", "namespace": namespace or "default"},
        "involvedObject": reference,
        "reason": reason,
        "message": message,
        "lastTimestamp": time_text(at),
        "source": {"component": "someone"},
        "type": "Normal",
        **fields,
    }
    return Object(KINDS.EVENT, f"default/{reason}", 1, raw=raw)


def thing(kind: Kind, key: str, created: float, *, uid: str = "u", **fields: Any) -> Object:
    namespace, _, name = key.rpartition("/")
    metadata = {"name": name, "namespace": namespace, "uid": uid, "creationTimestamp": time_text(created)}
    metadata |= fields.pop("metadata", {})
    return Object(kind, key, 1, raw={"metadata": metadata, **fields})


def pod(key: str = "shop/web-1-a", *, created: float = NOW - 90, **fields: Any) -> Object:
    owner = {"kind": "ReplicaSet", "name": "web-1", "uid": "r", "controller": True}
    metadata = {"ownerReferences": [owner], "labels": {"pod-template-hash": "1"}, **fields.pop("metadata", {})}
    spec = {"nodeName": "n1", "containers": [], **fields.pop("spec", {})}
    return thing(KINDS.POD, key, created, metadata=metadata, spec=spec, **fields)


def told(*items: Object, until: float = NOW) -> list[str]:
    events = [item for item in items if item.kind is KINDS.EVENT]
    entries, _ = entries_before(until, events, [item for item in items if item.kind is not KINDS.EVENT])
    return [f"{entry.kind} {entry.subject} {entry.detail}" for entry in entries]


WEB = "shop/web-1-a"
SCHEDULED = ("Scheduled", f"Successfully assigned {WEB} to n1")


@pytest.mark.parametrize(
    ("told_of", "lines"),
    [
        (event(*SCHEDULED), [f"placed {WEB} on n1"]),
        (
            event("FailedScheduling", "0/3 nodes are available: 3 Insufficient cpu. preemption: no.", count=12),
            [f"pending {WEB} Unschedulable: 0/3 nodes are available: 3 Insufficient cpu. (12 times)"],
        ),
        (
            event(
                "FailedScheduling",
                "no",
                series={"count": 7, "lastObservedTime": micro_time_text(int((NOW - 60) * 1e6))},
                eventTime=micro_time_text(int((NOW - 150) * 1e6)),
                lastTimestamp=None,
            ),
            [f"pending {WEB} Unschedulable: no (7 times within 90 s)"],
        ),
        (
            event("Preempted", "Preempted by pod 7f3 on node n2"),
            [f"preempted {WEB} from n2 by a pod of higher priority"],
        ),
        (event("TaintManagerEviction", f"Marking for deletion Pod {WEB}"), [f"evicted {WEB} by a NoExecute taint"]),
        (
            event("TaintManagerEviction", f"Cancelling deletion of Pod {WEB}"),
            [f"leaving {WEB} stays: no taint evicts it any more"],
        ),
        (
            event("DeviceTaintManagerEviction", f"Marking for deletion Pod {WEB}"),
            [f"evicted {WEB} by a taint of its device"],
        ),
        (
            event("Evicted", "The node was low on memory."),
            [f"evicted {WEB} by the kubelet: The node was low on memory."],
        ),
        (event("Killing", "Stopping container c"), [f"deleted {WEB} from its node"]),
        (event("Killing", "Container c failed liveness probe, will be restarted"), []),
        (event("Pulled", "Container image is there"), []),
        (event("NodeNotReady", "Node is not ready"), []),
        (event("NodeNotReady", "Node n1 status is now: NodeNotReady", "Node n1"), ["node n1 is not ready"]),
        (
            event("NodeSchedulable", "Node n1 status is now: NodeSchedulable", "Node n1"),
            ["node n1 is schedulable again"],
        ),
        (event("RemovingNode", "Node n1 event: Removing Node n1", "Node n1"), ["node n1 is gone"]),
        (event("Starting", "Starting kubelet.", "Node n1"), []),
        (
            event("Rebooted", "Node n1 has been rebooted", "Node n1", type="Warning"),
            ["node n1 Rebooted: Node n1 has been rebooted"],
        ),
        (
            event("SuccessfulCreate", "Created pod: web-1-a", "ReplicaSet shop/web-1"),
            ["control ReplicaSet shop/web-1 created Pod web-1-a"],
        ),
        (
            event("SuccessfulDelete", "Delete Pod db-0 in StatefulSet db successful", "StatefulSet shop/db"),
            ["control StatefulSet shop/db deleted Pod db-0"],
        ),
        (
            event("SuccessfulCreate", "Created job nightly-1", "CronJob shop/nightly"),
            ["control CronJob shop/nightly created Job nightly-1"],
        ),
        (
            event("ScalingReplicaSet", "Scaled down replica set web-1 from 3 to 2", "Deployment shop/web"),
            ["control Deployment shop/web web-1 was scaled down from 3 to 2"],
        ),
        (
            event("ScalingReplicaSet", "Scaled up replica set web-1 to 3 from 2", "Deployment shop/web"),
            ["control Deployment shop/web web-1 was scaled up from 2 to 3"],
        ),
        (
            event("FailedCreate", "Error creating: quota", "ReplicaSet shop/web-1", count=3),
            ["control ReplicaSet shop/web-1 FailedCreate: Error creating: quota (3 times)"],
        ),
        (event("Whatever", "x", "ConfigMap shop/settings"), []),
        (event("Scheduled", f"Successfully assigned {WEB} to n1", lastTimestamp=None), []),
        (event("Scheduled", f"Successfully assigned {WEB} to n1", at=NOW + 5), []),
    ],
)
def test_events(told_of: Object, lines: list[str]) -> None:
    assert told(told_of) == lines


def scheduled(status: str, at: float = NOW - 80) -> Raw:
    return {
        "type": "PodScheduled",
        "status": status,
        "lastTransitionTime": time_text(at),
        "reason": "R",
        "message": "m",
    }


CREATED = "control ReplicaSet shop/web-1 created Pod web-1-a"


@pytest.mark.parametrize(
    ("item", "lines"),
    [
        (pod(status={"conditions": [scheduled("True")]}), [CREATED, f"placed {WEB} on n1"]),
        (pod(status={"startTime": time_text(NOW - 70)}), [CREATED, f"placed {WEB} on n1"]),
        (pod(spec={"nodeName": ""}, status={"conditions": [scheduled("False")]}), [CREATED, f"pending {WEB} R: m"]),
        (
            pod(metadata={"deletionTimestamp": time_text(NOW + 20), "deletionGracePeriodSeconds": 30}),
            [CREATED, f"deleted {WEB} from n1"],
        ),
        (
            pod(
                status={
                    "phase": "Failed",
                    "reason": "Error",
                    "containerStatuses": [{"state": {"terminated": {"finishedAt": time_text(NOW - 5)}}}],
                }
            ),
            [CREATED, f"failed {WEB} on n1: Error"],
        ),
        (thing(KINDS.DEPLOYMENT, "shop/web", NOW - 99, spec={}), ["control Deployment shop/web was created"]),
        (
            thing(
                KINDS.NODE,
                "n1",
                NOW - 99,
                spec={"taints": [{"key": "a", "value": "1", "effect": "NoExecute", "timeAdded": time_text(NOW - 9)}]},
                status={"conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": time_text(NOW - 8)}]},
            ),
            ["node n1 joined", "node n1 has a new taint a=1:NoExecute", "node n1 is not ready"],
        ),
    ],
)
def test_timestamps(item: Object, lines: list[str]) -> None:
    assert told(item) == lines


def test_the_same_is_told_once_and_the_best_account_of_it() -> None:
    """A drain: an Event and timestamps know of the placement, three accounts of the departure."""
    leaving = pod(
        metadata={"deletionTimestamp": time_text(NOW - 20), "deletionGracePeriodSeconds": 0},
        status={"conditions": [scheduled("True")]},
    )
    node = thing(
        KINDS.NODE,
        "n1",
        NOW - 3600,
        status={"conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": time_text(NOW - 31)}]},
    )
    lines = told(
        leaving,
        node,
        event(*SCHEDULED, at=NOW - 80),
        event("SuccessfulCreate", "Created pod: web-1-a", "ReplicaSet shop/web-1", at=NOW - 90),
        event("SuccessfulCreate", "Created pod: web-1-b", "ReplicaSet shop/web-1", at=NOW - 90),
        event("TaintManagerEviction", f"Marking for deletion Pod {WEB}", at=NOW - 21),
        event("Killing", "Stopping container c", at=NOW - 20),
        event("Killing", "Stopping container d", at=NOW - 20),
        event("NodeNotReady", "Node n1 status is now: NodeNotReady", "Node n1", at=NOW - 30),
        event("NodeNotReady", "Node n1 status is now: NodeNotReady", "Node n1", at=NOW - 900),
        event("RegisteredNode", "Node n1 event: Registered Node n1 in Controller", "Node n1", at=NOW - 50),
    )
    assert lines == [
        "node n1 joined",
        "node n1 is not ready",
        f"{CREATED} and 1 more",
        f"placed {WEB} on n1",
        "node n1 is not ready",
        f"evicted {WEB} from n1 by a NoExecute taint",
    ]


def test_pods_that_are_gone_belong_to_the_workload_that_made_them() -> None:
    replica_set = thing(
        KINDS.REPLICA_SET,
        "shop/web-1",
        NOW - 90,
        metadata={"ownerReferences": [{"kind": "Deployment", "name": "web", "uid": "d", "controller": True}]},
    )
    events = [
        event(*SCHEDULED),
        event("SuccessfulCreate", "Created pod: web-1-a", "ReplicaSet shop/web-1"),
        event("Killing", "Stopping container c", at=NOW - 50),
    ]
    entries, _ = entries_before(NOW, events, [replica_set])
    assert [(entry.kind, entry.workload) for entry in entries] == [
        ("control", "Deployment shop/web"),
        ("placed", "Deployment shop/web"),
        ("deleted", "Deployment shop/web"),
    ]
    assert entries[-1].detail == "from n1"


def test_the_latest_of_many_are_kept() -> None:
    events = [
        event("Scheduled", f"Successfully assigned shop/p{n} to n1", f"Pod shop/p{n}", at=NOW - n, uid=f"u{n}")
        for n in range(1, reading.MAX_ENTRIES + 101)
    ]
    entries, left_out = entries_before(NOW, events, [])
    assert (len(entries), left_out, entries[-1].subject) == (reading.MAX_ENTRIES, 100, "shop/p1")
    assert entries[0].subject == f"shop/p{reading.MAX_ENTRIES}"


def test_what_is_seen_live_is_not_told_again() -> None:
    entries, _ = entries_before(NOW, [event(*SCHEDULED, at=NOW - 1)], [])
    live = [Happening(NOW + 0.2, HappeningKind.PLACED, WEB, "", "on n1")]
    assert without_live(entries, live, NOW) == []
    assert without_live(entries, [], NOW) == entries
    old, _ = entries_before(NOW, [event(*SCHEDULED, at=NOW - 100)], [])
    assert without_live(old, live, NOW) == old


@pytest.mark.real_time
async def test_events_that_are_forbidden_are_said_to_be_and_timestamps_tell() -> None:
    async def refusing(asked: Asked, reply: Reply) -> None:
        reply.say(403, {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "events is forbidden"})

    async with small_server(refusing) as (_, access):
        client = HttpClient(access, "test")
        document = await read_earlier(client, [pod(status={"conditions": [scheduled("True")]})], NOW)
        await client.close()
    assert document["problem"] == "Events cannot be read: events is forbidden"
    assert [entry.kind for entry in document["entries"]] == ["control", "placed"]


@pytest.mark.real_time
async def test_more_events_than_are_read_are_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_EVENTS", 4)

    async def pages(asked: Asked, reply: Reply) -> None:
        number = int(asked.target.partition("continue=page-")[2] or 0)
        items = [
            event("Scheduled", f"Successfully assigned a/{name} to n1", f"Pod a/{name}", at=NOW - 9, uid=name).raw
            for name in (f"p{number}", f"q{number}")
        ]
        reply.say(200, {"metadata": {"continue": f"page-{number + 1}" if number < 9 else ""}, "items": items})

    async with small_server(pages) as (server, access):
        client = HttpClient(access, "test")
        document = await read_earlier(client, [], NOW)
        await client.close()
    assert len(server.asked) == 2
    assert "limit=4" in server.asked[0].target
    assert document["problem"] == "There are more than 4 Events: the others were not read"
    assert {entry.subject for entry in document["entries"]} == {"a/p0", "a/q0", "a/p1", "a/q1"}
