"""Gates that are on in one component and off in another: what becomes of pods that rely on them."""

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.e2e.kubectl import Kubectl
from tests.e2e.running_cluster import moorage_up
from tests.e2e.stories.stage import NOT_HELPFUL, Raw, Stage, node, pod

TAINT = "version=5:NoExecute"
GATES = {
    "number": "TaintTolerationComparisonOperators",
    "version": "TaintTolerationNodeAffinitySemverComparisonOperators",
    "expression": "TaintTolerationCEL",
}


def users() -> list[Raw]:
    """A pod for each feature, for a node that has version 5 as a taint; and one that says it of the node's label."""
    term = {"matchExpressions": [{"key": "version", "operator": "SemverGt", "values": ["4"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return [
        pod("number", {"key": "version", "operator": "Gt", "value": "4"}),
        pod("version", {"key": "version", "operator": "SemverGt", "value": "4"}),
        pod("expression", {"expression": "int(taint.value) > 4"}),
        pod("affine", {"operator": "Exists"}, affinity={"nodeAffinity": required}),
    ]


@pytest.fixture
def skewed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A cluster with all gates on, but off in the component that the test names."""
    off = f"--{request.param}-feature-gates={','.join(f'{gate}=false' for gate in GATES.values())}"
    options = ("--nodes", "0", "--feature-gates=AllAlpha=true", off)
    with moorage_up(tmp_path_factory.mktemp("cluster"), *options) as running:
        yield Stage(Kubectl(running.kubeconfig, running.home))


@pytest.mark.parametrize("skewed", ["scheduler"], indirect=True)
def test_accepted_but_not_understood_by_the_scheduler(skewed: Stage) -> None:
    skewed.create(node("five", TAINT, version="5"))
    skewed.create(*users())
    said = {"number": "operator Gt", "version": "operator SemverGt", "expression": "an expression"}
    said = {name: f"({what} needs the feature gate {GATES[name]} in the scheduler). " for name, what in said.items()}
    begins = "0/1 nodes are available: 1 node(s) "
    for name in GATES:
        why = f"{begins}had untolerated taint {{version: 5}} {said[name]}"
        assert skewed.why_pending(name) == why + NOT_HELPFUL.format(1)
    why = f"{begins}didn't match Pod's node affinity/selector {said['version']}"
    assert skewed.why_pending("affine") == why + NOT_HELPFUL.format(1)
    # Nothing is dropped from the pod, and a preference that is not understood counts for nothing.
    assert skewed.read("pod expression", "{.spec.tolerations[0].expression}") == "int(taint.value) > 4"
    preference = {"matchExpressions": [{"key": "version", "operator": "SemverGt", "values": ["4"]}]}
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 9, "preference": preference}]}
    skewed.create(pod("prefers", {"operator": "Exists"}, affinity={"nodeAffinity": preferred}))
    assert skewed.lands("prefers") == ["five"]
    # A toleration whose expression is ignored is not one that tolerates every taint without a value.
    skewed.kubectl("taint nodes five version- node-role.kubernetes.io/control-plane:NoSchedule")
    skewed.create(pod("late", {"expression": "true"}))
    assert "1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }" in skewed.why_pending("late")


def moorage(stage: Stage, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "moorage", *arguments, "--kubeconfig", str(stage.kubectl.kubeconfig)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


@pytest.mark.parametrize("skewed", ["scheduler"], indirect=True)
def test_answers_about_a_cluster_have_its_gates(skewed: Stage) -> None:
    """KEP-5471's number is accepted and not understood: `explain` and `plan` say what the event says."""
    skewed.create(node("five", TAINT, version="5"))
    skewed.create(users()[0])
    event = skewed.why_pending("number")
    told = json.loads(moorage(skewed, "explain", "pod/number", "-o", "json").stdout)
    assert told["message"] == event
    assert any("off in kube-scheduler" in note["message"] for note in told["notes"])
    (line,) = json.loads(moorage(skewed, "plan", "-o", "json").stdout)["pods"]
    assert (line["state"], line["message"]) == ("Pending", event)
    # Half-enabled gates are warned about in the log of `up`, in `gates`, and on standard error beside JSON.
    warnings = [line for line in (skewed.kubectl.home / "moorage.log").read_text().splitlines() if line[0] == "W"]
    assert any("Half-enabled feature gate" in line and GATES["number"] in line for line in warnings)
    shown = " ".join(moorage(skewed, "gates").stdout.split())
    assert "off in kube-scheduler: - pods that need it are accepted and stay Pending" in shown
    printed = moorage(skewed, "gates", "-o", "json")
    assert json.loads(printed.stdout)[GATES["number"]]["kube-scheduler"] is False
    assert "warning: " in printed.stderr
    audited = moorage(skewed, "gates", "audit", "--gate", GATES["expression"])
    assert f"half enabled: {GATES['number']}" in audited.stderr
    # What the command line says wins, and the difference is told.
    told = json.loads(moorage(skewed, "explain", "pod/number", "-o", "json", "--feature-gates=AllAlpha=true").stdout)
    assert (told["standing"], told["node"]) == ("Fits", "five")
    assert any(f"{GATES['number']} is on here, as" in note["message"] for note in told["notes"])


@pytest.mark.parametrize("skewed", ["kubelet"], indirect=True)
def test_placed_by_the_scheduler_and_turned_away_by_the_kubelet(skewed: Stage) -> None:
    skewed.create(node("five", TAINT, version="5"))
    skewed.create(*users())
    names = " ".join(f"pod/{name}" for name in (*GATES, "affine"))
    skewed.kubectl(f"wait --for=jsonpath={{.status.phase}}=Failed {names} --timeout=120s")
    path = '{range .items[*]}{.metadata.name} {.spec.nodeName} {.status.reason}{"\\n"}{end}'
    assert skewed.read("pods", path).splitlines() == [
        "affine five NodeAffinity",
        "expression five TaintToleration",
        "number five TaintToleration",
        "version five TaintToleration",
    ]
    assert skewed.read("pod expression", "{.status.message}") == (
        "Pod was rejected: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"
    )


@pytest.mark.parametrize("skewed", ["apiserver"], indirect=True)
def test_refused_by_the_api_server_whatever_the_others_know(skewed: Stage) -> None:
    said = skewed.refused(*users()).splitlines()
    assert len(said) == 4
    assert [line.split('Pod "')[1].split('"')[0] for line in said] == ["number", "version", "expression", "affine"]
    assert skewed.kubectl("get pods -o name").out == ""
