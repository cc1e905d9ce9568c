"""Log taint values that a pod's tolerations would compare but cannot parse, once per distinct taint.

A value that is not an integer is a warning, one that is not a version an error, as KEP-5471 and KEP-5721 ask; an
expression that fails is logged with its error. Kubernetes: none.
"""

from typing import Any

import msgspec
import numpy as np

from moorage.columns.cluster import Cluster, PodRecord
from moorage.match.operators import TOLERATION, comparison_of
from moorage.match.toleration_log import TolerationLog
from moorage.match.tolerations import TolerationSet, compile_tolerations
from moorage.model.gates import GateSet
from moorage.model.types.node import Taint
from moorage.schedule.cycle import Scheduler
from moorage.schedule.plugins.taint_toleration import NUMERIC_OPERATORS, TaintToleration

_REMEMBERED = 1 << 16


class _Reader(msgspec.Struct, eq=False):
    """A list of tolerations that compare values, and how many lists of taints it has seen."""

    tolerations: TolerationSet
    seen: int = 0


class TaintWarnings:
    """Logs what cannot be parsed."""

    def __init__(self, scheduler: Scheduler, gates: GateSet) -> None:
        self._cluster: Cluster = scheduler.cluster
        self._gates = gates
        self._readers: dict[int, _Reader | None] = {}  # by the shape's number
        self._by_tolerations: dict[Any, _Reader] = {}
        self._log = TolerationLog("scheduler", _REMEMBERED)
        for engine in scheduler.engines.values():
            for plugin in engine.profile.filters:
                if isinstance(plugin, TaintToleration):
                    plugin.evaluation_failed = self._log.expression_failed

    def look(self, record: PodRecord) -> None:
        """Check the taints that are new since a pod of this shape was last tried."""
        number = record.shape.number
        if number in self._readers:
            reader = self._readers[number]
        else:
            if len(self._readers) >= _REMEMBERED:
                self._readers.clear()
            reader = self._readers[number] = self._make(record)
        if reader is not None and reader.seen < len(self._cluster.nodes.taint_sets.sets):
            self._read(reader, record)

    def _make(self, record: PodRecord) -> _Reader | None:
        tolerations = tuple(record.shape.spec.tolerations)
        if not any(comparison_of(toleration.operator, TOLERATION) for toleration in tolerations):
            return None
        reader = self._by_tolerations.get(tolerations)
        if reader is None:
            reader = self._by_tolerations[tolerations] = _Reader(compile_tolerations(tolerations, self._gates))
        return reader

    def _read(self, reader: _Reader, record: PodRecord) -> None:
        sets = self._cluster.nodes.taint_sets.sets
        for code in range(reader.seen, len(sets)):
            for taint in sets[code]:
                for matcher in reader.tolerations.matchers:
                    why = matcher.unreadable(taint)
                    if why is not None:
                        self._tell(taint, matcher.toleration.operator, why, code, record)
                        break
        reader.seen = len(sets)

    def _tell(self, taint: Taint, operator: str, why: str, code: int, record: PodRecord) -> None:
        nodes = self._cluster.nodes
        slots = np.flatnonzero((nodes.taints == code) & nodes.alive).tolist()
        if not slots or not self._log.is_new("taint", taint.key, taint.value, taint.effect, operator):
            return
        where: dict[str, Any] = {"node": nodes.node(slots[0]).metadata.name}
        if len(slots) > 1:
            where["moreNodes"] = len(slots) - 1
        noun = "number" if operator in NUMERIC_OPERATORS else "version"
        self._log.unreadable(noun, taint, why, where, pod=record.key)
