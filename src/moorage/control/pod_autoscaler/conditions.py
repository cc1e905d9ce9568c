"""Conditions of an autoscaler, in the order in which they were set first.

Kubernetes: setConditionInList and removeCondition of pkg/controller/podautoscaler/horizontal.go.
"""

from moorage.client.protocol import Raw
from moorage.model.go.times import time_text

ABLE, ACTIVE, LIMITED, ZERO = "AbleToScale", "ScalingActive", "ScalingLimited", "ScaledToZero"
TRUE, FALSE = "True", "False"


class Conditions:
    """The conditions of one reconciliation. each change makes a new `list`, so it can be kept."""

    def __init__(self, conditions: list[Raw], now: float) -> None:
        self.list, self._now = conditions, now

    def set(self, kind: str, status: str, reason: str, message: str) -> None:
        """Set a condition; the time of its last transition changes with its status only."""
        index = next((index for index, one in enumerate(self.list) if one.get("type") == kind), len(self.list))
        old = self.list[index] if index < len(self.list) else {}
        new: Raw = {"type": kind, "status": status}
        since = old.get("lastTransitionTime") if old.get("status", "") == status else time_text(self._now)
        if since is not None:
            new["lastTransitionTime"] = since
        new |= {name: text for name, text in (("reason", reason), ("message", message)) if text}
        self.list = [*self.list[:index], new, *self.list[index + 1 :]]

    def remove(self, kind: str) -> None:
        self.list = [one for one in self.list if one.get("type") != kind]

    def is_true(self, kind: str) -> bool:
        return next((one.get("status") for one in self.list if one.get("type") == kind), "") == TRUE
