"""Collect a device's taints, decide which of them the tolerations of a request tolerate, and explain the others.

A device has the taints of its ResourceSlice, then those of the DeviceTaintRules that select it; a rule without a
`deviceSelector` taints every device for the scheduler but evicts no pod. The rules, gates and words are those of pods'
tolerations, on the same operator table. Kubernetes: dynamic-resource-allocation (resourceclaim/devicetoleration.go,
resourceslice/tracker), pkg/controller/devicetainteviction. Differs: `Lt` and `Gt` (KEP-5471), the semver operators
(KEP-5721) and `expression` (KEP-5500), under the gates they have for nodes' taints.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from moorage.match.comparison import DEVICE_TAINT_VALUE
from moorage.match.tolerations import ProgramCache, TolerationSet, compile_toleration, compile_tolerations
from moorage.model.types.node import Taint
from moorage.model.types.pod import Toleration
from moorage.model.well_known.taints import NO_EXECUTE, NO_SCHEDULE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from moorage.match.comparison import Unreadable
    from moorage.match.evaluation.taint_expressions import EvaluationFailed
    from moorage.match.tolerations import TolerationMatcher
    from moorage.model.gates import GateSet
    from moorage.model.types.devices import DeviceTaint, DeviceToleration

_REMEMBERED = 4096


@lru_cache(maxsize=_REMEMBERED)
def as_taint(taint: DeviceTaint) -> Taint:
    """Return a device's taint as a node's, which matchers read."""
    return Taint(taint.key, taint.value, taint.effect, taint.timeAdded)


def as_toleration(toleration: DeviceToleration) -> Toleration:
    """Return a device toleration as a pod's, which `compile_toleration` reads."""
    return Toleration(
        toleration.key,
        toleration.operator,
        toleration.value,
        toleration.effect,
        toleration.tolerationSeconds,
        toleration.expression,
    )


class DeviceTolerations:
    """All tolerations of a request or of an allocated device, in order."""

    __slots__ = ("_tolerated", "tolerations", "unread")

    def __init__(self, tolerations: TolerationSet) -> None:
        self.tolerations = tolerations
        #: The taints met so far whose values cannot be compared.
        self.unread: dict[DeviceTaint, Unreadable] = {}
        self._tolerated: dict[DeviceTaint, bool] = {}

    def tolerates(self, taint: DeviceTaint) -> bool:
        tolerated = self._tolerated.get(taint)
        if tolerated is None:
            if len(self._tolerated) >= _REMEMBERED:
                self._tolerated.clear()
            tolerated = self._tolerated[taint] = self.tolerations.tolerates(as_taint(taint))
            if not tolerated and len(self.unread) < _REMEMBERED and (found := self.unreadable(taint)) is not None:
                self.unread[taint] = found
        return tolerated

    @property
    def has_obstacles(self) -> bool:
        """Return whether a value was met that cannot be compared, or a toleration is not compared at all."""
        return bool(self.unread) or any(matcher.never for matcher in self.tolerations.matchers)

    def matching(self, taint: DeviceTaint) -> list[Toleration]:
        """Return every toleration that matches, in order."""
        node_taint = as_taint(taint)
        return [matcher.toleration for matcher in self.tolerations.matchers if matcher.match(node_taint)]

    def explain(self, taint: DeviceTaint) -> str | None:
        """Explain in one sentence why no toleration tolerates the taint; None exactly when it is tolerated."""
        return self.tolerations.explain(as_taint(taint))

    def unreadable(self, taint: DeviceTaint) -> Unreadable | None:
        """Describe the taint's value for the first toleration that cannot read it; None if all can."""
        found = self.tolerations.unreadable(as_taint(taint))
        return found._replace(source=DEVICE_TAINT_VALUE) if found is not None else None

    def obstacle(self, taint: DeviceTaint) -> str | None:
        """Return why a toleration for this taint is not compared: a gate, an unreadable value, a failure."""
        return self.tolerations.obstacle(as_taint(taint))


def compile_device_toleration(toleration: DeviceToleration, gates: GateSet) -> TolerationMatcher:
    return compile_toleration(as_toleration(toleration), gates)


def compile_device_tolerations(
    tolerations: Iterable[DeviceToleration],
    gates: GateSet,
    programs: ProgramCache | None = None,
    on_evaluation_failed: EvaluationFailed | None = None,
    component: str = "",
) -> DeviceTolerations:
    pod_tolerations = [as_toleration(toleration) for toleration in tolerations]
    return DeviceTolerations(compile_tolerations(pod_tolerations, gates, programs, on_evaluation_failed, component))


if TYPE_CHECKING:
    from collections.abc import Iterable

    from moorage.model.types.devices import Device, DeviceTaint, DeviceTaintRule, ResourceSlice

#: The effects of taints that keep a device from being allocated.
EXCLUDING_EFFECTS = frozenset((NO_SCHEDULE, NO_EXECUTE))


def rule_selects(rule: DeviceTaintRule, driver: str, pool: str, device: str) -> bool:
    """Return whether the rule taints the device; what a selector does not name is any."""
    selector = rule.spec.deviceSelector
    return selector is None or (
        selector.driver in (None, driver) and selector.pool in (None, pool) and selector.device in (None, device)
    )


def device_taints(driver: str, pool: str, device: Device, rules: Iterable[DeviceTaintRule]) -> tuple[DeviceTaint, ...]:
    """Return all taints of a device: its own, and those of rules in their order."""
    return (*device.taints, *(rule.spec.taint for rule in rules if rule_selects(rule, driver, pool, device.name)))


def has_evicting_taint(slice_: ResourceSlice) -> bool:
    """Return whether a device of a slice has a NoExecute taint."""
    return any(taint.effect == NO_EXECUTE for device in slice_.spec.devices for taint in device.taints)
