"""The text of an explanation leaves no reason out: on random clusters every refusal of every node is in it.

With --all each node has each of its reasons word by word. Without, nodes that differ by values share lines, and the
words of every reason are there, but for the values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from random import Random
from unittest import mock

import msgspec
from hypothesis import given
from tests.laws.falsify import LAW_SETTINGS, assert_notices
from tests.laws.random_clusters import Scene, build, random_node, scenes
from tests.laws.test_explanation_laws import GATES, refusals_of

from moorage.columns.cluster import Cluster
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.plan.explain.explanation import Explanation
from moorage.plan.explain.groups import Line, Refused, merged, refused_nodes
from moorage.plan.explain.sentence.standings import Standing
from moorage.plan.explain.text import ExplanationText
from moorage.schedule.candidates import Candidates
from moorage.schedule.config.default_profile import default_profile
from moorage.schedule.diagnosis import Refusal

Merge = Callable[..., list[Line]]
_WIDE = 100_000
_WORDS = re.compile(r"[^\s,;:()]+")


def _by_plugins(groups: Sequence[Refused], *, everything: bool = False) -> list[Line]:
    """Broken on purpose: nodes that the same plugins refuse share a line, whatever these say."""
    alike: dict[tuple[str, ...], list[Refused]] = {}
    for group in groups:
        alike.setdefault(tuple(refusal.plugin for refusal in group.refusals), []).append(group)
    return [Line(tuple(n for group in found for n in group.nodes), tuple(found)) for found in alike.values()]


def _explanation(cluster: Cluster, groups: tuple[Refused, ...]) -> Explanation:
    return Explanation(
        pod="default/p",
        workload="",
        story="",
        standing=Standing.PENDING,
        node="",
        scheduler="default-scheduler",
        priority=0,
        reason="",
        message="",
        nodes=len(cluster.nodes),
        rejection=None,
        refused=groups,
        feasible=0,
        weights={},
        scores=(),
        tied=0,
        seed=0,
    )


def _printed(told: Explanation, merge: Merge, *, everything: bool) -> list[str]:
    with mock.patch("moorage.plan.explain.text.merged", merge):
        return list(ExplanationText(width=_WIDE, everything=everything).lines(told))


def _blocks(lines: Iterable[str]) -> dict[str, list[str]]:
    """Return the lines about each node, from the text with --all."""
    blocks: dict[str, list[str]] = {}
    current: list[str] = []
    for line in lines:
        if line.startswith("    "):
            current.append(line.strip())
        elif line.startswith("  "):
            current = []
            for name in line.rpartition("  ")[0].strip().split(", "):
                blocks[name] = current
    return blocks


def _said(refusals: Iterable[Refusal]) -> list[str]:
    found = []
    for refusal in refusals:
        found += [f"{refusal.plugin}: {'; '.join(refusal.verdict.reasons)}", *refusal.verdict.details]
    return found


def _wide(scene: Scene) -> Scene:
    """A few nodes more, so that there are more lines than are printed one by one."""
    random = Random(repr(scene.pod))
    more = [random_node(random, f"more-{number}") for number in range(8)]
    limits = [*scene.volume_limits, *(1 for _ in more)]
    return msgspec.structs.replace(scene, nodes=[*scene.nodes, *more], volume_limits=limits)


def _law(merge: Merge) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(scenes())
    def law(scene: Scene) -> None:
        cluster, pod = build(_wide(scene)), convert_view(scene.pod, Pod)
        candidates = Candidates(default_profile(GATES), cluster.shape_of(pod, by_name=True), cluster)
        told = _explanation(cluster, refused_nodes(candidates))
        refused = {
            node.metadata.name: refusals for slot, node in cluster.nodes if (refusals := refusals_of(candidates, slot))
        }
        blocks = _blocks(_printed(told, merge, everything=True))
        for name, refusals in refused.items():
            assert blocks[name] == _said(refusals)
        text = "\n".join(_printed(told, merge, everything=False))
        values = {value for _, node in cluster.nodes for value in _values(node)}
        known = set(_words(text, values))
        for name, refusals in refused.items():
            assert {word for said in _said(refusals) for word in _words(said, values)} <= known, name

    return law


def _values(node: Node) -> Iterable[str]:
    yield node.metadata.name
    yield from node.metadata.labels.values()
    yield from (taint.value for taint in node.spec.taints)


def _words(text: str, values: set[str]) -> Iterable[str]:
    """Return the words that are no values: of key=value the key, and nothing that has a digit."""
    for word in _WORDS.findall(text):
        bare = word.strip("{}").partition("=")[0]
        if bare and bare not in values and not any(map(str.isdigit, bare)):
            yield bare


def test_no_reason_of_any_node_is_left_out() -> None:
    _law(merged)()


def test_nodes_that_share_a_line_for_different_reasons_are_noticed() -> None:
    assert_notices(_law(_by_plugins))
