"""Run the programs of a story beside its cluster, such as a webhook, until the story ends.

They are Python files of the story's folder, run by the Python that plays it. $KUBECONFIG and $KUBECTL lead to the
story's cluster, and to no other.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from moorage.demo.cluster import KEPT_VARIABLES
from moorage.demo.story import KubectlResult

_STOP_SECONDS = 5.0


class StoryPrograms:
    """The programs that were started in a `with` block; they end with it, unless they are to be kept."""

    def __init__(self, kubectl: str, kubeconfig: Path, home: Path, folder: Path) -> None:
        """What they print is kept in files in `home`."""
        self._home, self._folder = home, folder
        # Where this package was found, it is found again.
        kept = {name: os.environ[name] for name in (*KEPT_VARIABLES, "PYTHONPATH") if name in os.environ}
        ours = {"HOME": str(home), "KUBECONFIG": str(kubeconfig), "KUBECTL": kubectl}
        self._environment = {**kept, **ours, "KUBECTL_KUBERC": "false", "PYTHONUNBUFFERED": "1"}
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> "StoryPrograms":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def start(self, words: list[str]) -> Callable[[], KubectlResult]:
        """Start a program. What is returned tells what it has printed, with its exit status if it has ended."""
        printed = self._home / f"program-{len(self._processes) + 1}.log"
        with printed.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, *words],
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C at the terminal is for those who play the story
            )
        self._processes.append(process)
        return lambda: KubectlResult(process.poll() or 0, printed.read_text(errors="replace"))

    def let_go(self) -> list[int]:
        """Leave them running, and return their process ids."""
        running = [process for process in self._processes if process.poll() is None]
        for process in running:
            process.returncode = 0  # without one Popen would warn that the process is still there
        self._processes = []
        return [process.pid for process in running]
