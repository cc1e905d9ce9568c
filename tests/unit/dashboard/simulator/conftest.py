"""A simulator with odd questions besides the real ones."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from moorage.dashboard.simulator.client import Simulator
from moorage.dashboard.simulator.spec import InputSpec

ROOT = Path(__file__).resolve().parents[4]
ODD = "tests.unit.dashboard.simulator.odd_questions"
CLUSTER = InputSpec(files=[str(ROOT / "examples/cluster")], feature_gates={"AllAlpha": True, "AllBeta": True}, seq=7)

Make = Callable[..., AbstractAsyncContextManager[Simulator]]


@pytest.fixture
def simulators(monkeypatch: pytest.MonkeyPatch) -> Make:
    """Return what starts a simulator and stops it."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))

    @asynccontextmanager
    async def make(spec: InputSpec | None = CLUSTER, **options: Any) -> AsyncIterator[Simulator]:
        simulator = Simulator(questions=ODD, **options)
        await simulator.start()
        try:
            if spec is not None:
                await simulator.load(spec)
            yield simulator
        finally:
            await simulator.stop()

    return make


async def answer_of(simulator: Simulator, question: str, **arguments: Any) -> list[dict[str, Any]]:
    async with aclosing(simulator.ask(question, arguments)) as parts:
        return [part async for part in parts]
