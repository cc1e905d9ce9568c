"""`moorage lint --jobs`: Ctrl-C, a process that is killed, standard input, the setting."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import pytest
from tests.e2e.forked_command import forked_moorage
from tests.processes import started

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec:\n  containers: [{name: a, image: b}]\n"
PODS = "---\n".join(POD % f"web-{number}" if number % 50 else POD % f"Web-{number}" for number in range(300))
COMMAND = [sys.executable, "-m", "moorage", "lint", "--jobs", "3", "-"]


@pytest.mark.parametrize("form", ["text", "json", "sarif", "junit", "github"])
def test_standard_input_and_all_forms_are_the_same(form: str) -> None:
    one, three = (forked_moorage(["lint", "--jobs", number, "-o", form, "-"], stdin=PODS) for number in ("1", "3"))
    assert one.returncode == 1
    assert (three.returncode, three.stdout, three.stderr) == (one.returncode, one.stdout, one.stderr)


def test_the_number_of_jobs_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOORAGE_LINT_JOBS", "0")
    refused = forked_moorage(["lint", "-"], stdin=PODS)
    assert refused.returncode == 2
    assert "MOORAGE_LINT_JOBS" in refused.stderr


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


def _in_the_middle(process: subprocess.Popen[bytes], stdin: IO[bytes]) -> list[int]:
    """Give the command more than enough for its processes to have work, and return them."""
    stdin.write(f"{PODS}---\n".encode() * 8)  # it is read in blocks
    stdin.flush()
    until = time.monotonic() + 30
    while not (children := _children(process.pid)):
        assert time.monotonic() < until
        time.sleep(0.01)
    return children


needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are found in /proc")


@needs_proc
def test_a_process_that_is_killed_is_an_error() -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started(COMMAND, **pipes) as process:
        assert process.stdin is not None
        for child in _in_the_middle(process, process.stdin):
            os.kill(child, signal.SIGKILL)
        out, err = process.communicate(PODS.encode(), timeout=60)
    assert process.returncode == 2
    assert b"one of the processes of --jobs was ended by SIGKILL" in err
    assert b"not complete" in err
    assert b"Traceback" not in err
    assert b"checked" not in out  # no summary of a part


@needs_proc
def test_an_interrupt_ends_all_processes_without_a_word() -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started(COMMAND, start_new_session=True, **pipes) as process:
        assert process.stdin is not None
        children = _in_the_middle(process, process.stdin)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        assert process.wait(60) == 130
        assert process.stdout is not None
        assert process.stderr is not None
        assert (process.stdout.read(), process.stderr.read()) == (b"", b"")  # at their ends: the children are gone, too
    assert children
