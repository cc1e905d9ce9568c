"""A cluster without nodes for all modules that want the same gates, an empty stage for each test."""

from collections.abc import Iterator
from itertools import count

import pytest
from tests.e2e.behind_the_scenes import SharedClusters, empty_the_stage, make_namespace
from tests.e2e.kubectl import Kubectl
from tests.e2e.running_cluster import Cluster
from tests.e2e.stories.stage import Stage

_NUMBERS = count(1)


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest, shared_clusters: SharedClusters) -> Cluster:
    """A module says with `UP_OPTIONS` how its cluster is started."""
    options: tuple[str, ...] = getattr(request.module, "UP_OPTIONS", ())
    return shared_clusters.with_options("--nodes", "0", *options)


@pytest.fixture
def stage(cluster: Cluster) -> Iterator[Stage]:
    kubectl = Kubectl(cluster.kubeconfig, cluster.home, f"story-{next(_NUMBERS)}")
    make_namespace(cluster, kubectl.namespace)
    yield Stage(kubectl)
    empty_the_stage(cluster, kubectl.namespace)
