"""Attach beside Kubernetes, or any cluster that is given: its webhook, its controller and the policy of the mirror."""

from collections.abc import Callable, Iterator
from random import Random

import pytest
from tests.interop.attached import everyday_use, failures, races
from tests.interop.attached.drawn_pods import (
    EXPRESSIONS,
    THRESHOLDS,
    VERSIONS,
    drawn_pods,
    drawn_taints,
    unlike_the_original,
)
from tests.interop.attached.installation import Installation, attached
from tests.interop.attached.scenarios import FAILURES, STORIES, Failure, Story, name_of
from tests.interop.attached.unaware_cluster import NODES, Tenant, UnawareCluster, a_cluster, needs_a_cluster, pod
from tests.unit.attach.workloads import toleration

pytestmark = needs_a_cluster()

#: What the policies cannot lower, of which the nodes of everyday use accept the same.
_DEMANDS = {
    "number": toleration("Gt", "950", effect="NoSchedule"),
    "version": toleration("SemverGt", "950.0.0", effect="NoSchedule"),
    "expression": toleration("CEL", "int(taint.value) > 950", effect="NoSchedule"),
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UnawareCluster]:
    with a_cluster(tmp_path_factory.mktemp("webhook")) as started:
        yield started


@pytest.fixture(scope="module")
def installation(cluster: UnawareCluster) -> Iterator[Installation]:
    with attached(cluster) as made:
        yield made


@pytest.fixture
def spot(installation: Installation) -> Iterator[Tenant]:
    with installation.cluster.scenario(everyday_use.SPOT) as made:
        yield made


@pytest.mark.parametrize(
    "story",
    [
        *STORIES,
        races.no_pod_lands_on_a_node_that_was_tainted_just_before,
        races.no_pod_with_an_expression_lands_on_a_node_that_was_tainted_just_before,
        races.no_waiting_pod_lands_on_a_fresh_node_that_is_not_good_enough,
    ],
    ids=name_of,
)
def test_stories(story: Story, tenant: Tenant) -> None:
    story(tenant)


@pytest.mark.parametrize("seed", [2, 5])
def test_drawn_pods_go_where_the_originals_would(installation: Installation, seed: int) -> None:
    random, cluster = Random(seed), installation.cluster
    taints = {node: drawn_taints(random, most=2) for node in NODES}
    # Two tenants: a namespace may ask 128 questions of nodes.
    with cluster.scenario(taints) as first, cluster.scenario() as second:
        pods = drawn_pods(random, 400, THRESHOLDS | VERSIONS | EXPRESSIONS)
        assert unlike_the_original(cluster, first, pods[:200]) == []
        assert unlike_the_original(cluster, second, pods[200:]) == []


@pytest.mark.parametrize("demand", _DEMANDS)
@pytest.mark.parametrize(
    "use",
    [
        everyday_use.all_kinds_are_applied_again_without_a_change,
        everyday_use.deployments_scale_roll_and_are_undone,
        everyday_use.daemons_run_on_the_nodes_that_are_accepted,
        everyday_use.urgent_pods_preempt_where_their_value_is_accepted,
    ],
    ids=lambda use: use.__name__,
)
def test_everyday_use(use: Callable[[Tenant, everyday_use.Raw], None], demand: str, spot: Tenant) -> None:
    if demand == "version":
        for node, taints in everyday_use.SPOT.items():
            spot.cluster.taint(node, *({**each, "value": f"{each.get('value', '0')}.0.0"} for each in taints))
    use(spot, pod(_DEMANDS[demand]))


@pytest.mark.parametrize(
    "failure",
    [
        *FAILURES,
        failures.the_certificate_is_rotated,
        everyday_use.ordinary_objects_cause_no_call,
        everyday_use.a_lowered_deployment_is_sent_when_its_template_changes,
    ],
    ids=name_of,
)
def test_failures(failure: Failure, tenant: Tenant, installation: Installation) -> None:
    failure(tenant, installation)
