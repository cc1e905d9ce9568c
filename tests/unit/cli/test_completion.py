"""Words that complete a command line, from the tree of commands; and the lines that shells read."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from moorage.cli.completion import Choice, answer, answer_bash, complete, split_line
from moorage.cli.main import moorage

KUBECONFIG = """
kind: Config
contexts: [{name: kind-dev, context: {cluster: a}}, {name: "arn:aws:eks:prod", context: {cluster: a}}]
"""


def completed(line: str) -> list[str]:
    """Return the values for the last word of `moorage LINE`, with `<file>` where files are."""
    *words, incomplete = line.split(" ")
    return [choice.value or f"<{choice.kind}>" for choice in complete(moorage, "moorage", words, incomplete)]


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("pl", ["plan"]),
        ("__", []),
        ("gates a", ["audit"]),
        ("gates --scrape http://x a", ["audit"]),
        ("help ga", ["gates"]),
        ("help gates ", ["audit"]),
        ("completion ", ["bash", "zsh", "fish"]),
        ("plan --outp", ["--output"]),
        ("plan --output ", ["text", "json", "yaml", "markdown", "html"]),
        ("plan -o j", ["json"]),
        ("plan --output=j", ["--output=json"]),
        ("plan --strict --stri", []),
        ("plan --taint x --tai", ["--taint"]),
        ("plan ", ["<file>"]),
        ("plan x.yaml ", ["<file>"]),
        ("plan --config ", ["<file>"]),
        ("plan --change=", ["<file>"]),
        ("explain pod/x -f ", ["<file>"]),
        ("up --load ", ["<file>"]),
        ("up --data-dir ", ["<dir>"]),
        ("up --devices ", ["<file>"]),
        ("up --simul", ["--simulate", "--simulate-storage"]),
        ("up --feature-gates AllA", ["AllAlpha="]),
        ("up --scheduler-feature-gates=AllA", ["--scheduler-feature-gates=AllAlpha="]),
        ("plan --feature-gates A=true,B=", ["A=true,B=true", "A=true,B=false"]),
        ("gates audit --gate TaintTolerationC", ["TaintTolerationComparisonOperators", "TaintTolerationCEL"]),
        ("lint --select cel-con", ["cel-constant"]),
        ("lint --ignore cel-constant,rejec", ["cel-constant,rejected"]),
        ("up --controllers *,-taint", ["*,-taint-eviction-controller"]),
        ("demo gpu-t", ["gpu-tiers", "<dir>"]),
        ("demo gpu-tiers --ke", ["--keep"]),
        ("lint -- --sel", ["<file>"]),
        ("nonsense --x ", []),
    ],
)
def test_a_word_is_completed(line: str, values: list[str]) -> None:
    assert completed(line) == values


def test_contexts_are_completed_from_the_kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one").write_text(KUBECONFIG)
    (tmp_path / "two").write_text("contexts: [{name: other, context: {cluster: a}}]\n")
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/one:{tmp_path}/two:{tmp_path}/absent")
    assert completed("plan --context ") == ["arn:aws:eks:prod", "kind-dev", "other"]
    assert completed(f"plan --kubeconfig {tmp_path}/two --context=") == ["--context=other"]
    assert completed(f"gates --kubeconfig {tmp_path}/two --context ") == ["other"]
    assert completed(f"scheduler --kubeconfig {tmp_path}/absent --context ") == []


def test_cluster_names_are_completed_from_kept_clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    kept = [SimpleNamespace(name="dev", directory=tmp_path), SimpleNamespace(name="", directory=tmp_path)]
    monkeypatch.setattr("moorage.cluster.kept.kept_cluster.all_clusters", lambda: kept)
    for line in ("stop ", "up --name d", "up --name=d"):
        assert completed(line)[0].removeprefix("--name=") == "dev"


def test_every_command_can_be_completed() -> None:
    for command in completed(""):
        assert completed(f"{command} --hel") == ["--help"], command


@pytest.mark.parametrize(
    ("line", "point", "parts"),
    [
        ("moorage pl", 10, (["moorage"], "pl", "")),
        ("moorage plan --out", 12, (["moorage"], "plan", "")),
        ("moorage ", 8, (["moorage"], "", "")),
        ("moorage lint 'my file' x\\ y", 99, (["moorage", "lint", "my file"], "x y", "")),
        ('moorage lint "my fi', 99, (["moorage", "lint"], "my fi", '"')),
        ("moorage lint 'a\\", 99, (["moorage", "lint"], "a\\", "'")),
        ("moorage lint a\\", 99, (["moorage", "lint"], "a", "")),
        ("moorage lint '' ", 99, (["moorage", "lint", ""], "", "")),
    ],
)
def test_a_line_of_bash_is_split(line: str, point: int, parts: tuple[list[str], str, str]) -> None:
    assert split_line(line, point) == parts


def test_bash_completes_after_its_own_word_breaks() -> None:
    words = [Choice("--context=arn:aws:eks:prod")]
    assert list(answer_bash(words, "--context=arn:aw", "", "aw")) == ["word\taws:eks:prod"]
    assert list(answer_bash(words, "--context=arn:", "", "")) == ["word\taws:eks:prod"]
    assert list(answer_bash(words, "--context=arn:", '"', "--context=arn:")) == ["word\t--context=arn:aws:eks:prod"]
    assert list(answer_bash([Choice("a b*")], "a", "", "a")) == ["word\ta\\ b\\*"]
    assert list(answer_bash([Choice("", kind="file")], "--config=su", "", "su")) == ["file\tsu"]
    gates = [Choice("A="), Choice("B=")]
    assert list(answer_bash(gates, "", "", "")) == ["word\tA=", "word\tB=", "nospace"]


def test_other_shells_get_descriptions() -> None:
    choices = [Choice("plan", "Where every\npod lands."), Choice("", kind="dir")]
    assert list(answer(choices)) == ["word\tplan\tWhere every pod lands.", "dir"]
