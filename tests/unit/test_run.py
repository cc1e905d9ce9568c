"""Tests of `tests.run`, with tests that leave processes behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.processes import started

ROOT = Path(__file__).resolve().parents[2]
_LEAVES_A_PROCESS = """
import subprocess, sys, time
from pathlib import Path

def test_leaves_a_process():
    child = subprocess.Popen([sys.executable, "-c", {child!r}], start_new_session=True)
    Path("child").write_text(str(child.pid))
    {rest}
"""


def _command(folder: Path, rest: str, child: str = "import time; time.sleep(600)") -> list[str]:
    test = folder / "test_it.py"
    test.write_text(_LEAVES_A_PROCESS.format(rest=rest, child=child))
    (folder / "pytest.ini").write_text("[pytest]\n")
    return [sys.executable, str(ROOT / "tests" / "run.py"), "-p", "no:cacheprovider", "-q", str(test)]


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_process_that_a_test_leaves_is_ended(tmp_path: Path) -> None:
    command = _command(tmp_path, "pass", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)")
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "ended 1 processes that the tests left behind" in ended.stderr
    assert not _is_alive(int((tmp_path / "child").read_text()))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_no_process_is_left_after_an_interrupt(tmp_path: Path, number: signal.Signals) -> None:
    child = tmp_path / "child"
    with started(_command(tmp_path, "time.sleep(600)"), cwd=tmp_path, start_new_session=True) as process:
        while not child.exists() or not child.read_text():
            time.sleep(0.05)
        os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
        assert process.wait(timeout=120) == 130
    assert not _is_alive(int(child.read_text()))


def test_the_exit_code_is_that_of_pytest(tmp_path: Path) -> None:
    ended = subprocess.run(_command(tmp_path, "assert False"), cwd=tmp_path, capture_output=True, check=False)
    assert ended.returncode == 1


@pytest.mark.parametrize(("tests", "checks", "code"), [("pass", 0, 0), ("pass", 3, 3), ("assert False", 0, 1)])
def test_a_command_runs_beside_the_tests(tmp_path: Path, tests: str, checks: int, code: int) -> None:
    [python, run, *arguments] = _command(tmp_path, tests, "")
    beside = f"{python} -c \"import sys; print('type', 'checked'); sys.exit({checks})\""
    command = [python, run, "--beside", beside, *arguments]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == code
    assert ended.stdout.endswith(f"type checked\n{f'exit code {checks}' if checks else 'passed'}\n")
