"""Rows of nodes and pods."""

from typing import Any

import msgspec
import pytest

from moorage.dashboard.state.rows import (
    PodRow,
    RowDeadline,
    node_row,
    pod_row,
    pod_table,
    row_deadline,
    rows_of_table,
    told_pod,
)
from moorage.match.eviction_clock import NO_DEADLINE, Deadline
from moorage.match.taint_eviction import When
from moorage.model.kinds import view_of
from moorage.plan.devices import DeviceCount


def node(**spec: Any) -> Any:
    return view_of(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n1", "labels": {"zone": "a"}, "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": spec,
            "status": {
                "allocatable": {"cpu": "2", "memory": "1Gi", "pods": "110", "nvidia.com/gpu": "4"},
                "conditions": [{"type": "Ready", "status": "True"}],
                "nodeInfo": {"kubeletVersion": "v1.36.4"},
            },
        }
    )


def test_a_node_row_has_requested_and_allocatable_amounts() -> None:
    tainted = node(unschedulable=True, taints=[{"key": "level", "value": "3", "effect": "NoExecute"}])
    row = node_row(tainted, {"cpu": 500, "pods": 2, "lost.example.com/x": 1, "gone": 0}, {"gpu": DeviceCount(1, 8)})
    assert row == {
        "name": "n1",
        "labels": {"zone": "a"},
        "taints": [{"key": "level", "value": "3", "effect": "NoExecute"}],
        "ready": True,
        "schedulable": False,
        "created": "2026-01-01T00:00:00Z",
        "version": "v1.36.4",
        "resources": {
            "cpu": [500, 2000],
            "memory": [0, 1 << 30],
            "pods": [2, 110],
            "nvidia.com/gpu": [0, 4],
            "lost.example.com/x": [1, 0],
        },
        "devices": {"gpu": [1, 8]},
    }


@pytest.mark.parametrize(
    ("metadata", "status", "phase"),
    [
        ({}, {}, "Pending"),
        ({}, {"phase": "Running"}, "Running"),
        ({}, {"phase": "Failed"}, "Failed"),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z"}, {"phase": "Running"}, "Terminating"),
    ],
)
def test_the_phase_of_a_pod(metadata: dict[str, str], status: dict[str, str], phase: str) -> None:
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "d", **metadata},
        "spec": {"nodeName": "n1"},
        "status": status,
    }
    pod: Any = view_of(document)
    assert pod_row(pod, "Job d/j") == ("d/p", "Job d/j", "n1", phase, None, "")


def test_workloads_nodes_and_labels_are_named_once() -> None:
    rows = [
        PodRow("d/a", "Job d/j", "n1", "Running", None, "app=web"),
        PodRow("d/b", "Job d/j", "", "Pending", RowDeadline(5, "why"), "app=web"),
        PodRow("d/c", "", "n1", "Running"),
    ]
    table = pod_table(rows)
    assert table == {
        "workloads": ["Job d/j"],
        "nodes": ["n1"],
        "labels": ["app=web"],
        "rows": [["d/a", 0, 0, "Running", 0], ["d/b", 0, -1, "Pending", 0, (5, "why")], ["d/c", -1, 0, "Running", -1]],
    }
    sent = msgspec.json.decode(msgspec.json.encode(table))
    assert rows_of_table(sent) == {row.key: row for row in rows}


def test_pods_of_one_template_share_the_text_of_their_labels() -> None:
    def row(name: str, labels: dict[str, str]) -> PodRow:
        metadata = {"name": name, "namespace": "d", "labels": labels}
        pod: Any = view_of({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {}})
        return pod_row(pod, "")

    first, second = row("a", {"tier": "front", "app": "web"}), row("b", {"app": "web", "tier": "front"})
    assert first.labels == "app=web,tier=front"
    assert first.labels is second.labels


def test_labels_are_told_again_only_if_they_changed() -> None:
    before = PodRow("d/a", "", "n1", "Pending", None, "app=web")
    after = before._replace(phase="Running")
    assert told_pod(None, before) == ["d/a", "", "n1", "Pending", None, "app=web"]
    assert told_pod(before, after) == ["d/a", "", "n1", "Running", None, None]
    assert told_pod(before, after._replace(labels="")) == ["d/a", "", "n1", "Running", None, ""]


def test_a_row_ends_with_its_deadline_if_it_has_one() -> None:
    later, now = Deadline(When.AFTER, 1030.4, 23, "a is tolerated for 30 s"), Deadline(When.NOW, 1000.0, 0, "x")
    assert row_deadline(later) == (1030, "a is tolerated for 30 s")
    assert row_deadline(later, 1000.0) == (30, "a is tolerated for 30 s")
    assert row_deadline(now) == (-1, "x")
    assert row_deadline(None) is row_deadline(NO_DEADLINE) is None
    table = pod_table([PodRow("d/a", "", "n1", "Running", row_deadline(later)), PodRow("d/b", "", "n1", "Running")])
    assert table["rows"] == [
        ["d/a", -1, 0, "Running", -1, (1030, "a is tolerated for 30 s")],
        ["d/b", -1, 0, "Running", -1],
    ]
