"""Attach without a webhook, as `attach install --policies-only` prints it: policies lower, a controller evicts."""

from collections.abc import Callable, Iterator

import pytest
from tests.interop.attached import stories
from tests.interop.attached.installation import Installation, attached
from tests.interop.attached.unaware_cluster import Tenant, a_cluster, needs_a_cluster

pytestmark = needs_a_cluster()


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with (
        a_cluster(tmp_path_factory.mktemp("policies")) as cluster,
        attached(cluster, "1.36", "--policies-only") as made,
    ):
        yield made


@pytest.mark.parametrize(
    "story",
    [
        stories.spot_nodes_are_for_those_who_ask,
        stories.a_service_level_that_drops_evicts_exactly_those_that_need_more,
        stories.a_soft_taint_makes_a_node_less_welcome,
    ],
    ids=lambda story: story.__name__,
)
def test_stories(story: Callable[[Tenant], None], tenant: Tenant) -> None:
    story(tenant)
