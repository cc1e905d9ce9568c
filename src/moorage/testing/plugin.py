"""Plug into pytest: the fixture `moorage_cluster` and the marker `moorage`.

Registered by the entry point group pytest11. Imports nothing but pytest until a test wants a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from moorage.testing.cluster import Cluster

_MARKER = "moorage(**options): options of the cluster in the fixture moorage_cluster, such as gates={...} and nodes=3"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)


@pytest.fixture
def moorage_cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Run an ephemeral cluster in this process: own port, own kubeconfig, gone after the test."""
    from moorage.testing.cluster import Cluster

    mark = request.node.get_closest_marker("moorage")
    with Cluster(**(mark.kwargs if mark is not None else {})) as cluster:
        yield cluster
