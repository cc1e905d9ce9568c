"""The pages' terminal sessions, played again: a real `moorage up` as the page starts it, then the kubectl commands.

What differs from run to run (ages, generated names, addresses, ports, the user's home) is masked on both sides, and
lines are compared without regard to their order: lists are sorted by generated names.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.e2e.kubectl import Kubectl

ROOT = Path(__file__).resolve().parents[2]
#: Pages whose first `moorage up` is the cluster of all kubectl commands for which they show an answer.
PAGES = (
    "docs/first-session.md",
    "docs/up.md",
    "docs/scheduler.md",
    "docs/kubelet.md",
    "docs/controllers.md",
    "docs/devices.md",
    "docs/admission.md",
)
HOME = "/home/me"
LAST_LINE = "Ctrl-C stops it."
STOP_SECONDS = 120
_MASKS = (
    (re.compile(r"https://127\.0\.0\.1:\d+"), "https://127.0.0.1:6443"),
    (re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5}\b"), "-xxxxx"),
    (re.compile(r"\b10\.128\.\d+\.\d+\b"), "10.128.0.0"),
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "UID"),
    (re.compile(r"\b(\d+[dhms]){1,2}\b|<unknown>"), "AGE"),
    (re.compile(r'(" deleted) from \S+ namespace'), r"\1"),  # which kubectl says since 1.34
    (re.compile(r"[ \t]+"), " "),
)


def said(text: str, home: Path | str = HOME) -> list[str]:
    text = text.replace(str(home), HOME)
    for pattern, instead in _MASKS:
        text = pattern.sub(instead, text)
    return sorted(line.strip() for line in text.splitlines() if line.strip())


def session(page: str) -> Iterator[tuple[str, str]]:
    """The commands of a page with what it shows of their answers; blocks without any answer are left out."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for block in re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        found = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
        if any(shown.strip() for _, shown in found):
            yield from found


@contextmanager
def cluster(command: str, home: Path) -> Iterator[str]:
    """The page's `moorage up`, on any free port and in another home; what it prints until it is ready."""
    environment = {name: value for name, value in os.environ.items() if name != "XDG_STATE_HOME"} | {"HOME": str(home)}
    arguments = [sys.executable, "-m", "moorage", *command.split()[1:], "--port", "0"]
    with (
        (home / "moorage.log").open("w+") as errors,
        subprocess.Popen(
            arguments, cwd=home, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        assert process.stdout is not None
        try:
            lines = []
            for line in process.stdout:
                lines.append(line)
                if line.startswith(LAST_LINE):
                    break
            yield "".join(lines)
            process.send_signal(signal.SIGTERM)
            assert process.wait(STOP_SECONDS) == 0
        finally:
            process.kill()


@pytest.mark.parametrize("page", PAGES)
def test_a_session_is_what_happens(page: str, tmp_path: Path) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for name, content in re.findall(r"^```yaml (\S+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        (tmp_path / name).write_text(content, encoding="utf-8")
    commands = list(session(page))
    start, ready = next(pair for pair in commands if LAST_LINE in pair[1])
    with cluster(start, tmp_path) as printed:
        assert said(printed, tmp_path) == said(ready)
        found = re.search(r"KUBECONFIG=(\S+)", printed)
        assert found is not None
        kubectl = Kubectl(tmp_path / found[1], tmp_path, namespace="")
        for command, shown in commands:
            if command.startswith("kubectl ") and "|" not in command:
                ran = subprocess.run(
                    kubectl.command(command.removeprefix("kubectl ")),
                    cwd=tmp_path,
                    env=kubectl.environment(),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    timeout=60,
                )
                if "--for=delete" not in command:  # says nothing about what is gone by then
                    assert said(ran.stdout, tmp_path) == said(shown), command
