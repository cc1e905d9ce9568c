"""Describe taints and tolerations in few words, and log values that cannot be compared and expressions that fail.

Each is logged once: a value that is not an integer is a warning, one that is not a version an error (KEP-5471,
KEP-5721, KEP-5500).
"""

from typing import Any

from moorage.match.comparison import shown
from moorage.match.operators import EQUAL, EXISTS
from moorage.model.go.quoting import go_quote
from moorage.model.types.node import Taint
from moorage.model.types.pod import Toleration
from moorage.telemetry.logs import get_logger


def describe_taint(taint: Taint) -> str:
    """Write `key=value`, as people write taints; the effect is left out, it is not what thresholds are about."""
    return f"{shown(taint.key)}={shown(taint.value)}" if taint.value else shown(taint.key)


def describe_taint_with_effect(taint: Taint) -> str:
    return f"{describe_taint(taint)}:{taint.effect}"


def describe_toleration(toleration: Toleration) -> str:
    """Write `toleration Lt 5`: what decides, in few words."""
    if toleration.expression:
        text = toleration.expression
        return f"toleration expression {go_quote(text if len(text) <= 80 else text[:77] + '...')}"
    if toleration.operator == EXISTS:
        return "toleration Exists"
    return f"toleration {shown(toleration.operator or EQUAL)} {shown(toleration.value)}"


class TolerationLog:
    """What one component has logged; when it is too much to remember, texts may repeat."""

    def __init__(self, component: str, remembered: int) -> None:
        self._log = get_logger(component)
        self._remembered = remembered
        self._told: set[tuple[str, ...]] = set()

    def is_new(self, *about: str) -> bool:
        if about in self._told:
            return False
        if len(self._told) >= self._remembered:
            self._told.clear()
        self._told.add(about)
        return True

    def unreadable(self, noun: str, taint: Taint, err: str, where: dict[str, Any], **about: str) -> None:
        """Log a taint's value that is no number or version, as the noun says."""
        details = {**where, "taint": describe_taint_with_effect(taint), **about, "err": err}
        if noun == "number":
            self._log.warning("failed to parse taint value as integer for numeric comparison", **details)
        else:
            self._log.error("failed to parse taint value as semantic version", **details)

    def expression_failed(self, expression: str, taint: Taint, error: str) -> None:
        """Log an expression that failed for a taint: a callback for `match`."""
        if self.is_new("expression", expression, taint.key, taint.value, taint.effect):
            message = "A toleration's expression failed: the taint is not tolerated"
            self._log.error(message, expression=expression, taint=describe_taint_with_effect(taint), err=error)
