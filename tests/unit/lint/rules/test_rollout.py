"""Rolling updates that cannot finish because of required anti-affinity against their own pods."""

from __future__ import annotations

import pytest
from tests.unit.lint.linting import lint, node, rules_of, stream, workload

from moorage.lint.rules.budgets import scaled

RULE = "rollout-deadlock"


def anti(selector: str = "{matchLabels: {app: web}}", *, more: str = "", key: str = "kubernetes.io/hostname") -> str:
    term = f"{{topologyKey: {key}, labelSelector: {selector}{more}}}"
    return f"      affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}\n"


def strategy(unavailable: object, surge: object, replicas: int = 4) -> str:
    rolling = f"{{maxUnavailable: {unavailable}, maxSurge: {surge}}}"
    return f"  replicas: {replicas}\n  strategy: {{rollingUpdate: {rolling}}}\n"


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "  replicas: 1\n",
        "  replicas: 3\n",
        strategy(0, 1),
        strategy("0%", "25%"),
        strategy("10%", "10%", 9),
        strategy("24%", 1, 4),
        "  replicas: 2\n  strategy: {type: RollingUpdate}\n",
    ],
)
def test_deadlocks(spec: str) -> None:
    (finding,) = lint(workload("Deployment", anti(), spec=spec))
    assert finding.rule == RULE
    assert "without a free kubernetes.io/hostname, the rolling update waits forever" in finding.message
    assert "\n  matchLabelKeys:\n  - pod-template-hash\n" in finding.hint


@pytest.mark.parametrize(
    "spec",
    [
        "  replicas: 4\n",
        "  replicas: 0\n",
        strategy(1, 0),
        strategy(1, 1),
        strategy("25%", 1, 4),
        "  replicas: 2\n  strategy: {type: Recreate}\n",
    ],
)
def test_updates_that_free_a_place_first(spec: str) -> None:
    assert rules_of(workload("Deployment", anti(), spec=spec)) == []


@pytest.mark.parametrize(
    "affinity",
    [
        anti(more=", matchLabelKeys: [pod-template-hash]"),
        anti("{matchLabels: {app: other}}"),
        anti("{matchExpressions: [{key: app, operator: NotIn, values: [web]}]}"),
        anti(more=", namespaces: [other]"),
        anti(more=", namespaceSelector: {matchLabels: {team: a}}"),
        anti(more=", mismatchLabelKeys: [app]", selector="{matchExpressions: [{key: x, operator: DoesNotExist}]}"),
        "      affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, "
        "podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}}]}}\n",
        "      affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
        "[{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}]}}\n",
    ],
)
def test_terms_that_do_not_keep_new_from_old(affinity: str) -> None:
    assert RULE not in rules_of(workload("Deployment", affinity))


@pytest.mark.parametrize("more", [", namespaces: [default]", ", namespaceSelector: {}", ", namespaces: []"])
def test_own_namespace_named_in_other_ways(more: str) -> None:
    assert RULE in rules_of(workload("Deployment", anti(more=more)))


def test_any_topology_key() -> None:
    (finding,) = lint(workload("Deployment", anti(key="topology.kubernetes.io/zone")))
    assert "without a free topology.kubernetes.io/zone" in finding.message


@pytest.mark.parametrize("kind", ["StatefulSet", "ReplicaSet", "DaemonSet"])
def test_kinds_that_remove_the_old_pod_first(kind: str) -> None:
    assert rules_of(workload(kind, anti())) == []


def test_a_daemon_set_that_surges() -> None:
    surging = "  updateStrategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}\n"
    (finding,) = lint(workload("DaemonSet", anti(), spec=surging))
    assert finding.rule == RULE
    assert "- controller-revision-hash" in finding.hint
    none = "  updateStrategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}\n"
    assert rules_of(workload("DaemonSet", anti(), spec=none)) == []


@pytest.mark.parametrize(("nodes", "expected"), [(2, [RULE]), (3, [RULE]), (4, [])])
def test_nodes_of_the_input_decide(nodes: int, expected: list[str]) -> None:
    text = workload("Deployment", anti(), spec="  replicas: 3\n")
    labelled = [node(f"n{i}", labels=f"{{kubernetes.io/hostname: n{i}}}") for i in range(nodes)]
    assert rules_of(stream(text, *labelled)) == expected
    assert rules_of(*labelled, text) == expected


def test_nodes_without_the_topology_key_do_not() -> None:
    assert rules_of(stream(workload("Deployment", anti()), *(node(f"n{i}") for i in range(9)))) == [RULE]


def together(zone_term: str = "{matchLabels: {app: web}}", *, more: str = "", anti_more: str = "") -> str:
    """In one zone, on different nodes."""
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    joined = f"{{topologyKey: topology.kubernetes.io/zone, labelSelector: {zone_term}{more}}}"
    apart = f"{{topologyKey: kubernetes.io/hostname, labelSelector: {{matchLabels: {{app: web}}}}{anti_more}}}"
    return (
        f"      affinity:\n        podAffinity: {{{required}: [{joined}]}}\n"
        f"        podAntiAffinity: {{{required}: [{apart}]}}\n"
    )


def zones(*sizes: int) -> list[str]:
    """Zones with so many nodes each."""
    return [
        node(f"z{zone}n{i}", labels=f"{{kubernetes.io/hostname: z{zone}n{i}, topology.kubernetes.io/zone: z{zone}}}")
        for zone, size in enumerate(sizes)
        for i in range(size)
    ]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ((2, 2), [RULE]),
        ((1, 1, 1), [RULE]),
        ((3, 3), []),
        # The old pods may be in either zone.
        ((2, 5), [RULE]),
        # No zone that could hold them is full of them.
        ((1, 3), []),
    ],
)
def test_where_all_pods_share_a_zone_nodes_elsewhere_are_no_help(sizes: tuple[int, ...], expected: list[str]) -> None:
    text = workload("Deployment", together(), spec="  replicas: 2\n")
    findings = lint(stream(text, *zones(*sizes)))
    assert [finding.rule for finding in findings] == expected
    for finding in findings:
        assert "but has to be in the same topology.kubernetes.io/zone, and no old pod" in finding.message
        assert "without a free kubernetes.io/hostname there, the rolling update waits forever" in finding.message


@pytest.mark.parametrize(
    "affinity",
    [
        together(more=", matchLabelKeys: [pod-template-hash]"),
        together(anti_more=", matchLabelKeys: [pod-template-hash]"),
        together("{matchLabels: {app: database}}"),
        together(more=", namespaces: [other]"),
    ],
)
def test_where_old_pods_do_not_hold_new_ones_all_nodes_count(affinity: str) -> None:
    assert rules_of(stream(workload("Deployment", affinity, spec="  replicas: 2\n"), *zones(2, 2))) == []


def test_nodes_without_a_zone_do_not_count_either() -> None:
    text = workload("Deployment", together(), spec="  replicas: 2\n")
    without = [node(f"n{i}", labels=f"{{kubernetes.io/hostname: n{i}}}") for i in range(9)]
    assert rules_of(stream(text, *zones(2), *without)) == [RULE]


@pytest.mark.parametrize(
    ("value", "up", "down"),
    [(3, 3, 3), ("25%", 1, 0), ("100%", 3, 3), ("34%", 2, 1), ("x", None, None), ("5", None, None)],
)
def test_scaled(value: int | str, up: int | None, down: int | None) -> None:
    assert scaled(value, 3, round_up=True) == up
    assert scaled(value, 3, round_up=False) == down
