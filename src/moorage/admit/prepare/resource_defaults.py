"""Amounts of resources: rounding to thousandths, requests from limits, a pod's own requests from its containers'.

In: raw resource lists and pod specs. Out: the same, changed in place. Kubernetes: SetDefaults_ResourceList, the parts
of SetDefaults_Pod about resources, component-helpers' AggregateContainerRequests.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from moorage.admit.raw import Raw, items
from moorage.model.go.quoting import go_json
from moorage.model.quantity import Quantity, parse_quantity, total_amounts

_MILLI = -3
_HUGE_PAGES = "hugepages-"
_POD_LEVEL = frozenset({"cpu", "memory"})


def round_up_lists(requirements: Raw | None, *names: str) -> None:
    """Round the amounts in the lists called `names` up to thousandths, as upstream does before validating."""
    if not requirements:
        return
    for name in names:
        amounts = requirements.get(name)
        if not amounts:
            continue
        for resource, amount in amounts.items():
            rounded = _rounded_up(amount_text(amount))
            if rounded is not None:
                amounts[resource] = rounded


def amount_text(amount: Any) -> str:
    """Return an amount as quantities are read: a number may stand without quotes, and a null is nothing of it."""
    if isinstance(amount, str):
        return amount.strip()
    return "0" if amount is None else go_json(amount)


@lru_cache(maxsize=4096)
def _rounded_up(text: str) -> str | None:
    """Return the amount rounded away from zero to thousandths, or None if it is one already."""
    if (text.isdigit() or text[:-1].isdigit() or text[:-2].isdigit()) and not text.endswith(("n", "u")):
        return None
    amount = parse_quantity(text)
    if amount.exponent >= _MILLI:
        return None
    unit = 10 ** (_MILLI - amount.exponent)
    mantissa = -(-abs(amount.mantissa) // unit) * amount.sign()
    rounded = Quantity(mantissa, _MILLI, amount.format, amount.big)
    return None if rounded == amount else str(rounded)


def requests_from_limits(container: Raw) -> None:
    """Set the request of each limited resource that has none to its limit."""
    resources = container.get("resources")
    if not resources or resources.get("limits") is None:
        return
    requests = resources.get("requests")
    if requests is None:
        requests = resources["requests"] = {}
    for name, amount in resources["limits"].items():
        requests.setdefault(name, amount)


def default_pod_level_resources(spec: Raw) -> None:
    """Complete `spec.resources` where it is partly given, from the containers and from its own limits."""
    resources = spec.get("resources")
    if not resources:
        return
    if resources.get("limits") or resources.get("requests"):
        _default_huge_page_limits(spec, resources)
    if resources.get("limits"):
        _default_requests(spec, resources)


def _default_huge_page_limits(spec: Raw, resources: Raw) -> None:
    limits = dict(resources.get("limits") or {})
    requests = resources.get("requests") or {}
    for name, amount in aggregate_containers(spec, "limits").items():
        if name.startswith(_HUGE_PAGES) and name not in requests:
            limits.setdefault(name, str(amount))
    if limits:
        resources["limits"] = limits


def _default_requests(spec: Raw, resources: Raw) -> None:
    requests = dict(resources.get("requests") or {})
    for name, amount in aggregate_containers(spec, "requests").items():
        if name in _POD_LEVEL:
            requests.setdefault(name, str(amount))
    for name, amount in resources["limits"].items():
        if name in _POD_LEVEL or name.startswith(_HUGE_PAGES):
            requests.setdefault(name, amount)
    if requests:
        resources["requests"] = requests


def aggregate_containers(spec: Raw, which: str) -> dict[str, Quantity]:
    """What the containers need together: all that run side by side, or the hungriest moment while starting."""
    init = items(spec, "initContainers")
    return total_amounts(
        (_amounts(container, which) for container in items(spec, "containers")),
        ((container.get("restartPolicy") == "Always", _amounts(container, which)) for container in init),
    )


def _amounts(container: Raw, which: str) -> dict[str, Quantity]:
    amounts: Mapping[str, Any] = (container.get("resources") or {}).get(which) or {}
    return {name: parse_quantity(amount_text(amount)) for name, amount in amounts.items()}
