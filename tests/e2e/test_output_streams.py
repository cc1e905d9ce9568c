"""Commands in an ASCII locale, on a full disk, and with a reader that goes away: one line or none, no traceback."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ASCII = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
MANIFEST = """\
apiVersion: v1
kind: Node
metadata: {name: node}
spec: {taints: [{key: sla, value: "900", effect: NoExecute}]}
status: {allocatable: {cpu: 4, memory: 4Gi, pods: 9}}
---
apiVersion: v1
kind: Pod
metadata: {name: web, annotations: {text: "é → 日本"}}
spec:
  tolerations: [{key: sla, operator: Gt, value: "950", effect: NoExecute}]
  größe: 3
  containers: [{name: a, image: b}]
---
apiVersion: v1
kind: Pod
metadata: {name: api}
spec:
  tolerations: [{key: sla, operator: Gt, value: "950", effect: NoExecute}]
  containers: [{name: a, image: b}]
"""
ALL_ON = "--feature-gates=AllAlpha=true"
COMMANDS = {
    "plan": ["plan", "cluster.yaml", ALL_ON, "--drain=node"],
    "explain": ["explain", "pod/api", "-f", "cluster.yaml", ALL_ON],
    "lint": ["lint", "cluster.yaml"],
    "gates": ["gates"],
    "gates audit": ["gates", "audit", "cluster.yaml"],
    "demo": ["demo"],
    "help": ["plan", "--help"],
}
#: Those with a way of their own to write, and all others.
SOME = ("plan", "lint", "help")
EACH = [name if name in SOME else pytest.param(name, marks=pytest.mark.slow) for name in COMMANDS]


def run(
    arguments: list[str], folder: Path, out: str = "", err: str = "", env: Mapping[str, str] = {}
) -> subprocess.CompletedProcess[bytes]:
    """Run a command; `out` and `err` are files to write to instead of pipes."""
    (folder / "cluster.yaml").write_text(MANIFEST, encoding="utf-8")
    command = [sys.executable, "-m", "moorage", *arguments]
    opened = [os.open(name, os.O_WRONLY) if name else subprocess.PIPE for name in (out, err)]
    try:
        return subprocess.run(
            command, cwd=folder, stdout=opened[0], stderr=opened[1], env={**os.environ, **env}, check=False, timeout=120
        )
    finally:
        for number in opened:
            if number >= 0:
                os.close(number)


@pytest.mark.parametrize("name", COMMANDS)
def test_an_ascii_locale_gets_plain_marks(name: str, tmp_path: Path) -> None:
    ended = run(COMMANDS[name], tmp_path, env=ASCII)
    said = (ended.stdout + ended.stderr).decode("ascii")
    assert "internal error" not in said
    assert "Traceback" not in said
    assert not re.search(r"\\u20|\\u21|\?\?", said), "a mark of ours is escaped"
    assert ended.returncode == (1 if name in ("lint", "gates audit") else 0)
    if name == "explain":
        assert "Gt 950 -> Gt 899  -> node" in said


def test_what_programs_read_is_utf8_in_every_locale(tmp_path: Path) -> None:
    ended = run(["lint", "cluster.yaml", "-o", "json"], tmp_path, env=ASCII)
    assert "größe" in ended.stdout.decode("utf-8")


@pytest.mark.parametrize("name", EACH)
def test_a_full_disk_is_one_line(name: str, tmp_path: Path) -> None:
    ended = run(COMMANDS[name], tmp_path, out="/dev/full")
    lines = [line for line in ended.stderr.decode().splitlines() if "were not looked at" not in line]
    assert lines == ["moorage: cannot write to standard output: No space left on device"]
    assert ended.returncode == 2


def test_nowhere_to_complain_is_an_exit_code(tmp_path: Path) -> None:
    assert run(COMMANDS["lint"], tmp_path, out="/dev/full", err="/dev/full").returncode == 2
    assert run(["nonsense"], tmp_path, err="/dev/full").returncode == 2


@pytest.mark.parametrize("name", SOME)
def test_a_reader_that_went_away_is_no_complaint(name: str, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    (tmp_path / "cluster.yaml").write_text(MANIFEST, encoding="utf-8")
    command = [sys.executable, "-m", "moorage", *COMMANDS[name]]
    try:
        ended = subprocess.run(command, cwd=tmp_path, stdout=writing, stderr=subprocess.PIPE, check=False, timeout=120)
    finally:
        os.close(writing)
    assert ended.stderr == b""
    assert ended.returncode in (141, 1)
