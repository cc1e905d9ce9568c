"""Runs a cluster for one story: `moorage up` as a process, in a temporary directory, without nodes.

Ctrl-C does not reach the process: it is stopped here, or kept with `--keep`.
"""

import contextlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

_START_SECONDS, _STOP_SECONDS = 60.0, 10.0
_LOOK_SECONDS = 0.02


class NoCluster(Exception):
    """The cluster did not start, or has ended by itself; the message has its last log line."""


class StoryCluster:
    """The process of a story. Its directory is also kubectl's home, so that its caches are removed with it."""

    def __init__(self, gates: str, port: int) -> None:
        """Raises NoCluster."""
        self.directory = Path(tempfile.mkdtemp(prefix="moorage-demo-"))
        self.kubeconfig = self.directory / "kubeconfig"
        self._log = self.directory / "moorage.log"
        command = [sys.executable, "-m", "moorage", "up", "--ephemeral", "--nodes", "0", "--port", str(port)]
        command += ["--write-kubeconfig", str(self.kubeconfig), *([f"--feature-gates={gates}"] if gates else [])]
        try:
            with self._log.open("wb") as log:
                # In a session of its own: Ctrl-C at the terminal must not reach it, and `--keep` leaves it running.
                self._process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
                )
        except OSError as error:
            shutil.rmtree(self.directory, ignore_errors=True)
            raise NoCluster(f"the cluster cannot be started: {error.strerror}") from None

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_until_ready(self) -> None:
        """The kubeconfig is written last. Raises NoCluster."""
        deadline = time.monotonic() + _START_SECONDS
        while not self.kubeconfig.exists():
            self.check_alive()
            if time.monotonic() > deadline:
                raise NoCluster(f"the cluster is not ready after {_START_SECONDS:g} s: {self._last_words()}")
            time.sleep(_LOOK_SECONDS)

    def check_alive(self) -> None:
        """Raises NoCluster."""
        if self._process.poll() is not None:
            raise NoCluster(f"the cluster has ended: {self._last_words()}")

    def stop(self) -> None:
        """Stop it and remove its directory; further signals are ignored meanwhile."""
        with _signals(signal.SIG_IGN):
            self._stop()

    def _stop(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def let_go(self) -> None:
        """Leave it running; without a return code Popen would warn that the process is still there."""
        self._process.returncode = 0

    def _last_words(self) -> str:
        with contextlib.suppress(OSError):
            said = [line.removeprefix("moorage: ") for line in self._log.read_text(errors="replace").splitlines()]
            if words := [line for line in said if line.strip()]:
                return words[-1]
        return "it said nothing"


@contextlib.contextmanager
def story_cluster(gates: str, port: int, *, keeps: Callable[[], bool]) -> Iterator[StoryCluster]:
    """A cluster that is ready. It ends with the block, SIGTERM and SIGHUP among its ends, unless it is to be kept."""
    with _signals(_interrupt):
        cluster = StoryCluster(gates, port)
        try:
            cluster.wait_until_ready()
            yield cluster
        except BaseException:
            cluster.stop()
            raise
        if keeps():
            cluster.let_go()
        else:
            cluster.stop()


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """End on SIGTERM and SIGHUP as on Ctrl-C, so that the cluster is stopped."""
    raise KeyboardInterrupt


@contextlib.contextmanager
def _signals(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> Iterator[None]:
    """Handle SIGINT, SIGTERM and SIGHUP otherwise inside the block."""
    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)
