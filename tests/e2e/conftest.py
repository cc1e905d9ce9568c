from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.e2e.behind_the_scenes import SharedClusters


@pytest.fixture(scope="session")
def shared_clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedClusters]:
    with ExitStack() as until:
        yield SharedClusters(tmp_path_factory, until)
