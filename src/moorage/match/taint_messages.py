"""Describe taints and tolerations in few words; count and log values that cannot be compared.

Kubernetes: log messages of KEP-5471, KEP-5721 and KEP-5500. Differs: names pod and node, and has a metric.
"""

from collections.abc import Hashable, Mapping
from typing import Any

from moorage.match.comparison import EXPRESSION, INTEGER, LABEL_VALUE, Unreadable, shown
from moorage.match.operators import EQUAL, EXISTS, NODE_SELECTOR, TOLERATION, comparison_of, comparisons_in
from moorage.model.go.quoting import go_quote
from moorage.model.types.node import Taint
from moorage.model.types.pod import Toleration
from moorage.telemetry.logs import get_logger
from moorage.telemetry.metrics import Metrics

#: Keys of taints and labels that the metric tells apart, and what the others are called together.
MAX_KEYS = 100
OTHER_KEYS = "other"
#: `Lt` and `Gt` compare integers wherever they stand.
INTEGER_OPERATORS = frozenset(comparisons_in(NODE_SELECTOR, INTEGER))


def describe_taint(taint: Taint) -> str:
    """Write `key=value`, as people write taints; the effect is left out, it is not what thresholds are about."""
    return f"{shown(taint.key)}={shown(taint.value)}" if taint.value else shown(taint.key)


def describe_taint_with_effect(taint: Taint) -> str:
    return f"{describe_taint(taint)}:{taint.effect}"


def describe_toleration(toleration: Toleration) -> str:
    """Write `toleration Lt 5`: what decides, in few words."""
    if toleration.expression:
        text = toleration.expression
        name = toleration.operator or "expression"
        return f"toleration {name} {go_quote(text if len(text) <= 80 else text[:77] + '...')}"
    if toleration.operator == EXISTS:
        return "toleration Exists"
    return f"toleration {shown(toleration.operator or EQUAL)} {shown(toleration.value)}"


class UnreadableValues:
    """Counts and logs the values that one component cannot compare, and the expressions that fail for them.

    Each is counted whenever it is met, and logged once with the pod and the node: a number of a taint as a warning, a
    version or an expression as an error, a label as a debug message. When there is too much to remember, lines may
    repeat. `prefix` begins the metric's name; its keys are bounded, since people choose them.
    """

    def __init__(self, component: str, metrics: Metrics, prefix: str, remembered: int = 4096) -> None:
        self._log = get_logger(component)
        about = "Values of taints and labels that could not be compared, and expressions that failed for them."
        self._counter = metrics.counter(f"{prefix}_unreadable_values_total", about, ("source", "key", "operator"))
        self._keys: set[str] = set()
        self._remembered = remembered
        self._told: set[tuple[Hashable, ...]] = set()

    def tell(self, found: Unreadable, where: Mapping[str, Any], shape: Hashable = None, **about: Any) -> None:
        """Count a value, and log it unless it was logged for such pods (`shape`); `where` names the node or device."""
        self.count(found)
        if self.is_new(found.source, found.key, found.value, found.operator, shape):
            self.log(found, where, **about)

    def count(self, found: Unreadable) -> None:
        key = found.key
        if key not in self._keys:
            if len(self._keys) < MAX_KEYS:
                self._keys.add(key)
            else:
                key = OTHER_KEYS
        self._counter.labels(found.source, key, found.operator).value += 1

    def is_new(self, *about: Hashable) -> bool:
        if about in self._told:
            return False
        if len(self._told) >= self._remembered:
            self._told.clear()
        self._told.add(about)
        return True

    def log(self, found: Unreadable, where: Mapping[str, Any], **about: Any) -> None:
        is_label = found.source == LABEL_VALUE
        comparison = comparison_of(found.operator, NODE_SELECTOR if is_label else TOLERATION)
        err = (comparison.unreadable(found.value) if comparison is not None else None) or found.why
        if is_label:
            label = f"{found.key}={found.value}"
            kind = "integer" if found.operator in INTEGER_OPERATORS else "semantic version"
            self._log.debug(4, f"failed to parse label value as {kind}", **where, label=label, **about, err=err)
        elif found.operator == EXPRESSION:
            message = "A toleration's expression failed: the taint is not tolerated"
            self._log.error(message, **where, **about, err=err)
        elif found.operator in INTEGER_OPERATORS:
            message = "failed to parse taint value as integer for numeric comparison"
            self._log.warning(message, **where, **about, err=f"taint value {err}")
        else:
            message = "failed to parse taint value as semantic version"
            self._log.error(message, **where, **about, err=f"taint value {err}")


def taint_facts(taint: Taint, toleration: Toleration) -> dict[str, str]:
    """Return what a log line says of a taint and the toleration that cannot compare it."""
    facts = {"taint": describe_taint_with_effect(taint)}
    return {**facts, "expression": toleration.expression} if toleration.expression else facts
