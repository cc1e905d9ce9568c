from contextlib import AbstractAsyncContextManager

import pytest
from tests.unit.serve.shared.lagging_store import servers

from moorage.serve.verbs.api import Api


@pytest.fixture
def two() -> AbstractAsyncContextManager[list[Api]]:
    """Two API servers on shared values."""
    return servers()
