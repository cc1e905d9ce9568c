from typing import Any

import pytest

from moorage.model.kinds import KINDS
from moorage.serve.tables.render import render_table, table_of

Raw = dict[str, Any]
NOW = 100_000.0  # 1970-01-02T03:46:40Z
CREATED = "1970-01-02T03:41:40Z"


def pod(status: Raw, spec: Raw | None = None, **metadata: Any) -> Raw:
    return {
        "metadata": {"name": "web", "creationTimestamp": CREATED, **metadata},
        "spec": {"containers": [{"name": "a"}, {"name": "b"}], **(spec or {})},
        "status": status,
    }


def running(name: str = "a", restarts: int = 0, ready: bool = True, **more: Any) -> Raw:
    return {"name": name, "ready": ready, "restartCount": restarts, "state": {"running": {}}, **more}


def ended(code: int, name: str = "a", **why: Any) -> Raw:
    return {"name": name, "ready": False, "restartCount": 0, "state": {"terminated": {"exitCode": code, **why}}}


def waiting(reason: str, name: str = "a", restarts: int = 0, **more: Any) -> Raw:
    return {"name": name, "ready": False, "restartCount": restarts, "state": {"waiting": {"reason": reason}}, **more}


def ended_at(text: str) -> Raw:
    return {"lastState": {"terminated": {"exitCode": 1, "finishedAt": text}}}


def shown(raw: Raw) -> list[Any]:
    """READY, STATUS, RESTARTS."""
    cells: list[Any] = render_table(KINDS.POD, [raw], NOW)["rows"][0]["cells"]
    return cells[1:4]


READY = [{"type": "Ready", "status": "True"}]
TWO = {"initContainers": [{"name": "i"}, {"name": "j"}]}
SIDECAR = {"initContainers": [{"name": "i", "restartPolicy": "Always"}, {"name": "j"}]}


@pytest.mark.parametrize(
    ("raw", "cells"),
    [
        (pod({"phase": "Pending"}), ["0/2", "Pending", "0"]),
        (pod({}), ["0/2", "", "0"]),
        (pod({"phase": "Running", "containerStatuses": [running(), running("b")]}), ["2/2", "Running", "0"]),
        (pod({"phase": "Failed", "reason": "Evicted"}), ["0/2", "Evicted", "0"]),
        (
            pod({"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]}),
            ["0/2", "SchedulingGated", "0"],
        ),
        # Deletion.
        (pod({"phase": "Running"}, deletionTimestamp=CREATED), ["0/2", "Terminating", "0"]),
        (pod({"phase": "Running", "reason": "NodeLost"}, deletionTimestamp=CREATED), ["0/2", "Unknown", "0"]),
        (pod({"phase": "Failed"}, deletionTimestamp=CREATED), ["0/2", "Failed", "0"]),
        (pod({"phase": "Running"}, deletionTimestamp=None), ["0/2", "Running", "0"]),
        # Containers that wait or have ended.
        (
            pod({"phase": "Pending", "containerStatuses": [waiting("ContainerCreating")]}),
            ["0/2", "ContainerCreating", "0"],
        ),
        (
            pod({"phase": "Running", "containerStatuses": [waiting("CrashLoopBackOff", restarts=3), running("b")]}),
            ["1/2", "CrashLoopBackOff", "3"],
        ),
        (
            pod({"phase": "Succeeded", "containerStatuses": [ended(0, reason="Completed")]}),
            ["0/2", "Completed", "0"],
        ),
        (pod({"phase": "Failed", "containerStatuses": [ended(2, reason="Error")]}), ["0/2", "Error", "0"]),
        (pod({"phase": "Failed", "containerStatuses": [ended(2)]}), ["0/2", "ExitCode:2", "0"]),
        (pod({"phase": "Failed", "containerStatuses": [ended(0, signal=9)]}), ["0/2", "Signal:9", "0"]),
        (
            pod({"phase": "Running", "containerStatuses": [ended(0, reason="Completed"), running("b")]}),
            ["1/2", "NotReady", "0"],
        ),
        (
            pod(
                {
                    "phase": "Running",
                    "conditions": READY,
                    "containerStatuses": [ended(0, reason="Completed"), running("b")],
                }
            ),
            ["1/2", "Running", "0"],
        ),
        (
            pod({"phase": "Failed", "containerStatuses": [ended(0, reason="Completed"), ended(1, "b", reason="OOM")]}),
            ["0/2", "OOM", "0"],
        ),
        # Restarts.
        (
            pod(
                {
                    "phase": "Running",
                    "containerStatuses": [
                        running(restarts=2, **ended_at("1970-01-02T03:40:00Z")),
                        running("b", restarts=1, **ended_at("1970-01-02T03:30:00Z")),
                    ],
                }
            ),
            ["2/2", "Running", "3 (6m40s ago)"],
        ),
        # Init containers.
        (pod({"phase": "Pending", "initContainerStatuses": [running("i")]}, TWO), ["0/2", "Init:0/2", "0"]),
        (
            pod({"phase": "Pending", "initContainerStatuses": [ended(0, "i"), waiting("PodInitializing", "j")]}, TWO),
            ["0/2", "Init:1/2", "0"],
        ),
        (
            pod({"phase": "Pending", "initContainerStatuses": [waiting("ImagePullBackOff", "i", restarts=4)]}, TWO),
            ["0/2", "Init:ImagePullBackOff", "4"],
        ),
        (pod({"phase": "Pending", "initContainerStatuses": [ended(3, "i")]}, TWO), ["0/2", "Init:ExitCode:3", "0"]),
        (
            pod({"phase": "Pending", "initContainerStatuses": [ended(3, "i", signal=6)]}, TWO),
            ["0/2", "Init:Signal:6", "0"],
        ),
        (
            pod({"phase": "Pending", "initContainerStatuses": [ended(3, "i", reason="Error")]}, TWO),
            ["0/2", "Init:Error", "0"],
        ),
        (
            pod(
                {
                    "phase": "Pending",
                    "conditions": [{"type": "Initialized", "status": "True"}],
                    "initContainerStatuses": [waiting("X", "i", restarts=9)],
                    "containerStatuses": [waiting("ContainerCreating")],
                },
                TWO,
            ),
            ["0/2", "ContainerCreating", "0"],
        ),
        # Sidecars count as containers.
        (
            pod(
                {
                    "phase": "Running",
                    "initContainerStatuses": [running("i", restarts=1, started=True), ended(0, "j")],
                    "containerStatuses": [running(), running("b")],
                },
                SIDECAR,
            ),
            ["3/3", "Running", "1"],
        ),
        (
            pod({"phase": "Pending", "initContainerStatuses": [running("i", ready=False)]}, SIDECAR),
            ["0/3", "Init:0/2", "0"],
        ),
    ],
)
def test_what_is_said_of_a_pod(raw: Raw, cells: list[Any]) -> None:
    assert shown(raw) == cells


def test_the_wide_columns() -> None:
    raw = pod(
        {
            "podIPs": [{"ip": "10.0.0.7"}, {"ip": "fd00::7"}],
            "nominatedNodeName": "n2",
            "conditions": [
                {"type": "example.com/one", "status": "True"},
                {"type": "example.com/two", "status": "False"},
            ],
        },
        {
            "nodeName": "n1",
            "readinessGates": [{"conditionType": "example.com/one"}, {"conditionType": "example.com/two"}],
        },
    )
    assert render_table(KINDS.POD, [raw], NOW)["rows"][0]["cells"][4:] == ["5m", "10.0.0.7", "n1", "n2", "1/2"]
    assert render_table(KINDS.POD, [pod({})], NOW)["rows"][0]["cells"][5:] == ["<none>"] * 4
    assert [column["name"] for column in table_of(KINDS.POD).columns if column["priority"]] == [
        "IP",
        "Node",
        "Nominated Node",
        "Readiness Gates",
    ]


def test_finished_pods_are_marked() -> None:
    table = render_table(KINDS.POD, [pod({"phase": phase}) for phase in ("Running", "Succeeded", "Failed")], NOW)
    marks = [row.get("conditions", [{}])[0] for row in table["rows"]]
    assert [(mark.get("type"), mark.get("reason")) for mark in marks] == [
        (None, None),
        ("Completed", "Succeeded"),
        ("Completed", "Failed"),
    ]
