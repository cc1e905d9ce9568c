"""Times as the client has noted them → figures, without a server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec
import pytest
from bench.e2e.figures import Created, Figures, Latencies, Window, medians
from bench.e2e.pod_watch import PodWatch, Stage
from bench.e2e.problems import RunFailed
from bench.e2e.real_cluster import MEASURED
from bench.e2e.report import COLUMNS, table
from bench.e2e.requests import Requests
from bench.e2e.sender import Sender
from bench.e2e.server import Server

from moorage.client.kubeconfig.access import Access

ACCESS = Access(server="http://127.0.0.1:1", token="t")


def watch() -> PodWatch:
    return PodWatch(Requests(ACCESS), Sender(ACCESS))


def line(kind: str, uid: str, node: str = "", conditions: tuple[str, ...] = ()) -> bytes:
    metadata = {"uid": uid, "name": f"pod-{uid}", "namespace": "a", "resourceVersion": "1", "labels": {"k": "v"}}
    status = {"conditions": [{"type": condition, "status": "False"} for condition in conditions]}
    return msgspec.json.encode(
        {"type": kind, "object": {"kind": "Pod", "metadata": metadata, "spec": {"nodeName": node}, "status": status}}
    )


def figures(**fields: Any) -> Figures:
    plain: dict[str, Any] = {"workload": "SchedulingBasic/5000Nodes", "nodes": 5000, "seconds": 1.0, "scheduled": 10}
    plain |= {"pods_per_second": 440.0, "without_node": 0, "server_cpu_us_per_pod": 1.0, "client_cpu_us_per_pod": 1.0}
    return Figures(**{**plain, **dict.fromkeys(("create", "bind", "watch", "visible"), Latencies(1.0, 2.0)), **fields})


def test_the_watch_knows_how_far_a_pod_has_come() -> None:
    pods = watch()
    pods.receive(line("ADDED", "1") + b"\n" + line("ADDED", "2"))
    assert [pod.stage for pod in pods.pods.values()] == [Stage.ADDED, Stage.ADDED]
    pods.receive(line("MODIFIED", "1", conditions=("Ready", "PodScheduled")))
    assert pods.pods["1"].stage is Stage.ATTEMPTED
    pods.receive(line("MODIFIED", "1", node="n"))
    bound_at = pods.pods["1"].bound_at
    pods.receive(line("MODIFIED", "1", node="n") + b"\n" + line("DELETED", "2"))
    assert (pods.pods["1"].stage, pods.pods["1"].bound_at) == (Stage.BOUND, bound_at)
    assert pods.pods["2"].stage is Stage.GONE
    assert [uid for uid, _ in pods.matching(("a",), {"k": "v"})] == ["1", "2"]
    assert not list(pods.matching(("b",), {}))
    assert not list(pods.matching((), {"k": "w"}))


def test_bookmarks_are_no_pods_and_errors_end_the_watch() -> None:
    pods = watch()
    pods.receive(b'{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"9"}}}')
    assert pods.pods == {}
    with pytest.raises(RunFailed, match="too old"):
        pods.receive(
            b'{"type":"ERROR","object":{"kind":"Status","metadata":{},"status":"Failure","message":"too old"}}'
        )


def test_waiting_ends_with_the_last_pod_or_without_progress() -> None:
    async def wait() -> tuple[int, int]:
        pods = watch()
        pods.receive(line("ADDED", "1"))
        loop = asyncio.get_running_loop()
        loop.call_soon(pods.receive, line("MODIFIED", "1", node="n"))
        loop.call_soon(pods.receive, line("ADDED", "2", node="n"))
        all_bound = await pods.until(("1", "2"), Stage.BOUND, 60)
        return all_bound, await pods.until(("1", "3"), Stage.BOUND, 0.01)

    assert asyncio.run(wait()) == (0, 1)


def test_a_window_counts_what_happened_in_it() -> None:
    async def close() -> Figures:
        pods, server = watch(), Server(Path())
        pods.receive(line("ADDED", "before", node="n"))
        window = Window(server, ("a",), {}, "late")
        sent = perf_counter()
        pods.receive(line("ADDED", "1") + b"\n" + line("ADDED", "2"))
        answered = perf_counter()
        pods.receive(line("MODIFIED", "1", node="n"))
        created = {"1": Created(sent, answered), "2": Created(sent, answered)}
        return window.close("Case/Small", 3, pods, created, "")

    found = asyncio.run(close())
    assert (found.workload, found.nodes, found.scheduled, found.without_node) == ("Case/Small/late", 3, 1, 1)
    assert found.create.p50_ms > 0
    assert found.watch == Latencies(0.0, 0.0), "an event that comes before the answer took no time"
    assert found.bind.p50_ms > 0
    assert found.visible.p50_ms > 0


def test_the_real_one_is_compared_at_its_number_of_nodes_only() -> None:
    one = figures()
    assert (one.goal, one.times_real) == (2200, (2.0, 440 / 180))
    assert one.as_json()["real_pods_per_second"] == [180, 220]
    assert figures(nodes=500).times_real is None
    assert figures(workload="TopologySpreading/5000Nodes").goal is None
    assert all(real.slowest <= real.fastest for real in MEASURED.values())


def test_several_runs_become_medians() -> None:
    (one,) = medians([figures(pods_per_second=speed, restart_seconds=speed, peak_bytes=speed) for speed in (1, 9, 2)])
    assert (one.pods_per_second, one.restart_seconds, one.peak_bytes, one.runs) == (2, 2, 9, 3)


def test_the_table_has_a_cell_for_every_column() -> None:
    header, rule, row = table([figures(memory_bytes=2**20)]).splitlines()
    assert header.count("|") == rule.count("|") == row.count("|") == len(COLUMNS) + 1
    assert "2.0–2.4" in row
    assert "1.0 / 2.0" in row
