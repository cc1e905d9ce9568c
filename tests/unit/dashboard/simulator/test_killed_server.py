"""A server that is killed leaves no processes behind."""

import asyncio
import signal
import sys

import pytest
from tests.unit.dashboard.simulator.conftest import ROOT
from tests.unit.dashboard.simulator.test_client import pid_gone

_SERVER = """
import asyncio
from tests.unit.dashboard.simulator.conftest import CLUSTER, ODD
from moorage.dashboard.simulator.client import Simulator
from moorage.dashboard.simulator.spec import InputSpec

async def main():
    simulator = Simulator(questions=ODD)
    await simulator.start()
    await simulator.load(CLUSTER)
    pids = [simulator.pid]
    for question in ("settings", "settled-settings", "hang"):
        parts = simulator.ask(question, {})
        pids.append((await anext(parts))["pid"])
        if question != "hang":
            await parts.aclose()
    print(*pids, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.real_time
async def test_all_processes_end_with_a_server_that_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    server = await asyncio.create_subprocess_exec(sys.executable, "-c", _SERVER, stdout=asyncio.subprocess.PIPE)
    assert server.stdout is not None
    pids = [int(word) for word in (await server.stdout.readline()).split()]
    assert len(set(pids)) == 4
    server.send_signal(signal.SIGKILL)
    await server.wait()
    for pid in pids:
        await pid_gone(pid)
