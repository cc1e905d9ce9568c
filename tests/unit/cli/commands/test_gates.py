"""`moorage gates audit` with input that is not as it should be: what is said, and the exit code."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from moorage.cli.commands.gates import command
from moorage.cli.gate_table import GateTable
from moorage.model.gates import GATES

NUMERIC = """
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: c, image: i}]
  tolerations: [{key: sla, operator: Gt, value: "VALUE"}]
"""


NOBODY_ANSWERS = """
apiVersion: v1
kind: Config
current-context: closed
clusters: [{name: closed, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: closed, user: {}}]
contexts: [{name: closed, context: {cluster: closed, user: closed}}]
"""


def audit(*arguments: str) -> Result:
    return CliRunner().invoke(command, ["audit", *arguments], standalone_mode=False)


def of(text: str, tmp_path: Path) -> tuple[int, list[str]]:
    """Exit code, and what is said on standard error."""
    file = tmp_path / "input.yaml"
    file.write_text(text)
    result = audit(str(file))
    return result.return_value, [line.replace(str(tmp_path), "") for line in result.stderr.splitlines()]


def test_what_breaks(tmp_path: Path) -> None:
    assert of(NUMERIC.replace("VALUE", "900"), tmp_path) == (1, [])
    assert of(NUMERIC.replace("operator: Gt, ", "").replace("VALUE", "900"), tmp_path) == (0, [])


def test_unreadable_input(tmp_path: Path) -> None:
    code, (said,) = of("a: [", tmp_path)
    assert code == 2
    assert said.startswith("moorage: /input.yaml:1: yaml: did not find expected node content")
    missing = audit(str(tmp_path / "none.yaml"))
    assert missing.return_value == 2
    assert missing.stderr == f"moorage: {tmp_path}/none.yaml: No such file or directory\n"


def test_what_no_gate_makes_valid_was_not_looked_at(tmp_path: Path) -> None:
    code, (said,) = of(NUMERIC.replace("VALUE", "9.5"), tmp_path)
    assert code == 2
    assert said.startswith('moorage: /input.yaml:7: Pod default/p: Pod "p" is invalid: [spec.tolerations[0].value:')


def test_nothing_to_look_at(tmp_path: Path) -> None:
    result = audit(str(tmp_path))
    assert result.return_value == 0
    assert result.stderr == f"moorage: no *.yaml, *.yml or *.json files in {tmp_path}\n"


def test_kinds_that_are_not_known_are_named(tmp_path: Path) -> None:
    other = "---\napiVersion: v1\nkind: ComponentStatus\nmetadata: {name: r}\nspec: {}\n"
    settings = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
    said = ["moorage: objects of other kinds were not looked at: ComponentStatus"]
    assert of(settings + other, tmp_path) == (0, said)
    assert of(settings, tmp_path) == (0, [])


@pytest.mark.parametrize(("url", "said"), [("http://127.0.0.1:1", "Connection refused"), ("nowhere", "must begin")])
def test_endpoints_that_do_not_answer(url: str, said: str) -> None:
    result = CliRunner().invoke(command, ["--scrape", url])
    assert result.exit_code == 2
    assert f"moorage: --scrape: {url}" in result.stderr
    assert said in result.stderr
    assert "urlopen" not in result.stderr
    cells = [line.split()[2:] for line in result.stdout.split("\n\n")[0].splitlines()[1:]]
    assert {cell for row in cells for cell in row} == {"?", "-"}


def test_components_are_sorted() -> None:
    printed = CliRunner().invoke(command, ["-o", "json"], standalone_mode=False)
    for components in json.loads(printed.stdout).values():
        assert list(components) == sorted(components)


def test_what_could_not_be_looked_at_is_unknown(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.write_text(NOBODY_ANSWERS)
    silent = CliRunner().invoke(command, ["--kubeconfig", str(closed), "-o", "json"])
    assert silent.exit_code == 2
    document = json.loads(silent.stdout)
    assert [name for name in document if name != "keps"] == [gate.name for gate in GATES]
    assert {value for name, row in document.items() if name != "keps" for value in row.values()} == {None}
    assert "cannot be reached" in silent.stderr


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_missing_kubeconfig_is_an_error_and_no_table(form: str, tmp_path: Path) -> None:
    missing = CliRunner().invoke(command, ["--kubeconfig", str(tmp_path / "none"), "-o", form])
    assert (missing.exit_code, missing.stdout) == (2, "")
    assert missing.stderr == f"moorage: {tmp_path}/none: cannot be read: No such file or directory\n"


def test_the_table_has_80_columns_and_a_legend() -> None:
    lines = CliRunner().invoke(command, []).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].split() == ["GATE", "STAGE", "API", "SCH", "CM", "KLT"]
    assert lines[-2] == "API kube-apiserver, SCH kube-scheduler, CM kube-controller-manager, KLT kubelet"
    assert lines[-1] == "- does not read the gate"


def test_the_table_has_colours_if_asked_for() -> None:
    assert "\x1b[" not in CliRunner().invoke(command, []).stdout
    assert "\x1b[32mon\x1b[0m" in CliRunner().invoke(command, ["--color", "always"]).stdout


def test_values_stand_below_their_gates_on_a_narrow_terminal() -> None:
    values = {"TaintTolerationNodeAffinitySemverComparisonOperators": {"kube-scheduler": True, "http://x:1": None}}
    wide, narrow = (list(GateTable(width=width).lines(values)) for width in (100, 60))
    assert wide[0].split() == ["GATE", "STAGE", "API", "SCH", "CM", "KLT", "#1"]
    assert wide[1].split()[1:] == ["ALPHA", "?", "on", "?", "?", "-"]
    assert "#1 http://x:1" in " ".join(wide[-3:])
    assert narrow[:2] == [next(iter(values)), "  ALPHA  API ?  SCH on  CM ?  KLT ?  #1 -"]
