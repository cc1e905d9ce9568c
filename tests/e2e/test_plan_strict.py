"""`moorage plan --strict` with and without changes, and manifests to apply that cannot be read."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e.forked_command import forked_moorage
from tests.unit.plan.planning import Raw, node, pod, workload

SPOT = {"key": "fp", "value": "3", "effect": "NoExecute"}
PATIENT = {"tolerations": [{"key": "fp", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}]}
#: One pod is Pending and one is evicted again and again, whatever is changed.
TROUBLED: list[Raw] = [
    node("n1"),
    node("n2"),
    node("spot", taints=[SPOT]),
    workload("Deployment", "web", "1", replicas=2),
    workload("Deployment", "patient", "1", {**PATIENT, "nodeSelector": {"kubernetes.io/hostname": "spot"}}),
    pod("huge", "90"),
]
HEALTHY: list[Raw] = [node("n1"), node("n2"), workload("Deployment", "web", "1", replicas=2)]


def written(path: Path, *documents: Raw) -> str:
    path.write_text("\n---\n".join(yaml.safe_dump(one) for one in documents))
    return str(path)


def plan(*arguments: str) -> subprocess.CompletedProcess[str]:
    return forked_moorage(["plan", *arguments])


def budget(least: int) -> Raw:
    spec = {"minAvailable": least, "selector": {"matchLabels": {"app": "web"}}}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"}, "spec": spec}


@pytest.mark.parametrize(
    ("options", "new", "everything"),
    [
        (["--label", "n1=unused=x"], 0, 1),
        (["--cordon", "spot"], 1, 1),  # the evicted pods do not come back to it
        (["--cordon", "n1"], 0, 1),
        (["--drain", "n1"], 0, 1),  # its pods run elsewhere
        (["--scale", "deployment/web=3"], 0, 1),
        (["--scale", "deployment/web=30"], 1, 1),
        (["--scale", "deployment/web=1"], 0, 1),
        (["--add-nodes", "1", "--like", "n1"], 0, 1),
        (["--remove", "n1"], 0, 1),
        (["--taint", "n1=x:NoExecute"], 0, 1),
        (["--taint", "*=x:NoExecute"], 1, 1),
        (["--rollout", "deployment/web"], 0, 1),
        (["--upgrade", "kubernetes.io/hostname=n1"], 0, 1),
    ],
)
def test_what_is_worse_fails_and_what_happens_anyway_does_not(
    tmp_path: Path, options: list[str], new: int, everything: int
) -> None:
    file = written(tmp_path / "c.yaml", *TROUBLED)
    assert plan("--strict", file, *options).returncode == new
    assert plan(file, "--strict=new", *options).returncode == new
    assert plan("--strict=all", file, *options).returncode == everything
    assert plan(file, *options).returncode == 0


@pytest.mark.parametrize(
    ("options", "change", "sentence"),
    [
        (["--drain", "n1"], [], "1 pod moves."),
        (["--drain", "n1", "--drain", "n2"], [budget(2)], "2 drains blocked."),
        ([], [pod("Bad")], "1 pod is refused."),
        (
            [],
            [{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"type": "x"}}],
            "1 object refused.",
        ),
        ([], [pod("large", "90")], "1 pod is added and stays Pending."),
        ([], [pod("lost", nodeName="n1", cpu="90")], "1 pod fails."),
        ([], [pod("small", "1")], "1 pod is added."),
        ([], [node("n1"), node("n2")], "No changes: every pod ends as it does without the change."),
    ],
)
def test_the_last_line_says_what_strict_fails_for(
    tmp_path: Path, options: list[str], change: list[Raw], sentence: str
) -> None:
    file = written(tmp_path / "c.yaml", *HEALTHY)
    changes = ["--change", written(tmp_path / "new.yaml", *change)] if change else []
    result = plan(file, *options, *changes, "--strict")
    assert result.stdout.splitlines()[-1] == sentence
    fails = any(word in sentence for word in ("Pending", "refused", "fails", "blocked"))
    assert result.returncode == int(fails)
    document = json.loads(plan(file, *options, *changes, "-o", "json").stdout)["whatIf"]
    assert (document["sentence"] + ".", document["isWorse"]) == (sentence, fails)
    assert sentence in plan(file, *options, *changes, "-o", "markdown").stdout


def test_strict_without_changes_is_about_everything(tmp_path: Path) -> None:
    troubled, healthy = written(tmp_path / "t.yaml", *TROUBLED), written(tmp_path / "h.yaml", *HEALTHY)
    assert [plan("--strict", file).returncode for file in (troubled, healthy)] == [1, 0]
    assert [plan(file, "--strict=all").returncode for file in (troubled, healthy)] == [1, 0]
    nothing_new = plan(healthy, "--strict=new")
    assert nothing_new.returncode == 2
    assert "there is no change: use --strict=all" in nothing_new.stderr
    wrong = plan(healthy, "--strict=yes")
    assert (wrong.returncode, "must be new or all" in wrong.stderr) == (2, True)


@pytest.mark.parametrize(("value", "code"), [("true", 1), ("all", 1), ("false", 0), ("new", 2), ("maybe", 2)])
def test_strict_can_be_a_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str, code: int) -> None:
    file = written(tmp_path / "c.yaml", *TROUBLED)
    monkeypatch.setenv("MOORAGE_PLAN_STRICT", value)
    assert plan(file).returncode == code


UNREADABLE: dict[str, tuple[str | None, str]] = {
    "missing": (None, "No such file or directory"),
    "empty": ("", "no Kubernetes object: it has nothing"),
    "comments": ("# nothing\n", "no Kubernetes object"),
    "syntax": ("a: [b\n", "did not find expected"),
    "list": ("- 1\n", "array where an API object should be"),
    "text": ("hello\n", "string where an API object should be"),
    "values": ("replicas: 3\n", "not an API object"),
    "second document": ("apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\na: [b\n", "did not find expected"),
}


@pytest.mark.parametrize("form", ["text", "json", "yaml", "markdown", "html"])
@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_change_that_cannot_be_read_ends_the_command(tmp_path: Path, kind: str, form: str) -> None:
    text, reason = UNREADABLE[kind]
    file, change = written(tmp_path / "c.yaml", *HEALTHY), tmp_path / "change.yaml"
    if text is not None:
        change.write_text(text)
    result = plan(file, "--change", str(change), "-o", form)
    assert result.returncode == 2
    assert result.stdout == ""
    assert f"moorage: {change}" in result.stderr
    assert reason in result.stderr


def test_directories_to_apply_need_manifests(tmp_path: Path) -> None:
    file, change = written(tmp_path / "c.yaml", *HEALTHY), tmp_path / "change"
    change.mkdir()
    result = plan(file, "--change", str(change))
    assert (result.returncode, result.stdout) == (2, "")
    assert f"{change}: no *.yaml, *.yml or *.json files" in result.stderr
    assert plan(file, "--change", str(change), "--allow-empty").returncode == 0
    change.chmod(0)
    if not os.access(change, os.R_OK):  # which root has
        assert "Permission denied" in plan(file, "--change", str(change)).stderr


def test_blocked_names_the_budget_and_its_numbers(tmp_path: Path) -> None:
    file = written(tmp_path / "c.yaml", *HEALTHY[:1], *HEALTHY[2:], budget(2))
    result = plan(file, "--drain", "n1", "--strict")
    assert result.returncode == 1
    shown = "PodDisruptionBudget default/web: minAvailable 2, 2 of 2 healthy, 0 disruptions allowed"
    assert f"Blocked\n  {shown}\n    the drain of n1 waits for 2 pods: default/web-" in result.stdout
    assert f"| {shown} |" in plan(file, "--drain", "n1", "-o", "markdown").stdout
    document: Any = json.loads(plan(file, "--drain", "n1", "-o", "json").stdout)
    first, _ = document["whatIf"]["blocked"]
    (numbers,) = first["budgets"]
    assert numbers == {
        "name": "default/web",
        "currentHealthy": 2,
        "expectedPods": 2,
        "desiredHealthy": 2,
        "disruptionsAllowed": 0,
        "minAvailable": "2",
    }


def test_two_budgets_of_a_pod_are_both_named(tmp_path: Path) -> None:
    second = {**budget(1), "metadata": {"name": "second"}, "spec": {**budget(1)["spec"], "minAvailable": "60%"}}
    file = written(tmp_path / "c.yaml", *HEALTHY[:1], *HEALTHY[2:], budget(2), second)
    text = " ".join(plan(file, "--drain", "n1").stdout.split())
    assert "minAvailable 60%, 2 of 2 healthy and 2 must be, 0 disruptions allowed" in text
    assert "PodDisruptionBudget default/web: minAvailable 2" in text
    assert "more than one PodDisruptionBudget" in text
