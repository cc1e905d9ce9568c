"""Attach beside our own cluster with the gates of a release: webhook and controller as processes, end to end.

The same functions run beside real components in tests/interop/attached.
"""

from collections.abc import Iterator

import pytest
from tests.interop.attached.installation import Installation, attached
from tests.interop.attached.own_cluster import own_cluster
from tests.interop.attached.scenarios import FAILURES, STORIES, Failure, Story, name_of
from tests.interop.attached.unaware_cluster import Tenant


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with own_cluster(tmp_path_factory.mktemp("attached")) as cluster, attached(cluster) as made:
        yield made


@pytest.fixture
def tenant(installation: Installation) -> Iterator[Tenant]:
    with installation.cluster.scenario() as made:
        yield made


@pytest.mark.parametrize("story", STORIES, ids=name_of)
def test_stories(story: Story, tenant: Tenant) -> None:
    story(tenant)


@pytest.mark.parametrize("failure", FAILURES, ids=name_of)
def test_failures(failure: Failure, tenant: Tenant, installation: Installation) -> None:
    failure(tenant, installation)
