"""The questions `plan` and `rows`."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from moorage.dashboard.questions import QUESTIONS, BadQuestion, Base, function_of
from moorage.dashboard.questions.base import Question, parts_of
from moorage.lint.sources import sources_of
from moorage.model.gates import all_gates
from moorage.plan.planner import Planner, Settings
from moorage.plan.report.plain import as_data, plain

CLUSTER = "examples/cluster"


def settled(*paths: str) -> Base:
    planner = Planner(Settings(all_gates()))
    planner.load(sources_of(paths))
    simulation = planner.build()
    return Base(planner, simulation, planner.plan(simulation))


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_question_has_a_function_that_answers_it(name: str) -> None:
    assert callable(function_of(name))


def test_the_plan_is_that_of_the_command() -> None:
    base = settled(CLUSTER)
    (part,) = parts_of(QUESTIONS["plan"], base, {})
    assert part.pop("done") is True
    assert part == plain(base.plan)


def test_rows_agree_with_the_plan() -> None:
    base = settled(CLUSTER)
    (part,) = parts_of(QUESTIONS["rows"], base, {})
    plan = as_data(base.plan)
    used = {one["name"]: one["resources"]["pods"]["requested"] for one in plan["nodes"]}
    assert {row["name"]: row["resources"]["pods"][0] for row in part["nodes"]} == used
    pods = part["pods"]
    where = {key: pods["nodes"][node] if node >= 0 else "" for key, _, node, *_ in pods["rows"]}
    assert where == {pod.key: pod.node for pod in base.plan.pods}
    assert sum(1 for node in where.values() if not node) == len(base.plan.pending) > 0
    workloads = {key: pods["workloads"][index] for key, index, *_ in pods["rows"]}
    assert workloads == {pod.key: pod.workload for pod in base.plan.pods}


SPOT = """
apiVersion: v1
kind: Node
metadata: {name: spot}
spec: {taints: [{key: fp, value: "3", effect: NoExecute}]}
status: {capacity: {cpu: "4", memory: 8Gi, pods: "110"}}
---
apiVersion: v1
kind: Pod
metadata: {name: leaves}
spec:
  nodeName: spot
  tolerations: [{key: fp, operator: Exists, effect: NoExecute, tolerationSeconds: 30}]
  containers: [{name: c, image: i}]
---
apiVersion: v1
kind: Pod
metadata: {name: stays}
spec:
  nodeName: spot
  tolerations: [{key: fp, operator: Exists}]
  containers: [{name: c, image: i}]
"""


def test_rows_details_and_the_plan_of_files_have_deadlines(tmp_path: Path) -> None:
    path = tmp_path / "spot.yaml"
    path.write_text(SPOT, encoding="utf-8")
    base, why = settled(str(path)), "fp=3 is tolerated for 30 s"
    (part,) = parts_of(QUESTIONS["rows"], base, {})
    assert [row[5:] for row in part["pods"]["rows"]] == [[(30, why)], []]
    (page,) = parts_of(QUESTIONS["details"], base, {"node": "spot"})
    assert {key: deadline for key, _, _, _, deadline in page["pods"]} == {
        "default/leaves": (30, why),
        "default/stays": None,
    }
    (pod,) = parts_of(QUESTIONS["details"], base, {"pod": "default/leaves"})
    assert pod["deadline"] == (30, why)
    (plan,) = parts_of(QUESTIONS["plan"], base, {})
    gone = next(pod for pod in plan["pods"] if pod["name"] == "leaves")
    assert gone["deadline"] == {
        "text": f"evicted after 30 s: {why}",
        "seconds": 0,
        "because": why,
        "then": "it is not replaced: it has no controller",
    }


def test_age_is_unknown_for_a_node_without_creation_timestamp(tmp_path: Path) -> None:
    path = tmp_path / "nodes.json"
    dated = {"name": "dated", "uid": "u", "creationTimestamp": "2025-05-01T00:00:00Z"}
    nodes = [{"apiVersion": "v1", "kind": "Node", "metadata": metadata} for metadata in ({"name": "undated"}, dated)]
    path.write_bytes(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": nodes}))
    base = settled(str(path))
    (part,) = parts_of(QUESTIONS["rows"], base, {})
    assert {row["name"]: row["created"] for row in part["nodes"]} == {"undated": "", "dated": "2025-05-01T00:00:00Z"}
    (page,) = parts_of(QUESTIONS["details"], base, {"node": "undated"})
    assert page["created"] == ""


def test_what_makes_no_sense_is_an_error_part() -> None:
    def refuse(base: Base, arguments: dict[str, Any]) -> Any:
        yield {"half": 1}
        raise BadQuestion(f"no node {arguments['node']}")

    parts = list(parts_of(Question(refuse, False), settled(), {"node": "n9"}))
    assert parts == [{"half": 1}, {"error": "no node n9", "done": True}]


def test_the_last_part_is_done() -> None:
    def several(base: Base, arguments: dict[str, Any]) -> Any:
        yield {"one": 1}
        yield {"two": 2}

    assert list(parts_of(Question(several, False), settled(), {})) == [{"one": 1}, {"two": 2}, {"done": True}]


def test_a_plan_needs_a_settled_simulation() -> None:
    planner = Planner(Settings(all_gates()))
    (part,) = parts_of(QUESTIONS["plan"], Base(planner, planner.build()), {})
    assert part == {"error": "the cluster has not been planned", "done": True}


def test_refused_objects_are_named_with_the_rows(tmp_path: Path) -> None:
    (tmp_path / "nodes.yaml").write_text(
        "{apiVersion: v1, kind: Node, metadata: {name: good}}\n---\n"
        "{apiVersion: v1, kind: Node, metadata: {name: bad},"
        ' spec: {taints: [{key: k, value: "-5", effect: NoSchedule}]}}\n',
        "utf-8",
    )
    (part,) = parts_of(QUESTIONS["rows"], settled(str(tmp_path)), {})
    assert [row["name"] for row in part["nodes"]] == ["good"]
    ((what, why),) = part["refused"]
    assert (what, "taints[0].value" in why) == ("Node bad", True)
