"""`moorage explain` as a user runs it: files, pipes, both outputs, exit codes, bad input; and that suggestions work."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e.forked_command import forked_moorage
from tests.unit.plan.planning import Raw, node, pod, running, workload

MOORAGE = str(Path(sys.executable).with_name("moorage"))
GATES = ("--feature-gates", "AllAlpha=true")
SPOT = node("spot-1", taints=[{"key": "spot", "value": "15", "effect": "NoSchedule"}])
WEB = pod("web-1", "2", tolerations=[{"key": "spot", "operator": "Lt", "value": "5", "effect": "NoSchedule"}])
CLUSTER = [SPOT, node("small-1", cpu="1"), WEB, running("old", "small-1", cpu="500m")]


def write(path: Path, *documents: Raw) -> str:
    path.write_text(yaml.safe_dump_all(documents), encoding="utf-8")
    return str(path)


def run(*arguments: str, stdin: str | None = None, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = forked_moorage(["explain", *arguments], stdin or "")
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    return done


def explain(*arguments: str, stdin: str | None = None, code: int = 0) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(run(*arguments, "-o", "json", stdin=stdin, code=code).stdout)
    return document


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    return write(tmp_path / "cluster.yaml", *CLUSTER)


def test_both_outputs_tell_the_same(cluster: str) -> None:
    document = explain("pod/web-1", "-f", cluster, *GATES)
    assert document["standing"] == "Pending"
    assert {name for group in document["refused"] for name in group["nodes"]} == {"spot-1", "small-1"}
    text = run("pod/web-1", "-f", cluster, *GATES).stdout
    for group in document["refused"]:
        for refusal in group["refusals"]:
            assert refusal["plugin"] in text
            for detail in refusal["details"]:
                assert detail in " ".join(text.split())
    for suggestion in document["suggestions"][:6]:
        assert suggestion["summary"] in " ".join(text.split())
    assert "15 < 5 is false (toleration Lt 5)" in text
    assert "Lt 5 → Lt 16" in text
    assert "cpu 2 → at most 500m" in text
    assert "\x1b[" not in text


def test_the_first_suggestion_written_into_the_manifest_makes_the_pod_fit(tmp_path: Path) -> None:
    found = explain("web-1", "-f", write(tmp_path / "before.yaml", *CLUSTER), *GATES)["suggestions"][0]
    changed = {**WEB, "spec": {**WEB["spec"], **yaml.safe_load(found["yaml"])}}
    after = explain("web-1", "-f", write(tmp_path / "after.yaml", changed, *CLUSTER[:2]), *GATES)
    assert (after["standing"], after["node"]) == ("Fits", found["nodes"][0])


def test_input_from_a_pipe_a_directory_and_several_files(tmp_path: Path) -> None:
    write(tmp_path / "nodes.yaml", *CLUSTER[:2])
    write(tmp_path / "pods.yaml", *CLUSTER[2:])
    everything = explain("web-1", "-f", str(tmp_path), *GATES)
    assert explain("web-1", "-f", str(tmp_path / "nodes.yaml"), "-f", str(tmp_path / "pods.yaml"), *GATES) == everything
    piped = yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": CLUSTER})
    assert explain("web-1", *GATES, stdin=piped)["refused"] == everything["refused"]
    assert explain("web-1", "-f", "-", *GATES, stdin=piped)["suggestions"] == everything["suggestions"]


def test_one_node(cluster: str) -> None:
    document = explain("web-1", "--node", "spot-1", "-f", cluster, *GATES)
    answers = {cell["plugin"]: cell["answer"] for cell in document["column"]["plugins"]}
    assert answers["TaintToleration"] == "no"
    assert answers["NodeResourcesFit"] == "yes"
    assert answers["NodePorts"] == "nothing to check"
    text = run("web-1", "--node", "spot-1", "-f", cluster, *GATES).stdout
    assert "Node spot-1  does not fit" in text
    assert "small-1" not in text.partition("Node spot-1")[2]  # the sentence above it is about all nodes
    assert "there is no node 'spot'" in run("web-1", "--node", "spot", "-f", cluster, *GATES, code=2).stderr


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("web-2",), 2, "there is no pod 'web-2' in the input; did you mean web-1?"),
        (("deployment/web",), 2, "there is no Deployment 'web' in the input"),
        (("pod/",), 2, "names no pod"),
        (("web-1", "--strict"), 1, ""),
        (("old", "--strict"), 0, ""),
        (("web-1",), 0, ""),
        (("web-1", "--config", "nowhere.yaml"), 2, "nowhere.yaml"),
        (("web-1", "-f", "nowhere"), 2, "nowhere"),
        (("web-1", "--feature-gates", "Nonsense=true"), 2, "Nonsense"),
        ((), 2, "Missing argument"),
    ],
)
def test_exit_codes(cluster: str, arguments: tuple[str, ...], code: int, says: str) -> None:
    assert says in run(*arguments, "-f", cluster, *GATES, code=code).stderr


def test_a_refused_pod_is_named_with_the_reason(cluster: str) -> None:
    assert "pod 'web-1' was refused" in run("web-1", "-f", cluster, code=2).stderr


def test_nothing_to_explain() -> None:
    done = subprocess.run(
        [MOORAGE, "explain", "p"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "Nothing to explain" in done.stderr


@pytest.mark.parametrize("text", ["", "null", "[]", "a: b", "{", "\x00", "kind: Pod\nmetadata: 7\n", "- - -"])
def test_hostile_input_is_no_traceback(tmp_path: Path, text: str) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text(text, encoding="utf-8")
    run("web-1", "-f", str(path), code=2)


def test_names_cannot_command_the_terminal(tmp_path: Path) -> None:
    done = run("pod/\x1b[31mweb", "-f", write(tmp_path / "c.yaml", *CLUSTER), *GATES, code=2)
    assert "\x1b" not in done.stderr


def test_a_configuration_counts(cluster: str, tmp_path: Path) -> None:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"filter": {"disabled": [{"name": "TaintToleration"}]}}}],
    }
    told = explain("web-1", "-f", cluster, "--config", write(tmp_path / "config.yaml", config), *GATES)
    assert (told["standing"], told["node"]) == ("Fits", "spot-1")


def test_a_deployment_and_the_plan_agree(tmp_path: Path) -> None:
    path = write(tmp_path / "c.yaml", node("a"), workload("Deployment", "web", cpu="3", replicas=2))
    planned = subprocess.run([MOORAGE, "plan", path, "-o", "json"], capture_output=True, text=True, check=True)
    pending = next(one for one in json.loads(planned.stdout)["pods"] if one["state"] == "Pending")
    told = explain("deployment/web", "-f", path)
    assert (told["pod"].partition("/")[2], told["message"]) == (pending["name"], pending["message"])
    assert explain(pending["name"], "-f", path)["message"] == pending["message"]


def test_the_same_input_and_seed_tell_the_same(tmp_path: Path) -> None:
    path = write(tmp_path / "c.yaml", *(node(f"n{i}") for i in range(9)), pod("p"))
    winners = {explain("p", "-f", path, "--seed", str(seed))["node"] for seed in range(4)}
    assert len(winners) > 1
    assert run("p", "-f", path, "--seed", "3").stdout == run("p", "-f", path, "--seed", "3").stdout


def test_colours_on_a_terminal(cluster: str) -> None:
    master, slave = pty.openpty()
    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | {"TERM": "xterm"}
    with subprocess.Popen(
        [MOORAGE, "explain", "web-1", "-f", cluster, *GATES], stdout=slave, env=environment
    ) as process:
        os.close(slave)
        shown = b""
        while True:
            try:
                chunk = os.read(master, 65536)
            except OSError:
                break
            if not chunk:
                break
            shown += chunk
        assert process.wait() == 0
    os.close(master)
    assert b"\x1b[" in shown


def test_five_thousand_nodes_are_a_few_lines(tmp_path: Path) -> None:
    nodes = [
        {**node(f"node-{i}", cpu="1"), "spec": {"taints": [{"key": "k", "value": str(i % 9), "effect": "NoSchedule"}]}}
        for i in range(5000)
    ]
    path = tmp_path / "wide.json"
    path.write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [*nodes, pod("p", "2")]}), encoding="utf-8"
    )
    text = run("p", "-f", str(path)).stdout
    assert "5,000 nodes, such as node-0, node-9" in text
    assert "…node-" not in text
    assert len(text.splitlines()) < 50
