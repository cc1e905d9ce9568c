"""A cluster without nodes for each module, an empty stage for each test."""

from collections.abc import Iterator
from itertools import count

import pytest
from tests.e2e.kubectl import Kubectl
from tests.e2e.running_cluster import Cluster, moorage_up
from tests.e2e.stories.stage import Stage

_NUMBERS = count(1)


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A module says with `UP_OPTIONS` how its cluster is started."""
    options: tuple[str, ...] = getattr(request.module, "UP_OPTIONS", ())
    with moorage_up(tmp_path_factory.mktemp("cluster"), "--nodes", "0", *options) as running:
        yield running


@pytest.fixture
def stage(cluster: Cluster) -> Iterator[Stage]:
    kubectl = Kubectl(cluster.kubeconfig, cluster.home, f"story-{next(_NUMBERS)}")
    kubectl(f"create namespace {kubectl.namespace}")
    stage = Stage(kubectl)
    yield stage
    stage.clear()
