"""What `up --wait` says is not ready."""

import pytest

from moorage.cluster.settling import _names, _Unsettled


@pytest.mark.parametrize(
    ("nodes", "names"),
    [
        (0, []),
        (2, ["node n0", "node n1"]),
        (6, [f"node n{number}" for number in range(6)]),
        (30, ["30 nodes, such as n0, n1"]),
    ],
)
def test_many_nodes_are_one_entry(nodes: int, names: list[str]) -> None:
    waiting = [_Unsettled(f"node n{number}") for number in range(nodes)]
    assert list(_names([*waiting, _Unsettled("pod default/a")])) == [*names, "pod default/a"]
