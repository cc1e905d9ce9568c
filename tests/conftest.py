"""Runs `async def` tests: in virtual time, or in real time where the test is marked `real_time`.

A fixture may return an async context manager: it is entered in the event loop of the test, and the test is given what
it yields. `@pytest.mark.real_time` is for real sockets, files and processes; `real_time(loop="uvloop")` runs on the
event loop that `moorage up` uses, as does a parameter `loop` of the test.
"""

import asyncio
import gc
import inspect
import logging
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path

import pytest
import uvloop
from hypothesis import HealthCheck, settings
from tests.virtual_time import VirtualTimeLoop

# The API server would import these in a thread, for which virtual time does not wait.
import moorage.custom.definition.definition
import moorage.custom.objects.validate
import moorage.match.cel.program  # noqa: F401

# How long an example takes says something about the machine, not about the law.
settings.register_profile("any-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any-machine")

#: The files that fork most come first, since a fork costs the more the larger the worker has become; then the folders
#: whose files take long and wait for processes. With many short files at the end, no worker is left with a long one
#: while the others have nothing to do (with `--no-loadscope-reorder`).
_FORKING = (
    "tests/laws/test_suggestion_laws.py",
    "tests/laws/test_workload_suggestion_laws.py",
    "tests/laws/test_explanation_laws.py",
    "tests/unit/plan/explain/",
    "tests/unit/plan/test_explanation",
    "tests/unit/dashboard/export/",
    "tests/unit/dashboard/questions/",
    "tests/unit/dashboard/simulator/",
)
_FIRST = (*_FORKING, "tests/e2e/", "tests/browser/", "tests/faults/", "tests/laws/", "tests/contract/")
_VARIABLE = re.compile(r"TEST_ASSET_\w+")
#: Seconds of real time after which a test hangs: far more than any takes on a busy machine.
PATIENCE = 300.0
_REAL_LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}


def pytest_configure() -> None:
    """Let the commands under test run as on a terminal, however the suite itself was started.

    They keep compiled modules, or hundreds of processes compile all of them again; and an inherited "ignore SIGINT" or
    "ignore SIGHUP", which shells give to background jobs and nohup to commands, is not passed on to them.
    """
    beside = Path(sys.executable).with_name("kubectl")  # which `make test` puts there on a machine that has none
    if not shutil.which("kubectl") and beside.exists():
        os.environ.setdefault("KUBECTL", str(beside))
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda number, frame: None)  # handlers are not inherited


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while there is none, and do not look through thousands of tests for it later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: next((at for at, one in enumerate(_FIRST) if item.nodeid.startswith(one)), len(_FIRST)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which tests with real Kubernetes programs did not run: with `-q` a skipped test is only a letter."""
    skipped = [one for one in terminalreporter.stats.get("skipped", ()) if "tests/interop/" in one.nodeid]
    missing = sorted({variable for one in skipped for variable in _VARIABLE.findall(str(one.longrepr))})
    if missing:
        terminalreporter.write_sep("=", "interoperability was not tested", yellow=True)
        terminalreporter.write_line(f"{len(skipped)} tests need real Kubernetes programs: set {', '.join(missing)}")


@pytest.fixture(autouse=True)
def _same_log() -> Iterator[None]:
    """Log after a test as before it: commands that run in this process choose where to and how much."""
    log = logging.getLogger("moorage")
    handlers, level = log.handlers[:], log.level
    yield
    log.handlers[:] = handlers
    log.setLevel(level)


@pytest.fixture(autouse=True)
def _same_garbage_collection() -> Iterator[None]:
    """Collect garbage after a test as before it: commands that run in this process turn it off, and never on again.

    A worker that keeps its garbage grows to gigabytes, and every fork of it takes the longer.
    """
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _frozen_tests() -> Iterator[None]:
    """Keep the collected tests frozen: if a benchmark thawed them, each later collection would visit them all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "unfreeze", lambda: None)
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    mark = pyfuncitem.get_closest_marker("real_time")
    new_loop: Callable[[], asyncio.AbstractEventLoop] = VirtualTimeLoop
    if mark is not None:
        new_loop = _REAL_LOOPS[str(pyfuncitem.funcargs.get("loop") or mark.kwargs.get("loop", "asyncio"))]
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(_run(pyfuncitem, None if mark is None else PATIENCE))
    return True


async def _run(item: pytest.Function, patience: float | None) -> None:
    async with asyncio.timeout(patience), AsyncExitStack() as stack:
        values = dict(item.funcargs)
        for name in _in_order(item):
            if isinstance(entered := values[name], AbstractAsyncContextManager):
                values[name] = await stack.enter_async_context(entered)
        await item.obj(**{name: values[name] for name in item._fixtureinfo.argnames})


def _in_order(item: pytest.Function) -> dict[str, None]:
    """Return the fixtures of a test, each after those that it depends on."""
    found: dict[str, None] = {}

    def visit(name: str) -> None:
        for definition in item._fixtureinfo.name2fixturedefs.get(name, ())[-1:]:
            for needed in definition.argnames:
                visit(needed)
        if name in item.funcargs:
            found.setdefault(name)

    for name in item.fixturenames:
        visit(name)
    return found
