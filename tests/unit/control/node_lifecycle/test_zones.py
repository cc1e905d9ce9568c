"""The order in which nodes that are not ready get their NoExecute taint."""

from itertools import permutations

import pytest

from moorage.control.node_lifecycle.zones import Zones

SINCE = {"n3": 5.0, "n1": 7.0, "n2": 7.0}


@pytest.mark.parametrize("queued", list(permutations(SINCE)))
def test_the_order_of_taints_does_not_depend_on_which_node_was_queued_first(queued: tuple[str, ...]) -> None:
    zones = Zones()
    for name in ("r0", "r1", "r2", *queued):
        zones.track(name, "", ready=name not in SINCE, counts=True)
    for name in queued:
        assert zones.want(name, SINCE[name])
    zones.update(0.0)
    granted = [name for now in range(0, 1000, 10) for name in zones.grants(float(now))]
    assert granted == ["n3", "n1", "n2"]
