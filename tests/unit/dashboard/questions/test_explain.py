"""The questions `pending`, `explain`, `explain-pending` and `node`: they say what the commands say."""

from typing import Any

import pytest
import yaml
from tests.unit.plan.planning import Raw, node, pod, running, workload, written

from moorage.dashboard.questions import QUESTIONS, Base, pending
from moorage.dashboard.questions.base import parts_of
from moorage.dashboard.questions.explain import MAX_NAMES, MAX_ROWS
from moorage.dashboard.questions.pending import MAX_PODS
from moorage.lint.sources import Source, sources_of
from moorage.model.gates import gates_from
from moorage.plan.explain.explanation import explain_pod, plain
from moorage.plan.explain.node import explain_node, plain_node
from moorage.plan.explain.target import find_target
from moorage.plan.planner import Planner, Settings
from moorage.plan.report.plain import as_data
from moorage.plan.what_if import Changes

_EVERY = {"AllAlpha": True, "AllBeta": True}
_LOW, _HIGH = ([{"key": "level", "value": value, "effect": "NoSchedule"}] for value in ("5", "9"))
_BELOW = {"key": "level", "operator": "Lt", "value": "5", "effect": "NoSchedule"}
_WEB = workload("Deployment", "web", replicas=3, cpu="3", pods={"tolerations": [_BELOW]})


def planner_of(*documents: Raw | str) -> Planner:
    planner = Planner(Settings(gates_from(_EVERY)))
    paths = [one for one in documents if isinstance(one, str)]
    sources: list[Source] = list(sources_of(paths)) if paths else written(*documents)
    planner.load(sources)
    return planner


def built(*documents: Raw | str) -> Base:
    planner = planner_of(*documents)
    return Base(planner, planner.build())


def settled(*documents: Raw | str) -> Base:
    planner = planner_of(*documents)
    simulation = planner.build()
    return Base(planner, simulation, planner.plan(simulation))


def asked(question: str, base: Base, **arguments: Any) -> dict[str, Any]:
    (part,) = parts_of(QUESTIONS[question], base, arguments)
    return part


def test_pods_that_wait_are_grouped_by_reason_and_shape() -> None:
    many = workload("Deployment", "many", replicas=MAX_PODS + 5, cpu="9")
    other = workload("Deployment", "other", replicas=2, cpu="9")
    told = asked("pending", settled(node("n1"), many, other, pod("bare", cpu="8"), pod("fits")))
    assert (told["pending"], told["placed"], told["leftOut"]) == (MAX_PODS + 8, 1, 0)
    first, *rest = told["groups"]
    assert (first["count"], len(first["pods"]), first["morePods"]) == (MAX_PODS + 5, MAX_PODS, 5)
    assert first["workloads"] == ["Deployment default/many"]
    assert first["short"] == "0/1 nodes are available: 1 Insufficient cpu."
    assert first["full"].startswith("0/1 nodes are available: 1 Insufficient cpu. preemption: ")
    # Labels differ, so that other's pods have another shape; a bare pod asks for less.
    assert [(group["count"], group["example"]) for group in rest][1] == (1, "default/bare")


def test_a_group_has_the_sentence_of_its_pods() -> None:
    """Groups, explanations and the command begin with the same words, also for pods that are not looked at."""
    ordered = workload("StatefulSet", "ordered", replicas=2, cpu="9")
    held, foreign = pod("held", schedulingGates=[{"name": "g"}]), pod("foreign", schedulerName="other")
    documents = (node("n1", taints=_LOW), node("n2", "1"), _WEB, ordered, held, foreign, pod("bare", "8"))
    groups = asked("pending", settled(*documents))["groups"]
    sentences = {group["example"]: group["sentence"] for group in groups}
    assert len(sentences) == 6
    assert all(sentences.values())
    for example, sentence in sentences.items():
        assert asked("explain-pending", settled(*documents), pod=example)["explanation"]["sentence"] == sentence


def test_only_so_many_nodes_are_asked_for_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "_MAX_ASKED", 2)
    groups = asked("pending", settled(node("n1"), pod("a", "8"), pod("b", "9"), pod("c", "10")))["groups"]
    assert [bool(group["sentence"]) for group in groups] == [True, True, False]


def test_pods_of_a_daemon_set_are_one_group() -> None:
    """Each is for a node of its own, so that no two have the same shape."""
    nodes = [node(f"n{number}", "1") for number in range(3)]
    told = asked("pending", settled(*nodes, workload("DaemonSet", "logs", cpu="2")))
    ((count, workloads),) = [(group["count"], group["workloads"]) for group in told["groups"]]
    assert (count, workloads) == (3, ["DaemonSet default/logs"])
    sentence = "Is only for node n0, and fits there but for cpu (needs 2, 1 free); 2 more like it"
    assert told["groups"][0]["sentence"] == sentence


@pytest.mark.parametrize("name", ["default/web", "deployment/default/web", "pod/bare"])
def test_the_explanation_is_that_of_the_command(name: str) -> None:
    documents = (node("n1", taints=_LOW), node("n2", "1"), _WEB, pod("bare", "8"), pod("web"))
    told = asked("explain", built(*documents), pod=name)
    planner = planner_of(*documents)
    simulation = planner.build()
    expected = explain_pod(simulation, planner.inventory, find_target(simulation, planner.inventory, name))
    assert as_data(told["explanation"]) == as_data(plain(expected))


def test_the_matrix_has_every_refusal_of_every_node() -> None:
    documents = (node("n1", "1", taints=_LOW), node("n2", "1", taints=_LOW), node("n3", taints=_HIGH), node("n4"), _WEB)
    told = asked("explain", built(*documents), pod="deployment/web")
    matrix, explanation = told["matrix"], told["explanation"]
    refused = {tuple(group["nodes"]): group for group in explanation["refused"]}
    assert {tuple(row["nodes"]) for row in matrix["rows"]} == set(refused)
    for row in matrix["rows"]:
        group = refused[tuple(row["nodes"])]
        cells = {one["plugin"]: (one["reasons"], one["details"]) for one in group["refusals"]}
        assert {name: (cell["reasons"], cell["details"]) for name, cell in row["cells"].items()} == cells
        assert (row["distance"], row["fits"], row["count"]) == (group["distance"], False, len(group["nodes"]))
    assert [row["distance"] for row in matrix["rows"]] == sorted(row["distance"] for row in matrix["rows"])
    plugins = {one["name"]: one["checks"] for one in matrix["plugins"]}
    assert plugins["TaintToleration"]
    assert plugins["NodeResourcesFit"]
    assert not plugins["VolumeBinding"]
    assert set(cells) <= set(plugins)


def test_rows_that_differ_by_values_only_are_a_family() -> None:
    small = [node(f"n{cpu}", str(cpu)) for cpu in range(1, 5)]
    tainted = [node(f"t{cpu}", str(cpu), taints=_LOW) for cpu in (1, 2)]
    matrix = asked("explain", built(*small, *tainted, pod("p", cpu="8")), pod="default/p")["matrix"]
    rows, families = matrix["rows"], matrix["families"]
    members = [{name for row in rows if row["family"] == number for name in row["nodes"]} for number in (0, 1)]
    assert members == [{"n1", "n2", "n3", "n4"}, {"t1", "t2"}]
    assert [(one["rows"], one["count"], one["nearest"], one["furthest"]) for one in families] == [
        (4, 4, 1, 1),
        (2, 2, 2, 2),
    ]
    assert [one["ways"] for one in families] == [{"NodeResourcesFit": 4}, {"TaintToleration": 1, "NodeResourcesFit": 2}]
    assert set(families[0]["nodes"]) == members[0]


def test_nodes_that_fit_are_the_first_row() -> None:
    told = asked("explain", built(node("n1"), node("n2", taints=_LOW), pod("p")), pod="default/p")
    rows = told["matrix"]["rows"]
    assert [(row["nodes"], row["fits"]) for row in rows] == [(["n1"], True), (["n2"], False)]
    assert rows[0]["cells"] == {}


def test_a_pod_that_is_refused_beforehand_is_refused_by_every_node() -> None:
    claim: dict[str, Any] = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "missing"}}]}
    told = asked("explain", built(node("n1"), node("n2", taints=_LOW), pod("p", **claim)), pod="default/p")
    rows = told["matrix"]["rows"]
    assert told["explanation"]["rejection"]["plugin"] == "VolumeRestrictions"
    assert {name for row in rows for name in row["nodes"]} == {"n1", "n2"}
    assert all(row["cells"]["VolumeRestrictions"]["reasons"] for row in rows)


def test_a_large_matrix_is_cut() -> None:
    odd = [
        node(f"odd-{i}", taints=[{"key": "k", "value": f"v{i}", "effect": "NoSchedule"}]) for i in range(MAX_ROWS + 10)
    ]
    alike = [node(f"alike-{i}", taints=_LOW) for i in range(MAX_NAMES + 10)]
    matrix = asked("explain", built(*odd, *alike, pod("p")), pod="default/p", alone=True)["matrix"]
    assert len(matrix["rows"]) == MAX_ROWS
    assert (matrix["leftOutRows"], matrix["leftOutNodes"]) == (11, 11)
    assert (len(matrix["rows"][0]["nodes"]), matrix["rows"][0]["count"]) == (MAX_NAMES, MAX_NAMES + 10)
    assert sorted((family["rows"], family["count"]) for family in matrix["families"]) == [
        (1, MAX_NAMES + 10),
        (MAX_ROWS + 10, MAX_ROWS + 10),
    ]


def test_no_family_is_cut_from_a_large_matrix() -> None:
    """A family with more variants than there is room for leaves room for one that is further away."""
    near = [
        node(f"near-{i}", taints=[{"key": "k", "value": f"v{i}", "effect": "NoSchedule"}]) for i in range(MAX_ROWS + 1)
    ]
    far = [node("far", "1", taints=_LOW)]
    matrix = asked("explain", built(*near, *far, pod("p", cpu="2")), pod="default/p", alone=True)["matrix"]
    assert matrix["rows"][-1]["nodes"] == ["far"]
    assert [one["count"] for one in matrix["families"]] == [MAX_ROWS + 1, 1]
    assert (len(matrix["rows"]), matrix["leftOutRows"]) == (MAX_ROWS, 2)


def test_one_node_is_explained_in_full() -> None:
    told = asked("explain", built(node("n1", taints=_LOW), node("n2"), pod("p")), pod="default/p", node="n1")
    answers = {one["plugin"]: one["answer"] for one in told["explanation"]["column"]["plugins"]}
    assert answers["TaintToleration"] == "no"
    assert answers["NodeResourcesFit"] == "yes"


@pytest.mark.parametrize(
    "path", ["examples/cluster", "examples/rolling-update-with-match-label-keys", "examples/exclusive-tenants"]
)
def test_all_is_explained_alike_once_the_cluster_has_settled(path: str) -> None:
    base = settled(path)
    waiting = [group["example"] for group in asked("pending", base)["groups"]]
    workloads = {pod.workload.replace(" ", "/") for pod in base.plan.pods if pod.workload}
    for name in (*waiting[:3], *sorted(workloads)[:4]):
        at_once, in_turn = asked("explain-pending", settled(path), pod=name), asked("explain", built(path), pod=name)
        assert as_data(at_once) == as_data(in_turn)
    assert workloads or waiting


def test_pods_that_run_or_wait_for_victims_are_explained_alike() -> None:
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}
    urgent = pod("urgent", "4", priorityClassName="high")
    documents = (node("n1"), high, running("r", "n1"), running("s", "n1", cpu="2"), urgent, pod("late", "4"))
    for name in ("default/r", "default/late", "default/nothing"):
        at_once, in_turn = (
            asked(question, base(*documents), pod=name)
            for question, base in (("explain-pending", settled), ("explain", built))
        )
        assert as_data(at_once) == as_data(in_turn)
    assert asked("explain", built(*documents), pod="default/urgent")["explanation"]["preemption"]["victims"]
    assert asked("explain-pending", settled(*documents), pod="default/urgent")["ask"] == "explain"


def test_a_pod_that_gets_a_node_is_asked_about_elsewhere() -> None:
    assert asked("explain-pending", settled(node("n1"), pod("p")), pod="default/p") == {"ask": "explain", "done": True}


def test_the_node_question_answers_like_moorage_explain() -> None:
    documents = (node("n1", taints=_LOW), running("r", "n1"), pod("p"))
    planner = planner_of(*documents)
    expected = plain_node(explain_node(planner.build(), planner.inventory, "n1"))
    assert as_data(asked("node", built(*documents), node="n1")["explanation"]) == as_data(expected)


@pytest.mark.parametrize(
    ("question", "arguments", "message"),
    [
        ("explain", {"pod": "default/q"}, "there is no pod 'q'"),
        ("explain", {"pod": "default/p", "node": "n9"}, "there is no node 'n9'"),
        ("explain", {"pod": 3}, "explain takes"),
        ("explain", {"pod": "default/p", "alone": "yes"}, "explain takes"),
        ("node", {}, "node takes"),
        ("node", {"node": "n9"}, "there is no node 'n9' in the input"),
    ],
)
def test_what_makes_no_sense_is_said(question: str, arguments: dict[str, Any], message: str) -> None:
    assert message in asked(question, built(node("n1"), pod("p")), **arguments)["error"]


def test_a_daemon_set_is_explained_node_by_node() -> None:
    odd = [node(f"n{i}", taints=[{"key": f"k{i}", "effect": "NoSchedule"}]) for i in range(MAX_ROWS + 5)]
    alike = [node(f"a{i}") for i in range(MAX_NAMES + 5)]
    told = asked("explain", built(*odd, *alike, workload("DaemonSet", "w", "1")), pod="daemonset/w")
    first = told["explanation"]["groups"][0]
    assert (first["state"], first["count"], len(first["nodes"])) == ("Running", MAX_NAMES + 5, MAX_NAMES)
    assert (len(told["explanation"]["groups"]), told["leftOutRows"]) == (MAX_ROWS, 6)
    assert told["verdict"] == "every node that should run a pod does"


def test_pending_takes_no_arguments() -> None:
    assert "takes no arguments" in asked("pending", settled(node("n1")), pod="x")["error"]


def test_a_suggestion_changes_the_template_and_the_simulation_agrees() -> None:
    web = workload("Deployment", "web", replicas=1, cpu="3", pods={"tolerations": [_BELOW]})
    documents = (node("n1", taints=_LOW), web)
    told = asked("explain", built(*documents), pod="deployment/web")
    summaries = [one["summary"] for one in told["explanation"]["suggestions"]]
    remedy = told["remedies"][next(i for i, one in enumerate(summaries) if "Lt 5" in one or "threshold" in one)]
    assert remedy["verb"] == "patch"
    assert remedy["target"] == {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"}
    assert all(one["path"].startswith("/spec/template/spec/tolerations/0") for one in remedy["patch"])
    assert next(one["op"] for one in remedy["patch"]) == "test"
    base = settled(*documents)
    _, difference, _ = base.planner.what_if(base.simulation, base.plan, Changes(), written(remedy["manifest"]))
    assert {one.node for one in difference.placed} | {one.new_node for one in difference.departures} >= {"n1"}


def remedies(*documents: Raw | str, name: str = "default/p") -> dict[str, dict[str, Any]]:
    """What to do, by the kind of change."""
    told = asked("explain", built(*documents), pod=name)
    explanation = told["explanation"].get("pending") or told["explanation"]
    kinds = [one["kind"] for one in explanation["suggestions"]]
    return dict(zip(kinds, told.get("remedies") or [one["remedy"] for one in explanation["suggestions"]], strict=True))


def test_tolerations_are_added_to_a_pod_on_its_own_and_nothing_else_is_changed_in_it() -> None:
    found = remedies(node("n1", "4", taints=_LOW), node("n2", "1"), pod("p", "2", tolerations=[_BELOW]))
    (added,) = found["threshold"]["patch"]
    assert (added["op"], added["path"]) == ("add", "/spec/tolerations/-")
    assert found["threshold"]["target"]["kind"] == "Pod"
    lowered = found["resources"]
    assert "verb" not in lowered
    assert "recreate it" in lowered["note"]
    manifest = yaml.safe_load(lowered["manifest"])
    assert manifest["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "1"
    assert "uid" not in manifest["metadata"]
    assert "status" not in manifest


def test_gates_are_removed_from_the_pod_itself() -> None:
    gated = workload("Deployment", "web", pods={"schedulingGates": [{"name": "example.com/quota"}]}, replicas=1)
    told = asked("explain", built(node("n1"), gated), pod="deployment/web")
    assert "its workload would create it" in told["remedies"][0]["note"]
    (gate, removal) = remedies(node("n1"), pod("p", schedulingGates=[{"name": "q"}]))["schedulingGate"]["patch"]
    assert gate["value"] == [{"name": "q"}]
    assert removal == {"op": "remove", "path": "/spec/schedulingGates"}


def test_nodes_are_patched_by_what_kubectl_would_change() -> None:
    cordoned = node("n1")
    cordoned["spec"] = {"unschedulable": True, "podCIDR": "10.0.0.0/24"}
    found = remedies(cordoned, node("n2", taints=_HIGH), pod("p"))
    assert found["uncordon"]["command"] == "kubectl uncordon n1"
    assert [one["path"] for one in found["uncordon"]["patch"]] == ["/spec/unschedulable"] * 2
    assert found["nodeTaint"]["patch"][-1] == {"op": "remove", "path": "/spec/taints"}
    labelled = remedies(node("n1"), pod("p", nodeSelector={"zone": "a"}))["nodeLabel"]
    assert labelled["patch"] == [{"op": "add", "path": "/metadata/labels/zone", "value": "a"}]
    assert yaml.safe_load(labelled["manifest"])["metadata"]["labels"]["zone"] == "a"


@pytest.mark.parametrize(
    ("kind", "note", "verb"),
    [
        ("Job", "recreate the Job", ""),
        ("ReplicaSet", "A ReplicaSet keeps the pods it has", "patch"),
        ("StatefulSet", "", "patch"),
        ("DaemonSet", "", "patch"),
    ],
)
def test_what_other_workloads_need(kind: str, note: str, verb: str) -> None:
    more: dict[str, Any] = {} if kind in ("Job", "DaemonSet") else {"replicas": 1}
    made = workload(kind, "w", cpu="3", **more)
    remedy = remedies(node("n1", "2"), made, name=f"{kind.lower()}/w")["resources"]
    assert remedy.get("verb", "") == verb
    assert note in remedy.get("note", "")
    assert remedy["manifest"]


def test_several_changes_together_are_one_patch() -> None:
    web = workload("Deployment", "web", replicas=1, cpu="3", pods={"nodeSelector": {"zone": "a"}})
    told = asked("explain", built(node("n1", "2", taints=_LOW), web), pod="deployment/web")
    assert len(told["explanation"]["together"]["changes"]) > 1
    remedy = told["togetherRemedy"]
    paths = {one["path"].split("/")[4] for one in remedy["patch"]}
    assert remedy["verb"] == "patch"
    assert paths == {"nodeSelector", "containers", "tolerations"}
