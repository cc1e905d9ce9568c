from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from tests.contract.store.stores import STORES, etcd_opener, opened
from tests.etcd_process import EtcdCluster, etcd_cluster

from moorage.store.protocol import Store


@pytest.fixture(scope="session")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdCluster]:
    """One etcd for all stores of a worker: each has a prefix of its own."""
    arguments = ("--max-request-bytes", str(8 * 1024 * 1024))
    with etcd_cluster(tmp_path_factory.mktemp("etcd"), arguments=arguments) as cluster:
        yield cluster


@pytest.fixture(params=[*STORES, "etcd"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> AbstractAsyncContextManager[Store]:
    """A fresh store of each kind."""
    if request.param == "etcd":
        return opened(etcd_opener(request.getfixturevalue("etcd")), tmp_path)
    return opened(STORES[request.param], tmp_path / "data")
