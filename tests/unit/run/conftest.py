from contextlib import AbstractAsyncContextManager

import pytest
from tests.unit.run.simulation import Simulation, simulating


@pytest.fixture
def simulation() -> AbstractAsyncContextManager[Simulation]:
    """An API server with simulated kubelets."""
    return simulating()
