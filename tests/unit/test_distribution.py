"""What is shipped beside the package: the GitHub action, the pre-commit hooks, the Dockerfile."""

import importlib
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from moorage.cli.main import moorage

ROOT = Path(__file__).parents[2]
NODE = (
    "apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\nstatus: {allocatable: {cpu: '2', memory: 1Gi, pods: '9'}}\n"
)
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {containers: [{name: c, image: i%s}]}\n"


def act(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the action's last step as a runner does, in a folder with a `moorage` that is this one."""
    step = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"][-1]
    command = folder / "bin" / "moorage"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m moorage "$@"\n')
    command.chmod(0o755)
    given = {name: inputs[name.lower()] for name in step["env"]}
    environment = {**os.environ, **given, "PATH": f"{command.parent}:{os.environ['PATH']}"}
    environment |= {"GITHUB_STEP_SUMMARY": str(folder / "summary.md"), "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_action_annotates_what_lint_finds(tmp_path: Path) -> None:
    (tmp_path / "a file.yaml").write_text(POD % ("UPPER", ""))
    done = act(tmp_path, command="lint", files=".", arguments="")
    assert done.returncode == 1
    assert done.stdout.startswith("::error file=")


@pytest.mark.parametrize(("asks", "status"), [("", 0), (", resources: {requests: {cpu: 3}}", 1)])
def test_the_action_writes_the_plan_into_the_summary(tmp_path: Path, asks: str, status: int) -> None:
    (tmp_path / "nodes.yaml").write_text(NODE)
    (tmp_path / "pod.yaml").write_text(POD % ("p", asks))
    done = act(tmp_path, command="plan", files="nodes.yaml\npod.yaml", arguments="--strict")
    assert done.returncode == status, done.stderr
    assert f"**{1 - status} placed**" in (tmp_path / "summary.md").read_text()


def test_the_action_knows_two_commands(tmp_path: Path) -> None:
    done = act(tmp_path, command="rm", files="/", arguments="")
    assert (done.returncode, done.stdout) == (2, "::error::command is lint or plan, not rm\n")


def test_hooks_and_image_call_commands_that_exist() -> None:
    hooks: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    for hook in hooks:
        program, *arguments = hook["entry"].split()
        assert program == "moorage"
        assert CliRunner().invoke(moorage, [*arguments, "--help"]).exit_code == 0
    assert CliRunner().invoke(moorage, ["help"]).exit_code == 0
    image = (ROOT / "Dockerfile").read_text()
    assert 'ENTRYPOINT ["moorage"]' in image
    assert "EXPOSE 6443" in image
    assert "[default: 6443;" in " ".join(CliRunner().invoke(moorage, ["up", "--help"]).output.split())


def test_scripts_of_the_package_are_functions_that_exist() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
    assert set(scripts) == {"moorage", "kubectl-moorage", "kubectl_complete-moorage"}
    for point in scripts.values():
        module, _, function = point.partition(":")
        assert callable(getattr(importlib.import_module(module), function))
    assert "PATH=$(CURDIR)/build/package/bin:$$PATH $(KUBECTL_USED) moorage version" in (ROOT / "Makefile").read_text()


def test_no_address_of_a_site_that_does_not_exist_is_named() -> None:
    """The documentation is in the repository and nowhere else; Moorage is not in a package index."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in listed.decode().split("\0"):
        path = ROOT / name
        if not name or path.suffix in (".png", ".svg") or name.startswith("tests/") or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        assert "//moorage.dev" not in text, name
        assert "pip install moorage" not in text, name
