"""From which nodes volumes can be reached, evaluated once per distinct node affinity, which has a code.

Five thousand local disks have five thousand affinities, each for one host, so codes are filed under the label values
they ask for: a slot is asked only about those that name one of its labels. Kubernetes: CheckNodeAffinity.
"""

from collections.abc import Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.columns.interning import Interner
from moorage.columns.node_table import NodeTable
from moorage.columns.pod_classes import Label, label_needed
from moorage.columns.selector_masks import NodePredicate, selector_predicate
from moorage.match.node_selector import NodeSelectorMatcher, compile_node_selector
from moorage.model.gates import GateSet
from moorage.model.types.node import NodeSelector
from moorage.model.types.storage import PersistentVolume

EVERYWHERE = 0
Slots = NDArray[np.int64]


def required_of(volume: PersistentVolume) -> NodeSelector | None:
    affinity = volume.spec.nodeAffinity
    return affinity.required if affinity is not None else None


class VolumeTopology:
    """The distinct node affinities met so far, over one cluster's nodes."""

    def __init__(self, nodes: NodeTable, gates: GateSet) -> None:
        self._nodes = nodes
        self._gates = gates
        self._codes: Interner[bytes] = Interner(b"")
        self._matchers: list[NodeSelectorMatcher | None] = [None]
        self._slots: list[tuple[int, Slots] | None] = [None]
        self._filed: dict[Label, list[int]] = {}
        self._filed_keys: dict[str, None] = {}
        self._unfiled: list[int] = []

    def code(self, required: NodeSelector | None) -> int:
        """Return the code of an affinity; `EVERYWHERE` if there is none."""
        if required is None:
            return EVERYWHERE
        code = self._codes.intern(msgspec.msgpack.encode(required))
        if code == len(self._matchers):
            matcher = self.compile(required)
            self._matchers.append(matcher)
            self._slots.append(None)
            self._file(code, matcher)
        return code

    def compile(self, required: NodeSelector) -> NodeSelectorMatcher:
        """Compile an affinity over labels only: Kubernetes asks it about a node without a name."""
        matcher = compile_node_selector(required, self._gates)
        terms = tuple(msgspec.structs.replace(term, fields=()) for term in matcher.terms)
        return msgspec.structs.replace(matcher, terms=terms)

    def predicate(self, matcher: NodeSelectorMatcher) -> NodePredicate:
        return selector_predicate(matcher, self._nodes)

    def _file(self, code: int, matcher: NodeSelectorMatcher) -> None:
        needed = [label_needed(term.labels) for term in matcher.terms if not term.errors]
        if any(labels is None for labels in needed):
            self._unfiled.append(code)
            return
        for label in dict.fromkeys(label for labels in needed for label in labels or ()):
            self._filed.setdefault(label, []).append(code)
            self._filed_keys[label[0]] = None

    def slots(self, code: int) -> Slots:
        """Return the slots that match a code other than `EVERYWHERE`."""
        kept = self._slots[code]
        matcher = self._matchers[code]
        if matcher is not None and (kept is None or kept[0] != self._nodes.generation):
            found = np.flatnonzero(self.predicate(matcher).mask() & self._nodes.alive)
            kept = self._slots[code] = (self._nodes.generation, found)
        return kept[1] if kept is not None else np.flatnonzero(self._nodes.alive)

    def codes_at(self, slot: int) -> list[int]:
        """Return the codes that match a slot, `EVERYWHERE` among them."""
        labels = self._nodes.node(slot).metadata.labels
        asked = list(self._unfiled)
        for key in self._filed_keys:
            if key in labels:
                asked += self._filed.get((key, labels[key]), ())
        return [EVERYWHERE, *(code for code in dict.fromkeys(asked) if self._match(code, labels))]

    def _match(self, code: int, labels: Mapping[str, str]) -> bool:
        matcher = self._matchers[code]
        return matcher is None or matcher.match(labels, "")

    def explain(self, code: int, slot: int) -> str | None:
        """Return why a slot is out of reach; None if it is not."""
        matcher = self._matchers[code]
        return None if matcher is None else matcher.explain(self._nodes.node(slot).metadata.labels, "")
