"""The quality-of-service class a pod gets when it is created.

In: a raw pod spec with its defaults. Out: `Guaranteed`, `Burstable` or `BestEffort`. Kubernetes: ComputePodQOS
(pkg/apis/core/v1/helper/qos).
"""

from collections.abc import Mapping
from typing import Any

from moorage.admit.prepare.defaults.resources import amount_text
from moorage.admit.raw import Raw, items
from moorage.model.quantity import Quantity, parse_quantity

_COUNTED = ("cpu", "memory")


def pod_qos(spec: Raw) -> str:
    holders = items(spec, "containers") + items(spec, "initContainers")
    if spec.get("resources") is not None:
        holders = [spec]
    if not any(holder.get("resources") for holder in holders):
        return "BestEffort"
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    guaranteed = True
    for holder in holders:
        resources = holder.get("resources") or {}
        _add_positive(requests, resources.get("requests"))
        limited = _add_positive(limits, resources.get("limits"))
        if limited < len(_COUNTED) and (holder is not spec or resources.get("limits")):
            guaranteed = False
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed and requests == limits else "Burstable"


def _add_positive(total: dict[str, Quantity], amounts: Mapping[str, Any] | None) -> int:
    """Add what counts, and say how many resources did."""
    found = 0
    for name in _COUNTED:
        if amounts and amounts.get(name) is not None:
            amount = parse_quantity(amount_text(amounts[name]))
            if amount.sign() > 0:
                found += 1
                total[name] = amount.add(total[name]) if name in total else amount
    return found
