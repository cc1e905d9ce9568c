"""The questions `tolerations`, `placement`, `move` and `room`: what the panel of a pod and the page of a node ask."""

import json
from typing import Any

import pytest
from tests.unit.plan.planning import LivePlan, Plan, Raw, node, pod, running, workload

from moorage.dashboard.questions import QUESTIONS, Base
from moorage.dashboard.questions.base import parts_of
from moorage.model.gates import gates_from
from moorage.plan.look import room
from moorage.plan.planner import Planner, Settings

GATES = {"AllAlpha": True, "AllBeta": True}
RISK = "risk"


def risky(value: str, effect: str = "NoExecute") -> list[Raw]:
    return [{"key": RISK, "value": value, "effect": effect}]


def below(value: str, **more: Any) -> Raw:
    return {"key": RISK, "operator": "Lt", "value": value, "effect": "NoExecute", **more}


def asked(question: str, base: Base, **arguments: Any) -> dict[str, Any]:
    """Return the answer as the page gets it."""
    (part,) = parts_of(QUESTIONS[question], base, arguments)
    answer: dict[str, Any] = json.loads(json.dumps(part))
    return answer


def settled(*documents: Raw) -> Base:
    plan = Plan(*documents, gates=GATES)
    return Base(plan.planner, plan.simulation, plan.outcome)


def built(*documents: Raw) -> Base:
    planner = LivePlan(*documents, gates=GATES).planner
    return Base(planner, planner.build())


def name_of(base: Base, workload_name: str) -> str:
    return next(line.key for line in base.plan.pods if line.workload.endswith(f"/{workload_name}"))


# -- tolerations ------------------------------------------------------------------------------------------------------


def test_each_toleration_has_the_taints_that_it_matches_and_the_inequality() -> None:
    base = settled(
        node("n1", taints=[*risky("3"), {"key": "old", "effect": "NoSchedule"}]),
        node("n2", taints=risky("4")),
        node("n3", taints=risky("4")),
        node("n4", taints=risky("9")),
        pod("web", tolerations=[below("5", tolerationSeconds=30), below("7"), {"key": "other", "operator": "Exists"}]),
    )
    told = asked("tolerations", base, pod="default/web", node="n1")
    first, second, third, *added = told["tolerations"]
    taint = "risk=3:NoExecute"
    assert first == {
        "toleration": "risk Lt 5:NoExecute",
        "seconds": 30,
        "here": [{"taint": taint, "why": "3 < 5 is true", "counts": True}],
        "otherTaints": 1,
        "otherNodes": 2,
        "never": "",
    }
    assert second["here"] == [{"taint": taint, "why": "3 < 7 is true", "counts": False}], "an earlier one counts"
    assert (third["toleration"], third["here"], third["otherNodes"]) == ("other", [], 0)
    assert [one["seconds"] for one in added] == [300, 300], "those that admission adds"
    (untolerated,) = told["untolerated"]
    assert untolerated["taint"] == "old:NoSchedule"
    assert "no toleration is for its key and effect" in untolerated["why"]


def test_a_toleration_whose_gate_is_off_says_so() -> None:
    plan = Plan(node("n1", taints=risky("3")), running("web", "n1", tolerations=[below("5")]))
    told = asked("tolerations", Base(plan.planner, plan.simulation, plan.outcome), pod="default/web", node="n1")
    assert "TaintTolerationComparisonOperators" in told["tolerations"][0]["never"]
    assert told["tolerations"][0]["here"] == []


@pytest.mark.parametrize("toleration", [{"operator": "Exists"}, {"key": RISK, "operator": "Exists"}])
def test_tolerations_of_any_value_and_of_any_taint(toleration: Raw) -> None:
    base = settled(node("n1", taints=risky("3")), pod("web", tolerations=[toleration]))
    (first, *_) = asked("tolerations", base, pod="default/web", node="n1")["tolerations"]
    assert first["toleration"] == toleration.get("key", "any taint")
    assert first["here"][0]["why"] == ("any value" if "key" in toleration else "any taint")


# -- why here ---------------------------------------------------------------------------------------------------------


def test_a_pod_that_the_plan_places_is_explained_by_the_decision_itself() -> None:
    documents = (node("n1", "2"), node("n2", "8"), pod("first", "1"), pod("second", "1"))
    plan = Plan(*documents, gates=GATES)
    for name, where in plan.where.items():
        told = asked("placement", built(*documents), pod=f"default/{name}")
        assert told["isDecision"]
        assert told["node"] == where == told["scored"][0]["node"]
        assert told["sentence"].startswith(f"{where} has the highest score of the 2 nodes that take it, ")
        assert told["scored"][0]["total"] == sum(told["scored"][0]["scores"].values())
        assert told["weights"]["TaintToleration"] == 3


def test_a_pod_that_runs_is_scored_as_the_cluster_is_now() -> None:
    documents = (node("n1", "2"), node("n2", "8"), running("web", "n1"))
    told = asked("placement", built(*documents), pod="default/web")
    assert not told["isDecision"]
    own, best = told["scored"]
    assert (own["node"], own["rank"], best["node"], best["rank"]) == ("n1", 2, "n2", 1)
    assert told["sentence"] == (
        f"As the cluster is now, n2 would be chosen with {best['total']} points: n1 has {own['total']}, "
        "place 2 of the 2 nodes that take it."
    )


def test_scores_do_not_count_the_pod_itself() -> None:
    """A node that the pod fills takes it again: it is scored as if it were not there."""
    told = asked("placement", built(node("n1", "1"), running("web", "n1")), pod="default/web")
    assert told["sentence"] == "As the cluster is now, n1 is the only one of 1 node that takes it."
    assert told["refusals"] == []


def test_a_node_that_would_not_take_the_pod_again_is_told_with_the_inequality() -> None:
    there = running("web", "n1", tolerations=[below("5")])
    told = asked("placement", built(node("n1", taints=risky("9")), node("n2"), there), pod="default/web")
    assert told["sentence"].startswith(
        "As the cluster is now, n1 would not take it again (taint risk=9 is not tolerated"
    )
    assert "9 < 5 is false" in told["sentence"]
    assert told["sentence"].endswith("it would go to n2.")
    alone = asked("placement", built(node("n1", taints=risky("9")), there), pod="default/web")
    assert alone["sentence"].endswith("no node would take it.")


def test_nodes_with_equal_scores_are_told() -> None:
    told = asked("placement", built(node("n1"), node("n2"), node("n3"), pod("web")), pod="default/web")
    assert told["tied"] == 3
    assert "3 of the 3 nodes that take it have the highest score" in told["sentence"]


def test_a_pod_of_another_scheduler_and_one_of_a_kubelet_are_not_scored() -> None:
    foreign = running("web", "n1", schedulerName="other")
    told = asked("placement", built(node("n1"), foreign), pod="default/web")
    assert (told["sentence"], told["scored"]) == ("Scheduler other chose the node, whose rules are not known here.", [])
    mirror = running("static", "n1", metadata={"annotations": {"kubernetes.io/config.mirror": "x"}})
    told = asked("placement", built(node("n1"), mirror), pod="default/static")
    assert told["sentence"] == "Its kubelet runs it from a file: no scheduler chose the node."


# -- what if it had to move -------------------------------------------------------------------------------------------


def budget(least: int) -> Raw:
    selector = {"matchLabels": {"app": "web"}}
    about = {"minAvailable": least, "selector": selector}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"}, "spec": about}


def test_a_successor_lands_on_another_node() -> None:
    base = settled(node("n1"), node("n2"), workload("Deployment", "web", replicas=1))
    key = name_of(base, "web")
    told = asked("move", base, pod=key)
    other = "n2" if told["node"] == "n1" else "n1"
    assert told["sentence"] == f"Deployment default/web would make another one on {other}."
    assert (told["newNode"], told["isPending"]) == (other, False)
    assert told["changes"] == [{"cordon": {"nodes": [told["node"]]}}, {"evict": key}]


@pytest.mark.parametrize(
    ("documents", "sentence"),
    [
        (
            [node("n1"), workload("Deployment", "web", replicas=1)],
            "Deployment default/web would make another one, which would be Pending: The only node is cordoned.",
        ),
        ([node("n1"), workload("DaemonSet", "web")], "DaemonSet default/web would make it again on the same node."),
        ([node("n1"), node("n2"), pod("web")], "No controller makes it again: it is gone."),
        (
            [node("n1"), node("n2"), workload("Deployment", "web", replicas=1), budget(1)],
            "The eviction is refused: Cannot evict pod as it would violate the pod's disruption budget; "
            "PodDisruptionBudget default/web: minAvailable 1, 1 of 1 healthy, 0 disruptions allowed.",
        ),
    ],
)
def test_what_becomes_of_a_pod_that_has_to_move(documents: list[Raw], sentence: str) -> None:
    base = settled(*documents)
    key = next(line.key for line in base.plan.pods if line.node)
    assert asked("move", base, pod=key)["sentence"] == sentence


def test_pods_of_lower_priority_that_make_room_are_counted() -> None:
    low = [running(f"low-{number}", "n2", cpu="2") for number in range(2)]
    high = workload("Deployment", "web", "2", {"priority": 1000, "priorityClassName": "high"}, replicas=1)
    urgent: Raw = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    urgent |= {"metadata": {"name": "high"}, "value": 1000}
    base = settled(node("n1"), node("n2"), *low, urgent, high)
    key = name_of(base, "web")
    told = asked("move", base, pod=key)
    assert told["sentence"] == (
        "Deployment default/web would make another one on n2, for which 1 pod of lower priority would go."
    )


def test_a_pod_that_waits_or_is_not_there_cannot_move() -> None:
    base = settled(node("n1"), pod("large", "100"))
    assert asked("move", base, pod="default/large")["error"] == "pod 'default/large' is not on a node"
    assert "is not in the simulated cluster" in asked("move", base, pod="default/none")["error"]


# -- what would still fit ---------------------------------------------------------------------------------------------


def test_what_fits_on_a_node_is_counted_by_the_filters() -> None:
    base = settled(
        node("n1", "4", taints=risky("3", "NoSchedule")),
        node("n2", "4"),
        workload("Deployment", "web", "500m", {"tolerations": [below("5") | {"effect": "NoSchedule"}]}, replicas=1),
        workload("Deployment", "other", "500m", replicas=1),
        workload("DaemonSet", "agent", "1"),
    )
    told = asked("room", base, node="n1")
    used = 4000 - told["largest"]["cpu"]
    fits = {one["workload"]: one for one in told["workloads"]}
    assert set(fits) == {"Deployment default/web", "Deployment default/other"}, "daemons are not counted"
    assert fits["Deployment default/web"]["more"] == (4000 - used) // 500
    assert fits["Deployment default/web"]["why"].startswith("cpu: 500m <= ")
    assert fits["Deployment default/other"]["more"] == 0
    assert "taint risk=3 is not tolerated" in fits["Deployment default/other"]["why"]
    assert told["workloads"][0] == fits["Deployment default/web"], "the roomiest first"
    again = asked("room", base, node="n1")
    assert again == told, "nothing stays on the node"


def test_a_node_that_is_full_or_cordoned_takes_no_pod() -> None:
    full = node("n1", "1")
    full["status"]["capacity"]["pods"] = "1"
    told = asked("room", settled(full, pod("web", "500m")), node="n1")
    assert (told["largest"], told["whyNone"]) == (None, "1 pods run here, of at most 1")
    cordoned = node("n1")
    cordoned["spec"]["unschedulable"] = True
    told = asked("room", settled(cordoned), node="n1")
    assert told["largest"] is None
    assert "unschedulable" in told["whyNone"]


def test_of_pods_with_claims_it_is_told_only_what_keeps_every_further_one_away() -> None:
    """A claim is bound to a volume on n2: a further pod would have a claim of its own."""
    on_n2 = [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n2"]}]
    capacity = {"accessModes": ["ReadWriteOnce"], "storageClassName": "local"}
    volume: Raw = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "disk"}}
    volume["spec"] = {
        **capacity,
        "capacity": {"storage": "1Gi"},
        "local": {"path": "/disk"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": on_n2}]}},
        "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "data"},
    }
    claim: Raw = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}
    claim["spec"] = {**capacity, "volumeName": "disk", "resources": {"requests": {"storage": "1Gi"}}}
    mounts = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
    base = settled(
        node("n1"), node("n2"), node("n3", taints=risky("9")), volume, claim, workload("Deployment", "db", "1", mounts)
    )
    fits = {name: asked("room", base, node=name)["workloads"][0] for name in ("n1", "n2", "n3")}
    assert [fits[name]["more"] for name in fits] == [None, None, 0]
    assert fits["n1"]["why"] == "each further pod would need claims of its own"
    assert "taint risk=9 is not tolerated" in fits["n3"]["why"]


def test_workloads_that_are_not_tried_are_counted_and_not_said_not_to_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MAX_TRIALS", 6)
    several = [workload("Deployment", f"web-{number}", "1", replicas=1) for number in range(3)]
    told = asked("room", settled(node("n1", "8"), *several), node="n1")
    assert [(one["workload"], one["more"], one["isCapped"]) for one in told["workloads"]] == [
        ("Deployment default/web-0", 5, False)
    ]
    assert told["leftOut"] == 2
    monkeypatch.setattr(room, "MAX_MORE", 4)
    told = asked("room", settled(node("n1", "8"), *several), node="n1")
    assert [(one["more"], one["isCapped"]) for one in told["workloads"]] == [(4, True), (2, True)]
    assert told["leftOut"] == 1


@pytest.mark.parametrize(
    ("question", "arguments", "error"),
    [
        ("tolerations", {"pod": "web"}, 'tolerations takes {"pod": "NAMESPACE/NAME"}'),
        ("tolerations", {"pod": "a/b", "node": 3}, "tolerations: node must be a name"),
        ("tolerations", {"pod": "a/b"}, "there is no pod 'a/b' in the simulated cluster"),
        ("placement", {"pod": "a/b/c"}, 'placement takes {"pod": "NAMESPACE/NAME"}'),
        ("placement", {"pod": "a/b"}, "there is no pod 'b' in namespace 'a' in the input"),
        ("move", {}, 'move takes {"pod": "NAMESPACE/NAME"}'),
        ("room", {"node": ""}, 'room takes {"node": NAME}'),
        ("room", {"node": "n9"}, "there is no node 'n9' in the cluster"),
    ],
)
def test_questions_that_make_no_sense(question: str, arguments: Raw, error: str) -> None:
    planner = Planner(Settings(gates_from({})))
    simulation = planner.build()
    base = Base(planner, simulation, planner.plan(simulation))
    assert asked(question, base, **arguments)["error"] == error


def test_a_pod_that_waits_says_why_and_one_that_does_not_where_it_goes() -> None:
    base = settled(node("n1"), pod("large", "100"), pod("small"))
    told = asked("waiting", base, pod="default/large")
    assert (told["node"], told["sentence"]) == ("", "Needs 100 cpu; the only node has 3 free.")
    told = asked("waiting", base, pod="default/small")
    assert (told["node"], told["sentence"]) == ("n1", "")
    assert (
        asked("waiting", base, pod="default/none")["error"] == "there is no pod 'default/none' in the simulated cluster"
    )
