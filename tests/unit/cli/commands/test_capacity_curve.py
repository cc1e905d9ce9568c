"""`moorage capacity curve`: forms of output, exit codes, and options that do not go together."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from tests.unit.plan.planning import node, workload

from moorage.cli.commands.capacity.curve import draw_curve


@pytest.fixture(autouse=True)
def _collects_garbage() -> Iterator[None]:
    yield
    gc.enable()


def curve(tmp_path: Path, *arguments: str, standalone: bool = False) -> Result:
    file = tmp_path / "cluster.yaml"
    taints = [{"key": "risk", "value": "3", "effect": "NoExecute"}]
    tolerations = [{"key": "risk", "operator": "Lt", "value": "5", "effect": "NoExecute"}]
    web = workload("Deployment", "web", "1", {"tolerations": tolerations}, replicas=2)
    file.write_text(yaml.safe_dump_all([node("n0", "2", taints=taints, zone="a"), web]))
    given = [str(file), "--feature-gates=AllAlpha=true", "--key", "risk", *arguments]
    return CliRunner().invoke(draw_curve, given, standalone_mode=standalone)


def test_json_has_the_points_in_camel_case(tmp_path: Path) -> None:
    document = json.loads(curve(tmp_path, "-o", "json").stdout)
    assert document["version"] == 1
    assert [(point["value"], point["isNow"], point["evicted"]) for point in document["points"]] == [
        ("3", True, 0),
        ("5", False, 2),
    ]


@pytest.mark.parametrize("form", ["csv", "markdown", "svg", "text"])
def test_every_form_has_the_values(tmp_path: Path, form: str) -> None:
    result = curve(tmp_path, "--workload", "deployment/web", "-o", form)
    assert result.return_value == 0
    assert "Lt 3" in result.stdout
    assert "Lt 5" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["zone=a", "--share"], "--workload and --share vary tolerations"),
        (["--operator", "Lt"], "--operator goes with --workload"),
        (["--toleration", "Exists"], "--toleration goes with --share"),
        (["--fit"], "--fit goes with --workload or --share"),
        (["--effect", "Never"], "there are NoSchedule, PreferNoSchedule, NoExecute"),
        (["zone=q"], "none of the 1 nodes has"),
        (["--share", "--toleration", "Lt x"], "is not a 64-bit integer"),
        (["--pools", "missing.yaml"], "missing.yaml"),
    ],
)
def test_wrong_use_is_exit_code_2_with_a_line(tmp_path: Path, arguments: list[str], complaint: str) -> None:
    result = curve(tmp_path, *arguments, standalone=True)
    assert result.exit_code == 2
    assert complaint in result.stderr


def test_empty_input_names_no_option_that_there_is_not(tmp_path: Path) -> None:
    empty = tmp_path / "empty.yaml"
    empty.write_text("")
    result = CliRunner().invoke(draw_curve, [str(empty), "--key", "risk"])
    assert result.exit_code == 2
    assert "no Kubernetes object" in result.stderr
    assert "--allow-empty" not in result.stderr
