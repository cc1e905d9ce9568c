"""Log taint values that a pod's tolerations would compare but cannot parse, once per distinct taint.

A value that is not an integer is a warning, one that is not a version an error, as KEP-5471 and KEP-5721 ask; an
expression that fails is logged with its error. Kubernetes: none.
"""

from typing import Any

import msgspec
import numpy as np

from moorage.columns.cluster import Cluster, PodRecord
from moorage.match.operators import TOLERATION, comparison_of
from moorage.match.tolerations import TolerationSet, compile_tolerations, describe_taint
from moorage.model.gates import GateSet
from moorage.model.types.node import Taint
from moorage.schedule.cycle import Scheduler
from moorage.schedule.plugins.taint_toleration import NUMERIC_OPERATORS, TaintToleration
from moorage.telemetry.logs import get_logger

_LOG = get_logger("scheduler")
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
        self._told: set[tuple[str, ...]] = set()
        for engine in scheduler.engines.values():
            for plugin in engine.profile.filters:
                if isinstance(plugin, TaintToleration):
                    plugin.evaluation_failed = self._expression_failed

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
        if not slots or not self._is_new("taint", taint.key, taint.value, taint.effect, operator):
            return
        kind: dict[str, Any] = {"node": nodes.node(slots[0]).metadata.name}
        if len(slots) > 1:
            kind["moreNodes"] = len(slots) - 1
        kind |= {"taint": f"{describe_taint(taint)}:{taint.effect}", "pod": record.key, "err": why}
        if operator in NUMERIC_OPERATORS:
            _LOG.warning("failed to parse taint value as integer for numeric comparison", **kind)
        else:
            _LOG.error("failed to parse taint value as semantic version", **kind)

    def _expression_failed(self, expression: str, taint: Taint, error: str) -> None:
        if self._is_new("expression", expression, taint.key, taint.value, taint.effect):
            said = f"{describe_taint(taint)}:{taint.effect}"
            _LOG.error(
                "A toleration's expression failed: the taint is not tolerated",
                expression=expression,
                taint=said,
                err=error,
            )

    def _is_new(self, *about: str) -> bool:
        if about in self._told:
            return False
        if len(self._told) >= _REMEMBERED:
            self._told.clear()
        self._told.add(about)
        return True
