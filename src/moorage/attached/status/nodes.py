"""Check the labels of every node against its taints: the mirror, and the match labels of what is asked.

Kubernetes: knows no such labels.
"""

from collections.abc import Sequence
from typing import Any, Final

from moorage.attach.formats import MIRRORED, is_match_label, is_mirror_label
from moorage.attach.mirror import mirror_labels
from moorage.attached.controller.asking import Questions
from moorage.attached.controller.lowered_pods import TEMPLATE_KINDS
from moorage.attached.status.finding import Item, Section, fine, note, section, unknown, wrong
from moorage.attached.status.snapshot import Snapshot
from moorage.client.protocol import Object
from moorage.match.evaluation.accounts import Undecided
from moorage.match.tolerations import ProgramCache
from moorage.model.kinds import KINDS
from moorage.model.types.node import Node

Raw = dict[str, Any]

#: Nodes that a command names; with more of them it is for all nodes.
_MOST_NAMED: Final = 5
_MOST_SHOWN: Final = 3


def check_nodes(snapshot: Snapshot) -> Section:
    """Check the mirror of every node."""
    if why := snapshot.why_unread(KINDS.NODE):
        return section("nodes", [unknown(f"nodes: {why}")])
    rows = [_row(each) for each in snapshot.of(KINDS.NODE)]
    missing = [row for row in rows if row["missing"]]
    forged = [row for row in rows if row["forged"]]
    right = len(rows) - sum(bool(row["missing"] or row["forged"]) for row in rows)
    told = f"{right:,} of {len(rows):,} nodes have the labels of their taints"
    items = [note(told) if missing or forged else fine(told)]
    if missing:
        text = f"{_nodes(missing)} lack{'s' if len(missing) == 1 else ''} labels: pods are placed by other values"
        items.append(wrong(f"{text} ({_some(missing, 'missing')})", _touch(missing, rows)))
    if forged:
        has = "has" if len(forged) == 1 else "have"
        text = f"{_nodes(forged)} {has} labels of taints that are not there: forged, or not repaired"
        items.append(wrong(f"{text} ({_some(forged, 'forged')})", _touch(forged, rows)))
    return section("nodes", items, nodes=rows)


def _row(found: Object) -> Raw:
    node: Node = found.view
    labels = node.metadata.labels
    taints = [{"key": each.key, "value": each.value, "effect": each.effect} for each in node.spec.taints]
    wanted = mirror_labels({"metadata": {"labels": labels}, "spec": {"taints": taints}})
    missing = sorted(key for key, value in wanted.items() if labels.get(key) != value)
    forged = sorted(key for key in labels if (is_mirror_label(key) or key == MIRRORED) and key not in wanted)
    return {"name": found.name, "missing": missing, "forged": forged}


def _touch(rows: Sequence[Raw], all_rows: Sequence[Raw]) -> str:
    """Return a command that writes nodes, so that the mirror is written with them."""
    return f"kubectl label node {_named(rows, all_rows)} {MIRRORED}=v1 --overwrite"


def _named(rows: Sequence[Raw], all_rows: Sequence[Raw]) -> str:
    many = len(rows) > _MOST_NAMED or len(rows) == len(all_rows) > 1
    return "--all" if many else " ".join(row["name"] for row in rows)


def _nodes(rows: Sequence[Raw]) -> str:
    return f"{len(rows):,} node{'' if len(rows) == 1 else 's'}"


def _some(rows: Sequence[Raw], field: str) -> str:
    first = [f"{row['name']}: {row[field][0]}" for row in rows[:_MOST_SHOWN]]
    return ", ".join([*first, *(["…"] if len(rows) > _MOST_SHOWN else [])])


# -- match labels ------------------------------------------------------------------------------------------------------


def asked_questions_of(snapshot: Snapshot) -> Questions:
    """Return what living pods and templates ask of nodes, as the controller counts them."""
    asked = Questions(ProgramCache())
    for kind in (KINDS.POD, *TEMPLATE_KINDS):
        for found in snapshot.of(kind):
            asked.changed(None, found)
    return asked


def check_match_labels(snapshot: Snapshot, asked: Questions, logs: str) -> Section:
    """Check the labels that answer questions about the taints of nodes."""
    if why := snapshot.why_unread(KINDS.NODE, KINDS.POD, *TEMPLATE_KINDS):
        return section("match labels", [unknown(why)])
    missing: list[str] = []
    false: list[str] = []
    unasked: set[str] = set()
    undecided = 0
    for found in snapshot.of(KINDS.NODE):
        node: Node = found.view
        true, waiting = _true_of(asked, node)
        undecided += len(waiting)
        there = {label for label in node.metadata.labels if is_match_label(label)}
        missing += [f"{found.name}: {label}" for label in sorted(true - there)]
        false += [
            f"{found.name}: {label}" for label in sorted(there - true - waiting.keys()) if asked.is_answered(label)
        ]
        unasked |= {label for label in there if not asked.is_answered(label)}
    items: list[Item] = []
    if missing:
        items.append(wrong(f"{_labels(len(missing))} not written yet, and pods wait for them ({_few(missing)})", logs))
    if false:
        items.append(wrong(f"{_labels(len(false))} not true of the node's taints ({_few(false)})", logs))
    if asked.waiting:
        text = f"{asked.waiting} more are not answered until others are gone: {asked.answered} is the most there can be"
        items.append(note(text))
    if unasked:
        items.append(note(f"{_labels(len(unasked))} not asked for any more; the controller removes them"))
    if undecided:
        items.append(unknown(f"{undecided} answers: the expressions are too expensive to evaluate here"))
    if not missing and not false:
        items.insert(0, fine(f"{asked.answered} asked by pods and templates, answered by every node"))
    return section("match labels", items, asked=asked.answered, missing=missing, wrong=false)


def _true_of(asked: Questions, node: Node) -> tuple[set[str], dict[str, Undecided]]:
    return asked.true_of(node.spec.taints)


def _labels(number: int) -> str:
    return f"{number:,} label{' is' if number == 1 else 's are'}"


def _few(found: Sequence[str]) -> str:
    return ", ".join([*found[:_MOST_SHOWN], *(["…"] if len(found) > _MOST_SHOWN else [])])
