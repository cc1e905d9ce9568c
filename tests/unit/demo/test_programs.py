"""Programs of a story: what they are given, what they print, and that they end with it."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from moorage.demo.programs import StoryPrograms
from moorage.demo.story import KubectlResult

_SECONDS = 60


def programs(folder: Path) -> StoryPrograms:
    return StoryPrograms("/bin/kubectl", folder / "kubeconfig", folder, folder)


def eventually(look: Callable[[], KubectlResult], text: str) -> KubectlResult:
    deadline = time.monotonic() + _SECONDS
    while text not in (shown := look()).text:
        assert time.monotonic() < deadline, shown
        time.sleep(0.02)
    return shown


def test_a_program_knows_the_cluster_and_ends_with_the_story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "of this machine")
    (tmp_path / "serve.py").write_text(
        "import os, threading\n"
        "for name in ('KUBECTL', 'KUBECONFIG', 'HOME', 'SECRET'):\n"
        "    print(os.environ.get(name))\n"
        "print(os.getpid(), os.getcwd())\n"
        "threading.Event().wait()\n"
    )
    with programs(tmp_path) as running:
        look = running.start(["serve.py"])
        lines = eventually(look, str(tmp_path) + "\n").out.splitlines()
        assert lines[:4] == ["/bin/kubectl", f"{tmp_path}/kubeconfig", str(tmp_path), "None"]
        pid, _, folder = lines[4].partition(" ")
        assert folder == str(tmp_path)
        os.kill(int(pid), 0)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)


def test_a_program_that_fails_tells_its_exit_status_and_why(tmp_path: Path) -> None:
    (tmp_path / "serve.py").write_text("raise SystemExit('no port is free')\n")
    with programs(tmp_path) as running:
        look = running.start(["serve.py"])
        eventually(look, "no port is free")
        deadline = time.monotonic() + _SECONDS
        while look().status == 0:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert look() == KubectlResult(1, "no port is free\n")


def test_programs_that_are_kept_run_on(tmp_path: Path) -> None:
    (tmp_path / "serve.py").write_text("print('here')\nimport threading\nthreading.Event().wait()\n")
    with programs(tmp_path) as running:
        eventually(running.start(["serve.py"]), "here")
        [pid] = running.let_go()
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
