"""Choose nodes as users name them: `zone=a`, `pool=spot`, `node=n1`, `LABEL=VALUE`; with a comma, those that are both.

`zone`, `region` and `pool` stand for the labels that clouds and autoscalers give to nodes, and for labels of these
names in any domain, such as `example.com/pool`.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from moorage.model.types.node import Node
from moorage.model.well_known.labels import BETA_REGION, BETA_ZONE, REGION, ZONE
from moorage.plan.report.node_lists import shown_nodes

#: The labels that a word stands for, besides labels of its name.
WORDS: Mapping[str, tuple[str, ...]] = {
    "zone": (ZONE, BETA_ZONE),
    "region": (REGION, BETA_REGION),
    "pool": (
        "karpenter.sh/nodepool",
        "eks.amazonaws.com/nodegroup",
        "cloud.google.com/gke-nodepool",
        "kubernetes.azure.com/agentpool",
        "agentpool",
    ),
}
NODE = "node"
FORM = "zone=NAME, pool=NAME, node=NAME or LABEL=VALUE"
_MANY_VALUES = 8


class NoSuchNodes(ValueError):
    """A choice that is not of the right form, or that no node meets, with the reason."""


class NodeChoice(msgspec.Struct, frozen=True):
    """Nodes that meet all of these conditions: words or labels, with their values."""

    conditions: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return ",".join(f"{key}={value}" for key, value in self.conditions)

    def is_met_by(self, node: Node) -> bool:
        return all(value in values_of(node, key) for key, value in self.conditions)


def parse_choice(text: str) -> NodeChoice:
    """Return the choice that a text names. Raises NoSuchNodes."""
    conditions = []
    for part in text.split(","):
        key, equals, value = part.strip().partition("=")
        if not key or not equals or not value:
            raise NoSuchNodes(f"{text!r} is not of the form {FORM}")
        conditions.append((key, value))
    return NodeChoice(tuple(conditions))


def values_of(node: Node, key: str) -> list[str]:
    """Return what a node has for a word or a label."""
    if key == NODE:
        return [node.metadata.name]
    labels = node.metadata.labels
    if key not in WORDS:
        return [labels[key]] if key in labels else []
    return [value for name, value in labels.items() if name in WORDS[key] or name.rpartition("/")[2] == key]


def chosen_nodes(nodes: Iterable[Node], choices: Sequence[NodeChoice]) -> list[str]:
    """Return the names of the nodes that meet one of the choices, in their order. Raises NoSuchNodes."""
    everything = list(nodes)
    found: dict[str, None] = {}
    for choice in choices:
        names = [node.metadata.name for node in everything if choice.is_met_by(node)]
        if not names:
            raise NoSuchNodes(_nothing(everything, choice))
        found |= dict.fromkeys(names)
    return [node.metadata.name for node in everything if node.metadata.name in found]


def _nothing(nodes: Sequence[Node], choice: NodeChoice) -> str:
    """Say why no node meets a choice: what values there are of the first condition that none meets."""
    if not nodes:
        return "there are no nodes in the input"
    for key, value in choice.conditions:
        there = sorted({one for node in nodes for one in values_of(node, key)})
        if value in there:
            continue
        if key == NODE:
            return f"there is no node {value!r} in the input; there are {shown_nodes([n.metadata.name for n in nodes])}"
        if not there:
            return f"none of the {len(nodes):,} nodes has a label for {key!r}"
        shown = ", ".join(there[:_MANY_VALUES]) + (", …" if len(there) > _MANY_VALUES else "")
        return f"none of the {len(nodes):,} nodes has {key}={value}; there {'is' if len(there) == 1 else 'are'} {shown}"
    return f"none of the {len(nodes):,} nodes meets all of {choice}"
