"""Every kind of suggestion: when it is made, in which words, for which nodes; and when it is not."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from tests.objects import taint
from tests.unit.plan.explaining import explained, told
from tests.unit.plan.planning import Raw, node, pod, running, workload

from moorage.plan.explain.remedies.change import ChangeKind


def requires(*expressions: Raw) -> Raw:
    terms = [{"matchExpressions": list(expressions)}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def expression(key: str, operator: str, *values: str) -> Raw:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def full(name: str, **fields: Any) -> Raw:
    """A pod that fills a node, so that nobody else fits on it."""
    return running(f"full-{name}", name, cpu="4", **fields)


# -- tolerations ------------------------------------------------------------------------------------------------------


def test_a_threshold_is_moved_as_far_as_needed_and_no_further() -> None:
    asks = [{"key": "spot", "operator": "Lt", "value": "5"}]
    found = told(
        explained(
            node("a", taints=[taint("spot", "15")]),
            node("b", taints=[taint("spot", "8")]),
            pod("p", tolerations=asks),
        )
    )
    assert found["toleration for spot: Lt 5 → Lt 16"] == ["a", "b"]
    assert found["toleration for spot: Lt 5 → Lt 9"] == ["b"]
    assert found["add a toleration for spot: Exists, NoSchedule"] == ["a", "b"]
    assert found["add a toleration for spot: Equal 15, NoSchedule"] == ["a"]
    assert list(found)[:2] == ["toleration for spot: Lt 5 → Lt 9", "toleration for spot: Lt 5 → Lt 16"]


@pytest.mark.parametrize(
    ("operator", "value", "actual", "expected"),
    [
        ("Gt", "950", "900", "Gt 950 → Gt 899"),
        ("SemverGt", "2.0.0", "1.9.3", "SemverGt 2.0.0 → SemverGt 1.9.2"),
        ("SemverLt", "1.9.3", "1.9.3", "SemverLt 1.9.3 → SemverLt 1.9.4"),
        ("SemverEq", "1.2.3", "1.2.4", "SemverEq 1.2.3 → SemverEq 1.2.4"),
    ],
)
def test_every_operator_has_its_threshold(operator: str, value: str, actual: str, expected: str) -> None:
    asks = [{"key": "k", "operator": operator, "value": value}]
    found = told(explained(node("a", taints=[taint("k", actual)]), pod("p", tolerations=asks)))
    assert found[f"toleration for k: {expected}"] == ["a"]


def test_the_threshold_that_reaches_the_nearest_node_comes_first() -> None:
    asks = [{"key": "kernel", "operator": "SemverGt", "value": "5.15.0"}]
    nodes = [node(name, taints=[taint("kernel", name)]) for name in ("5.4.0", "5.15.0-91-generic")]
    found = told(explained(*nodes, pod("p", tolerations=asks)))
    assert list(found.items())[:2] == [
        ("toleration for kernel: SemverGt 5.15.0 → SemverGt 5.15.0-0", ["5.15.0-91-generic"]),
        ("toleration for kernel: SemverGt 5.15.0 → SemverGt 5.4.0-0", ["5.4.0", "5.15.0-91-generic"]),
    ]


def test_a_moved_threshold_keeps_the_spelling_of_the_user() -> None:
    asks = [{"key": "kubelet", "operator": "SemverGt", "value": "v1.36.99"}]
    found = told(explained(node("a", taints=[taint("kubelet", "v1.35.2")]), pod("p", tolerations=asks)))
    assert found["toleration for kubelet: SemverGt v1.36.99 → SemverGt v1.35.1"] == ["a"]
    wants = requires(expression("kubelet", "SemverGt", "v1.36.99"))
    found = told(explained(node("a", kubelet="1.35.2"), pod("p", affinity=wants)))
    assert found["required node affinity: kubelet SemverGt v1.36.99 → SemverGt v1.35.1"] == ["a"]
    assert found["label node a with kubelet=v1.36.100 (now 1.35.2)"] == ["a"]


def test_a_label_is_proposed_that_all_requirements_of_its_key_accept() -> None:
    wants = requires(expression("level", "Gt", "5"), expression("level", "NotIn", "6"), expression("level", "Lt", "9"))
    found = told(explained(node("a", level="2"), pod("p", affinity=wants)))
    assert found["label node a with level=7 (now 2)"] == ["a"]


def test_an_unreadable_taint_has_no_threshold() -> None:
    asks = [{"key": "k", "operator": "Lt", "value": "5"}]
    found = explained(node("a", taints=[taint("k", "many")]), pod("p", tolerations=asks))
    assert ChangeKind.THRESHOLD not in [one.change.kind for one in found.suggestions]
    assert told(found)["add a toleration for k: Equal many, NoSchedule"] == ["a"]


def test_a_toleration_is_written_as_it_has_to_be() -> None:
    found = explained(node("a", taints=[taint("gpu", effect="NoExecute")]), pod("p")).suggestions[0]
    assert yaml.safe_load(found.change.yaml) == {
        "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoExecute"}]
    }


@pytest.mark.parametrize("value", ["y", "No", "1e3", "0o7", "007", "1.10", "a", "null", "x-1"])
def test_what_is_written_is_read_as_it_was_meant(value: str) -> None:
    tainted = node("a", taints=[taint("k", value)])
    found = explained(tainted, pod("p")).suggestions
    added = next(one.change.yaml for one in found if one.change.summary.startswith("add a toleration for k: Equal"))
    again = pod("p", tolerations=[])
    text = yaml.safe_dump(again).replace("tolerations: []", added.replace("\n", "\n  "))
    assert explained(tainted, text).node == "a"


def test_one_toleration_for_both_effects_of_a_key() -> None:
    tainted = node("a", taints=[taint("k", "1"), taint("k", "2", "NoExecute")])
    assert told(explained(tainted, pod("p"))) == {"add a toleration for k: Exists": ["a"]}


def test_two_keys_need_two_changes() -> None:
    found = explained(node("a", taints=[taint("k", "1"), taint("l", "2")]), pod("p"))
    assert found.suggestions == ()
    assert found.together is not None
    assert [change.summary for change in found.together.changes] == [
        "add a toleration for k: Equal 1, NoSchedule",
        "add a toleration for l: Equal 2, NoSchedule",
    ]


def test_a_taint_can_be_removed_and_a_node_uncordoned() -> None:
    cordoned = node("b")
    cordoned["spec"] = {"unschedulable": True, "taints": [taint("node.kubernetes.io/unschedulable")]}
    found = explained(node("a", taints=[taint("k", "1")]), cordoned, pod("p"))
    commands = [one.change.command for one in found.suggestions if one.change.command]
    assert commands == ["kubectl uncordon b", "kubectl taint nodes a k:NoSchedule-"]
    assert told(found)["add a toleration for node.kubernetes.io/unschedulable: Exists, NoSchedule"] == ["b"]


def test_nothing_about_taints_where_something_else_is_wrong_too() -> None:
    found = explained(node("a", cpu="1", taints=[taint("k", "1")]), pod("p", "2"))
    assert found.suggestions == ()
    assert found.together is not None
    assert [change.kind for change in found.together.changes] == [ChangeKind.TOLERATION, ChangeKind.RESOURCES]


# -- labels -----------------------------------------------------------------------------------------------------------


def test_a_node_selector_is_changed_or_dropped() -> None:
    found = told(explained(node("a", disk="hdd"), node("b"), pod("p", nodeSelector={"disk": "ssd"})))
    assert found == {
        "drop disk: ssd from nodeSelector": ["a", "b"],
        "nodeSelector disk: ssd → hdd": ["a"],
        "label node a with disk=ssd (now hdd)": ["a"],
    }


def test_a_label_to_add_is_the_one_that_is_missing() -> None:
    found = explained(node("a"), pod("p", nodeSelector={"disk": "ssd"})).suggestions
    assert [one.change.command for one in found if one.change.kind is ChangeKind.NODE_LABEL] == [
        "kubectl label nodes a disk=ssd"
    ]


def test_two_missing_labels_are_no_single_change() -> None:
    found = explained(node("a"), pod("p", nodeSelector={"disk": "ssd", "cpu": "new"}))
    assert found.suggestions == ()
    assert found.together is not None


@pytest.mark.parametrize(
    ("wanted", "label", "expected"),
    [
        (expression("gen", "Gt", "7"), "5", "required node affinity: gen Gt 7 → Gt 4"),
        (expression("gen", "Lt", "3"), "5", "required node affinity: gen Lt 3 → Lt 6"),
        (
            expression("gen", "SemverGt", "2.0.0"),
            "1.9.3",
            "required node affinity: gen SemverGt 2.0.0 → SemverGt 1.9.2",
        ),
        (
            expression("gen", "In", "old", "new"),
            "odd",
            "required node affinity: gen In [old, new] → In [old, new, odd]",
        ),
        (
            expression("gen", "NotIn", "old", "new"),
            "old",
            "required node affinity: gen NotIn [old, new] → NotIn [new]",
        ),
        (expression("gen", "NotIn", "x"), "x", "required node affinity: prefer gen NotIn [x] instead of requiring it"),
        (
            expression("gen", "DoesNotExist"),
            "x",
            "required node affinity: prefer gen DoesNotExist instead of requiring it",
        ),
    ],
)
def test_affinity_expressions(wanted: Raw, label: str, expected: str) -> None:
    assert told(explained(node("a", gen=label), pod("p", affinity=requires(wanted))))[expected] == ["a"]


def test_an_expression_that_is_met_is_left_alone() -> None:
    wanted = requires(expression("gen", "Exists"), expression("zone", "In", "a"))
    found = told(explained(node("a", gen="1", zone="b"), pod("p", affinity=wanted)))
    assert found
    assert not any("gen" in summary for summary in found)


def test_preferring_the_last_requirement_drops_the_required_term() -> None:
    found = explained(node("a"), pod("p", affinity=requires(expression("gen", "Exists"))))
    preferred = next(one.change.pod for one in found.suggestions if "prefer gen Exists" in one.change.summary)
    assert preferred is not None
    affinity = preferred.spec.affinity
    assert affinity is not None
    assert affinity.nodeAffinity is not None
    assert affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution is None
    (weighted,) = affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution
    assert weighted.preference.matchExpressions[0].key == "gen"


# -- resources and ports ----------------------------------------------------------------------------------------------


def test_how_much_to_lower() -> None:
    found = explained(node("a", cpu="2500m"), node("b", cpu="1"), pod("p", "4"))
    assert told(found) == {
        "cpu 4 → at most 1 (lower by 3)": ["a", "b"],
        "cpu 4 → at most 2500m (lower by 1500m)": ["a"],
    }
    assert yaml.safe_load(found.suggestions[0].change.yaml) == {
        "containers": [{"name": "c", "resources": {"requests": {"cpu": "2500m"}}}]
    }


def test_the_largest_container_gives_way() -> None:
    asks = pod("p")
    asks["spec"]["containers"] = [
        {"name": name, "image": "i", "resources": {"requests": {"cpu": cpu}}}
        for name, cpu in (("s", "500m"), ("l", "4"))
    ]
    written = yaml.safe_load(explained(node("a", cpu="3"), asks).suggestions[0].change.yaml)
    assert written == {"containers": [{"name": "l", "resources": {"requests": {"cpu": "2500m"}}}]}


def test_an_init_container_is_lowered_where_it_is_the_peak() -> None:
    asks = pod("p", "1")
    asks["spec"]["initContainers"] = [{"name": "i", "image": "i", "resources": {"requests": {"cpu": "6"}}}]
    found = explained(node("a", cpu="4"), asks)
    assert told(found) == {"cpu 6 → at most 4 (lower by 2)": ["a"]}
    assert "initContainers" in found.suggestions[0].change.yaml


def test_what_the_pod_as_a_whole_asks_for_is_lowered_with_its_containers() -> None:
    asks = pod("p", "3", resources={"requests": {"cpu": "4"}})
    found = explained(node("a", cpu="2"), asks)
    assert told(found) == {"cpu 4 → at most 2 (lower by 2)": ["a"]}
    changed = found.suggestions[0].change.pod
    assert changed is not None
    assert changed.spec.resources is not None
    assert str(changed.spec.resources.requests["cpu"]) == "2"
    assert str(changed.spec.containers[0].resources.requests["cpu"]) == "2"


def test_memory_is_rounded_down() -> None:
    small = node("a")
    small["status"]["capacity"]["memory"] = "1500000000"
    asks = pod("p")
    asks["spec"]["containers"][0]["resources"]["requests"]["memory"] = "2Gi"
    assert "memory 2Gi → at most 1430Mi (lower by 618Mi)" in told(explained(small, asks))


def test_nothing_to_lower_where_nothing_is_left() -> None:
    found = explained(node("a"), full("a"), pod("p"))
    assert [one.change.kind for one in found.suggestions] == [ChangeKind.MORE_NODES, ChangeKind.OTHER_POD]
    assert told(found) == {
        "1 more node like a": [],
        "move pod default/full-a (priority 0) away from node a": ["a"],
    }
    assert found.suggestions[1].worse_off == ("default/full-a would become Pending",)


def test_a_host_port_to_do_without() -> None:
    ports = [{"containerPort": 80, "hostPort": 80}]
    busy, asks = running("r", "a"), pod("p")
    for one in (busy, asks):
        one["spec"]["containers"][0]["ports"] = ports
    found = told(explained(node("a"), busy, asks))
    assert found["drop host port 80/TCP of container c"] == ["a"]
    assert "drop host port 80/TCP of container c" not in told(explained(node("a", cpu="500m"), asks))


# -- neighbours -------------------------------------------------------------------------------------------------------


def away(app: str, key: str = "kubernetes.io/hostname") -> Raw:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}


def test_an_anti_affinity_term_that_is_the_only_blocker() -> None:
    asks = pod("p", affinity={"podAntiAffinity": away("web")})
    found = told(explained(node("a"), running("r", "a", labels={"app": "web"}), asks))
    wanted = "required podAntiAffinity term (app=web by kubernetes.io/hostname): prefer it instead of requiring it"
    assert found[wanted] == ["a"]
    blocked = told(explained(node("a", cpu="500m"), asks))
    assert not any("podAntiAffinity" in summary for summary in blocked)


def test_an_affinity_term_that_nobody_meets() -> None:
    found = told(explained(node("a"), pod("p", affinity={"podAffinity": away("web")})))
    term = "required podAffinity term (app=web by kubernetes.io/hostname)"
    assert found == {f"{term}: prefer it instead of requiring it": ["a"]}


def test_other_pods_keep_away_from_a_label() -> None:
    shy = running("r", "a", affinity={"podAntiAffinity": away("web")})
    found = told(explained(node("a"), shy, pod("p", labels={"app": "web"})))
    assert found["drop the pod's label app=web, by which others keep away from it"] == ["a"]
    assert found["move pod default/r (priority 0) away from node a"] == ["a"]


def spread(**fields: Any) -> Raw:
    selector = {"matchLabels": {"app": "web"}}
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    return {**constraint, **fields}


def test_a_spread_constraint_that_is_the_only_blocker() -> None:
    documents = [
        node("a", zone="east"),
        node("b", zone="west", cpu="100m"),
        *(running(f"r{i}", "a", cpu="100m", labels={"app": "web"}) for i in range(3)),
        pod("p", labels={"app": "web"}, topologySpreadConstraints=[spread()]),
    ]
    found = told(explained(*documents))
    assert found["spread by zone: maxSkew 1 → 4"] == ["a"]
    assert "spread by zone: maxSkew 1 → 3" not in found
    assert "spread by zone: maxSkew 1 → 6" not in found


def test_domains_that_are_missing() -> None:
    documents = [
        node("a", zone="east"),
        running("r", "a", labels={"app": "web"}),
        pod("p", labels={"app": "web"}, topologySpreadConstraints=[spread(minDomains=2)]),
    ]
    found = told(explained(*documents))
    assert found["spread by zone: maxSkew 1 → 2"] == ["a"]
    unlabelled = told(explained(node("b"), documents[-1]))
    assert unlabelled == {
        "spread by zone: whenUnsatisfiable DoNotSchedule → ScheduleAnyway": ["b"],
        "spread by zone: topologyKey zone → kubernetes.io/hostname": ["b"],
    }


def test_a_constraint_that_is_there_softly_already_is_dropped() -> None:
    both = [spread(), spread(whenUnsatisfiable="ScheduleAnyway")]
    found = told(explained(node("a"), pod("p", labels={"app": "web"}, topologySpreadConstraints=both)))
    assert found == {
        "spread by zone (constraint 1): topologyKey zone → kubernetes.io/hostname": ["a"],
        "spread by zone (constraint 1): drop the constraint DoNotSchedule": ["a"],
    }


# -- volumes, priorities, gates ---------------------------------------------------------------------------------------


def with_claim(name: str) -> Raw:
    return pod("p", volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": name}}])


def test_a_claim_that_is_missing() -> None:
    found = explained(node("a"), with_claim("gone"))
    assert found.rejection is not None
    assert told(found) == {
        "create PersistentVolumeClaim gone in namespace default: claim gone (volume data) is missing": ["a"]
    }
    assert not told(explained(node("a", cpu="500m"), with_claim("gone")))


def test_a_volume_that_is_elsewhere() -> None:
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression("zone", "In", "east")]}]}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "pv"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "hostPath": {"path": "/data"},
            "claimRef": {"namespace": "default", "name": "claim"},
            "nodeAffinity": {"required": required},
        },
        "status": {"phase": "Bound"},
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "claim", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "volumeName": "pv",
            "storageClassName": "",
        },
        "status": {"phase": "Bound"},
    }
    text = "claim claim (volume data) is all that is in the way: PersistentVolume pv cannot be used on these nodes"
    assert told(explained(node("a", zone="west"), volume, claim, with_claim("claim"))) == {text: ["a"]}
    assert told(explained(node("a", zone="east"), volume, claim, with_claim("claim"))) == {}


def test_a_priority_that_would_make_room() -> None:
    urgent = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 9}
    found = explained(node("a"), full("a"), urgent, pod("p"))
    assert "priorityClassName urgent (priority 9): it would evict default/full-a from a" in told(found)
    lazy = {**urgent, "preemptionPolicy": "Never"}
    assert not any("priorityClassName" in text for text in told(explained(node("a"), full("a"), lazy, pod("p"))))


def test_gates_and_schedulers() -> None:
    gated = told(explained(node("a"), pod("p", schedulingGates=[{"name": "wait"}])))
    assert gated == {"remove the scheduling gates wait": ["a"]}
    foreign = told(explained(node("a"), pod("p", schedulerName="other")))
    assert foreign == {"schedulerName other → default-scheduler": ["a"]}


def test_nobody_is_asked_to_change_what_a_node_is() -> None:
    found = told(explained(node("a"), pod("p", nodeSelector={"kubernetes.io/hostname": "b"})))
    assert not any("label node" in summary for summary in found)


def test_a_daemon_is_for_its_node() -> None:
    small, large = node("a", cpu="1"), node("b", taints=[taint("k", "1")])
    found = explained(small, large, workload("DaemonSet", "d", cpu="2"), pod="daemonset/d")
    assert told(found) == {"cpu 2 → at most 1 (lower by 1)": ["a"]}


def test_daemons_do_not_make_room() -> None:
    daemon = running("d-1", "a", owner=("DaemonSet", "d"), cpu="4")
    found = explained(node("a"), daemon, pod("p")).suggestions
    assert [one.change.kind for one in found] == [ChangeKind.MORE_NODES]


# -- all of them ------------------------------------------------------------------------------------------------------


def test_what_opens_most_nodes_comes_first_then_what_is_smallest() -> None:
    asks = pod("p", "2", tolerations=[{"key": "k", "operator": "Lt", "value": "5"}])
    found = explained(
        node("a", taints=[taint("k", "7")]), node("b", taints=[taint("k", "7")]), node("c", cpu="1"), asks
    ).suggestions
    assert [(len(one.nodes), one.change.kind) for one in found[:3]] == [
        (2, ChangeKind.THRESHOLD),
        (2, ChangeKind.TOLERATION),
        (1, ChangeKind.RESOURCES),
    ]


def test_a_pod_that_fits_needs_no_suggestions_unless_a_node_is_named() -> None:
    documents = [node("a"), node("b", taints=[taint("k", "1")]), workload("Deployment", "web", replicas=1)]
    assert explained(*documents, pod="deployment/web").suggestions == ()
    found = explained(*documents, pod="deployment/web", node="b")
    assert list(told(found)) == [
        "add a toleration for k: Equal 1, NoSchedule",
        "remove the taint k=1:NoSchedule from node b",
    ]
