"""Choose what a sentence says of the nodes that refuse a pod: what keeps it from the nearest ones, then the others.

The nearest nodes are those with the fewest causes, where room of any kind counts as one; of nodes with as many, those
that the pod may use and that only lack room, then those that come first in the matrix. What every node lacks is told
with the best that there is of it; where nodes differ, it is told what is missing on the nearest nodes, and what most of
the others lack. Nothing is told that is not in the matrix.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from moorage.plan.explain.groups import Refused
from moorage.plan.explain.sentence.causes import Cause, ShortOf, Value
from moorage.plan.explain.sentence.reading import CauseReader
from moorage.plan.explain.sentence.words import Where, cut, listed, small

_MAX_LACKING = 2


class _Group(msgspec.Struct, frozen=True):
    """Nodes with the same refusals: their causes, each with what the nodes have."""

    nodes: tuple[str, ...]
    causes: Mapping[Cause, Any]

    @property
    def distance(self) -> tuple[int, bool, int]:
        short = sum(isinstance(cause, ShortOf) for cause in self.causes)
        reasons = len(self.causes) - max(0, short - 1)
        return reasons, any(cause.excludes for cause in self.causes), short


def sentence_about(refused: Sequence[Refused], reader: CauseReader) -> str:
    """Return why no node takes a pod; `refused` has all nodes, the nearest first."""
    groups = sorted((_Group(one.nodes, reader.causes(one)) for one in refused), key=lambda group: group.distance)
    nearest = groups[0].causes
    everywhere = [cause for cause in nearest if all(cause in group.causes for group in groups)]
    if not everywhere:
        return _but_for(groups)
    more = len(everywhere) - _MAX_LACKING
    sentence = ". Also ".join(
        text if not number else small(text)
        for number, text in enumerate(_alone(cause, groups) for cause in everywhere[:_MAX_LACKING])
    )
    if more > 0:
        return f"{sentence}; and {more} more reason{'s' if more > 1 else ''}"
    if len(everywhere) < len(nearest):
        return f"{sentence}; with that, it {small(_fits(_near(groups), everywhere))}"
    return sentence


def sentence_about_one(refused: Refused, reader: CauseReader) -> str:
    """Return why the one node that a pod was made for does not take it."""
    group = _Group(refused.nodes, reader.causes(refused))
    return f"Is only for node {cut(group.nodes[0])}, and fits there but for {_lacking([group])}"


def _alone(cause: Cause, groups: Sequence[_Group]) -> str:
    """Return the sentence of a cause that all nodes have.

    The best value there is counts among the nodes that nothing else keeps the pod from, if there are such nodes.
    """
    total = sum(len(group.nodes) for group in groups)
    text = cause.alone(_values(cause, groups), Where(total))
    usable = [group for group in groups if len(group.causes) == 1]
    if not usable or len(usable) == len(groups):
        return text
    of_usable = cause.alone(_values(cause, usable), Where(total))
    # What is true of all nodes is told of all.
    return text if of_usable == text else cause.alone(_values(cause, usable), Where(total, is_part=True))


def _values(cause: Cause, groups: Sequence[_Group]) -> list[Value]:
    return [Value(group.causes[cause], len(group.nodes)) for group in groups]


def _near(groups: Sequence[_Group]) -> list[_Group]:
    """Return the groups with the same causes as the nearest one."""
    return [group for group in groups if group.causes.keys() == groups[0].causes.keys()]


def _fits(near: Sequence[_Group], without: Sequence[Cause] = ()) -> str:
    """Say that the pod would fit nodes but for their causes, some of which are told already."""
    names = [name for group in near for name in group.nodes]
    where = cut(names[0]) if len(names) == 1 else f"{len(names):,} nodes"
    return f"Fits {where} but for {_lacking(near, without)}"


def _but_for(groups: Sequence[_Group]) -> str:
    """Say what the nearest nodes lack, and what most of the others do."""
    sentence = _fits(_near(groups))
    others = [group for group in groups if group.causes.keys() != groups[0].causes.keys()]
    if not others:
        return sentence
    left = sum(len(group.nodes) for group in others)
    # Of many causes with the same words, such as taints with other keys, the words count.
    by_words: Counter[str] = Counter()
    causes: dict[str, Cause] = {}
    for group in others:
        for words, cause in {cause.of_others(2): cause for cause in group.causes}.items():
            by_words[words] += len(group.nodes)
            causes.setdefault(words, cause)
    words, nodes = by_words.most_common(1)[0]
    who = f"the other {'node' if left == 1 else f'{left:,}'}" if nodes == left else f"{nodes:,} of the other {left:,}"
    return f"{sentence}; {who} {causes[words].of_others(nodes)}"


def _lacking(groups: Sequence[_Group], without: Sequence[Cause] = ()) -> str:
    causes = [cause for cause in groups[0].causes if cause not in without]
    texts = [cause.but_for(_values(cause, groups)) for cause in causes[:_MAX_LACKING]]
    more = len(causes) - _MAX_LACKING
    return listed([*texts, *([f"{more} more reason{'s' if more > 1 else ''}"] if more > 0 else ())])
