"""`moorage plan` and `explain` write pages that hold what their other forms say."""

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from moorage.cli.commands.explain import command as explain_command
from moorage.cli.commands.plan import command as plan_command
from moorage.plan.simulation.forked import CopyFailed, in_fork

ROOT = Path(__file__).resolve().parents[4]
CLUSTER = str(ROOT / "examples" / "cluster")
GATES = ("--feature-gates", "AllAlpha=true,AllBeta=true")
TAINT = "spot-1=spot.example.com/failure-probability=90:NoExecute"
PENDING = "deployment/versions/next-release"
LEAVES_ANYWAY = """
apiVersion: v1
kind: Node
metadata: {name: spot}
spec: {taints: [{key: fp, value: "3", effect: NoExecute}]}
status: {capacity: {cpu: "4", memory: 8Gi, pods: "110"}}
---
apiVersion: v1
kind: Node
metadata: {name: other}
status: {capacity: {cpu: "4", memory: 8Gi, pods: "110"}}
---
apiVersion: v1
kind: Pod
metadata: {name: short}
spec:
  nodeName: spot
  tolerations: [{key: fp, operator: Exists, effect: NoExecute, tolerationSeconds: 90}]
  containers: [{name: c, image: i}]
"""
TWO_INPUTS = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {capacity: {cpu: "4", memory: 8Gi, pods: "110"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: REPLICAS
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: i}]}
"""
_DATA = re.compile(r'<script type="application/json" id="embedded">(.*?)</script>', re.DOTALL)


def plan(*options: str) -> Result:
    return CliRunner().invoke(plan_command, [CLUSTER, *GATES, *options], standalone_mode=False)


def explain(*options: str) -> Result:
    return CliRunner().invoke(explain_command, [*options, "-f", CLUSTER, *GATES], standalone_mode=False)


def embedded(result: Result) -> dict[str, Any]:
    found = _DATA.search(result.stdout)
    assert found is not None, result.output
    data: dict[str, Any] = json.loads(found[1])
    return data


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--taint", TAINT, "--drain", "gpu-1"),
        ("--rollout", "deployment/web"),
        ("--at", "10m", "--headroom"),
        ("--scale", "deployment/web=9", "--rollout", "deployment/web", "--at", "1h"),
    ],
    ids=["plain", "changes", "rollout", "later", "all"],
)
def test_the_page_has_the_plan_of_the_other_forms(options: tuple[str, ...]) -> None:
    data = embedded(plan(*options, "-o", "html"))
    told = json.loads(plan(*options, "-o", "json").stdout)
    ((saved,),) = (parts for key, parts in data["answers"].items() if key == "plan {}")
    assert saved.pop("done") is True
    assert saved == told
    assert data["view"] == "#/plan"
    (pending,) = data["answers"]["pending {}"]
    assert pending["pending"] == told["summary"]["pending"]
    for group in pending["groups"]:
        assert "explanation" in data["answers"][f'explain-pending {{"pod":"{group["example"]}"}}'][0]


def test_the_map_is_that_of_the_plan() -> None:
    data = embedded(plan("-o", "html"))
    told = json.loads(plan("-o", "json").stdout)
    pods = data["state"]["pods"]
    where = {key: pods["nodes"][node] if node >= 0 else "" for key, _, node, *_ in pods["rows"]}
    assert where == {f"{pod['namespace']}/{pod['name']}": pod["node"] for pod in told["pods"]}
    assert data["state"]["source"]["name"] == "cluster"
    (details,) = data["answers"]["GET /api/node/spot-1"]
    assert details["name"] == "spot-1"


def test_with_changes_the_map_is_that_before_them_and_the_what_if_is_there() -> None:
    data = embedded(plan("--taint", TAINT, "-o", "html"))
    told = json.loads(plan("--taint", TAINT, "-o", "json").stdout)
    before = embedded(plan("-o", "html"))
    assert data["state"]["pods"] == before["state"]["pods"]
    ((key, parts),) = [(key, parts) for key, parts in data["answers"].items() if key.startswith("what-if ")]
    change = {"nodes": ["spot-1"], "key": "spot.example.com/failure-probability", "value": "90", "effect": "NoExecute"}
    assert json.loads(key.removeprefix("what-if ")) == {"changes": [{"taint": change}], "until": None}
    assert parts[-1]["evicted"] == told["whatIf"]["evicted"]
    assert parts[-1]["evicted"]


def where_of(state: dict[str, Any]) -> dict[str, str]:
    """Return the node of each pod of a state; empty for one that waits."""
    pods = state["pods"]
    return {row[0]: pods["nodes"][row[2]] if row[2] >= 0 else "" for row in pods["rows"]}


def nodes_in(document: dict[str, Any]) -> dict[str, str]:
    """Return the node of each pod that a plan leaves on a node or waiting."""
    present = {"Bound", "Placed", "Evicting", "Pending"}
    return {f"{pod['namespace']}/{pod['name']}": pod["node"] for pod in document["pods"] if pod["state"] in present}


@pytest.mark.parametrize(
    ("at", "words"), [((), "after the changes"), (("--at", "5m"), "as of 300 s after the changes")]
)
def test_a_page_has_the_cluster_before_the_changes_and_after_them(at: tuple[str, ...], words: str) -> None:
    changes = ("--taint", TAINT, "--add-nodes", "1", "--like", "spot-1", *at)
    data = embedded(plan(*changes, "-o", "html"))
    told = json.loads(plan(*changes, "-o", "json").stdout)
    before, after = data["moments"]
    assert [before["words"], after["words"]] == ["before the changes", words]
    assert before["summary"] == told["whatIf"]["before"]
    assert after["summary"] == told["summary"]
    assert where_of(data["state"]) == nodes_in(json.loads(plan("-o", "json").stdout))
    assert where_of(after["state"]) == nodes_in(told)
    assert {row["name"] for row in after["state"]["nodes"]} == {node["name"] for node in told["nodes"]}
    # What differs, and nothing else, is marked.
    differences = told["whatIf"]["differences"]
    assert set(before["marks"]["leaving"]) == {one["pod"] for one in differences if "pod" in one}
    assert after["marks"]["landing"] == {one["newPod"]: one["newNode"] for one in differences if "newNode" in one}
    assert set(after["marks"]["pending"]) == {one["newPod"] for one in differences if not one.get("newNode")}
    assert before["marks"]["nodes"] == ["spot-1"]
    assert after["marks"]["nodes"] == ["spot-1", "spot-1-1"]
    # Each moment has its own waiting pods and nodes.
    assert before["answers"]["pending {}"][0]["pending"] == before["summary"]["pending"]
    assert data["answers"]["pending {}"][0]["pending"] == after["summary"]["pending"]
    taints = [answers["GET /api/node/spot-1"][0]["taints"] for answers in (before["answers"], data["answers"])]
    assert [[taint["value"] for taint in one] for one in taints] == [["3"], ["90"]]


def test_what_happens_anyway_is_a_moment_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(LEAVES_ANYWAY, "utf-8")
    arguments = [str(path), "--cordon", "other", "--at", "60s", "-o"]
    data = embedded(CliRunner().invoke(plan_command, [*arguments, "html"], standalone_mode=False))
    told = json.loads(CliRunner().invoke(plan_command, [*arguments, "json"], standalone_mode=False).stdout)
    before, without, after = data["moments"]
    assert without["words"] == "without the changes, 60 s later"
    assert [one["summary"]["pods"] for one in (before, without, after)] == [1, 1, 1]
    assert where_of(data["state"]) == {"default/short": "spot"}
    assert where_of(without["state"]) == where_of(after["state"]) == {}
    assert without["summary"] == told["whatIf"]["before"]
    assert before["marks"]["leaving"] == without["marks"]["leaving"] == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "as planned"),
        (("--at", "10m"), "as planned, 600 s from now"),
        (("--at", "1500ms"), "as planned, 1.5 s from now"),
        (("--rollout", "deployment/web"), "as planned"),
    ],
)
def test_without_changes_there_is_one_moment(options: tuple[str, ...], words: str) -> None:
    data = embedded(plan(*options, "-o", "html"))
    (moment,) = data["moments"]
    assert moment["words"] == words
    assert moment.keys() == {"id", "title", "words", "summary"}


def test_explanations_say_that_they_are_of_the_plan() -> None:
    assert [one["words"] for one in embedded(explain("node/spot-1", "-o", "html"))["moments"]] == ["as planned"]


def test_a_page_compares_two_inputs(tmp_path: Path) -> None:
    for name, replicas in (("old", 1), ("new", 3)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "all.yaml").write_text(TWO_INPUTS.replace("REPLICAS", str(replicas)), "utf-8")
    sides = ["--diff", str(tmp_path / "old"), str(tmp_path / "new"), "-o", "html"]
    data = embedded(CliRunner().invoke(plan_command, sides, standalone_mode=False))
    before, after = data["moments"]
    assert [len(where_of(state)) for state in (data["state"], after["state"])] == [1, 3]
    assert len(after["marks"]["landing"]) == 2
    assert data["state"]["source"]["name"] == "old, new"
    assert not any(key.startswith("what-if") for key in data["answers"])
    assert before["title"] == "Before the changes"


def test_a_copy_that_cannot_be_made_leaves_the_map_after_the_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise CopyFailed("no more processes")

    monkeypatch.setattr("moorage.dashboard.export.command_pages.Copy", fails)
    data = embedded(plan("--taint", TAINT, "-o", "html"))
    (moment,) = data["moments"]
    assert moment["words"] == "after the changes"
    assert where_of(data["state"]) == nodes_in(json.loads(plan("--taint", TAINT, "-o", "json").stdout))


def test_a_mere_rollout_leaves_the_map_as_it_is() -> None:
    rolled = embedded(plan("--rollout", "deployment/web", "-o", "html"))
    assert rolled["state"]["pods"] == embedded(plan("-o", "html"))["state"]["pods"]
    assert rolled["answers"]["plan {}"][0]["rollout"]["completes"]


@pytest.mark.parametrize(("options", "end"), [((), 0.0), (("--at", "10m"), 600.0)])
def test_the_saved_page_has_the_story_until_the_plan(options: tuple[str, ...], end: float) -> None:
    *told, last = embedded(plan(*options, "--taint", TAINT, "-o", "html"))["answers"]["story {}"]
    placed = {entry[2] for part in told for entry in part["entries"] if entry[1] == "placed"}
    pods = json.loads(plan("-o", "json").stdout)["pods"]
    assert placed == {f"{pod['namespace']}/{pod['name']}" for pod in pods if pod["state"] == "Placed"}
    assert last["end"] >= end


def test_a_change_that_cannot_be_made_is_wrong_usage() -> None:
    result = plan("--drain", "n99", "-o", "html")
    assert "n99" in str(result.exception)
    assert not result.stdout


@pytest.mark.parametrize(("options", "code"), [((), 0), (("--strict",), 1)])
def test_html_output_has_the_exit_codes_of_other_formats(options: tuple[str, ...], code: int) -> None:
    assert plan(*options, "-o", "html").return_value == code
    assert explain(PENDING, *options, "-o", "html").return_value == code


@pytest.mark.parametrize(
    ("target", "options", "view"),
    [
        (PENDING, (), "#/pending?pod=deployment%2Fversions%2Fnext-release"),
        ("deploy/next-release", ("-n", "versions"), "#/pending?pod=deployment%2Fversions%2Fnext-release"),
        ("statefulset/database", ("--alone",), "#/pending?pod=statefulset%2Fdatabase"),
        ("versions/database-0", ("-n", "versions"), "#/pending?pod=versions%2Fdatabase-0"),
        (PENDING, ("--node", "spot-1"), "#/pending?pod=deployment%2Fversions%2Fnext-release&node=spot-1"),
    ],
)
def test_the_page_explains_the_pod_as_the_other_forms_do(target: str, options: tuple[str, ...], view: str) -> None:
    data = embedded(explain(target, *options, "-o", "html"))
    told = json.loads(explain(target, *options, "-o", "json").stdout)
    assert data["view"] == view
    asked = dict(part.split("=") for part in view.partition("?")[2].replace("%2F", "/").split("&"))
    key = f"explain {json.dumps(asked, sort_keys=True, separators=(',', ':'))}"
    assert data["answers"][key][0]["explanation"] == told


def test_a_node_has_its_page() -> None:
    data = embedded(explain("node/spot-1", "-o", "html"))
    told = json.loads(explain("node/spot-1", "-o", "json").stdout)
    assert data["view"] == "#/map?node=spot-1"
    assert data["answers"]['node {"alone":false,"node":"spot-1"}'][0]["explanation"] == told


@pytest.mark.parametrize("target", ["nope", "node/nope"])
def test_a_missing_target_is_reported_in_one_line(target: str) -> None:
    result = explain(target, "-o", "html")
    assert result.return_value == 2
    assert not result.stdout
    assert result.stderr.startswith("moorage: there is no ")


def test_a_copy_that_fails_is_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CopyFailed, match=r"^unexpected error: ZeroDivisionError: "):
        in_fork(lambda: 1 // 0)
    with pytest.raises(CopyFailed, match="was killed"):
        in_fork(lambda: os.kill(os.getpid(), signal.SIGKILL))
    assert in_fork(lambda: [1, "two"]) == [1, "two"]
    assert not capfd.readouterr().err
