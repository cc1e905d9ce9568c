"""What `moorage up` says after its banner, and how it ends: after Ctrl-C, during the start, and after a second one."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SECONDS = 120


@contextmanager
def start(*options: str, cwd: Path) -> Iterator["subprocess.Popen[str]"]:
    """Run `moorage up`; a process that does not end by itself is killed, so that the test fails and does not hang."""
    command = [sys.executable, "-m", "moorage", "up", "--port", "0", *options]
    with subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def read_banner(process: "subprocess.Popen[str]") -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line == "Ctrl-C stops it.\n":
            return
    raise AssertionError("there was no banner")


@pytest.mark.parametrize(
    ("options", "number", "said"),
    [
        (["--ephemeral"], signal.SIGINT, "stopped; nothing was kept\n"),
        (["--data-dir", "kept"], signal.SIGTERM, "stopped; kept in {folder}/kept\n"),
        (["--ephemeral"], signal.SIGHUP, "stopped; nothing was kept\n"),
    ],
)
def test_nothing_is_logged_after_the_banner_and_the_end_is_said(
    options: list[str], number: signal.Signals, said: str, tmp_path: Path
) -> None:
    with start(*options, cwd=tmp_path) as process:
        read_banner(process)
        process.send_signal(number)
        out, logged = process.communicate(timeout=SECONDS)
    assert (process.returncode, out, logged) == (0, said.format(folder=tmp_path), "")


def left_in_temporary(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir() if entry.name.startswith("moorage-"))


def test_a_closed_terminal_leaves_neither_kubeconfig_nor_context(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel sends one SIGHUP and the shell another; both mean the same end."""
    temporary, user_file = tmp_path / "temporary", tmp_path / "config"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setenv("KUBECONFIG", str(user_file))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with start("--ephemeral", cwd=tmp_path) as process:
        read_banner(process)
        assert len(left_in_temporary(temporary)) == 1
        for _ in range(2):
            process.send_signal(signal.SIGHUP)
        process.communicate(timeout=SECONDS)
    assert (process.returncode, left_in_temporary(temporary)) == (0, [])
    with start("--ephemeral", "--name", "short", "--write-kubeconfig", "config", cwd=tmp_path) as process:
        read_banner(process)
        assert "moorage-short" in user_file.read_text()
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert not user_file.exists() or "moorage-short" not in user_file.read_text()


def test_a_process_that_nohup_has_started_outlives_its_terminal(tmp_path: Path) -> None:
    command = ["nohup", sys.executable, "-m", "moorage", "up", "--port", "0", "--ephemeral"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        read_banner(process)
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)  # had the other one counted, this would be the second, which does not wait
        out, _ = process.communicate(timeout=SECONDS)
    assert (process.returncode, out) == (0, "stopped; nothing was kept\n")


def test_logs_are_there_for_the_asking(tmp_path: Path) -> None:
    with start("--ephemeral", "-v", "1", cwd=tmp_path) as process:
        read_banner(process)
        process.send_signal(signal.SIGINT)
        logged = process.communicate(timeout=SECONDS)[1]
    assert '"Ready" component="up"' in logged


#: A `moorage up` that gets signals while it reads a manifest, so that nothing depends on the machine's speed.
INTERRUPTED = """
import os, runpy, signal, sys, time
from moorage.cluster.transfer import manifests

count, read = int(sys.argv.pop(1)), manifests.read_documents

def reading(stream, name):
    for found in read(stream, name):
        os.kill(os.getpid(), signal.SIGINT)
        while count > 1:
            time.sleep(0.05)  # two that come at once are one
            os.kill(os.getpid(), signal.SIGINT)
        yield found

manifests.read_documents = reading
runpy.run_module("moorage", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize(("count", "said"), [(1, "stopped; nothing was kept\n"), (2, "")])
def test_interrupts_while_manifests_are_loaded_are_quiet(count: int, said: str, tmp_path: Path) -> None:
    """One ends the start in order; the second does not wait for anything."""
    (tmp_path / "map.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n")
    options = ["up", "--ephemeral", "--port", "0", "--nodes", "0", "--load", "map.yaml"]
    command = [sys.executable, "-c", INTERRUPTED, str(count), *options]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, said, "")
