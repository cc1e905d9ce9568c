"""`moorage watch` on a terminal and in a pipe, through evictions, a resized window and a server that is killed."""

import asyncio
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.up_process import UpProcess
from tests.processes import started

from moorage.client.http_client import HttpClient
from moorage.client.kubeconfig.loading import load_access
from moorage.model.kinds import KINDS

SECONDS = 90
ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"
SHOW_CURSOR = "\x1b[?25h"


def spec(cpu: str) -> dict[str, Any]:
    return {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}


def web(replicas: int) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": spec("100m")}
    of = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": of}


class Hands:
    """Changes the cluster."""

    def __init__(self, kubeconfig: Path) -> None:
        self._kubeconfig = kubeconfig

    def create(self, *documents: dict[str, Any]) -> None:
        async def do(client: HttpClient) -> None:
            for document in documents:
                await client.create(KINDS[document["apiVersion"], document["kind"]], document, "default")

        self._do(do)

    def taint(self, node: str, **taint: str) -> None:
        self._do(lambda client: client.patch(KINDS.NODE, node, "", {"spec": {"taints": [taint]}}))

    def _do(self, act: Any) -> None:
        async def run() -> None:
            client = HttpClient(load_access(str(self._kubeconfig)), "test")
            try:
                await act(client)
            finally:
                await client.close()

        asyncio.run(run())


class Screen:
    """A terminal with a program in it."""

    def __init__(self, master: int, slave: int, process: "subprocess.Popen[bytes]") -> None:
        self._master, self._slave, self.process = master, slave, process
        self.written = ""

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.process.send_signal(signal.SIGWINCH)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def wait_for(self, pattern: str, *, new: bool = False) -> str:
        """Read until the pattern is on the screen; return what was written since."""
        start = len(self.written) if new else 0
        deadline = time.monotonic() + SECONDS
        while not re.search(pattern, self.written[start:]):
            assert time.monotonic() < deadline, self.written[-3000:]
            self._read(1.0)
        return self.written[start:]

    def _read(self, seconds: float) -> bool:
        if not select.select([self._master], [], [], seconds)[0]:
            return False
        try:
            self.written += os.read(self._master, 65536).decode("utf-8", "replace")
        except OSError:
            return False
        return True

    def end(self) -> int:
        """Wait for the end; return the exit code."""
        deadline = time.monotonic() + SECONDS
        while self.process.poll() is None and time.monotonic() < deadline:
            self._read(0.1)
        while self._read(0.0):
            pass
        return self.process.wait(1)

    @property
    def modes(self) -> list[Any]:
        return termios.tcgetattr(self._slave)


@contextmanager
def screen(*arguments: str, columns: int = 110, lines: int = 30, term: str = "xterm") -> Iterator[Screen]:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    command = [sys.executable, "-m", "moorage", "watch", *arguments]
    try:
        environment = {**os.environ, "TERM": term}
        with started(
            command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, env=environment
        ) as process:
            yield Screen(master, slave, process)
    finally:
        os.close(master)
        os.close(slave)


def test_a_terminal_shows_what_happens_and_is_put_back(tmp_path: Path) -> None:
    options = ("--nodes", "2", "--data-dir", str(tmp_path / "data"))
    huge = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "huge"}, "spec": spec("500")}
    with ExitStack() as until:
        cluster = until.enter_context(UpProcess(tmp_path, *options))
        hands = Hands(cluster.kubeconfig)
        hands.create(huge, web(2))
        shown = until.enter_context(screen("--kubeconfig", str(cluster.kubeconfig)))
        before = shown.modes
        shown.wait_for(r"default/huge")
        shown.wait_for(r"Insufficient cpu")
        shown.wait_for("node-1")
        assert shown.modes != before, "keys are read one by one"
        hands.taint("node-1", key="sla", value="900", effect="NoExecute")
        shown.wait_for(r"evicted.*from node-1 by taint sla=900:NoExecute")
        shown.wait_for(r"moved.*from node-1 to node-2, instead of (web-|one of)")
        shown.resize(50, 8)
        shown.wait_for(r"lines below", new=True)
        shown.type("\x1b[B\x1b[B")
        shown.wait_for(r"2 above", new=True)
        cluster.kill()
        shown.wait_for(r"cannot be reached")
        until.enter_context(UpProcess(tmp_path, *options, port=cluster.port))
        shown.wait_for(r"q quits", new=True)
        hands.create({**huge, "metadata": {"name": "later"}})
        shown.resize(110, 30)
        shown.wait_for(r"default/later")
        shown.type("q")
        assert shown.end() == 0
        assert shown.written.startswith(ENTER)
        assert shown.written.rstrip().endswith(LEAVE)
        assert SHOW_CURSOR in shown.written[-40:]
        assert shown.modes == before
        assert "Traceback" not in shown.written


def test_a_dumb_terminal_gets_lines(tmp_path: Path) -> None:
    with (
        UpProcess(tmp_path, "--nodes", "1", "--ephemeral") as cluster,
        screen("--kubeconfig", str(cluster.kubeconfig), term="dumb") as shown,
    ):
        shown.wait_for("node-1")
        Hands(cluster.kubeconfig).create(web(1))
        shown.wait_for(r"placed +default/web-")
        shown.process.send_signal(signal.SIGTERM)
        assert shown.end() == 143
        assert "\x1b" not in shown.written


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_a_signal_puts_the_terminal_back(number: signal.Signals, code: int, tmp_path: Path) -> None:
    with (
        UpProcess(tmp_path, "--nodes", "1", "--ephemeral") as cluster,
        screen("--kubeconfig", str(cluster.kubeconfig)) as shown,
    ):
        before = shown.modes
        shown.wait_for("node-1")
        shown.process.send_signal(number)
        assert shown.end() == code
        assert shown.modes == before
        assert shown.written.rstrip().endswith(LEAVE)
        assert "Traceback" not in shown.written


@pytest.mark.slow
def test_a_pipe_gets_a_line_for_each_thing_that_happens(tmp_path: Path) -> None:
    with UpProcess(tmp_path, "--nodes", "2", "--ephemeral") as cluster:
        hands = Hands(cluster.kubeconfig)
        command = [sys.executable, "-m", "moorage", "watch", "--kubeconfig", str(cluster.kubeconfig)]
        with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            read = iter(process.stdout.readline, b"")
            assert any(b"node-2" in line for line in read)
            hands.create(web(1))
            placed = next(line for line in read if b"placed " in line and b"web-" in line).decode()
            node = placed.split()[-1]
            assert re.fullmatch(rf"\d\d:\d\d:\d\d  placed     default/web-\w+-\w+ on {node}\n", placed)
            hands.taint(node, key="out", effect="NoExecute")
            assert any(b"by taint out:NoExecute" in line for line in read)
            process.send_signal(signal.SIGINT)
            assert process.wait(SECONDS) == 130
            assert process.stderr is not None
            assert process.stderr.read() == b""


def test_nothing_to_watch_is_one_line(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    command = [sys.executable, "-m", "moorage", "watch", "--once", "--kubeconfig", str(kubeconfig)]
    absent = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert absent.returncode == 2
    assert absent.stderr.startswith("moorage: ")
    kubeconfig.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\n"
        "contexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a, user: {}}]\n"
        "clusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\n"
    )
    refused = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == "moorage: https://127.0.0.1:1: the API server cannot be reached: Connection refused\n"
