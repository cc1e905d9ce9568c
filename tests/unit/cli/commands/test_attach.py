"""`moorage attach convert` and `policies`: what they print, where they complain, and their exit codes."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner
from tests.unit.attach.workloads import KINDS, pod, toleration, workload

from moorage.attach.formats import TOLERATIONS
from moorage.attach.objects import lowered
from moorage.attach.policies.lowering import lowering_policy
from moorage.attach.policies.mirror import mirror_policy
from moorage.cli.main import moorage
from moorage.model.text.documents import read_values
from moorage.model.text.yaml_writer import write_yaml

OTHER = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1e3", "b": "y", "c": ""}}
UNKNOWN = {"apiVersion": "example.com/v1", "kind": "Boat", "spec": {"tolerations": [{"operator": "Gt"}], "size": 1.5}}
MANIFESTS = [OTHER, *(workload(kind, pod(toleration("Gt", "950"))) for kind in KINDS), UNKNOWN]


class Done(NamedTuple):
    """What a command ended with, and what it printed."""

    exit_code: int
    stdout: str
    stderr: str


def run(*arguments: str) -> Done:
    result = CliRunner().invoke(moorage, ["attach", *arguments], standalone_mode=False)
    return Done(result.return_value or 0, result.stdout, result.stderr)


def read(text: str) -> list[Any]:
    return [value.raw for value in read_values(text.encode(), "stdout")]


def written(tmp_path: Path, *documents: Any, name: str = "m.yaml") -> str:
    path = tmp_path / name
    path.write_text("---\n".join(map(write_yaml, documents)), "utf-8")
    return str(path)


def test_all_objects_are_printed_in_their_order_and_come_back(tmp_path: Path) -> None:
    done = run("convert", written(tmp_path, *MANIFESTS))
    assert (done.exit_code, done.stderr) == (0, "")
    assert read(done.stdout) == [lowered(document) for document in MANIFESTS]
    back = run("convert", "--raise", written(tmp_path, *read(done.stdout), name="l.yaml"))
    assert read(back.stdout) == MANIFESTS


def test_json_is_one_list(tmp_path: Path) -> None:
    done = run("convert", "-o", "json", written(tmp_path, *MANIFESTS))
    assert json.loads(done.stdout)["items"] == [lowered(document) for document in MANIFESTS]


def test_a_refusal_has_its_line_and_nothing_is_printed(tmp_path: Path) -> None:
    header = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n"
    text = f"{header}  tolerations:\n  - key: a\n    operator: Gt\n    value: x\n"
    path = tmp_path / "p.yaml"
    path.write_text(f"{write_yaml(OTHER)}---\n{text}", "utf-8")
    done = run("convert", str(path))
    assert (done.exit_code, done.stdout) == (1, "")
    line = path.read_text("utf-8").splitlines().index("    value: x") + 1
    assert f"p.yaml:{line}:5: spec.tolerations[0].value: Invalid value: " in done.stderr


def test_what_cannot_be_read_has_its_line(tmp_path: Path) -> None:
    wrong = pod(toleration("Gt"))
    wrong["spec"]["tolerations"][0]["value"] = 5
    done = run("convert", written(tmp_path, wrong))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "cannot unmarshal number into Go struct field Toleration" in done.stderr
    done = run("convert", str(tmp_path / "missing.yaml"))
    assert (done.exit_code, done.stderr.strip()) == (2, f"moorage: {tmp_path}/missing.yaml: No such file or directory")


def test_values_of_a_chart_in_a_directory_are_left_out(tmp_path: Path) -> None:
    written(tmp_path, {"replicas": 3}, name="values.yaml")
    written(tmp_path, OTHER)
    done = run("convert", str(tmp_path))
    assert (done.exit_code, read(done.stdout)) == (0, [OTHER])
    assert "(left out)" in done.stderr


def test_empty_input_is_an_error_unless_it_is_allowed(tmp_path: Path) -> None:
    assert run("convert", written(tmp_path)).exit_code == 2
    allowed = run("convert", "--allow-empty", written(tmp_path))
    assert (allowed.exit_code, allowed.stdout) == (0, "")


def test_pods_that_need_a_match_label_are_named(tmp_path: Path) -> None:
    done = run("convert", written(tmp_path, pod(toleration("CEL", "taint.value == 'a'"))))
    assert done.exit_code == 0
    assert "Pod p: its pods wait for nodes with match.moorage.dev/" in done.stderr


@pytest.mark.parametrize(
    "odd",
    [
        {"apiVersion": "v1", "kind": "Pod", "metadata": 3, "spec": pod(toleration("Gt", "1"))["spec"]},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"annotations": {TOLERATIONS: "[["}}, "spec": 3},
    ],
)
def test_parts_of_other_types_are_no_internal_error(tmp_path: Path, odd: dict[str, Any]) -> None:
    done = run("convert", written(tmp_path, odd))
    assert "internal error" not in done.stderr
    assert done.exit_code in (0, 2)


def test_the_policies_are_printed() -> None:
    assert read(run("policies").stdout) == mirror_policy()
    assert read(run("policies", "--lower").stdout) == [*mirror_policy(), *lowering_policy()]
