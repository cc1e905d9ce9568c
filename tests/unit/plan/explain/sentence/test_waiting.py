"""The sentence about a pod that waits: each family of refusals, what all nodes lack, and what only some do."""

from typing import Any

import pytest
from tests.unit.plan.explaining import assert_says_what_to_do, explained
from tests.unit.plan.planning import Raw, node, pod, running, workload, written

from moorage.model.gates import Component, gates_from
from moorage.plan.explain.explanation import explain_pod, plain
from moorage.plan.explain.sentence.words import KeyNames, listed, value_text
from moorage.plan.explain.target import find_target
from moorage.plan.planner import Planner, Settings

KUBELET, FAILURES, ZONE = "example.com/kubelet-version", "spot.example.com/failures", "topology.kubernetes.io/zone"


def taint(key: str, value: str = "", effect: str = "NoSchedule") -> Raw:
    return {"key": key, "value": value, "effect": effect}


def labelled(name: str, labels: dict[str, str], cpu: str = "4") -> Raw:
    made = node(name, cpu)
    made["metadata"]["labels"] |= labels
    return made


def tolerates(operator: str, value: str, key: str = FAILURES, **fields: Any) -> list[Raw]:
    return [{"key": key, "operator": operator, "value": value, **fields}]


def needs(key: str, operator: str, *values: str) -> Raw:
    expression = {"key": key, "operator": operator, **({"values": list(values)} if values else {})}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def only_on(name: str) -> Raw:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def near(kind: str, app: str, key: str = ZONE) -> Raw:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def with_port(name: str, number: int) -> Raw:
    made = pod(name)
    made["spec"]["containers"][0]["ports"] = [{"containerPort": number, "hostPort": number}]
    return made


def with_claim(name: str) -> Raw:
    return pod("p", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": name}}])


def claim(name: str, **spec: Any) -> Raw:
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": asked}


def requests(**amounts: str) -> Raw:
    made = pod("p")
    made["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
    return made


def spread() -> list[Raw]:
    return [
        {
            "maxSkew": 1,
            "topologyKey": ZONE,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
            "nodeAffinityPolicy": "Ignore",
        }
    ]


TWO = [node("a", "4"), node("b", "3500m")]
OLD = [labelled("a", {KUBELET: "v1.36.4"}), labelled("b", {KUBELET: "v1.9.0"})]
SPOT = [node("a", taints=[taint(FAILURES, "20")]), node("b", taints=[taint(FAILURES, "9")])]
SENTENCES: dict[str, tuple[list[Raw], str]] = {
    "resource": ([*TWO, pod("p", "12")], "Needs 12 cpu; the emptiest node has 4 free"),
    "resource in use": (
        [node("a", "1"), running("other", "a", cpu="1"), pod("p", "1")],
        "Needs 1 cpu; no node has any free",
    ),
    "resource of no node": ([*TWO, requests(**{"example.com/gpu": "2"})], "Needs 2 example.com/gpu; no node has any"),
    "resource of the nodes it may use": (
        [node("big", "8", taints=[taint("dedicated", "x")]), *TWO, pod("p", "9")],
        "Needs 9 cpu; the emptiest node that it may use has 4 free",
    ),
    "resource of some nodes": (
        [*TWO, *(node(f"t{number}", "16", taints=[taint("dedicated", "x")]) for number in range(3)), pod("p", "12")],
        "Fits 2 nodes but for cpu (needs 12, at most 4 free); the other 3 have taints that it does not tolerate",
    ),
    "two resources": (
        [node("a"), requests(cpu="9", memory="9Gi")],
        "Needs 9 cpu; the only node has 4 free. Also needs 9Gi memory; the only node has 8Gi free",
    ),
    "two things in the way": (
        [
            node("a", "1", taints=[taint("dedicated", "x")]),
            node("b", "1", disk="hdd"),
            pod("p", "2", nodeSelector={"disk": "ssd"}),
        ],
        "Needs disk=ssd; every node has hdd or no such label. Also needs 2 cpu; the emptiest node has 1 free",
    ),
    "version": (
        [*OLD, pod("p", affinity=needs(KUBELET, "SemverGt", "1.36.99"))],
        "Needs kubelet > 1.36.99; the newest node has 1.36.4",
    ),
    "older version": (
        [*OLD, pod("p", affinity=needs(KUBELET, "SemverLt", "1.2"))],
        "Needs kubelet < 1.2; the oldest node has 1.9.0",
    ),
    "number": (
        [node("a", cores="4"), node("b", cores="9"), pod("p", affinity=needs("cores", "Gt", "16"))],
        "Needs cores > 16; the highest on a node is 9",
    ),
    "unreadable number": (
        [node("a", cores="many"), pod("p", affinity=needs("cores", "Gt", "16"))],
        "Needs cores > 16; no node has a value that can be compared",
    ),
    "missing label": (
        [*TWO, pod("p", affinity=needs("cores", "Gt", "16"))],
        "Needs cores > 16; no node has that label",
    ),
    "selector": (
        [node("a", disk="hdd"), pod("p", nodeSelector={"disk": "ssd"})],
        "Needs disk=ssd; the only node has hdd",
    ),
    "one of": (
        [labelled("a", {ZONE: "x"}), labelled("b", {ZONE: "y"}), pod("p", affinity=needs(ZONE, "In", "b", "a"))],
        "Needs zone=a or b; every node has x or y",
    ),
    "none of": (
        [labelled("a", {ZONE: "x"}), pod("p", affinity=needs(ZONE, "NotIn", "x"))],
        "Needs zone other than x; the only node has x",
    ),
    "exists": ([*TWO, pod("p", affinity=needs("gpu", "Exists"))], "Needs the label gpu; no node has it"),
    "does not exist": (
        [node("a", gpu="1"), node("b", gpu="2"), pod("p", affinity=needs("gpu", "DoesNotExist"))],
        "Needs a node without the label gpu; every node has it",
    ),
    "taint": (
        [node("a", taints=[taint("dedicated", "x")]), pod("p")],
        "The only node has the taint dedicated=x, which it does not tolerate",
    ),
    "taints with other values": ([*SPOT, pod("p")], "Every node has the taint failures, which it does not tolerate"),
    "threshold": (
        [*SPOT, pod("p", tolerations=tolerates("Lt", "5"))],
        "Tolerates failures < 5; the lowest on a node is 9",
    ),
    "version of a taint": (
        [
            node("a", taints=[taint("driver-version", "v535.1")]),
            pod("p", tolerations=tolerates("SemverGt", "550.0.0", "driver-version")),
        ],
        "Tolerates driver > 550.0.0; the only node has 535.1",
    ),
    "equal": (
        [node("a", taints=[taint("dedicated", "x")]), pod("p", tolerations=tolerates("Equal", "y", "dedicated"))],
        "Tolerates dedicated=y; the only node has x",
    ),
    "other effect": (
        [
            node("a", taints=[taint("dedicated", "x")]),
            pod("p", tolerations=tolerates("Equal", "x", "dedicated", effect="NoExecute")),
        ],
        "The only node has the taint dedicated=x, which it tolerates for another effect only",
    ),
    "expression": (
        [node("a", taints=[taint("load", "9")]), pod("p", tolerations=[{"expression": "int(taint.value) < 5"}])],
        "The only node has the taint load=9, for which its expression is false",
    ),
    "several tolerations": (
        [
            node("a", taints=[taint("load", "9")]),
            pod("p", tolerations=[*tolerates("Lt", "5", "load"), *tolerates("Gt", "50", "load")]),
        ],
        "The only node has the taint load=9, which none of its tolerations for it matches",
    ),
    "some cannot be compared": (
        [node("a", taints=[taint("load", "high")]), pod("p", tolerations=tolerates("Lt", "5", "load"))],
        "Tolerates load < 5; no node has a value that can be compared",
    ),
    "port": (
        [node("a"), with_port("other", 80), with_port("p", 80)],
        "Needs host port 80/TCP, which is in use on the only node",
    ),
    "affinity": (
        [labelled("a", {ZONE: "x"}), pod("p", affinity=near("podAffinity", "db"))],
        "Has to share its zone with app=db; there is no such pod in the zone of the only node",
    ),
    "anti-affinity": (
        [
            node("a"),
            running("web", "a", labels={"app": "web"}),
            pod("p", affinity=near("podAntiAffinity", "web", "kubernetes.io/hostname")),
        ],
        "Must not share its node with app=web; the only node has such a pod",
    ),
    "anti-affinity of others": (
        [
            node("a"),
            running("web", "a", affinity=near("podAntiAffinity", "x", "kubernetes.io/hostname")),
            pod("p", labels={"app": "x"}),
        ],
        "The anti-affinity of other pods keeps it away from the only node",
    ),
    "spread": (
        [
            labelled("a", {ZONE: "x"}),
            labelled("b", {ZONE: "y"}, "0"),
            running("web", "a", labels={"app": "web"}),
            pod("p", labels={"app": "web"}, topologySpreadConstraints=spread()),
        ],
        "Fits a but for its spread over zone (maxSkew 1, would be 2); the other node is short of cpu",
    ),
    "no claim": ([node("a"), with_claim("data")], "Its claim data does not exist"),
    "unbound claim": (
        [node("a"), claim("data", storageClassName=""), with_claim("data")],
        "Its claim data is not bound to a volume yet",
    ),
    "gate": (
        [*TWO, pod("p", schedulingGates=[{"name": "hold"}])],
        "Waits until its scheduling gate hold is removed; 2 of 2 nodes would take it",
    ),
    "gate, and no node": (
        [*TWO, pod("p", "12", schedulingGates=[{"name": "g"}, {"name": "h"}])],
        "Waits until its scheduling gates g and h are removed; "
        "even then no node takes it: needs 12 cpu; the emptiest node has 4 free",
    ),
    "other scheduler": (
        [*TWO, pod("p", schedulerName="other")],
        "Waits for scheduler other, which is not simulated here",
    ),
    "no nodes": ([pod("p")], "There are no nodes"),
    "cordoned": (
        [
            {**node("a"), "spec": {"unschedulable": True, "taints": [taint("node.kubernetes.io/unschedulable")]}},
            pod("p"),
        ],
        "The only node is cordoned",
    ),
    "a node that is not there": ([*TWO, pod("p", affinity=only_on("c"))], "Is only for node c, which does not exist"),
}


@pytest.mark.parametrize("family", SENTENCES)
def test_every_family_has_its_sentence(family: str) -> None:
    documents, sentence = SENTENCES[family]
    told = explained(*documents)
    assert told.sentence == sentence
    assert plain(told)["sentence"] == sentence
    assert_says_what_to_do(told)


def test_a_short_name_has_its_key_beside_it_and_an_ambiguous_one_is_not_used() -> None:
    told = explained(*OLD, pod("p", affinity=needs(KUBELET, "SemverGt", "2.0")))
    assert plain(told)["sentenceKeys"] == {"kubelet": KUBELET}
    other = labelled("c", {"other.example.com/kubelet-version": "v1"})
    told = explained(*OLD, other, pod("p", affinity=needs(KUBELET, "SemverGt", "2.0")))
    assert told.sentence == f"Needs {KUBELET} > 2.0; the newest node has 1.36.4"
    assert told.sentence_keys == {}
    names = KeyNames(["a/zone", "b/arch", "kubelet"])
    assert [names.name(key) for key in ("a/zone", "c/arch", "x/new", "kubelet")] == ["zone", "c/arch", "new", "kubelet"]


def test_a_pod_of_a_daemon_set_is_only_for_its_node() -> None:
    told = explained(
        node("a", "1"), node("b", "8"), workload("DaemonSet", "agent", "2"), running("x", "b"), pod="daemonset/agent"
    )
    assert told.sentence == "Is only for node a, and fits there but for cpu (needs 2, 1 free)"


def test_a_gate_that_is_off_in_the_scheduler_is_named() -> None:
    planner = Planner(Settings(gates_from({"AllAlpha": True}), others={Component.SCHEDULER: gates_from({})}))
    planner.load(written(*SPOT, pod("p", tolerations=tolerates("Lt", "50"))))
    simulation = planner.build()
    told = explain_pod(simulation, planner.inventory, find_target(simulation, planner.inventory, "p"))
    gate = "the feature gate TaintTolerationComparisonOperators in the scheduler"
    assert told.sentence == f"Its toleration for failures does not count: operator Lt needs {gate}"


def test_pods_that_are_not_there_are_said_so() -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}}
    refused = explained(node("a"), quota, workload("Deployment", "w", replicas=2), pod="deployment/w")
    assert not refused.exists
    text = "1 of 2 pods exists; 1 is refused: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"
    assert refused.sentence == text
    following = explained(node("a"), workload("Deployment", "w", replicas=2), pod="deployment/w")
    assert not following.exists
    assert following.sentence == "The next replica would go to a, the only node of 1 on which it fits"
    ordered = explained(node("a", "1"), workload("StatefulSet", "w", replicas=3), pod="default/w-2")
    assert not ordered.exists
    assert ordered.sentence.startswith("Does not exist yet: is created once w-1 runs")
    assert explained(node("a"), pod("p")).exists


def test_a_pod_that_preempts_says_for_what_it_waits() -> None:
    urgent = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9}
    told = explained(node("a", "1"), urgent, running("low", "a"), pod("p", priorityClassName="high"))
    assert told.sentence == "Gets a once 1 pod with a lower priority has left it"


def test_texts_have_bounds() -> None:
    assert listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
    assert value_text("x" * 500) == "x" * 39 + "…"
    assert value_text("a\nb") == '"a\\nb"'
