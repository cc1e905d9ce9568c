"""What laws share that draw worlds in which pods come and go without end."""

import pytest

from moorage.plan.simulation import simulation


@pytest.fixture
def _gives_up_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up a plan in which pods are evicted again and again after a tenth of the usual evictions.

    For laws that leave such worlds out: each would take seconds of simulated turns that nothing looks at.
    """
    monkeypatch.setattr(simulation, "MAX_GENERATIONS", 5)
