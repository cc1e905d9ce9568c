"""Collect the nodes that a rule is tried on: those of the cluster, or those of pasted lines with taints and labels.

A pasted line is a node: its name, if it has one, taints `key=value:Effect` and labels `key=value`, separated by blanks
or commas, as `kubectl describe node` and `kubectl get nodes --show-labels` print them.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from moorage.admit.scheduling.tolerations import TAINT_EFFECTS, validate_taints
from moorage.columns.node_table import NodeTable
from moorage.model.names import label_key_errors, label_value_errors
from moorage.model.types.node import Taint

MAX_PASTED_NODES = 5_000
_MAX_COMPLAINTS = 20
_SEPARATORS = re.compile(r"[\s,]+")
#: What kubectl prints around taints and labels.
_DECORATION = frozenset({"Taints:", "Labels:", "<none>", "-"})


class KnownNode(msgspec.Struct, frozen=True):
    """A node as rules see it. `slot` is its place in the cluster, -1 for one that was pasted."""

    name: str
    labels: dict[str, str]
    taints: tuple[Taint, ...]
    slot: int = -1


class PasteProblem(msgspec.Struct, frozen=True):
    """What could not be read in a line of pasted taints."""

    line: int
    message: str


def cluster_nodes(nodes: NodeTable) -> list[KnownNode]:
    return [KnownNode(node.metadata.name, node.metadata.labels, node.spec.taints, slot) for slot, node in nodes]


def pasted_nodes(text: str) -> tuple[list[KnownNode], list[PasteProblem]]:
    """Return the nodes that the lines describe, and what in them is neither taint nor label."""
    nodes: list[KnownNode] = []
    problems: list[PasteProblem] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if len(nodes) == MAX_PASTED_NODES:
            problems.append(PasteProblem(number, f"only the first {MAX_PASTED_NODES:,} lines are looked at"))
            break
        node, complaints = _pasted_node(number, line)
        nodes.append(node)
        problems += [PasteProblem(number, text) for text in complaints]
    return nodes, problems[:_MAX_COMPLAINTS]


def _pasted_node(number: int, line: str) -> tuple[KnownNode, list[str]]:
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
    return KnownNode(name, labels, tuple(taints)), complaints


def distinct_taints(nodes: list[KnownNode]) -> list[tuple[Taint, int]]:
    """Return every taint with the number of its nodes, in the order of keys, values and effects."""
    counts = Counter((taint.key, taint.value, taint.effect) for node in nodes for taint in node.taints)
    return [(Taint(*parts), count) for parts, count in sorted(counts.items())]


def distinct_labels(nodes: list[KnownNode]) -> dict[str, Counter[str]]:
    """Return the values of every label key with the number of their nodes."""
    found: dict[str, Counter[str]] = {}
    for node in nodes:
        for key, value in node.labels.items():
            found.setdefault(key, Counter())[value] += 1
    return found


def taint_parts(taint: Taint) -> dict[str, Any]:
    return {"key": taint.key, "value": taint.value, "effect": taint.effect}


def taints_by_key(nodes: list[KnownNode]) -> Iterator[tuple[str, Counter[str]]]:
    """Yield each taint key with the numbers of nodes by value."""
    found: dict[str, Counter[str]] = {}
    for taint, count in distinct_taints(nodes):
        found.setdefault(taint.key, Counter())[taint.value] += count
    yield from sorted(found.items())
