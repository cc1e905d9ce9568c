"""A runbook as a terminal session: its files are written, its commands run in a shell, one after the other.

In: a page. Out: for each command what the page shows and what is printed. `moorage up` runs beside the others until the
page starts another one, on any free port; everything else must succeed, unless the page shows what it says and its
exit status.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.e2e.kubectl import kubectl_program

READY = "The cluster is ready at "
STOP_SECONDS, COMMAND_SECONDS = 120, 240
_FILES = re.compile(r"^```yaml (\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SESSIONS = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
_COMMANDS = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


class Step(NamedTuple):
    """One command, what the page shows of its answer, and the answer; status 0 if it went well."""

    command: str
    shown: str
    printed: str
    status: int


def commands_of(text: str) -> list[tuple[str, str]]:
    return [pair for block in _SESSIONS.findall(text) for pair in _COMMANDS.findall(block)]


class Session:
    """See the module."""

    def __init__(self, text: str, home: Path) -> None:
        self._commands, self._home = commands_of(text), home
        self._up: subprocess.Popen[str] | None = None
        for name, content in _FILES.findall(text):
            (home / name).write_text(content, encoding="utf-8")
        programs = (Path(sys.executable).parent, Path(kubectl_program()).parent)
        path = os.pathsep.join([*map(str, programs), os.environ["PATH"]])
        kubeconfig = str(home / "cluster" / "kubeconfig")
        self._environment = {**os.environ, "PATH": path, "HOME": str(home), "KUBECONFIG": kubeconfig}

    def play(self) -> Iterator[Step]:
        try:
            for command, shown in self._commands:
                if command.startswith("moorage up "):
                    self._start(command)
                else:
                    yield self._run(command, shown)
            self._stop()
        finally:
            if self._up is not None:
                self._up.kill()
                self._up.communicate()

    def _run(self, command: str, shown: str) -> Step:
        ran = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=self._home,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        return Step(command, shown, ran.stdout, ran.returncode)

    def _start(self, command: str) -> None:
        self._stop()
        arguments = [sys.executable, "-m", "moorage", *command.split()[1:], "--port", "0"]
        with (self._home / "moorage.log").open("a") as errors:
            self._up = subprocess.Popen(
                arguments, cwd=self._home, env=self._environment, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        assert self._up.stdout is not None
        for line in self._up.stdout:
            if line.startswith(READY):
                return
        raise AssertionError(f"{command}\n{(self._home / 'moorage.log').read_text(encoding='utf-8')}")

    def _stop(self) -> None:
        if self._up is not None:
            self._up.send_signal(signal.SIGTERM)
            self._up.communicate(timeout=STOP_SECONDS)
            assert self._up.returncode == 0
            self._up = None
