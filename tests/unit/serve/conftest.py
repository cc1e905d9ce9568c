from contextlib import AbstractAsyncContextManager

import pytest
from tests.unit.serve.verbs.bench import new_api

from moorage.serve.verbs.api import Api


@pytest.fixture
def api() -> AbstractAsyncContextManager[Api]:
    """An API on an empty store."""
    return new_api()
