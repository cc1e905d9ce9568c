"""Give each test a tenant of its module's installation."""

from collections.abc import Iterator

import pytest
from tests.interop.attached.installation import Installation
from tests.interop.attached.unaware_cluster import Tenant


@pytest.fixture
def tenant(installation: Installation) -> Iterator[Tenant]:
    with installation.cluster.scenario() as made:
        yield made
