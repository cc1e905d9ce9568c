"""docs/explain.md shows what the command prints: every capture is run again, and no option is left out."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "explain.md").read_text(encoding="utf-8")
FILES = re.findall(r"^```yaml (\S+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
CAPTURES = [
    (command, shown)
    for command, shown in re.findall(r"^```console\n\$ (.*?)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    if shown
]


def test_there_are_captures() -> None:
    assert len(FILES) == 1
    assert len(CAPTURES) == 3


@pytest.mark.parametrize(("command", "shown"), [pytest.param(*pair, id=pair[0]) for pair in CAPTURES])
def test_a_capture_is_what_is_printed(command: str, shown: str, tmp_path: Path) -> None:
    for name, text in FILES:
        (tmp_path / name).write_text(text, encoding="utf-8")
    program, *arguments = shlex.split(command)
    done = subprocess.run(
        [str(Path(sys.executable).with_name(program)), *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == shown


def test_every_option_is_on_the_page() -> None:
    done = subprocess.run(
        [str(Path(sys.executable).with_name("moorage")), "explain", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    options = set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", done.stdout, re.MULTILINE)) - {"--help", "--color"}
    assert {option for option in options if option not in PAGE} == set()
