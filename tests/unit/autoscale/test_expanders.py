"""The cases of Cluster Autoscaler's own tests of its expanders (cluster-autoscaler/expander/*_test.go), as facts."""

import pytest
from tests.unit.autoscale.autoscaled import group
from tests.unit.plan.pools.pool_worlds import pools_of

from moorage.autoscale.cluster_autoscaler.estimate import Option
from moorage.autoscale.cluster_autoscaler.expanders import best_option, filtered
from moorage.autoscale.cluster_autoscaler.priorities import read_priorities
from moorage.autoscale.node_kinds import NodeKinds
from moorage.columns.cluster import PodRecord
from moorage.model.gates import default_gates
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import Pod
from moorage.schedule.config.configured_scheduler import DEFAULT_CONFIGURATION

MIB = 2**20


class Options:
    """Options of groups with pods of one size."""

    def __init__(self, *groups: str) -> None:
        pools = pools_of(*groups).pools
        self._kinds = NodeKinds(pools, default_gates(), DEFAULT_CONFIGURATION)

    def option(self, pool: str, nodes: int = 1, pods: int = 1, cpu: int = 500, memory: int = 1000 * MIB) -> Option:
        kind = self._kinds.kinds[int(self._kinds.of_pool[pool][0])]
        return Option(kind, nodes, tuple(self._record(number, cpu, memory) for number in range(pods)))

    def _record(self, number: int, cpu: int, memory: int) -> PodRecord:
        requests = {"cpu": f"{cpu}m", "memory": str(memory)}
        pod = {
            "metadata": {"name": f"p{number}", "namespace": "default"},
            "spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]},
        }
        return self._kinds.cluster.record(f"default/p{number}", convert_view(pod, Pod))


def sized(name: str, cpus: int, memories: int) -> str:
    """A group whose nodes have room for so many pods of 500m, and of 1,000 MiB."""
    return group(name, f"{cpus * 500}m", memory=f"{memories * 1000}Mi")


def names(options: list[Option]) -> list[str]:
    return [option.pool for option in options]


def test_least_waste_prefers_nodes_of_the_shape_of_the_pods() -> None:
    known = Options(sized("balanced", 16, 16), sized("highmem", 16, 32), sized("lowcpu", 8, 16))
    without_pods = known.option("balanced", pods=0)
    assert filtered([without_pods], "least-waste") == [without_pods]
    balanced, highmem, lowcpu = (known.option(name) for name in ("balanced", "highmem", "lowcpu"))
    assert names(filtered([balanced], "least-waste")) == ["balanced"]
    assert names(filtered([balanced, highmem], "least-waste")) == ["balanced"]
    assert names(filtered([balanced, highmem, lowcpu], "least-waste")) == ["lowcpu"]


def test_least_waste_keeps_equal_options() -> None:
    known = Options(sized("a", 8, 8), sized("b", 8, 8))
    assert names(filtered([known.option("a"), known.option("b")], "least-waste")) == ["a", "b"]


def test_most_pods() -> None:
    known = Options(group("a"), group("b"), group("c"))
    few, many, as_many = known.option("a", pods=1), known.option("b", pods=3), known.option("c", pods=3)
    assert names(filtered([few, many, as_many], "most-pods")) == ["b", "c"]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [((2,), ["a"]), ((2, 1, 3), ["b"]), ((2, 2), ["a", "b"]), ((4, 3, 3), ["b", "c"])],
)
def test_least_nodes(counts: tuple[int, ...], expected: list[str]) -> None:
    known = Options(group("a"), group("b"), group("c"))
    options = [known.option(name, nodes=count) for name, count in zip("abc", counts, strict=False)]
    assert names(filtered(options, "least-nodes")) == expected


def test_price_prefers_the_cheaper_group_of_equal_nodes() -> None:
    known = Options(group("dear", "2", price=0.3), group("cheap", "2", price=0.2))
    assert names(filtered([known.option("dear"), known.option("cheap")], "price", cluster_size=3)) == ["cheap"]


def test_price_prefers_the_preferred_size_at_the_same_price_for_each_cpu() -> None:
    """With few nodes, small ones are preferred; with hundreds, large ones."""
    known = Options(group("small", "2", price=0.1, memory="4Gi"), group("large", "32", price=1.6, memory="64Gi"))
    options = [known.option("small", nodes=8, pods=16), known.option("large", nodes=1, pods=16)]
    assert names(filtered(options, "price", cluster_size=4)) == ["small"]
    assert names(filtered(options, "price", cluster_size=500)) == ["large"]


def test_price_leaves_out_groups_without_a_price_unless_all_are() -> None:
    known = Options(group("a", price=None), group("b", price=9.0), group("c", price=None))
    assert names(filtered([known.option("a"), known.option("b")], "price")) == ["b"]
    assert names(filtered([known.option("a"), known.option("c")], "price")) == ["a", "c"]


CONFIG = """
5:
  - ".*t2\\\\.micro.*"
10:
  - ".*t2\\\\.large.*"
  - ".*t3\\\\.large.*"
50:
  - ".*m4\\\\.4xlarge.*"
"""


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        (["eu-t2.micro", "eu-t3.large"], ["eu-t3.large"]),
        (["eu-t2.large", "eu-t3.large", "eu-t2.micro"], ["eu-t2.large", "eu-t3.large"]),
        (["eu-m4.4xlarge", "eu-t2.large"], ["eu-m4.4xlarge"]),
        (["other", "eu-t2.micro"], ["eu-t2.micro"]),
        (["other", "another"], ["other", "another"]),
    ],
)
def test_priority_by_the_patterns_of_the_config_map(groups: list[str], expected: list[str]) -> None:
    known = Options(*(group(name) for name in groups))
    rules = read_priorities(CONFIG)
    assert len(rules) == 4
    options = [known.option(name) for name in groups]
    found = filtered(
        options, "priority", priorities=lambda name: [priority for priority, occurs in rules if occurs(name)]
    )
    assert names(found) == expected


@pytest.mark.parametrize("text", ["5: x", "- 5", "{", "5:\n  - '['", "x:\n  - a", ""])
def test_a_config_map_that_cannot_be_read_counts_as_absent(text: str) -> None:
    assert read_priorities(text) == ()


def test_priority_of_node_groups_without_a_config_map() -> None:
    known = Options(group("low", priority=1), group("high", priority=7), group("none"))
    options = [known.option(name) for name in ("low", "high", "none")]
    assert names(filtered(options, "priority")) == ["high"]


def test_a_chain_of_expanders_and_then_chance() -> None:
    known = Options(group("a", priority=1), group("b", priority=1), group("c"))
    options = [known.option("a", pods=1), known.option("b", pods=2), known.option("c", pods=9)]

    def chosen(expanders: str, random: float) -> str:
        found = best_option(options, expanders, lambda: random, cluster_size=1)
        assert found is not None
        return found.pool

    assert chosen("priority,most-pods", 0.0) == "b"
    assert [chosen("priority", 0.0), chosen("priority", 0.99)] == ["a", "b"]
    assert [chosen("random", share) for share in (0.0, 0.5, 0.99)] == ["a", "b", "c"]
    assert best_option([], "random", lambda: 0.0, cluster_size=0) is None
