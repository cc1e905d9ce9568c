"""Processes that are kept running: started again, stopped in time, and gone with the process that started them."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.e2e.component_processes import until

from moorage.cluster.ha import supervised, tether
from moorage.cluster.ha.supervised import SupervisedProcess

SLEEPS = "import time; print('here', flush=True); time.sleep(600)"
DEAF = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEPS}"
ENDS = "print('first'); print('I give up'); raise SystemExit(3)"


@asynccontextmanager
async def running(log: Path, program: str) -> AsyncIterator[SupervisedProcess]:
    process = SupervisedProcess("fake-1", lambda: [sys.executable, "-c", program], log)
    task = asyncio.create_task(process.run())
    try:
        yield process
    finally:
        await process.stop(0.1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def wait_for(log: Path, text: str, times: int = 1) -> None:
    while not log.exists() or log.read_text().count(text) < times:
        await asyncio.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.real_time
@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
async def test_a_killed_process_is_restarted_and_logged_in_one_line(
    tmp_path: Path, loop: str, caplog: pytest.LogCaptureFixture
) -> None:
    log = tmp_path / "log"
    async with running(log, SLEEPS) as process:
        await wait_for(log, "here")
        before = process.pid
        os.kill(before, signal.SIGKILL)
        await wait_for(log, "here", 2)
        assert process.pid not in (0, before)
        assert (process.ends, process.ending) == (1, "killed by SIGKILL")
    assert not is_running(before)
    assert [record.message for record in caplog.records].count("A process has ended and is started again") == 1


@pytest.mark.real_time
async def test_the_delay_grows_and_the_last_words_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    sleep = asyncio.sleep

    async def remembered(seconds: float) -> None:
        slept.append(seconds)
        await sleep(0)

    log = tmp_path / "log"
    process = SupervisedProcess("fake-1", lambda: [sys.executable, "-c", ENDS], log)
    monkeypatch.setattr("moorage.cluster.ha.supervised.asyncio.sleep", remembered)
    monkeypatch.setattr(supervised, "LAST_DELAY", 0.5)
    task = asyncio.create_task(process.run())
    while process.ends < 4:
        await sleep(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await process.stop(1.0)
    assert [one for one in slept if one >= 0.2][:4] == [0.2, 0.4, 0.5, 0.5]
    assert process.ending == "exit status 3"
    assert process.last_words == "I give up"


@pytest.mark.real_time
async def test_a_process_that_does_not_end_is_killed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with running(log, DEAF) as process:
        await wait_for(log, "here")
        pid = process.pid
        await process.stop(0.2)
        assert process.pid == 0
        assert not is_running(pid)


@pytest.mark.real_time
async def test_a_program_that_does_not_exist_is_tried_again(tmp_path: Path) -> None:
    process = SupervisedProcess("fake-1", lambda: ["/nowhere/etcd"], tmp_path / "log")
    task = asyncio.create_task(process.run())
    while process.ends < 1:
        await asyncio.sleep(0.01)
    await process.stop(1.0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert "exit status" in process.ending


def test_a_process_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    program = (
        "import subprocess, sys, os, time\n"
        f"child = subprocess.Popen([sys.executable, {tether.__file__!r}, str(os.getpid()), sys.executable, '-c',"
        " 'import time; time.sleep(600)'])\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert is_running(child)
        parent.kill()
        parent.wait()
    until(lambda: not is_running(child))


def test_where_the_kernel_does_not_help_the_parent_is_watched(tmp_path: Path) -> None:
    beside = str(Path(tether.__file__).parent)
    inner = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    watcher = (
        f"import sys, os; sys.path.insert(0, {beside!r}); import tether;"
        f"tether.watch(int(sys.argv[1]), [sys.executable, '-c', {inner!r}])"
    )
    program = (
        "import subprocess, sys, os, time\n"
        f"child = subprocess.Popen([sys.executable, '-c', {watcher!r}, str(os.getpid())])\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        grandchild = int(parent.stdout.readline())
        parent.kill()
        until(lambda: not is_running(grandchild))
