"""A cluster for each module, a namespace for each test."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from tests.e2e.kubectl import Kubectl
from tests.e2e.running_cluster import Cluster, moorage_up

_NUMBERS = count(1)


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A module may say with `UP_OPTIONS` how its cluster is started."""
    directory: Path = tmp_path_factory.mktemp("cluster")
    options: tuple[str, ...] = getattr(request.module, "UP_OPTIONS", ())
    with moorage_up(directory, *options) as running:
        yield running


@pytest.fixture
def kubectl(cluster: Cluster) -> Kubectl:
    """In a namespace of its own, so that tests need not tidy up after themselves."""
    namespace = f"test-{next(_NUMBERS)}"
    user = Kubectl(cluster.kubeconfig, cluster.home, namespace)
    user(f"create namespace {namespace}")
    return user
