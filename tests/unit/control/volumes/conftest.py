from contextlib import AbstractAsyncContextManager

import pytest
from tests.unit.control.volumes.stored import Storage, storage


@pytest.fixture
def cluster() -> AbstractAsyncContextManager[Storage]:
    """A cluster with the controller that binds volumes and claims."""
    return storage()
