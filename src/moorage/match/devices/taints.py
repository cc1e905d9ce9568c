"""A device's taints: those of its ResourceSlice, then those of the DeviceTaintRules that select it.

Kubernetes: dynamic-resource-allocation/resourceslice/tracker, for the scheduler; pkg/controller/devicetainteviction.
As there, a rule without a `deviceSelector` taints every device for the scheduler but evicts no pod.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.model.well_known.taints import NO_EXECUTE, NO_SCHEDULE

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


def has_evicting_taint(one: ResourceSlice) -> bool:
    """Return whether a device of a slice has a NoExecute taint."""
    return any(taint.effect == NO_EXECUTE for device in one.spec.devices for taint in device.taints)
