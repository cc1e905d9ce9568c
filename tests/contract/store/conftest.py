from pathlib import Path

import pytest
from tests.contract.store.stores import STORES, Scenario, Using, play


@pytest.fixture(params=list(STORES))
def using(request: pytest.FixtureRequest, tmp_path: Path) -> Using:
    """Run a scenario with a fresh store of each kind."""
    opener = STORES[request.param]

    def run(scenario: Scenario) -> None:
        play(scenario, opener, tmp_path / "data")

    return run
