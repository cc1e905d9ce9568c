"""The forms of a plan: every one complete, none fooled by names, long lists cut short."""

import json
import re
from typing import Any

import pytest
import yaml
from tests.unit.plan.planning import Plan, node, pod, running, workload

from moorage.plan.difference.difference import Difference
from moorage.plan.node_changes import TaintChange
from moorage.plan.report.grouping import average, by_reason, by_workload, fullest_nodes, histogram, names
from moorage.plan.report.markdown import MarkdownReport
from moorage.plan.report.plain import as_json, as_yaml, plain
from moorage.plan.report.text import TextReport
from moorage.plan.rollout import Rollout
from moorage.plan.what_if import Changes

ESCAPE = "\x1b["


def text_of(plan: Plan, difference: Difference | None = None, rollout: Rollout | None = None, **how: Any) -> str:
    report = TextReport(**({"colour": False} | how))
    return "\n".join(report.lines(plan.outcome, difference, rollout))


def sample() -> Plan:
    return Plan(
        node("n1"),
        workload("Deployment", "web", replicas=2),
        running("old", "n1", cpu="100m"),
        pod("huge", "99"),
        pod("BAD"),
    )


def test_notes_that_are_sentences_of_their_own_follow_a_colon() -> None:
    lost = pod("a", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "lost"}}], priorityClassName="high")
    lost["metadata"]["namespace"] = "gone"
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"}}
    claim["spec"] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    text = text_of(Plan(node("n1"), lost, claim), width=400)
    assert "Pod gone/a: namespace gone is not in the input" in text
    assert "Pod gone/a: PriorityClass high is not in the input" in text
    assert "Pod gone/a uses claim lost, which is not in the input" in text


def test_text_has_everything() -> None:
    text = text_of(sample())
    assert "Deployment default/web  2 placed" in text
    assert "Unschedulable: 0/1 nodes are available: 1 Insufficient cpu." in text.replace("\n      ", " ")
    assert re.search(r"n1  CPU \[######\.\.\.\.\]  52 %  memory \[\.{10}\]   0 %  pods 3/20", text)
    assert 'Pod "BAD" is invalid' in text
    assert text.endswith("5 pods on 1 node: 2 placed, 1 already there, 1 Pending, 1 refused.")
    assert "old" not in text.split("Nodes")[0]
    assert "default/old" in text_of(sample(), everything=True)


def test_colours_only_if_asked_for() -> None:
    plan = sample()
    assert ESCAPE not in text_of(plan)
    coloured = text_of(plan, colour=True)
    assert ESCAPE in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == text_of(plan)


@pytest.mark.parametrize("width", [40, 60, 100, 200])
def test_reasons_are_wrapped_to_the_terminal(width: int) -> None:
    pending = text_of(sample(), width=width).split("Pending\n")[1].split("\n\n")[0]
    assert all(len(line) <= width for line in pending.split("\n"))


def test_long_lists_are_cut_and_all_prints_them() -> None:
    plan = Plan(*(node(f"n{i:02}", cpu="2") for i in range(40)), *(pod(f"p{i:02}", "1500m") for i in range(40)))
    short, full = text_of(plan), text_of(plan, everything=True)
    assert "… 40 nodes in all (--all lists them)" in short
    assert "The 12 fullest of 40 nodes" in short
    assert "the other 28: CPU 28 below 90 %; memory 28 below 25 %" in short
    assert len(short.split("\n")) < 40 < len(full.split("\n"))
    assert all(f"default/p{i:02}" in full for i in range(40))


def test_what_if_in_text() -> None:
    plan = Plan(node("n1"), workload("Deployment", "web"), pod("bare"))
    difference = plan.what_if(Changes(taints=(TaintChange("n1", "x", "y", "NoExecute"),)), node("n2", cpu="1"))
    text = text_of(plan, difference)
    assert text.startswith("What if\n  taint node n1 with x=y:NoExecute\n")
    assert "Deployment default/web  1 pod leaves n1 at once → n2\n    taint: x=y is not tolerated" in text
    assert "default/bare leaves n1 at once → not replaced: no controller" in text
    assert text.endswith("\n\n1 pod moves, 1 is evicted and not replaced.")
    assert "Before: 2 pods on 1 node: 2 placed.\nAfter:  3 pods on 2 nodes: 1 placed, 2 evicted.\n" in text
    each = text_of(plan, difference, everything=True)
    assert re.search(r"0 s  default/web-\w+-\w+ leaves n1 → n2 as default/web-\w+-\w+", each)
    calm = text_of(plan, plan.what_if())
    assert calm.endswith("No changes: every pod ends as it does without the change.")


def test_a_rollout_in_text_and_markdown() -> None:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
    rules = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    plan = Plan(node("n1"), workload("Deployment", "web", pods=rules))
    stopped = plan.rollout("web")
    for text in (text_of(plan, rollout=stopped), "\n".join(MarkdownReport().lines(plan.outcome, rollout=stopped))):
        assert "It stops" in text
        assert "matchLabelKeys:" in text
        assert "- pod-template-hash" in text
    free = Plan(node("n1"), workload("Deployment", "web", "10m", replicas=12))
    completed = free.rollout("web")
    shown = text_of(free, rollout=completed)
    assert "It completes after" in shown
    assert "steps like these" in text_of(Plan(node("n1")), rollout=_long_rollout())


def test_a_rollout_is_the_answer_and_the_plan_before_it_is_not() -> None:
    plan = Plan(node("n1"), workload("Deployment", "web"), pod("huge", "99"))
    rollout = plan.rollout("web")
    titles = ("Placements", "Pending", "Nodes")
    assert [title for title in titles if f"\n{title}\n" in f"\n{text_of(plan, rollout=rollout)}"] == []
    assert all(f"\n{title}\n" in text_of(plan, rollout=rollout, everything=True) for title in titles)


def _long_rollout() -> Rollout:
    plan = Plan(
        node("n1", cpu="9"),
        workload(
            "Deployment", "web", "10m", replicas=15, strategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
        ),
    )
    return plan.rollout("web")


def test_json_and_yaml_are_the_same_data() -> None:
    plan = sample()
    rollout = plan.rollout("web")
    difference = plan.what_if(Changes(drains=("n1",)))
    document = plain(plan.outcome, difference, rollout)
    assert json.loads(as_json(document)) == yaml.safe_load(as_yaml(document)) == document
    assert document["summary"]["pending"] == 3
    assert document["whatIf"]["before"]["pending"] == 1
    assert document["rollout"]["completes"] is True
    note, *drained = document["notes"]
    assert note["level"] == "error"
    assert note["line"] > 1
    assert all("kubectl drain n1 refuses without --force" in one["message"] for one in drained)


def test_json_has_one_pod_a_line() -> None:
    lines = as_json(plain(sample().outcome)).split("\n")
    assert sum('"state":' in line for line in lines) == 5


def test_markdown_is_a_page_and_escapes_its_cells() -> None:
    text = "\n".join(MarkdownReport().lines(sample().outcome))
    assert text.startswith("# Plan\n")
    assert "| Deployment default/web | n1 | 2 |" in text
    assert "## Pending" in text
    assert "## Notes" in text
    evil = Plan(node("n1"), pod("a", nodeSelector={"x": "y"}, schedulerName="a|b<script>*"))
    row = next(line for line in MarkdownReport().lines(evil.outcome) if "NoScheduler" in line or "refused" in line)
    assert "<script>" not in row
    assert "1 pod on 1 node: **0 placed**, **1 refused**." in "\n".join(MarkdownReport().lines(evil.outcome))


def test_names_from_files_cannot_command_the_terminal() -> None:
    plan = Plan(node("n1"), pod("a", schedulerName="\x1b[31mred"))
    assert ESCAPE not in text_of(plan)


def test_groups() -> None:
    plan = Plan(node("n1"), workload("Deployment", "big", "9", replicas=9), pod("a"))
    (group,) = by_reason(plan.outcome.pending)
    assert len(group.pods) == 9
    assert names(group.pods, everything=False).endswith("and 5 more")
    assert "more" not in names(group.pods, everything=True)
    assert [one.counts for one in by_workload(plan.outcome, everything=False)] == ["1 placed", "9 Pending"]
    assert fullest_nodes(plan.outcome.nodes, everything=False) == ("Nodes", plan.outcome.nodes, [])
    assert histogram(plan.outcome.nodes, "cpu") == "1 below 50 %"
    assert average(plan.outcome.nodes, "cpu") == 25
    assert average([], "cpu") == 0


def test_a_rolling_update_is_no_eviction() -> None:
    plan = Plan(node("n1", cpu="8"), workload("Deployment", "web", replicas=2))
    changed = workload("Deployment", "web", replicas=2)
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = "i:2"
    difference = plan.what_if(Changes(files=("f",)), changed)
    assert len(difference.replaced) == 2
    assert not difference.evicted
    for text in (text_of(plan, difference), "\n".join(MarkdownReport().lines(plan.outcome, difference, None))):
        assert "Replaced by a rolling update" in text
        assert "Evicted" not in text


def claiming(name: str) -> dict[str, Any]:
    return pod(name, resourceClaims=[{"name": "gpu", "resourceClaimName": f"{name}-gpu"}])


def test_pending_pods_are_grouped_by_reason_and_workload() -> None:
    plan = Plan(
        node("n1"),
        workload("Deployment", "big", "9", replicas=9),
        workload("StatefulSet", "huge", "9"),
        *(pod(f"p{i}", "9") for i in range(7)),
    )
    pending = text_of(plan, width=140).split("Pending\n", 1)[1].split("\n\n")[0]
    assert re.sub(r"big-\w+-\w+", "big-x", pending).split("\n") == [
        "  7 pods: default/p0, default/p1, default/p2, default/p3 and 3 more",
        "  StatefulSet default/huge  1 pod: huge-0",
        "  Deployment default/big  9 pods: big-x, big-x, big-x, big-x and 5 more",
        "    Unschedulable: 0/1 nodes are available: 1 Insufficient cpu.",
    ]
    assert "preemption: 0/1 nodes are available" in text_of(plan, everything=True)


def test_pods_whose_messages_differ_by_their_names_are_one_group() -> None:
    plan = Plan(node("n1"), claiming("a"), claiming("b"))
    assert len({line.message for line in plan.outcome.pending}) == 2
    (group,) = by_reason(plan.outcome.pending)
    assert [line.name for line in group.pods] == ["a", "b"]


def gpu_node(name: str) -> dict[str, Any]:
    made = node(name)
    made["status"]["capacity"]["nvidia.com/gpu"] = "4"
    return made


def test_totals_and_tables_have_extended_resources() -> None:
    gpu = {"requests": {"nvidia.com/gpu": "3"}, "limits": {"nvidia.com/gpu": "3"}}
    trainer = pod("train", containers=[{"name": "c", "image": "i", "resources": gpu}])
    plan = Plan(gpu_node("g1"), gpu_node("g2"), node("n1"), trainer)
    assert "% requested; nvidia.com/gpu 3/8\n" in text_of(plan)
    assert max(plan.outcome.nodes, key=lambda line: line.fullest).fullest == 75
    page = "\n".join(MarkdownReport().lines(plan.outcome))
    assert "| node | CPU | memory | pods | other resources |" in page
    assert "| nvidia.com/gpu 3/4 |" in page
    assert "% requested; nvidia.com/gpu 3/8." in page


def test_refusals_carry_the_hints_of_the_linter() -> None:
    comparing: dict[str, Any] = {"tolerations": [{"key": "sla", "operator": "Gt", "value": "950"}]}
    plan = Plan(
        node("n1"), pod("api", **comparing), pod("web", **comparing), pod("old", tolerations=[{"effect": "No"}])
    )
    text = " ".join(text_of(plan).split())
    assert text.count("--feature-gates=TaintTolerationComparisonOperators=true") == 1
    assert "hint: 2 objects: needs --feature-gates=TaintTolerationComparisonOperators=true" in text
    notes = plain(plan.outcome)["notes"]
    assert notes[0]["hint"].startswith("needs --feature-gates=TaintTolerationComparisonOperators=true")
    assert "(hint: needs --feature-gates=" in "\n".join(MarkdownReport().lines(plan.outcome))


def test_notes_without_hints_are_the_same_data_as_ever() -> None:
    (note,) = plain(Plan(node("n1"), pod("BAD")).outcome)["notes"]
    assert set(note) == {"level", "object", "message", "file", "line"}


def test_long_tables_fold_in_markdown_but_not_what_is_wrong() -> None:
    plan = Plan(*(node(f"n{i:02}", cpu="2") for i in range(20)), *(pod(f"p{i}", f"{9 + i}") for i in range(12)))
    page = "\n".join(MarkdownReport(everything=True).lines(plan.outcome))
    pending, nodes = page.split("## Pending")[1].split("## Nodes")
    assert "<details>" not in pending
    assert "<details><summary>20 rows</summary>\n\n| node |" in nodes
    assert nodes.count("<details>") == nodes.count("</details>") == 1


@pytest.mark.parametrize(
    ("number", "lines"),
    [
        (
            2,
            [
                "Deployment default/w0  1 pod Pending: Unschedulable: ",
                "Deployment default/w1  1 pod Pending: Unschedulable: ",
            ],
        ),
        (9, ["9 pods of 9 workloads  Pending: Deployment default/w0, Deployment default/w1, "]),
    ],
)
def test_what_waits_anyway_is_short(number: int, lines: list[str]) -> None:
    plan = Plan(node("n1"), *(workload("Deployment", f"w{index}", cpu="99") for index in range(number)))
    difference = plan.what_if(Changes(cordons=("n1",)))
    text = text_of(plan, difference, width=300)
    shown = text.split("Anyway (also without the change)\n")[1].split("\n\n")[0].splitlines()
    assert [line.strip()[: len(start)] for line, start in zip(shown, lines, strict=True)] == lines
    everything = text_of(plan, difference, width=300, everything=True)
    assert everything.count("1 pod Pending: Unschedulable: ") == number
