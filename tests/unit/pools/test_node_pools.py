import pytest
from tests.unit.pools.inputs import ARM, BIG, SMALL, TYPES, instance_types, names, node_pool, read, reasons

SPOT = "{key: karpenter.sh/capacity-type, operator: In, values: [spot]}"


def test_a_pool_has_a_template_for_each_type_zone_and_way_of_buying() -> None:
    pools = read(node_pool(), TYPES)
    assert not pools.problems
    assert names(pools) == [
        "c.large/a/on-demand",
        "c.large/a/spot",
        "c.large/b/spot",
        "g.large/a/spot",
        "m.2xlarge/a/on-demand",
        "m.2xlarge/a/spot",
        "m.2xlarge/b/on-demand",
    ]


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        (SPOT, ["c.large/a/spot", "c.large/b/spot", "g.large/a/spot", "m.2xlarge/a/spot"]),
        ("{key: karpenter.kwok.sh/instance-cpu, operator: Gt, values: ['4']}", ["m.2xlarge/a/on-demand"]),
        ("{key: beta.kubernetes.io/arch, operator: NotIn, values: [amd64]}", ["g.large/a/spot"]),
        ("{key: karpenter.kwok.sh/instance-size, operator: In, values: [2xlarge]}", ["m.2xlarge/a/on-demand"]),
        ("{key: karpenter.kwok.sh/instance-family, operator: In, values: [g]}", ["g.large/a/spot"]),
        ("{key: topology.kubernetes.io/zone, operator: In, values: [b]}", ["c.large/b/spot"]),
    ],
)
def test_requirements_choose_types_and_offerings(requirement: str, expected: list[str]) -> None:
    assert set(expected) <= set(names(read(node_pool(f"[{requirement}]"), TYPES)))
    assert len(names(read(node_pool(f"[{requirement}]"), TYPES))) < 7


def test_labels_taints_and_resources_of_a_node() -> None:
    more = "taints: [{key: spot, value: '950', effect: NoSchedule}]"
    [pool] = read(
        node_pool(f"[{SPOT}, {{key: team, operator: In, values: [x]}}]", more=more), instance_types(SMALL)
    ).pools
    node = pool.templates[0].node("n-1")
    expected = {
        "kubernetes.io/hostname": "n-1",
        "karpenter.sh/nodepool": "pool",
        "karpenter.sh/capacity-type": "spot",
        "topology.kubernetes.io/zone": "a",
        "node.kubernetes.io/instance-type": "c.large",
        "kubernetes.io/os": "linux",
        "team": "x",
    }
    assert node["metadata"]["labels"].items() >= expected.items()
    assert node["spec"] == {"taints": [{"key": "spot", "value": "950", "effect": "NoSchedule"}]}
    assert node["status"]["capacity"]["cpu"] == "4"
    assert node["status"]["allocatable"] == {"pods": "20", "cpu": "3900m", "memory": "8182Mi"}


def test_a_label_with_several_values_has_a_template_for_each() -> None:
    [pool] = read(node_pool(f"[{SPOT}, {{key: tier, operator: In, values: [x, z]}}]"), instance_types(ARM)).pools
    assert [template.labels["tier"] for template in pool.templates] == ["x", "z"]


def test_a_label_that_is_left_open_is_noted() -> None:
    pools = read(node_pool("[{key: tier, operator: Exists}]"), TYPES)
    assert pools.notes == ["NodePool pool: label tier is any: its nodes are taken to have none"]
    assert all("tier" not in template.labels for template in pools.pools[0].templates)


def test_limits_and_disruption() -> None:
    spec = """limits: {cpu: 100, nodes: 3}
  disruption:
    consolidateAfter: Never
    budgets: [{nodes: 10%, reasons: [Empty]}, {nodes: "0", schedule: "@daily", duration: 1h}]"""
    [pool] = read(node_pool(spec=spec), TYPES).pools
    assert (pool.most, {name: str(amount) for name, amount in pool.limits.items()}) == (3, {"cpu": "100"})
    assert pool.disruption is not None
    assert (pool.disruption.after_seconds, pool.disruption.expires_after_seconds) == (None, 720 * 3600)
    assert [(each.nodes, each.reasons, each.seconds) for each in pool.disruption.budgets] == [
        ("10%", ("Empty",), None),
        ("0", (), 3600),
    ]


def test_without_budgets_a_tenth_may_be_disrupted() -> None:
    [pool] = read(node_pool(), TYPES).pools
    assert pool.disruption is not None
    assert [each.nodes for each in pool.disruption.budgets] == ["10%"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (node_pool("[{key: x, operator: Near, values: [a]}]"), 'requirements[0].operator: Unsupported value: "Near"'),
        (node_pool("[{key: x, operator: In}]"), "requirements[0].values: Required value"),
        (node_pool("[{key: x, operator: Gt, values: [a]}]"), "must be a single positive integer"),
        (node_pool("[{key: x, operator: Exists, values: [a]}]"), "must be empty"),
        (node_pool("[{operator: Exists}]"), "requirements[0].key: Required value"),
        (node_pool(more="taints: [{key: a b, effect: NoSchedule}]"), "spec.template.spec.taints[0].key: Invalid value"),
        (node_pool(more="taints: [{key: a, effect: Never}]"), "spec.template.spec.taints[0].effect: Unsupported value"),
        (node_pool(spec="weight: 101"), "spec.weight: Invalid value: 101: must be from 1 to 100"),
        (node_pool(spec="limits: {cpu: -1}"), 'spec.limits[cpu]: Invalid value: "-1": must not be negative'),
        (node_pool(spec="disruption: {consolidateAfter: soon}"), "spec.disruption.consolidateAfter"),
        (node_pool(spec="disruption: {budgets: [{nodes: many}]}"), "spec.disruption.budgets[0].nodes"),
        (node_pool(spec="disruption: {budgets: [{schedule: '@daily'}]}"), "'schedule' must be set with 'duration'"),
        (node_pool(spec="replicas: 2\n  weight: 3"), "must not be set in a NodePool with replicas"),
        (node_pool(f"[{SPOT.replace('spot', 'moon')}]"), "must be in moon; there are on-demand, spot"),
        (
            node_pool(
                "[{key: kubernetes.io/arch, operator: In, values: [arm64]}, {key: karpenter.kwok.sh/instance-cpu, "
                "operator: Gt, values: ['8']}]"
            ),
            "all together by none of 3",
        ),
        (node_pool().replace("v1\nkind", "v1beta1\nkind"), "karpenter.sh/v1beta1 is not read; karpenter.sh/v1 is"),
        (node_pool(name="''"), "metadata.name: Required value"),
        (node_pool(spec="weight: many"), "spec.weight: json: cannot unmarshal string"),
    ],
)
def test_what_is_wrong_is_said_with_its_path(text: str, reason: str) -> None:
    pools = read(text, TYPES)
    assert not pools.pools
    assert len(pools.problems) == 1
    assert reason in pools.problems[0].reason
    assert pools.problems[0].place.source == "1"


def test_without_instance_types_there_is_no_template() -> None:
    assert "there are no instance types in the input" in reasons(read(node_pool()))[0]


def test_more_kinds_of_node_than_can_be_tried_are_refused() -> None:
    many = ", ".join(f"{{key: l{number}, operator: In, values: [a, b, c, d, e, f, g, h]}}" for number in range(8))
    assert "allows more than 20,000 kinds of node" in reasons(read(node_pool(f"[{many}]"), TYPES))[0]


def test_a_name_is_that_of_one_pool() -> None:
    pools = read(node_pool(), node_pool(), instance_types(BIG))
    assert len(pools.pools) == 1
    assert reasons(pools) == ['metadata.name: Duplicate value: "pool": there is a pool of this name at 1:2']
