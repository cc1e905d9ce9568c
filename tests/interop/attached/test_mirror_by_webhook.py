"""Nodes are mirrored by the webhook, as on clusters before 1.36: in the write that taints them, or it is refused."""

from collections.abc import Callable, Iterator
from random import Random

import pytest
from tests.e2e.component_processes import until
from tests.interop.attached import races, stories
from tests.interop.attached.drawn_pods import drawn_taints
from tests.interop.attached.installation import Installation, attached
from tests.interop.attached.unaware_cluster import NODES, Tenant, a_cluster, needs_a_cluster, taint

pytestmark = needs_a_cluster()


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with a_cluster(tmp_path_factory.mktemp("mirror")) as cluster, attached(cluster, "1.35") as made:
        yield made


@pytest.mark.parametrize(
    "story",
    [
        races.no_pod_lands_on_a_node_that_was_tainted_just_before,
        races.no_pod_with_an_expression_lands_on_a_node_that_was_tainted_just_before,
        races.no_waiting_pod_lands_on_a_fresh_node_that_is_not_good_enough,
        stories.versions_decide_about_taints_and_labels,
    ],
    ids=lambda story: story.__name__,
)
def test_stories(story: Callable[[Tenant], None], tenant: Tenant) -> None:
    story(tenant)


def test_every_write_mirrors_taints(installation: Installation) -> None:
    random, cluster = Random(1), installation.cluster
    with cluster.scenario():
        for _ in range(20):
            cluster.taint(NODES[0], *drawn_taints(random))
            assert cluster.is_mirrored(NODES[0])


def test_while_the_webhook_is_down_no_taint_is_added_but_nodes_are_cordoned(installation: Installation) -> None:
    cluster = installation.cluster
    with cluster.scenario({NODES[0]: [taint("spot", "960")]}):
        installation.stop_webhook()
        try:
            refused = cluster.admin.fails(f"taint node {NODES[0]} other=1:NoSchedule")
            assert 'failed calling webhook "taints.mirror.attach.moorage.dev"' in refused
            cluster.admin(f"cordon {NODES[0]}")
            cluster.admin(f"uncordon {NODES[0]}")
            cluster.admin(f"taint node {NODES[0]} spot-")
            until(lambda: cluster.is_mirrored(NODES[0]))
        finally:
            installation.start_webhook()
            until(lambda: cluster.mirrors(taint("probe", "1")))
