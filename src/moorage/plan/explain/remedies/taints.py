"""Propose tolerations to add, thresholds to move, and taints to remove.

A cordoned node counts as one with the taint node.kubernetes.io/unschedulable, whether it carries it or not.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from moorage.match.operators import TOLERATION, comparison_of
from moorage.match.tolerations import TolerationSet, compile_tolerations
from moorage.model.gates import GateSet
from moorage.model.types.node import Node, Taint
from moorage.model.types.pod import Toleration
from moorage.model.well_known.taints import NO_EXECUTE, NO_SCHEDULE
from moorage.plan.explain.remedies.change import (
    MAX_VALUES,
    Blockers,
    Change,
    ChangeKind,
    as_yaml,
    fact_note,
    few,
    replaced,
    with_spec,
)
from moorage.schedule.plugins.node_unschedulable import UNSCHEDULABLE as CORDONED
from moorage.schedule.plugins.node_unschedulable import NodeUnschedulable
from moorage.schedule.plugins.pod_topology_spread import PodTopologySpread
from moorage.schedule.plugins.taint_toleration import TaintToleration

_HARD = frozenset({NO_SCHEDULE, NO_EXECUTE})
#: The plugins that a toleration may satisfy: spreading may count only nodes whose taints are tolerated.
_PLUGINS = (NodeUnschedulable.name, TaintToleration.name, PodTopologySpread.name)
_MAX_NODES = 3
_Missing = dict[str, Counter[Taint]]  # by key, where one key is all that is missing


def taint_changes(blockers: Blockers, gates: GateSet, programs: Any = None) -> Iterator[Change]:
    tolerations = compile_tolerations(blockers.pod.spec.tolerations, gates, programs)
    missing: _Missing = {}
    lone: dict[tuple[Taint, ...], list[int]] = {}
    for slot in blockers.only(*_PLUGINS).tolist():
        taints = _untolerated(blockers, tolerations, slot)
        if not taints:
            continue
        lone.setdefault(taints, []).append(slot)
    for taints, slots in lone.items():
        if blockers.partial or len({taint.key for taint in taints}) == 1:
            for taint in taints:
                missing.setdefault(taint.key, Counter())[taint] += len(slots)
    for key, counts in missing.items():
        yield from _thresholds(blockers, key, counts)
        yield from _additions(blockers, key, counts)
    yield from _on_nodes(blockers, lone)


def _untolerated(blockers: Blockers, tolerations: TolerationSet, slot: int) -> tuple[Taint, ...]:
    nodes = blockers.cluster.nodes
    taints = tolerations.untolerated(nodes.taint_sets.sets[int(nodes.taints[slot])], _HARD)
    if nodes.unschedulable[slot] and not tolerations.tolerates(CORDONED):
        taints.append(CORDONED)
    return tuple(dict.fromkeys(Taint(taint.key, taint.value, taint.effect) for taint in taints))


# -- on the pod -------------------------------------------------------------------------------------------------------


class MovedThreshold(NamedTuple):
    """A toleration with another value: its position among the tolerations, the new one, and how far the value moved."""

    position: int
    old: Toleration
    new: Toleration
    move: float

    @property
    def text(self) -> str:
        old, new = self.old, self.new
        return f"toleration for {old.key or 'every key'}: {old.operator} {old.value} → {new.operator} {new.value}"


def moved_thresholds(
    tolerations: Iterable[Toleration], key: str, counts: Mapping[Taint, int]
) -> Iterator[MovedThreshold]:
    """Yield the tolerations for a key with thresholds that would tolerate these taints, the smallest moves first."""
    for index, toleration in enumerate(tolerations):
        comparison = comparison_of(toleration.operator, TOLERATION)
        if comparison is None or toleration.expression or toleration.key not in ("", key):
            continue
        values: Counter[str] = Counter()
        for taint, count in counts.items():
            moved = comparison.threshold_for(taint.value, toleration.value)
            if moved is not None and moved != toleration.value and toleration.effect in ("", taint.effect):
                values[moved] += count
        kind = comparison.kind
        for value in few((value, values[value]) for value in kind.nearest_first(toleration.value, values)):
            new = msgspec.structs.replace(toleration, value=value)
            yield MovedThreshold(index, toleration, new, kind.move(toleration.value, value))


def _thresholds(blockers: Blockers, key: str, counts: Counter[Taint]) -> Iterator[Change]:
    tolerations = blockers.pod.spec.tolerations
    for moved in moved_thresholds(tolerations, key, counts):
        yield Change(
            ChangeKind.THRESHOLD,
            f"toleration {moved.position}",
            moved.text,
            1,
            pod=with_spec(blockers.pod, tolerations=replaced(tolerations, moved.position, moved.new)),
            yaml=_written(moved.new),
            move=moved.move,
        )


def _additions(blockers: Blockers, key: str, counts: Counter[Taint]) -> Iterator[Change]:
    values: Counter[tuple[str, str]] = Counter()
    for taint, nodes in counts.items():
        values[taint.value, taint.effect] += nodes
    for (value, effect), _ in values.most_common(MAX_VALUES):
        if value:
            yield _added(blockers, Toleration(key, "Equal", value, effect), 2)
    effects = list(dict.fromkeys(effect for _, effect in values))
    for effect in effects:
        yield _added(blockers, Toleration(key, "Exists", "", effect), 3)
    if len(effects) > 1:
        yield _added(blockers, Toleration(key, "Exists"), 4)


def _added(blockers: Blockers, toleration: Toleration, size: int) -> Change:
    said = f"{toleration.operator} {toleration.value}".rstrip()
    return Change(
        ChangeKind.TOLERATION,
        f"tolerations {toleration.key}",
        f"add a toleration for {toleration.key}: {said}{f', {toleration.effect}' if toleration.effect else ''}",
        size,
        pod=with_spec(blockers.pod, tolerations=(*blockers.pod.spec.tolerations, toleration)),
        yaml=_written(toleration),
    )


def _written(toleration: Toleration) -> str:
    fields = msgspec.to_builtins(toleration)
    entry = {name: value for name, value in fields.items() if value not in ("", None)}
    return as_yaml({"tolerations": [entry]})


# -- on the node ------------------------------------------------------------------------------------------------------


def _on_nodes(blockers: Blockers, lone: dict[tuple[Taint, ...], list[int]]) -> Iterator[Change]:
    for taints, slots in sorted(lone.items(), key=lambda entry: -len(entry[1]))[:MAX_VALUES]:
        if len(taints) > 1:
            continue
        (taint,) = taints
        for slot in slots[:_MAX_NODES]:
            node = blockers.cluster.nodes.node(slot)
            if taint.key == CORDONED.key:
                yield _uncordoned(node, len(slots))
            else:
                yield _untainted(node, taint, len(slots), is_compared=_is_compared(blockers, taint))


def _is_compared(blockers: Blockers, taint: Taint) -> bool:
    """Return whether the pod compares this taint's value as a number or version."""
    operators = (one.operator for one in blockers.pod.spec.tolerations if one.key == taint.key)
    return bool(taint.value) and any(comparison_of(operator, TOLERATION) is not None for operator in operators)


def _uncordoned(node: Node, alike: int) -> Change:
    kept = tuple(taint for taint in node.spec.taints if taint.key != CORDONED.key)
    name = node.metadata.name
    return Change(
        ChangeKind.UNCORDON,
        "cordon",
        f"uncordon node {name}{_one_of(alike)}",
        7,
        node=_with_node_spec(node, unschedulable=False, taints=kept),
        command=f"kubectl uncordon {name}",
    )


def _untainted(node: Node, taint: Taint, alike: int, *, is_compared: bool) -> Change:
    kept = tuple(t for t in node.spec.taints if (t.key, t.effect) != (taint.key, taint.effect))
    name, described = node.metadata.name, f"{taint.key}={taint.value}" if taint.value else taint.key
    return Change(
        ChangeKind.NODE_TAINT,
        f"taint {taint.key}",
        f"remove the taint {described}:{taint.effect} from node {name}{_one_of(alike)}",
        8,
        node=_with_node_spec(node, taints=kept),
        command=f"kubectl taint nodes {name} {taint.key}:{taint.effect}-",
        note=fact_note(taint.key, taint.value, is_compared=is_compared),
    )


def _with_node_spec(node: Node, **changes: Any) -> Node:
    return msgspec.structs.replace(node, spec=msgspec.structs.replace(node.spec, **changes))


def _one_of(alike: int) -> str:
    return f" (one of {alike:,} like it)" if alike > 1 else ""
