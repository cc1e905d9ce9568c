from contextlib import AbstractAsyncContextManager

import pytest
from tests.unit.serve.http.serving import closing_clients


@pytest.fixture(autouse=True)
def clients() -> AbstractAsyncContextManager[None]:
    return closing_clients()
