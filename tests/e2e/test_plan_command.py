"""`moorage plan` as a user runs it: every output, pipes, what-if, rollouts, exit codes, bad input."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e.forked_command import forked_moorage
from tests.unit.plan.planning import Raw, node, pod, running, workload

MOORAGE = str(Path(sys.executable).with_name("moorage"))
NODES = [node("n1"), node("n2", taints=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}])]
WEB = workload("Deployment", "web", replicas=2)


def write(path: Path, *documents: Raw) -> str:
    path.write_text(yaml.safe_dump_all(documents), encoding="utf-8")
    return str(path)


def run(*arguments: str, stdin: str | None = None, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = forked_moorage(["plan", *arguments], stdin or "")
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    return done


def plan(*arguments: str, stdin: str | None = None, code: int = 0) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(run(*arguments, "--output", "json", stdin=stdin, code=code).stdout)
    return document


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    return write(tmp_path / "cluster.yaml", *NODES, WEB, pod("huge", "99"))


def test_all_outputs_say_the_same(cluster: str) -> None:
    document = plan(cluster)
    assert document["summary"] | {"nodes": 2, "pods": 3, "placed": 2, "pending": 1} == document["summary"]
    assert yaml.safe_load(run(cluster, "--output", "yaml").stdout) == document
    text, page = run(cluster).stdout, run(cluster, "--output", "markdown").stdout
    for one in document["pods"]:
        assert one["name"] in text
        assert one["name"] in page
    assert "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint {gpu: yes}." in text.replace(
        "\n      ", " "
    )
    assert page.startswith("# Plan")


def test_the_same_input_and_seed_give_the_same_plan(tmp_path: Path) -> None:
    many = write(tmp_path / "many.yaml", *(node(f"n{i}") for i in range(9)), workload("Deployment", "w", replicas=9))
    first = run(many, "--output", "json", "--seed", "7").stdout
    assert run(many, "--output", "json", "--seed", "7").stdout == first
    others = {run(many, "--output", "json", "--seed", str(seed)).stdout for seed in range(4)}
    assert len(others) > 1


def test_strict_exits_1_if_a_taint_of_the_input_evicts_a_pod_by_then_or_later(tmp_path: Path) -> None:
    spot = node("spot", taints=[{"key": "fp", "value": "3", "effect": "NoExecute"}])
    exists = {"key": "fp", "operator": "Exists", "effect": "NoExecute"}
    for seconds, at, code in ((30, "10s", 1), (30, "60s", 1), (None, "60s", 0)):
        tolerations = [exists | ({"tolerationSeconds": seconds} if seconds else {})]
        path = write(tmp_path / "spot.yaml", spot, running("p", "spot", tolerations=tolerations))
        run(path, "--strict", "--at", at, code=code)
        run(path, "--strict", code=code)
        shown = run(path, "--at", at).stdout
        assert ("Evicted\n" in shown) is bool(seconds)
        assert ("leaves in 20 s: fp=3 is tolerated for 30 s" in shown) is (bool(seconds) and at == "10s")
        assert ("default/p leaves spot" in shown) is (bool(seconds) and at == "60s")


def test_strict_exits_1_if_something_stays_pending_or_is_refused(cluster: str, tmp_path: Path) -> None:
    run(cluster, code=0)
    run(cluster, "--strict", code=1)
    run(write(tmp_path / "fine.yaml", *NODES, WEB), "--strict", code=0)
    run(write(tmp_path / "refused.yaml", *NODES, pod("BAD")), "--strict", code=1)


def test_what_kubectl_prints_can_be_piped_in() -> None:
    labels = {"app": "web", "pod-template-hash": "6d4cf"}
    items = [
        *NODES,
        WEB,
        running("web-6d4cf-a", "n1", ("ReplicaSet", "web-6d4cf"), labels=labels),
        {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}},
    ]
    for printed in (yaml.safe_dump, json.dumps):
        stdin = printed({"apiVersion": "v1", "kind": "List", "items": items})
        document = plan("-", stdin=stdin)
        states = sorted(one["state"] for one in document["pods"])
        assert states == ["Bound", "Placed"]
        assert document["summary"]["passedOver"] == {"Event": 1}
        assert plan(stdin=stdin) == document  # a pipe needs no dash


def test_directories_are_read(cluster: str) -> None:
    assert plan(str(Path(cluster).parent))["summary"]["files"] == 1


def test_what_if_by_options(cluster: str) -> None:
    document = plan(cluster, "--taint", "n1=maintenance=soon:NoExecute", "--untaint", "n2=gpu")
    gone = document["whatIf"]["evicted"]
    assert {(one["node"], one["newNode"], one["afterSeconds"], one["cause"]) for one in gone} == {
        ("n1", "n2", 0, "taint")
    }
    assert document["whatIf"]["changes"] == [
        "taint node n1 with maintenance=soon:NoExecute",
        "remove taint gpu from node n2",
    ]
    drained = plan(cluster, "--drain", "n1", "--untaint", "n2=gpu:NoSchedule")
    assert {one["cause"] for one in drained["whatIf"]["evicted"]} == {"drain"}
    removed = plan(cluster, "--remove", "n1")
    assert all(not one["newNode"] and one["message"] for one in removed["whatIf"]["evicted"])
    assert removed["summary"]["pending"] == 3
    run(cluster, "--remove", "n2", code=0)


def test_what_if_by_manifests(cluster: str, tmp_path: Path) -> None:
    change = write(tmp_path / "change.txt", node("n3", cpu="200"), workload("Deployment", "web", replicas=3))
    document = plan(cluster, "--change", change, "--strict")
    assert sorted(one["name"][:4] for one in document["whatIf"]["placed"]) == ["huge", "web-"]
    piped = plan(cluster, "--change", "-", stdin=Path(change).read_text(encoding="utf-8"))
    assert piped["whatIf"]["placed"] == document["whatIf"]["placed"]


def test_seconds_of_tolerations_are_a_timeline(tmp_path: Path) -> None:
    patient: Raw = {"tolerations": [{"key": "m", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 40}]}
    path = write(tmp_path / "c.yaml", node("n1"), pod("now"), pod("later", **patient))
    text = run(path, "--taint", "n1=m:NoExecute").stdout
    assert re.search(r"default/now leaves n1 at once .*default/later leaves n1 after 40 s", text, re.DOTALL)


def test_a_rollout_that_deadlocks_and_the_line_that_mends_it(tmp_path: Path) -> None:
    term: Raw = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
    rules: Raw = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    path = write(tmp_path / "c.yaml", node("n1"), workload("Deployment", "web", pods=rules))
    text = run(path, "--rollout", "deployment/web").stdout
    assert "It stops after step 1: default/web-" in text
    assert "matchLabelKeys:\n      - pod-template-hash" in text
    run(path, "--rollout", "deployment/web", "--strict", code=1)
    term["matchLabelKeys"] = ["pod-template-hash"]
    mended = write(tmp_path / "mended.yaml", node("n1"), workload("Deployment", "web", pods=rules))
    assert plan(mended, "--rollout", "deploy/default/web", "--strict")["rollout"]["completes"] is True


def test_gates_are_those_of_a_cluster(tmp_path: Path) -> None:
    threshold: Raw = {"tolerations": [{"key": "sla", "operator": "Gt", "value": "900", "effect": "NoSchedule"}]}
    nodes = [node(f"n{sla}", taints=[{"key": "sla", "value": sla, "effect": "NoSchedule"}]) for sla in ("850", "950")]
    path = write(tmp_path / "c.yaml", *nodes, pod("a", **threshold))
    assert plan(path)["summary"]["rejectedObjects"] == 1
    document = plan(path, "--feature-gates", "TaintTolerationComparisonOperators=true")
    assert [one["node"] for one in document["pods"]] == ["n950"]


BAD = """\
apiVersion: v1
kind: Node
metadata: {name: empty}
---
apiVersion: v1
kind: Pod
metadata: {name: nobody}
spec: {priorityClassName: gold, containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: Pod
metadata: {name: claims}
spec:
  containers: [{name: c, image: i}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: nope}}]
---
apiVersion: v1
kind: Pod
metadata: {name: elsewhere, uid: u, resourceVersion: "1"}
spec: {nodeName: gone, containers: [{name: c, image: i}]}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: twice}
spec: {containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: Pod
metadata: {name: twice}
spec: {containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: Pod
metadata: {name: 5}
---
a: [b
"""


def test_bad_input_is_named_and_located_and_the_rest_is_planned(tmp_path: Path, cluster: str) -> None:
    bad = tmp_path / "bad.yml"
    bad.write_text(BAD, encoding="utf-8")
    done = run(cluster, str(bad), str(tmp_path / "nowhere.yaml"), "--output", "json", code=2)
    document = json.loads(done.stdout)
    assert document["summary"]["placed"] == 4  # web twice, `twice` and `nobody` once
    notes = {(note["line"], note["level"], note["message"]) for note in document["notes"] if note["file"] == str(bad)}
    assert {(line, level) for line, level, _ in notes} == {
        (1, "warning"),
        (5, "warning"),
        (10, "warning"),
        (17, "warning"),
        (28, "warning"),
        (35, "error"),
        (37, "error"),
    }
    said = "\n".join(message for _, _, message in notes)
    for words in (
        "simulated with the default capacity",
        "PriorityClass gold is not in the input",
        "claim nope is used",
        "bound to node gone",
        f"first at {bad}:23",
        "cannot unmarshal number",
        "did not find expected",
    ):
        assert words in said
    assert f"moorage: {bad}:37: yaml: " in done.stderr
    assert "nowhere.yaml: No such file or directory" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--taint", "n1"), "is not of the form NODE=KEY=VALUE:EFFECT"),
        (("--taint", "n1=a=b:Always"), "'Always' in 'n1=a=b:Always' is no effect"),
        (("--untaint", "n1=a"), "node n1 has no taint a"),
        (("--drain", "worker"), "there is no node 'worker' in the input"),
        (("--rollout", "deployment/wbe"), "there is no Deployment 'wbe' in the input; is it web?"),
        (("--rollout", "statefulset/nope"), "there is no StatefulSet 'nope' in the input"),
        (("--rollout", "replicaset/x"), "is a ReplicaSet; only Deployment, StatefulSet or DaemonSet can be rolled out"),
        (("--cordon", "worker"), "there is no node 'worker' in the input"),
        (("--remove", "worker"), "there is no node 'worker' in the input"),
        (("--scale", "deployment/wbe=3"), "there is no Deployment 'wbe' in the input; is it web?"),
        (
            ("--scale", "daemonset/web=3"),
            "is a DaemonSet; only Deployment, StatefulSet, ReplicaSet or ReplicationController",
        ),
        (("--scale", "x=-1"), "'x=-1' is not of the form KIND/[NAMESPACE/]NAME=REPLICAS"),
        (("--scale", "deployment/web"), "is not of the form KIND/[NAMESPACE/]NAME=REPLICAS"),
        (("--scale", "deployment/web=٣"), "is not of the form KIND/[NAMESPACE/]NAME=REPLICAS"),
        (("--scale", "deployment/web=999999999"), "too many replicas: no more than 150,000 are planned"),
        (("--scale", "deployment/web=" + "9" * 10_000), "too many replicas: no more than 150,000 are planned"),
        (("--add-nodes", "100000000", "--like", "n1"), "--add-nodes must be from 1 to 10,000, not 100000000"),
        (("--add-nodes", "0", "--like", "n1"), "--add-nodes must be from 1 to 10,000, not 0"),
        (("--add-nodes", "2", "--like", "worker"), "there is no node 'worker' in the input"),
        (("--add-nodes", "2"), "--add-nodes and --like go together"),
        (("--like", "n1"), "--add-nodes and --like go together"),
        (("--at", "10y"), '--at: time: unknown unit "y" in duration "10y"'),
        (("--at", "-5m"), "--at must be from 0s to 8784h, not -5m"),
        (("--at", "100000h"), "--at must be from 0s to 8784h, not 100000h"),
        (("--at", "9999999999999h"), "--at: time: invalid duration"),
        (("--feature-gates", "Nonsense=true"), "unrecognized feature gate: Nonsense"),
        (("--output", "xml"), "'xml' is not one of"),
        (("--seed", "x"), "'x' is not a valid integer"),
        (("-", "--change", "-"), "Standard input can be read only once"),
    ],
)
def test_wrong_usage_exits_2_and_says_why(cluster: str, arguments: tuple[str, ...], reason: str) -> None:
    done = run(cluster, *arguments, stdin="", code=2)
    assert reason in " ".join(done.stderr.split())
    assert not done.stdout
    assert done.stderr.count("Error: ") == 1
    assert "Traceback" not in done.stderr


def test_nothing_to_plan_is_said() -> None:
    done = subprocess.run([MOORAGE, "plan"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Nothing to plan: name files or directories, or pipe manifests in, or name a cluster with" in done.stderr


def test_empty_input_is_an_empty_plan_where_that_is_allowed(tmp_path: Path) -> None:
    assert run("--allow-empty", "-", stdin="").stdout == "0 pods on 0 nodes: 0 placed.\n"
    assert run("-", stdin="", code=2).stdout == ""
    assert "no *.yaml, *.yml or *.json files" in run(str(tmp_path), code=2).stderr


def test_an_empty_change_changes_nothing(cluster: str, tmp_path: Path) -> None:
    empty = tmp_path / "empty.yaml"
    empty.write_text("")
    assert run(str(empty), "--allow-empty", "--headroom", "--at", "1m").stdout == "0 pods on 0 nodes: 0 placed.\n"
    unchanged = run(cluster, "--change", str(empty), "--allow-empty").stdout.splitlines()[-1]
    assert unchanged.startswith("No changes: every pod ends as it does without the change")
    assert "no Kubernetes object" in run(cluster, "--change", str(empty), code=2).stderr


def test_colours_on_a_terminal_only(cluster: str) -> None:
    assert "\x1b[" not in run(cluster).stdout
    assert "\x1b[" in run(cluster, "--color", "always").stdout
    shown = on_a_terminal([MOORAGE, "plan", cluster])
    assert b"\x1b[1mPlacements\x1b[0m" in shown
    assert b"\x1b[" not in on_a_terminal([MOORAGE, "plan", cluster], NO_COLOR="1")


def on_a_terminal(command: list[str], **environment: str) -> bytes:
    ours, theirs = pty.openpty()
    variables = os.environ | {"TERM": "xterm"} | environment
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=theirs, env=variables) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                block = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not block:
                break
            shown += block
        process.wait(60)
    os.close(ours)
    return shown


def test_a_reader_that_goes_is_no_error(tmp_path: Path) -> None:
    many = write(tmp_path / "many.yaml", node("n1"), *(pod(f"p{i}", "1m") for i in range(3000)))
    command = f"{MOORAGE} plan {many} --all --output json | head -c 100"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False, timeout=120)
    assert done.stderr == ""
    assert len(done.stdout) == 100


def test_help_has_examples() -> None:
    text = run("--help").stdout
    assert "moorage dump | moorage plan - --change new.yaml" in text
    assert "Exit code: 0 a plan was made" in text


GATE = "TaintTolerationComparisonOperators"


@pytest.fixture
def gates(tmp_path: Path) -> tuple[str, str, str]:
    """A cluster whose pods need a gate, the file of a cluster with it, and a rollback."""
    tolerations = [{"key": "fp", "operator": "Lt", "value": "5", "effect": "NoExecute"}]
    tainted = node("n1", taints=[{"key": "fp", "value": "3", "effect": "NoExecute"}])
    cluster = write(
        tmp_path / "cluster.yaml", tainted, workload("Deployment", "web", pods={"tolerations": tolerations})
    )
    on = write(tmp_path / "on.yaml", {"all": {GATE: True}})
    off = write(tmp_path / "off.yaml", {"kube-apiserver": {}, "kube-controller-manager": {}})
    return cluster, on, off


def test_gates_are_switched_step_by_step(gates: tuple[str, str, str]) -> None:
    cluster, on, off = gates
    document = plan(cluster, "--gates-before", on, "--gates-after", off)
    assert [step["components"] for step in document["gateSteps"]] == [["kube-apiserver"], ["kube-controller-manager"]]
    assert document["gateSteps"][0]["refused"][0]["object"] == "Deployment default/web"
    assert document["gateSteps"][1]["evicted"][0]["workload"] == "Deployment default/web"
    assert yaml.safe_load(run(cluster, "--gates-before", on, "--gates-after", off, "-o", "yaml").stdout) == document
    for form in ("text", "markdown"):
        text = run(cluster, "--gates-before", on, "--gates-after", off, "--output", form).stdout
        assert f"1. kube-apiserver: {GATE} on → off" in text
    run(cluster, "--gates-before", on, "--gates-after", off, "--strict", code=1)
    run(cluster, "--gates-before", on, "--gates-after", on, "--strict")


def test_gates_before_may_come_from_the_command_line(gates: tuple[str, str, str]) -> None:
    cluster, _, off = gates
    steps = plan(cluster, "--feature-gates", f"{GATE}=true", "--gates-after", off)["gateSteps"]
    assert steps[0]["switched"] == [f"kube-apiserver: {GATE} on → off"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--gates-before", "on.yaml"], "--gates-before needs --gates-after"),
        (["--gates-after", "gone.yaml"], "--gates-after: gone.yaml: No such file or directory"),
        (["--gates-after", "cluster.yaml"], "--gates-after: cluster.yaml: holds 2 documents"),
        (["--gates-after", "off.yaml", "--drain", "n1"], "--drain cannot be given with it"),
        (["--gates-after", "off.yaml", "--at", "5m"], "--at cannot be given with it"),
        (["--gates-after", "off.yaml", "--output", "html"], "--gates-after has no page"),
    ],
)
def test_gates_that_cannot_be_switched(
    gates: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch, arguments: list[str], reason: str
) -> None:
    monkeypatch.chdir(Path(gates[0]).parent)
    assert reason in run("cluster.yaml", *arguments, code=2).stderr
