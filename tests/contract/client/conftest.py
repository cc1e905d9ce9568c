from pathlib import Path

import pytest
from tests.contract.client.transports import TRANSPORTS, Scenario, Using, play


@pytest.fixture(params=list(TRANSPORTS))
def using(request: pytest.FixtureRequest, tmp_path: Path) -> Using:
    """Run a scenario with a client of each kind, on a fresh server."""
    connect = TRANSPORTS[request.param]

    def run(scenario: Scenario) -> None:
        play(scenario, connect, tmp_path)

    return run
