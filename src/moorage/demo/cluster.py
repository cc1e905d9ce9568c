"""Run a cluster without nodes for a story, and the kubectl of the machine against it.

The cluster is `moorage up` as a process in a temporary directory. Ctrl-C does not reach it: it is stopped here, or kept
with `--keep`. kubectl ($KUBECTL, or in the PATH) runs with a home and a kubeconfig of its own.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from moorage.demo.story import KubectlResult

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
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                    env={**os.environ, "MOORAGE_NO_SETTINGS": "true"},  # a story is the same for all users
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
            lines = self._log.read_text(errors="replace").splitlines()
            if words := [line for line in lines if line.strip()]:
                return words[-1].removeprefix("moorage: ")
        return "its log is empty"


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


#: Older ones check fields themselves, against a description of the API that is no longer served.
OLDEST = (1, 27)
_OLDEST_TEXT = f"{OLDEST[0]}.{OLDEST[1]}"
_SECONDS = 60
#: What commands and programs of a story are given of the machine's environment.
KEPT_VARIABLES = ("PATH", "TMPDIR", "LANG", "SYSTEMROOT")


class NoKubectl(Exception):
    """Why there is no kubectl to run."""


def find_kubectl(named: str = "") -> str:
    """The program to run. Raises NoKubectl."""
    wanted = named or os.environ.get("KUBECTL") or "kubectl"
    program = shutil.which(wanted)
    if program is None:
        where = "kubectl in the PATH" if wanted == "kubectl" else wanted
        raise NoKubectl(f"there is no {where}: install kubectl {_OLDEST_TEXT} or newer, or name one in $KUBECTL")
    try:
        printed = subprocess.run(
            [program, "version", "--client", "--output", "json"], capture_output=True, text=True, timeout=_SECONDS
        )
        version = json.loads(printed.stdout)["clientVersion"]
        number = (int(version["major"]), int(version["minor"].rstrip("+")))
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, TypeError, AttributeError):
        raise NoKubectl(f"{program} does not say which version it is") from None
    if number < OLDEST:
        raise NoKubectl(f"{program} is version {number[0]}.{number[1]}, and {_OLDEST_TEXT} or newer is needed")
    return program


class Kubectl:
    """Runs commands as one types them."""

    def __init__(self, program: str, kubeconfig: Path, home: Path, folder: Path) -> None:
        self._program, self._folder = program, folder
        kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
        self._environment = {**kept, "HOME": str(home), "KUBECONFIG": str(kubeconfig), "KUBECTL_KUBERC": "false"}

    def run(self, words: list[str], stdin: str = "") -> KubectlResult:
        try:
            ran = subprocess.run(
                [self._program, *words],
                cwd=self._folder,
                env=self._environment,
                input=stdin,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
            )
        except subprocess.TimeoutExpired:
            return KubectlResult(1, "", f"kubectl did not end within {_SECONDS} s\n")
        except OSError as error:
            return KubectlResult(1, "", f"kubectl cannot be run: {error.strerror}\n")
        return KubectlResult(ran.returncode, ran.stdout, ran.stderr)
