"""Explanations in lines: wide clusters in few of them, names made short, nothing that a terminal would obey."""

from __future__ import annotations

import pytest
from tests.unit.plan.explaining import explained
from tests.unit.plan.planning import Raw, node, pod, running

from moorage.plan.explain.explanation import Explanation, plain
from moorage.plan.explain.groups import merged
from moorage.plan.explain.text import ExplanationText


def lines(told: Explanation, *, everything: bool = False, colour: bool = False, width: int = 100) -> str:
    return "\n".join(ExplanationText(colour=colour, width=width, everything=everything).lines(told))


def tainted(name: str, value: str, cpu: str = "4") -> Raw:
    return node(name, cpu=cpu, taints=[{"key": "spot", "value": value, "effect": "NoSchedule"}])


def test_a_wide_cluster_reads_as_a_few_lines() -> None:
    nodes = [tainted(f"spot-{i}", str(i % 90 + 10)) for i in range(300)]
    nodes += [node(f"small-{i}", cpu=f"{100 + i}m") for i in range(100)]
    told = explained(*nodes, pod("p", "2"))
    assert len(told.refused) == 190
    assert [len(line.nodes) for line in merged(told.refused)] == [100, 300]
    text = lines(told)
    assert "300 nodes, such as spot-0, spot-90  one reason away" in text
    assert "100 nodes, such as small-99, small-98  one reason away" in text
    assert "(and 89 more like it; --all lists them)" in " ".join(text.split())
    assert len(text.splitlines()) < 70
    assert lines(told, everything=True).count("TaintToleration") >= 90


def test_groups_lose_nothing() -> None:
    told = explained(tainted("a", "1"), tainted("b", "2"), node("c", cpu="1"), node("d", cpu="2"), pod("p", "3"))
    document = plain(told)
    details = {n: one["details"] for g in document["refused"] for n in g["nodes"] for one in g["refusals"]}
    assert details["c"] == ["cpu: 3 <= 1 is false (allocatable 1, requested 0)"]
    assert details["d"] == ["cpu: 3 <= 2 is false (allocatable 2, requested 0)"]
    assert len(details) == 4


@pytest.mark.parametrize("colour", [False, True])
def test_colours_only_if_asked(colour: bool) -> None:
    told = explained(node("a"), tainted("b", "1"), pod("p"))
    assert ("\x1b[" in lines(told, colour=colour)) is colour


def test_every_standing_has_its_sentence() -> None:
    assert "Fits: goes to a, the only node of 1" in lines(explained(node("a"), pod("p")))
    told = " ".join(lines(explained(node("a"), node("b"), pod("p"))).split())
    assert "between which fewer pods and then --seed 0 decide" in told
    assert "Bound: on node a. Were it scheduled again, 1 of 1 node would do." in lines(
        explained(node("a"), running("p", "a"))
    )
    again = lines(explained(tainted("a", "1"), running("p", "a")))
    assert "it would not be put there again: node(s) had untolerated taint {spot: 1}" in again
    assert "Pending: There are no nodes" in lines(explained(pod("p")))
    assert "Waits until its scheduling gate g is removed; 1 of 1 node would take it" in lines(
        explained(node("a"), pod("p", schedulingGates=[{"name": "g"}]))
    )


def test_no_line_is_wider_than_the_terminal_if_words_allow() -> None:
    told = explained(*(tainted(f"n{i}", str(i)) for i in range(4)), pod("p"))
    assert max(map(len, lines(told, width=72).splitlines())) <= 72


def test_scores_are_a_table() -> None:
    text = lines(explained(node("a"), node("b", cpu="8"), pod("p")))
    rows = [line.split() for line in text.splitlines()]
    assert ["b", "a"] in rows
    assert next(row for row in rows if row[:1] == ["total"])[1] > next(row for row in rows if row[:1] == ["total"])[2]
