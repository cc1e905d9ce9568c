"""Attach beside our own cluster with the gates of a release: webhook and controller as processes, end to end.

The same functions run beside real components in tests/interop/attached.
"""

from collections.abc import Callable, Iterator

import pytest
from tests.interop.attached import answers, failures, operations, stories
from tests.interop.attached.installation import Installation, attached
from tests.interop.attached.own_cluster import own_cluster
from tests.interop.attached.unaware_cluster import Tenant

Story = Callable[[Tenant], None]
Failure = Callable[[Tenant, Installation], None]


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with own_cluster(tmp_path_factory.mktemp("attached")) as cluster, attached(cluster) as made:
        yield made


@pytest.fixture
def tenant(installation: Installation) -> Iterator[Tenant]:
    with installation.cluster.scenario() as made:
        yield made


@pytest.mark.parametrize(
    "story",
    [
        stories.spot_nodes_are_for_those_who_ask,
        stories.a_service_level_that_drops_evicts_exactly_those_that_need_more,
        stories.versions_decide_about_taints_and_labels,
        stories.versions_decide_who_stays_when_a_node_is_upgraded,
        stories.expressions_decide_by_match_labels,
        stories.expressions_decide_who_stays,
        stories.a_soft_taint_makes_a_node_less_welcome,
        stories.what_cannot_work_is_refused_in_words_that_say_why,
        answers.answers_are_in_the_words_of_the_user,
        answers.a_what_if_is_what_happens,
        answers.gates_say_what_is_attached,
        operations.status_and_uninstall_say_what_is_lowered,
    ],
    ids=lambda story: story.__name__,
)
def test_stories(story: Story, tenant: Tenant) -> None:
    story(tenant)


@pytest.mark.parametrize(
    "failure",
    [
        failures.the_webhook_is_down,
        failures.the_controller_is_down,
        failures.a_budget_forbids_to_leave,
        failures.a_leader_is_killed,
        failures.the_mirror_is_removed,
        failures.the_certificate_expires,
        failures.the_api_server_starts_again,
        failures.the_webhook_is_replaced_while_it_is_used,
        failures.hostile_labels_and_annotations_are_not_trusted,
    ],
    ids=lambda failure: failure.__name__,
)
def test_failures(failure: Failure, tenant: Tenant, installation: Installation) -> None:
    failure(tenant, installation)
