"""List what may be written at a cursor in a rule, as the types allow it and the cluster has it."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from moorage.admit.pod.tolerations import TAINT_EFFECTS
from moorage.dashboard.questions.playing.completion_words import (
    NAMESPACES,
    NODES,
    PODS,
    Candidate,
    ClusterWords,
)
from moorage.dashboard.questions.playing.rule_text import AFFINITY, NODE_SELECTOR, TOLERATIONS
from moorage.dashboard.questions.playing.yaml_cursor import ITEM, YamlCursor
from moorage.match.operators import (
    LABEL_SELECTOR,
    NODE_FIELD,
    TOLERATION,
    OperatorPlace,
    gate_of,
    names_in,
)
from moorage.match.operators import NODE_SELECTOR as NODE_LABELS
from moorage.model.schema.shapes import ListShape, MapShape, StructShape, shape_of, struct_shape
from moorage.model.types.node import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from moorage.model.types.pod import Affinity, NodeAffinity, PodSpec, Toleration
from moorage.model.well_known.taints import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE

#: What a field is for, where its name does not say it.
_NOTES = {
    "key": "the taint's or label's key",
    "operator": "how the value is compared; Equal if left out",
    "value": "what the taint's value is compared with, in quotes",
    "values": "what the label's value is compared with, in quotes",
    "effect": "which effect is tolerated; all if left out",
    "tolerationSeconds": "how long a NoExecute taint is tolerated",
    "expression": "a CEL expression over `taint`; stands alone or beside tolerationSeconds",
    "topologyKey": "the label that makes nodes one place",
    "matchLabelKeys": "labels whose value must be that of the new pod",
    "mismatchLabelKeys": "labels whose value must differ from that of the new pod",
    "requiredDuringSchedulingIgnoredDuringExecution": "must hold, else the pod is Pending",
    "preferredDuringSchedulingIgnoredDuringExecution": "adds its weight to the score",
}
_EFFECT_NOTES = {
    NO_SCHEDULE: "new pods stay away",
    PREFER_NO_SCHEDULE: "new pods go elsewhere if they can",
    NO_EXECUTE: "new pods stay away, running ones are evicted",
}
#: What a rule may begin with, from the whole to its smallest part.
_ROOTS: dict[str, tuple[Any, ...]] = {
    TOLERATIONS: (ListShape(struct_shape(Toleration)), struct_shape(Toleration)),
    AFFINITY: (
        struct_shape(Affinity),
        struct_shape(NodeAffinity),
        struct_shape(NodeSelector),
        struct_shape(NodeSelectorTerm),
        ListShape(struct_shape(NodeSelectorTerm)),
        ListShape(struct_shape(NodeSelectorRequirement)),
        struct_shape(NodeSelectorRequirement),
    ),
    NODE_SELECTOR: (MapShape(shape_of(str), ""),),
}


class YamlCandidates:
    """What the cluster has, and what the types allow."""

    def __init__(self, kind: str, words: ClusterWords) -> None:
        self._kind = kind
        self._words = words

    def at(self, cursor: YamlCursor) -> Iterator[Candidate]:
        """Yield what may be written at the cursor; expressions are completed elsewhere."""
        if cursor.key is None:
            yield from self._fields(cursor)
        else:
            yield from self._values(cursor)

    # -- keys ---------------------------------------------------------------------------------------------------------

    def _fields(self, cursor: YamlCursor) -> Iterator[Candidate]:
        steps = _inside(self._kind, cursor.path)
        shapes = [shape for shape in (_walk(root, steps) for root in self._roots(cursor)) if shape is not None]
        for shape in shapes:
            if isinstance(shape, MapShape) or (
                isinstance(shape, ListShape) and not isinstance(shape.item, StructShape)
            ):
                yield from self._label_keys(cursor, ": ")
                return
            item = shape.item if isinstance(shape, ListShape) else shape
            if isinstance(item, StructShape):
                dash = "- " if isinstance(shape, ListShape) and not cursor.in_flow else ""
                yield from _fields_of(item, cursor, dash)
        if not cursor.path:
            yield Candidate(f"{self._kind}:", self._kind, "field", "the rule as part of a pod's spec")

    def _roots(self, cursor: YamlCursor) -> Iterable[Any]:
        if self._kind in cursor.path:
            return (struct_shape(PodSpec).field(self._kind),)
        return _ROOTS[self._kind]

    # -- values -------------------------------------------------------------------------------------------------------

    def _values(self, cursor: YamlCursor) -> Iterator[Candidate]:
        key, in_tolerations = cursor.key, self._kind == TOLERATIONS
        if self._kind == NODE_SELECTOR or cursor.path[-1:] == ("matchLabels",):
            yield from self._label_values(cursor, key or "")
        elif key == "operator":
            yield from _operators(self._place(cursor))
        elif key == "effect":
            yield from (Candidate(effect, effect, "effect", doc=_EFFECT_NOTES[effect]) for effect in TAINT_EFFECTS)
        elif key == "key" and in_tolerations:
            yield from self._taint_keys()
        elif key == "value" and in_tolerations:
            yield from _quoted(self._taint_values(cursor.siblings.get("key", "")), cursor, NODES)
        elif key == "values":
            yield from self._label_values(cursor, cursor.siblings.get("key", ""))
        elif key == "key" and "matchFields" in cursor.path:
            yield Candidate("metadata.name", "metadata.name", "field", doc="the node's name, the only field")
        elif key in ("key", "topologyKey", "matchLabelKeys", "mismatchLabelKeys"):
            yield from self._label_keys(cursor, "")

    def _place(self, cursor: YamlCursor) -> OperatorPlace:
        if self._kind == TOLERATIONS:
            return TOLERATION
        if "matchFields" in cursor.path:
            return NODE_FIELD
        return NODE_LABELS if _whose(cursor) == NODES else LABEL_SELECTOR

    def _taint_keys(self) -> Iterator[Candidate]:
        for key, values in sorted(self._words.nodes.taint_values.items()):
            shown = ", ".join(value or '""' for value in list(values)[:4])
            yield Candidate(key, key, "taint", _counted(values.total(), NODES), f"values: {shown}")

    def _taint_values(self, key: str) -> list[tuple[str, int]]:
        counts: Counter[str] = Counter()
        for taint_key, values in sorted(self._words.nodes.taint_values.items()):
            if taint_key == key or not key:
                counts += values
        return list(counts.items())

    def _label_keys(self, cursor: YamlCursor, after: str) -> Iterator[Candidate]:
        of = _whose(cursor)
        for key, values in sorted(self._words.labels(of).items()):
            shown = ", ".join(list(values)[:4])
            yield Candidate(f"{key}{after}", key, "label", _counted(values.total(), of), f"values: {shown}")

    def _label_values(self, cursor: YamlCursor, key: str) -> Iterator[Candidate]:
        of = _whose(cursor)
        return _quoted(sorted(self._words.labels(of).get(key, Counter()).items()), cursor, of)


def _whose(cursor: YamlCursor) -> str:
    """Return whose labels are meant: selectors inside of pod affinity are about pods and namespaces."""
    if "namespaceSelector" in cursor.path:
        return NAMESPACES
    about_pods = "labelSelector" in cursor.path or cursor.key in ("matchLabelKeys", "mismatchLabelKeys")
    return PODS if about_pods else NODES


def _inside(kind: str, path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the steps below the rule's own field, if it is named."""
    return path[len(path) - path[::-1].index(kind) :] if kind in path else path


def _walk(shape: Any, steps: tuple[str, ...]) -> Any | None:
    for step in steps:
        if isinstance(shape, ListShape) and step == ITEM:
            shape = shape.item
        elif isinstance(shape, StructShape) and step in shape.known:
            shape = shape.field(step)
        elif isinstance(shape, MapShape) and step != ITEM:
            shape = shape.value
        else:
            return None
    return shape


def _fields_of(shape: StructShape, cursor: YamlCursor, dash: str) -> Iterator[Candidate]:
    for name in shape.view.__struct_encode_fields__:
        if name in cursor.siblings:
            continue
        field = shape.field(name)
        is_nested = isinstance(field, StructShape | ListShape | MapShape)
        after = ":" if is_nested and not cursor.in_flow else ": "
        yield Candidate(f"{dash}{name}{after}", name, "field", str(field.go_type), _NOTES.get(name, ""))


def _operators(place: OperatorPlace) -> Iterator[Candidate]:
    for name in names_in(place):
        gate = gate_of(name, place)
        yield Candidate(name, name, "operator", f"needs {gate.name}" if gate is not None else "")


def _quoted(values: Iterable[tuple[str, int]], cursor: YamlCursor, of: str) -> Iterator[Candidate]:
    """Values are texts, also where they look like numbers: they are quoted unless they are already."""
    for value, count in values:
        shown = value if cursor.quote else json.dumps(value)
        yield Candidate(shown, value or '""', "value", _counted(count, of))


def _counted(count: int, of: str) -> str:
    return f"{count:,} {of}{'' if count == 1 else 's'}"
