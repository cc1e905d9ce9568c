"""DoNotSchedule spread over domains that the pod cannot enter."""

from __future__ import annotations

import pytest
from tests.unit.lint.linting import lint, node, rules_of, workload

RULE = "spread-over-taints"
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
TAINT = "{key: dedicated, value: gpu, effect: NoSchedule}"


def spread(key: str = HOST, *, action: str = "DoNotSchedule", more: str = "", skew: int = 1) -> str:
    return (
        f"      topologySpreadConstraints: [{{maxSkew: {skew}, topologyKey: {key}, whenUnsatisfiable: {action}, "
        f"labelSelector: {{matchLabels: {{app: web}}}}{more}}}]\n"
    )


def deployment(pod_spec: str, replicas: int = 6, kind: str = "Deployment") -> str:
    return workload(kind, pod_spec, spec="" if kind == "DaemonSet" else f"  replicas: {replicas}\n")


def at(name: str, zone: str, *taints: str, spec: str = "", more: str = "") -> str:
    return node(name, *taints, labels=f"{{{HOST}: {name}, {ZONE}: {zone}{more}}}", spec=spec)


NODES = (at("n1", "a"), at("n2", "a", TAINT), at("n3", "b", TAINT))


def test_every_tainted_node_is_a_domain() -> None:
    for texts in ((deployment(spread()), *NODES), (*NODES, deployment(spread()))):
        (finding,) = lint(*texts)
        assert finding.rule == RULE
        assert f"{HOST}=n2 and 1 more counts as a domain" in finding.message
        assert "dedicated=gpu:NoSchedule on node n2" in finding.message
        assert "nodeTaintsPolicy: Honor" in finding.hint
        assert finding.place.path == "spec.template.spec.topologySpreadConstraints[0]"
        assert finding.place.excerpt.line.strip().startswith("topologySpreadConstraints")


def test_a_zone_counts_if_all_its_nodes_are_tainted() -> None:
    (finding,) = lint(deployment(spread(ZONE)), *NODES)
    assert f"{ZONE}=b counts as a domain" in finding.message
    assert rules_of(deployment(spread(ZONE)), *NODES[:2]) == []


def test_a_cordoned_node_is_tainted() -> None:
    assert rules_of(deployment(spread()), at("n1", "a"), at("n2", "a", spec="  unschedulable: true\n")) == [RULE]


@pytest.mark.parametrize(
    "pod_spec",
    [
        spread(more=", nodeTaintsPolicy: Honor"),
        spread(more=", nodeTaintsPolicy: Ignore"),
        spread(action="ScheduleAnyway"),
        spread(skew=6),
        spread() + "      tolerations: [{operator: Exists}]\n",
        spread() + "      tolerations: [{key: dedicated, operator: Exists, effect: NoSchedule}]\n",
        spread() + "      nodeSelector: {topology.kubernetes.io/zone: c}\n",
        spread() + "      tolerations: [{expression: \"taint.key == 'dedicated'\"}]\n",
    ],
)
def test_constraints_that_cannot_go_wrong(pod_spec: str) -> None:
    assert [rule for rule in rules_of(deployment(pod_spec), *NODES) if rule == RULE] == []


def test_a_node_selector_is_ignored_where_the_policy_says_so() -> None:
    pod_spec = spread(more=", nodeAffinityPolicy: Ignore") + "      nodeSelector: {pool: general}\n"
    nodes = (at("n1", "a", more=", pool: general"), at("n2", "a", TAINT))
    assert rules_of(deployment(pod_spec), *nodes) == [RULE]
    honoured = spread() + "      nodeSelector: {pool: general}\n"
    assert rules_of(deployment(honoured), *nodes) == []


def test_soft_taints_keep_nobody_out() -> None:
    soft = "{key: a, effect: PreferNoSchedule}"
    assert rules_of(deployment(spread()), at("n1", "a"), at("n2", "a", soft)) == []


def test_where_no_node_can_be_used_spread_is_not_the_problem() -> None:
    assert rules_of(deployment(spread()), at("n1", "a", TAINT), at("n2", "a", TAINT)) == []


def test_without_nodes_hostnames_are_suspect_and_zones_are_not() -> None:
    assert rules_of(deployment(spread())) == [RULE]
    assert rules_of(deployment(spread(ZONE))) == []
    assert rules_of(deployment(spread() + "      tolerations: [{operator: Exists}]\n")) == []


@pytest.mark.parametrize(("kind", "replicas"), [("DaemonSet", 6), ("Deployment", 1), ("StatefulSet", 0)])
def test_too_few_pods_to_exceed_the_skew(kind: str, replicas: int) -> None:
    assert rules_of(deployment(spread(), replicas, kind)) == []


def test_the_same_constraint_in_many_workloads_is_told_once() -> None:
    assert rules_of(*(deployment(spread()) for _ in range(4))) == [RULE]
