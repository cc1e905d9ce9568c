"""Hostile input: a clear answer, in bounded time and memory."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec:\n  containers: [{name: a, image: b}]\n  tolerations:\n"
MAX_MEMORY = 700 * 1024 * 1024


def with_expressions(*expressions: str) -> str:
    return POD + "".join("  - expression: '" + one.replace("'", "''") + "'\n" for one in expressions)


def bomb(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, levels)]
    return "\n".join(lines)


HOSTILE = {
    "a bomb of aliases": (bomb(20), "excessive aliasing"),
    "an alias of itself": ("a: &a [*a]\n", "unreadable"),
    "deep flow": ("a: " + "[" * 100_000, "nested deeper"),
    "deep JSON": ('{"a":' * 100_000, "nested deeper"),
    "deep blocks": ("\n".join("  " * n + "a:" for n in range(1_000)), "nested deeper"),
    "one long line": ("a" * 5_000_000, "[unreadable]"),
    "5,000 parentheses": (with_expressions("(" * 5_000 + "true" + ")" * 5_000), "[rejected]"),
    "10 KiB of expression": (
        with_expressions("taint.key == '" + "a" * 10_240 + "'"),
        "may not be more than 10240 bytes",
    ),
    "nested loops": (
        with_expressions("lists.range(10000).all(x, lists.range(10000).all(y, x + y >= 0))"),
        "too complex, exceeds cost limit",
    ),
    "a regular expression that explodes": (
        with_expressions("taint.value.matches('(a+)+$') && taint.key == 'a'"),
        "1 object",
    ),
    "a text that multiplies": (
        with_expressions("taint.key.replace('', taint.key.replace('', taint.key.replace('', taint.key))) == 'x'"),
        "1 object",
    ),
    "a quantity with a huge exponent": (
        POD.replace("image: b", "image: b, resources: {limits: {cpu: '1e2147483647'}}"),
        "1 object",
    ),
    "very many tolerations": (POD + "  - {key: a, operator: Exists}\n" * 5_000, "1 object"),
}


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (2 * MAX_MEMORY, 2 * MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (30, 30))


def lint(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "moorage", "lint", "--feature-gates=AllAlpha=true", path.name],
        cwd=path.parent,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limited,
        timeout=120,
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_a_clear_answer_in_bounded_time_and_memory(tmp_path: Path, name: str) -> None:
    text, said = HOSTILE[name]
    path = tmp_path / "hostile.yaml"
    path.write_text(text, encoding="utf-8")
    process = lint(path)
    assert process.returncode in (0, 1, 2)
    assert said in process.stdout
    assert process.stderr == ""


def test_a_document_of_100_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    with path.open("w", encoding="utf-8") as file:
        file.write("apiVersion: v1\nkind: Pod\nmetadata:\n  annotations:\n    a: |\n")
        for _ in range(100):
            file.write(("      " + "x" * 93 + "\n") * 10_486)
        file.write("---\n" + POD + "  - {key: a, operator: Lt, value: '0'}\n")
    process = lint(path)
    assert process.returncode == 2
    assert "larger than" in process.stdout
    assert "toleration-never-matches" in process.stdout
