"""`lint`, `plan` and `explain` refuse input without any Kubernetes object, unless --allow-empty."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.e2e.forked_command import forked_moorage

COMMANDS = {"lint": ["lint"], "plan": ["plan"], "explain": ["explain", "pod/web", "-f"]}
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: a, image: b}]\n"
WITHOUT_OBJECTS = {
    "nothing": "",
    "comments": "# rendered by a chart\n---\n# nothing here\n---\n",
    "spaces": " \n\n",
    "empty list": "apiVersion: v1\nkind: List\nitems: []\n",
    "empty typed list": '{"apiVersion": "v1", "kind": "PodList", "items": []}\n',
    "values of a chart": "replicas: 3\n",
    "a text": "Error: INSTALLATION FAILED\n",
    "a list of nothing": "apiVersion: v1\nkind: List\nitems:\n- null\n",
}


def run(*arguments: str, stdin: str | None = None) -> CompletedProcess[str]:
    return forked_moorage(arguments, stdin)


@pytest.mark.parametrize("text", WITHOUT_OBJECTS.values(), ids=WITHOUT_OBJECTS)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_without_objects_is_an_error(command: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / "input.yaml"
    file.write_text(text)
    result = run(*COMMANDS[command], str(file))
    assert result.returncode == 2
    assert f"moorage: {file}: no Kubernetes object: " in result.stderr
    assert "--allow-empty accepts it" in result.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_an_empty_pipe_is_an_error_and_asks_for_the_command_before_it(command: str) -> None:
    result = run(*COMMANDS[command], "-", stdin="")
    assert result.returncode == 2
    assert "moorage: <stdin>: no Kubernetes object: " in result.stderr
    assert "did the command before the pipe fail?" in result.stderr


@pytest.mark.parametrize("command", ["lint", "plan"])
def test_an_empty_pipe_is_an_error_also_beside_a_file_with_objects(command: str, tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(POD)
    assert run(command, str(file), "-", stdin="").returncode == 2
    assert run(command, str(file), "-", "--allow-empty", stdin="").returncode == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_a_directory_without_manifests_is_an_error(command: str, tmp_path: Path) -> None:
    result = run(*COMMANDS[command], str(tmp_path))
    assert result.returncode == 2
    assert f"moorage: {tmp_path}: no *.yaml, *.yml or *.json files\n" in result.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_a_directory_with_other_yaml_only_is_an_error(command: str, tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text("replicas: 3\n")
    (tmp_path / "empty.yaml").touch()
    result = run(*COMMANDS[command], str(tmp_path))
    assert result.returncode == 2
    assert "no Kubernetes object: 2 files have 1 other YAML document, without apiVersion and kind" in result.stderr


@pytest.mark.parametrize("command", ["lint", "plan"])
def test_an_empty_file_beside_others_is_mentioned_only(command: str, tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(POD)
    empty = tmp_path / "empty.yaml"
    empty.touch()
    result = run(command, str(tmp_path / "pod.yaml"), str(empty))
    assert result.returncode == 0
    assert f"moorage: {empty}: no Kubernetes object: it has nothing" in result.stderr
    assert run(command, str(tmp_path)).stderr == ""  # in a directory other files are expected


def test_empty_input_is_accepted_with_an_option(tmp_path: Path) -> None:
    linted = run("lint", "--allow-empty", str(tmp_path))
    assert (linted.returncode, linted.stdout, linted.stderr) == (0, "No findings: 0 objects in 0 files checked.\n", "")
    planned = run("plan", "--allow-empty", "-", stdin="")
    assert (planned.returncode, planned.stdout, planned.stderr) == (0, "0 pods on 0 nodes: 0 placed.\n", "")
    assert "there is no pod 'web'" in run("explain", "pod/web", "--allow-empty", "-f", str(tmp_path)).stderr


def test_objects_that_are_refused_are_not_empty_input(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text("kind: Pod\nmetadata: {name: web}\n")  # no apiVersion
    result = run("lint", str(file))
    assert (result.returncode, "no Kubernetes object" in result.stderr) == (1, False)


@pytest.mark.parametrize("form", ["json", "sarif", "junit", "github"])
def test_every_report_of_lint_names_empty_input(form: str) -> None:
    result = run("lint", "-o", form, "-", stdin="")
    assert result.returncode == 2
    assert "did the command before the pipe fail?" in result.stdout
    if form == "json":
        report = json.loads(result.stdout)
        assert report["summary"]["empty"] == 1
        assert [problem["file"] for problem in report["problems"]] == ["<stdin>"]
    if form == "sarif":
        assert json.loads(result.stdout)["runs"][0]["invocations"][0]["executionSuccessful"] is False
