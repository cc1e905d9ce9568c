"""`moorage completion bash` in a real bash: sourced, then asked as readline asks it. zsh and fish where installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

#: Runs the function that `complete` registered, with the variables that readline sets, and prints COMPREPLY.
ASKS = """
source <("$PROGRAM" completion bash)
line=$1 word=$2
COMP_LINE=$line COMP_POINT=${#line}
function=$(complete -p moorage | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
"$function" "$PROGRAM" "$word" ""
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A `moorage` in a folder with a blank in its name, as a shell finds it in the PATH."""
    file = tmp_path / "my bin" / "moorage"
    file.parent.mkdir()
    file.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m moorage "$@"\n')
    file.chmod(0o755)
    return file


def ask(program: Path, folder: Path, line: str, word: str | None = None) -> list[str]:
    """Return the replies for the end of a line; `word` is what readline would replace, the last word by default."""
    word = line.rpartition(" ")[2] if word is None else word
    ran = subprocess.run(
        ["bash", "--norc", "-c", ASKS, "bash", line, word],
        cwd=folder,
        env={**os.environ, "PROGRAM": str(program), "KUBECONFIG": str(folder / "kubeconfig")},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert ran.stderr == ""
    return ran.stdout.splitlines()


def test_bash_completes_what_users_type(program: Path, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    (folder / "sub").mkdir(parents=True)
    (folder / "pods.yaml").touch()
    (folder / "nodes.yaml").write_text("{apiVersion: v1, kind: Node, metadata: {name: node-1}}\n")
    (folder / "my pods.yaml").touch()
    (folder / "kubeconfig").write_text("contexts: [{name: 'arn:aws:eks:dev', context: {cluster: a}}]\n")
    for line, word, replies in (
        ("moorage pl", None, ["plan"]),
        ("moorage lint p", None, ["pods.yaml"]),
        ("moorage lint my", None, ["my pods.yaml"]),
        ("moorage up --data-dir s", None, ["sub"]),
        ("moorage plan --output=j", "j", ["json"]),
        ("moorage plan --feature-gates=TaintTolerationCE", "TaintTolerationCE", ["TaintTolerationCEL="]),
        ("moorage lint --select cel-con", None, ["cel-constant"]),
        ("moorage lint --kubernetes-version 1.33", None, ["1.33"]),
        ("moorage plan --context arn:aws:", "", ["eks:dev"]),
        ("moorage demo gpu-t", None, ["gpu-tiers"]),
        ("moorage plan nodes.yaml --drain node", None, ["node-1"]),
        ("moorage plan nodes.yaml --taint=node", "node", ["node-1="]),
        ("moorage explain -f nodes.yaml no", None, ["node/"]),
        ("moorage explain -f nodes.yaml node/", None, ["node/node-1"]),
    ):
        assert ask(program, folder, line, word) == replies, line


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_what_its_shell_can_read(shell: str, tmp_path: Path) -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "moorage", "completion", shell], capture_output=True, text=True, timeout=120, check=True
    )
    assert "__complete" in printed.stdout
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    script = tmp_path / "script"
    script.write_text(printed.stdout)
    subprocess.run([shell, "-n", str(script)], check=True, timeout=60)


def test_help_and_version() -> None:
    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([sys.executable, "-m", "moorage", *arguments], capture_output=True, text=True, timeout=60)

    assert run("help", "gates", "audit").stdout == run("gates", "audit", "--help").stdout
    assert run("help").stdout == run("--help").stdout
    refused = run("help", "pln")
    assert refused.returncode == 2
    assert "Did you mean 'plan'?" in refused.stderr
    assert '"kubernetes": "v1.36.4"' in run("version", "-o", "json").stdout
    assert "Kubernetes  v1.36.4" in run("version").stdout
