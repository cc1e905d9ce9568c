"""The front door: what it imports, and how it leaves."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from moorage.cli import main as main_module

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HEAVY = ("msgspec", "yaml", "re2", "moorage.model", "moorage.match", "moorage.admit", "moorage.lint")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["lint", "--help"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    script = (
        "import sys\nfrom moorage.cli.main import moorage\n"
        f"moorage.main({arguments!r}, standalone_mode=False)\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert process.stderr == "[]\n"


def test_a_cluster_starts_and_lint_reads_pods_without_cel() -> None:
    script = (
        "import sys, moorage.cluster.control_plane, moorage.lint.engine\n"
        "names = 'match.cel.environment', 'custom.definition.definition', 'admit.kinds.job'\n"
        "print([name for name in names if f'moorage.{name}' in sys.modules])"
    )
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert process.stdout == "[]\n"


def leaving(monkeypatch: pytest.MonkeyPatch, run: Callable[[], object]) -> int:
    monkeypatch.setattr(main_module.moorage, "main", lambda **_: run())
    with pytest.raises(SystemExit) as caught:
        main_module.main()
    assert isinstance(caught.value.code, int)
    return caught.value.code


def raising(error: BaseException) -> Callable[[], object]:
    def run() -> object:
        raise error

    return run


@pytest.mark.parametrize(("result", "code"), [(None, 0), (0, 0), (1, 1), (2, 2)])
def test_the_code_of_a_command_is_the_exit_code(monkeypatch: pytest.MonkeyPatch, result: object, code: int) -> None:
    assert leaving(monkeypatch, lambda: result) == code


def test_a_mistake_of_ours_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("MOORAGE_DEBUG", raising=False)
    assert leaving(monkeypatch, raising(RecursionError("too\ndeep"))) == 2
    assert capsys.readouterr().err == (
        "moorage: internal error, please report it (MOORAGE_DEBUG=1 shows more): RecursionError: too deep\n"
    )


def test_who_wants_to_see_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOORAGE_DEBUG", "1")
    monkeypatch.setattr(main_module.moorage, "main", lambda **_: raising(ZeroDivisionError())())
    with pytest.raises(ZeroDivisionError):
        main_module.main()


def test_interrupted_before_a_command_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert leaving(monkeypatch, raising(KeyboardInterrupt())) == 130
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_standard_files_that_a_parent_closed_are_not_given_to_others(closed: tuple[int, ...], tmp_path: Path) -> None:
    """Else the event loop's own files have their numbers, and what is logged ends there."""
    found = tmp_path / "found"
    script = (
        "import os, pathlib, sys\nfrom moorage.cli import main as module\n"
        "def run(**_):\n"
        "    print('said', file=sys.stdout); print('logged', file=sys.stderr)\n"
        f"    pathlib.Path({str(found)!r}).write_text(str(min(os.pipe())))\n"
        "module.moorage.main = run\nmodule.main()"
    )

    def close() -> None:
        for number in closed:
            os.close(number)

    subprocess.run([sys.executable, "-c", script], check=True, preexec_fn=close)
    assert int(found.read_text()) > 2


@pytest.mark.parametrize(
    ("collecting", "printed"), [("disable", "planned\nput away\n"), ("enable", "planned\nput away\nfreed\n")]
)
def test_the_heap_is_freed_only_while_objects_are_collected(collecting: str, printed: str) -> None:
    """Commands that disable the garbage collector hold a million objects; freeing them one by one takes seconds."""
    script = f"""
import atexit, gc, os
import moorage.__main__ as program
import moorage.cli.main as commands

class Held:
    def __del__(self):
        os.write(1, b"freed\\n")

def run():
    atexit.register(os.write, 1, b"put away\\n")
    gc.{collecting}()
    commands.held = Held()
    print("planned")
    commands._exit(3)

commands.main = run
program.main()
"""
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (process.returncode, process.stdout, process.stderr) == (3, printed, "")


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_unbuffered_streams_write_each_line(stream: str) -> None:
    script = (
        "import os, sys\nfrom moorage.cli.streams import open_standard_streams\nopen_standard_streams()\n"
        f"print('said', file=sys.{stream})\nos._exit(0)"
    )
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    assert process.stdout + process.stderr == "said\n"


def test_the_planner_imports_neither_cryptography_nor_the_compiler_of_expressions() -> None:
    heavy = ("cryptography", "moorage.match.cel.program", "moorage.match.cel.environment")
    script = f"import sys, moorage.plan.outcome\nprint([name for name in {heavy!r} if name in sys.modules])"
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert process.stdout == "[]\n"
