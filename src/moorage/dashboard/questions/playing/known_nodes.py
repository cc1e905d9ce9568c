"""Collect the nodes that a rule is tried on: those of the cluster, or those of pasted lines with taints and labels.

A pasted line is a node: its name, if it has one, taints `key=value:Effect` and labels `key=value`, separated by blanks
or commas, as `kubectl describe node` and `kubectl get nodes --show-labels` print them.
"""

import re
from collections import Counter
from functools import cached_property
from typing import Any

import msgspec

from moorage.admit.pod.tolerations import TAINT_EFFECTS, validate_taints
from moorage.columns.codes import TaintSets
from moorage.columns.node_table import NodeTable
from moorage.model.names import label_key_errors, label_value_errors
from moorage.model.types.node import Taint
from moorage.plan.report.node_lists import natural

MAX_PASTED_NODES = 5_000
_MAX_COMPLAINTS = 20
_SEPARATORS = re.compile(r"[\s,]+")
#: What kubectl prints around taints and labels.
_DECORATION = frozenset({"Taints:", "Labels:", "<none>", "-"})


class KnownNode(msgspec.Struct, frozen=True, gc=False):
    """A node as rules see it.

    `taint_code` is the same for nodes with the same taints. `slot` is its place in the cluster, -1 if it was pasted.
    """

    name: str
    labels: dict[str, str]
    taints: tuple[Taint, ...]
    taint_code: int
    slot: int = -1


class KnownNodes(tuple[KnownNode, ...]):
    """All nodes that a rule is tried on, and what is distinct of them, counted once."""

    @cached_property
    def taints(self) -> list[tuple[Taint, int]]:
        """Every taint with the number of its nodes, in the order of keys, values and effects."""
        sets = Counter(node.taint_code for node in self)
        taints_of = {node.taint_code: node.taints for node in self}
        counts: Counter[tuple[str, str, str]] = Counter()
        for code, count in sets.items():
            for taint in taints_of[code]:
                counts[taint.key, taint.value, taint.effect] += count
        ordered = sorted(counts, key=lambda parts: (parts[0], natural(parts[1]), parts[2]))
        return [(Taint(*parts), counts[parts]) for parts in ordered]

    @cached_property
    def taint_values(self) -> dict[str, Counter[str]]:
        """The values of every taint key with the number of their nodes."""
        counts: dict[str, Counter[str]] = {}
        for taint, count in self.taints:
            counts.setdefault(taint.key, Counter())[taint.value] += count
        return counts

    @cached_property
    def label_values(self) -> dict[str, Counter[str]]:
        """The values of every label key with the number of their nodes."""
        counts: dict[str, Counter[str]] = {}
        for node in self:
            for key, value in node.labels.items():
                counts.setdefault(key, Counter())[value] += 1
        return counts


class PasteProblem(msgspec.Struct, frozen=True):
    """What could not be read in a line of pasted taints."""

    line: int
    message: str


def cluster_nodes(nodes: NodeTable) -> KnownNodes:
    codes = nodes.taints.tolist()
    return KnownNodes(
        KnownNode(node.metadata.name, node.metadata.labels, node.spec.taints, codes[slot], slot) for slot, node in nodes
    )


def pasted_nodes(text: str) -> tuple[KnownNodes, list[PasteProblem]]:
    """Return the nodes that the lines describe, and what in them is neither taint nor label."""
    nodes: list[KnownNode] = []
    problems: list[PasteProblem] = []
    codes = TaintSets()
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if len(nodes) == MAX_PASTED_NODES:
            problems.append(PasteProblem(number, f"only the first {MAX_PASTED_NODES:,} lines are looked at"))
            break
        node, complaints = _pasted_node(number, line, codes)
        nodes.append(node)
        problems += [PasteProblem(number, text) for text in complaints]
    return KnownNodes(nodes), problems[:_MAX_COMPLAINTS]


def _pasted_node(number: int, line: str, codes: TaintSets) -> tuple[KnownNode, list[str]]:
    name, labels, taints = f"line {number}", dict[str, str](), list[Taint]()
    complaints: list[str] = []
    words = [word for word in _SEPARATORS.split(line) if word and word not in _DECORATION]
    for index, word in enumerate(words):
        before, colon, effect = word.rpartition(":")
        key, equals, value = (before if colon else word).partition("=")
        if colon and effect in TAINT_EFFECTS:
            taints.append(Taint(key, value, effect))
        elif not colon and equals:
            labels[key] = value
            complaints += [f"label {word}: {error}" for error in (*label_key_errors(key), *label_value_errors(value))]
        elif index == 0:
            name = word.rstrip(":")
        elif colon:
            complaints.append(f"{word}: there is no effect {effect!r}, only {', '.join(TAINT_EFFECTS)}")
        else:
            complaints.append(f"{word} is neither a taint (key=value:Effect) nor a label (key=value)")
    complaints += [str(error).replace("metadata.taints", "taints") for error in validate_taints(taints, "taints")]
    return KnownNode(name, labels, tuple(taints), codes.take(tuple(taints))), complaints


def taint_parts(taint: Taint) -> dict[str, Any]:
    return {"key": taint.key, "value": taint.value, "effect": taint.effect}
