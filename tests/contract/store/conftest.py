from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from tests.contract.store.stores import STORES, opened

from moorage.store.protocol import Store


@pytest.fixture(params=list(STORES))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> AbstractAsyncContextManager[Store]:
    """A fresh store of each kind."""
    return opened(STORES[request.param], tmp_path / "data")
