"""The watchdog: what it calls the operation that blocks the loop, in the metric and in the log."""

import asyncio
import gc
import io
import sys
import time

import pytest

from moorage.telemetry import logs
from moorage.telemetry.metrics import Metrics
from moorage.telemetry.watchdog import GARBAGE_COLLECTION, Locals, Operation, StackSample, Watchdog, look, operation

pytestmark = pytest.mark.real_time


def _named(local: Locals) -> Operation:
    return Operation("list pods", {"userAgent": local["agent"]})


@operation("request")
def _outer(agent: str) -> None:
    _inner(agent)


@operation(_named)
def _inner(agent: str) -> None:
    end = time.thread_time() + 0.2
    while time.thread_time() < end:
        sum(range(1_000))


async def _block(metrics: Metrics, work: object) -> None:
    watchdog = Watchdog(metrics)
    watchdog.start()
    try:
        assert callable(work)
        await asyncio.sleep(0.05)
        work()
        await asyncio.sleep(0.1)
    finally:
        watchdog.stop()


def test_what_blocks_the_loop_is_counted_and_logged_by_its_name() -> None:
    metrics, log = Metrics(), io.StringIO()
    logs.configure(stream=log)
    try:
        asyncio.run(_block(metrics, lambda: _outer("kubectl/v1")))
    finally:
        logs.configure(stream=io.StringIO())
    text = metrics.render()[0].decode()
    assert 'moorage_event_loop_stall_seconds_bucket{operation="list pods",le="0.1"} 0' in text
    assert 'moorage_event_loop_stall_seconds_count{operation="list pods"}' in text
    assert 'moorage_event_loop_stall_cpu_seconds_bucket{operation="list pods",le="0.1"} 0' in text
    assert 'moorage_event_loop_stall_cpu_seconds_count{operation="list pods"}' in text
    line = next(line for line in log.getvalue().splitlines() if "list pods" in line)
    assert '"The event loop was blocked" component="event-loop" operation="list pods"' in line
    assert 'userAgent="kubectl/v1"' in line


def test_a_pause_of_the_garbage_collector_has_its_own_name() -> None:
    def collect() -> None:
        kept = [[i] for i in range(300_000)]
        end = time.thread_time() + 0.2
        while time.thread_time() < end:
            gc.collect()
        assert kept

    metrics = Metrics()
    asyncio.run(_block(metrics, collect))
    assert f'operation="{GARBAGE_COLLECTION}"' in metrics.render()[0].decode()


def test_a_stack_without_operations_is_other_and_a_describer_that_fails_too() -> None:
    @operation(lambda local: Operation(local["not set yet"]))
    def early() -> str:
        return look(sys._getframe()).label

    assert look(sys._getframe()).label == "other"
    assert early() == "other"


def test_logged_fields_of_an_operation_are_cut() -> None:
    @operation(lambda local: Operation("request", {"path": local["path"]}))
    def request(path: str) -> dict[str, str]:
        return dict(look(sys._getframe()).fields)

    assert request("/" * 50_000)["path"] == "/" * 200 + "…"


def test_operations_of_many_resources_are_counted_together() -> None:
    metrics = Metrics()
    dog = Watchdog(metrics)
    for number in range(1_000):
        dog._report(1.0, 1.0, 0.0, [StackSample(f"LIST things{number}")])
    lines = metrics.render()[0].decode().splitlines()
    for name in ("moorage_event_loop_stall_seconds", "moorage_event_loop_stall_cpu_seconds"):
        assert 0 < sum(line.startswith(f"{name}_count{{") for line in lines) <= 257


def test_a_stack_that_cannot_be_read_does_not_end_the_watchdog(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(frame: object) -> StackSample:
        raise TypeError("unhashable type: 'dict'")

    monkeypatch.setattr("moorage.telemetry.watchdog.look", fail)
    metrics = Metrics()
    asyncio.run(_block(metrics, lambda: _outer("kubectl/v1")))
    assert "moorage_event_loop_stall_seconds_count{" in metrics.render()[0].decode()
