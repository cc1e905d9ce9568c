"""Ctrl-C while a command starts: a SIGINT at any of its imports ends it with exit code 130 and without output.

The process signals itself when so many modules have been imported, so that nothing depends on the machine's speed.
`python -m tests.e2e.random_interrupts` does it from outside, at random moments.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e.random_interrupts import COMMANDS, write_manifest

#: `moorage`, which gets a SIGINT at the n-th import of its own; without that many, it prints how many there were.
INTERRUPTED = """
import atexit, os, runpy, sys

wanted, seen = int(sys.argv.pop(1)), []

def count(event, arguments):
    if event == "import" and (seen or arguments[0] == "moorage.cli.main"):
        seen.append(arguments[0])
        if len(seen) == wanted:
            os.kill(os.getpid(), 2)

sys.addaudithook(count)
atexit.register(lambda: print(len(seen), file=sys.stderr))
runpy.run_module("moorage", run_name="__main__", alter_sys=True)
"""
#: `up` goes on until it is signalled, and `demo` prints; by then they have imported more than this.
IMPORTS = {"up": 250, "demo": 120}

#: They import what the others import.
LATER = ("gates", "demo")


def interrupted(arguments: list[str], at: int, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", INTERRUPTED, str(at), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in LATER else []) for name in COMMANDS]
)
def test_an_interrupt_during_imports_is_quiet(name: str, tmp_path: Path) -> None:
    write_manifest(tmp_path)
    arguments = COMMANDS[name]
    total = IMPORTS.get(name) or int(interrupted(arguments, 0, tmp_path).stderr.splitlines()[-1])
    assert total > 100
    for at in (1, 2, *range(5, total, total // 8)):
        ended = interrupted(arguments, at, tmp_path)
        assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", ""), at


def test_an_interrupt_that_the_parent_ignores_is_ignored(tmp_path: Path) -> None:
    """As `nohup` and shells do for what they run in the background."""
    write_manifest(tmp_path)
    ignoring = f"import signal; signal.signal(2, signal.SIG_IGN)\n{INTERRUPTED}"
    command = [sys.executable, "-c", ignoring, "50", *COMMANDS["lint"]]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=120).returncode == 0
