"""Lists of nodes in prose: six names, or a number with two examples."""

import pytest

from moorage.plan.report.node_lists import shown_nodes


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], ""),
        (["b", "a"], "b, a"),
        (["a", "b", "c", "d", "e", "f"], "a, b, c, d, e, f"),
        (["a", "b", "c", "d", "e", "f", "g"], "7 nodes, such as a, b"),
        ([f"node-{i}" for i in range(5000) if i % 250], "4,980 nodes, such as node-1, node-2"),
    ],
)
def test_more_than_six_nodes_are_a_number_with_two_examples(names: list[str], expected: str) -> None:
    assert shown_nodes(names) == expected


def test_everything_lists_every_node() -> None:
    names = [f"node-{i}" for i in range(30)]
    assert shown_nodes(names, everything=True) == ", ".join(names)
