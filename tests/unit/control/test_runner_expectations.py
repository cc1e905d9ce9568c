"""What a key has written is waited for, but not remembered for longer: its object may be gone, and never come back."""

from typing import Any

import pytest
from tests.unit.control.cluster_objects import NODE

from moorage.control.framework import runner as runner_module
from moorage.control.framework.metrics import ControllerMetrics
from moorage.control.framework.runner import Runner
from moorage.control.framework.world import World
from moorage.telemetry.metrics import Metrics


class Idle:
    """A controller whose keys are never looked at."""

    name = "idle-controller"
    watches = (NODE,)


def test_keys_that_never_come_back_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(runner_module, "loop_time", lambda: now)
    nobody: Any = None
    idle: Any = Idle()
    metrics = ControllerMetrics(Metrics(), lambda: now)
    runner = Runner(idle, nobody, World(), nobody, lambda kind: 0, metrics, lambda: 0.0, lambda: now)
    for number in range(100):
        now = number / 10
        runner._expect(f"key-{number}", NODE, 7)
    assert len(runner._expected) == 100
    assert runner._is_early("key-99", now)
    now = 12.0
    runner._expect("new", NODE, 7)
    assert [*runner._expected] == [*(f"key-{number}" for number in range(21, 100)), "new"]
    assert runner._is_early("key-99", now)
    now = 1000.0
    runner._expect("newer", NODE, 7)
    assert [*runner._expected] == ["newer"]
