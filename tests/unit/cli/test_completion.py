"""Words that complete a command line, from the tree of commands; and the lines that shells read."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest

from moorage.cli.completion import Choice, complete
from moorage.cli.completion_scripts import answer, answer_bash, answer_kubectl, split_line
from moorage.cli.main import moorage
from moorage.client.kubeconfig.access import Access
from moorage.client.protocol import Unreachable
from moorage.model.api_error import no_such_path
from moorage.plan.explain.target import WORKLOADS
from moorage.plan.input.inventory import kind_words
from moorage.plan.rollout import ROLLED_OUT, SCALED

KINDS_OF = kind_words()

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
        ("up --enable-admission-plugins Serv", ["ServiceAccount"]),
        ("apiserver --enable-admission-plugins ServiceAccount,Ta", ["ServiceAccount,TaintNodesByCondition"]),
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


OBJECTS = """
kind: List
apiVersion: v1
items:
- {apiVersion: v1, kind: Node, metadata: {name: node-b}}
- {apiVersion: v1, kind: Node, metadata: {name: node-a}}
- {apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: shop}}
- {apiVersion: v1, kind: Pod, metadata: {name: api}}
- {apiVersion: v1, kind: Pod, metadata: [broken]}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: blog}}
---
{{{ not yaml
---
{apiVersion: batch/v1, kind: CronJob, metadata: {name: nightly, namespace: shop}}
"""


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("plan FILE --drain ", ["node-a", "node-b"]),
        ("plan FILE --remove=node-b", ["--remove=node-b"]),
        ("plan FILE --cordon x", []),
        ("plan FILE --like ", ["node-a", "node-b"]),
        ("plan FILE --taint node-a", ["node-a="]),
        ("plan FILE --untaint node-a=", []),
        ("plan FILE --label node-b", ["node-b="]),
        ("plan FILE --scale deploy/", ["deploy/web=", "deploy/blog/web=", "deploy/shop/web="]),
        ("plan FILE --scale s", ["statefulset/"]),
        ("plan FILE --rollout ", ["deployment/", "statefulset/", "daemonset/"]),
        ("plan FILE --rollout deployment/w", ["deployment/web"]),
        ("explain -f FILE pod/", ["pod/api", "pod/web-1"]),
        ("explain -f FILE po/w", ["po/web-1"]),
        ("explain -f FILE web", ["web-1"]),
        ("explain -f FILE shop/", ["shop/web-1"]),
        ("explain -f FILE node/", ["node/node-a", "node/node-b"]),
        ("explain -f FILE deployment/shop/", ["deployment/shop/web"]),
        ("explain -f FILE -n shop pod/", ["pod/web-1"]),
        ("explain -f FILE -n ", ["blog", "shop"]),
        ("explain -f FILE cronjob/", ["cronjob/nightly"]),
        ("explain -f FILE pod/x --node ", ["node-a", "node-b"]),
        ("explain -f FILE secret/", []),
    ],
)
def test_names_are_completed_from_files(line: str, values: list[str], tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(OBJECTS)
    for path in (tmp_path / "cluster.yaml", tmp_path):
        assert completed(line.replace("FILE", str(path))) == values


def test_kinds_are_completed_for_explain() -> None:
    kinds = [value.removesuffix("/") for value in completed("explain -f /dev/null ")]
    assert {KINDS_OF[kind] for kind in kinds} == {"Pod", "Node", *WORKLOADS}
    assert [KINDS_OF[kind] for kind in kinds][:2] == ["Pod", "Deployment"]
    assert {KINDS_OF[value[:-1]] for value in completed("plan x --rollout ")} == set(ROLLED_OUT)
    assert {KINDS_OF[value[:-1]] for value in completed("plan x --scale ")} == set(SCALED)


def test_files_that_cannot_be_read_complete_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "binary").write_bytes(bytes(range(256)) * 100)
    for name in ("pipe", "binary", "absent"):
        assert completed(f"plan {tmp_path}/{name} --drain ") == []
    (tmp_path / "nodes.yaml").write_text(OBJECTS)
    monkeypatch.setattr("moorage.cli.object_names._SECONDS", -1.0)
    assert completed(f"plan {tmp_path}/nodes.yaml --drain ") == []


class _Server:
    """Stands for the client of a cluster."""

    asked: ClassVar[list[str]] = []
    failure: ClassVar[Exception | None] = None
    delay: ClassVar[float] = 0.0

    def __init__(self, access: Access, _component: str, *, request_seconds: float) -> None:
        assert request_seconds <= 1

    async def get_path(self, path: str) -> bytes:
        self.asked.append(path)
        await asyncio.sleep(self.delay)
        if self.failure is not None:
            raise self.failure
        names = {"nodes": "node-1", "pods": "web-1", "namespaces": "shop"}
        metadata = {"name": names[path.partition("?")[0].rpartition("/")[2]], "namespace": "shop"}
        return json.dumps({"items": [{"metadata": metadata}]}).encode()

    async def close(self) -> None: ...


def test_names_are_completed_from_the_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = "clusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\ncurrent-context: kind-dev\n"
    (tmp_path / "one").write_text(KUBECONFIG + server)
    (tmp_path / "nodes.yaml").write_text(OBJECTS)
    monkeypatch.setattr("moorage.client.http_client.HttpClient", _Server)
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/absent")
    assert completed("plan --drain ") == []
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/one")
    assert completed("plan --drain ") == ["node-1"]
    assert completed("plan - --drain ") == ["node-1"]
    assert completed("explain pod/") == ["pod/web-1"]
    assert completed("dump -n ") == ["shop"]
    assert completed(f"plan {tmp_path}/nodes.yaml --drain ") == ["node-a", "node-b"]
    assert completed(f"plan {tmp_path}/nodes.yaml --context kind-dev --drain ") == ["node-1", "node-a", "node-b"]
    assert completed("plan --context absent --drain ") == []
    assert all(path.endswith("?limit=500") for path in _Server.asked)
    for failure in (Unreachable("refused"), no_such_path(), OSError("broken")):
        monkeypatch.setattr(_Server, "failure", failure)
        assert completed("plan --drain ") == []
    monkeypatch.setattr(_Server, "failure", None)
    monkeypatch.setattr(_Server, "delay", 60.0)
    monkeypatch.setattr("moorage.cli.object_names._SECONDS", 0.01)
    assert completed("plan --drain ") == []


def test_components_are_completed_from_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    directory = tmp_path / "moorage" / "clusters" / "ha"
    (directory / "logs").mkdir(parents=True)
    (directory / "cluster.json").write_text('{"format": 1, "name": "ha"}')
    for name in ("etcd-1", "apiserver-1"):
        (directory / "logs" / f"{name}.log").touch()
    assert completed("logs h") == ["ha"]
    assert completed("logs ha ")[:2] == ["apiserver-1", "etcd-1"]


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
    gates = [Choice("A="), Choice("pod/")]
    assert list(answer_bash(gates, "", "", "")) == ["word\tA=", "word\tpod/", "nospace"]


@pytest.mark.parametrize(
    ("choices", "lines"),
    [
        ([Choice("plan", "Where every\npod lands.")], ["plan\tWhere every pod lands.", ":4"]),
        ([], [":4"]),
        ([Choice("pod/"), Choice("node/")], ["pod/", "node/", ":6"]),
        ([Choice("a="), Choice("b")], ["a=", "b", ":4"]),
        ([Choice("", kind="file")], [":0"]),
        ([Choice("", kind="dir")], [":16"]),
        ([Choice("gpu"), Choice("", kind="dir")], ["gpu", ":0"]),
    ],
)
def test_kubectl_gets_words_and_a_directive(choices: list[Choice], lines: list[str]) -> None:
    assert list(answer_kubectl(choices)) == lines


def test_other_shells_get_descriptions() -> None:
    choices = [Choice("plan", "Where every\npod lands."), Choice("", kind="dir")]
    assert list(answer(choices)) == ["word\tplan\tWhere every pod lands.", "dir"]
