"""A cluster for all modules that want the same one, a namespace for each test."""

from itertools import count

import pytest
from tests.e2e.behind_the_scenes import SharedClusters, make_namespace
from tests.e2e.kubectl import Kubectl
from tests.e2e.running_cluster import Cluster

_NUMBERS = count(1)


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest, shared_clusters: SharedClusters) -> Cluster:
    """A module may say with `UP_OPTIONS` how its cluster is started; it leaves the nodes as it has found them."""
    options: tuple[str, ...] = getattr(request.module, "UP_OPTIONS", ())
    return shared_clusters.with_options(*options)


@pytest.fixture
def kubectl(cluster: Cluster) -> Kubectl:
    """In a namespace of its own, so that tests need not tidy up after themselves."""
    namespace = f"test-{next(_NUMBERS)}"
    make_namespace(cluster, namespace)
    return Kubectl(cluster.kubeconfig, cluster.home, namespace)
