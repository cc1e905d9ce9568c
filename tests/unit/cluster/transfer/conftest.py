from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.etcd_process import EtcdCluster, etcd_cluster


@pytest.fixture(scope="module")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdCluster]:
    """One etcd for all tests of a module, each of which has a prefix of its own."""
    with etcd_cluster(tmp_path_factory.mktemp("etcd")) as cluster:
        yield cluster


@pytest.fixture
def new_etcd(tmp_path: Path) -> Iterator[EtcdCluster]:
    """An etcd that has never been written to."""
    with etcd_cluster(tmp_path / "etcd") as cluster:
        yield cluster
