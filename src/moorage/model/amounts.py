"""Add up amounts of resources, by their names.

Kubernetes: component-helpers/resource, the lists of k8s.io/apiserver/pkg/quota/v1.
"""

from collections.abc import Iterable, Mapping

from moorage.model.quantity import Quantity, QuantityError

ResourceAmounts = dict[str, Quantity]


def total_amounts(
    containers: Iterable[Mapping[str, Quantity]], init_containers: Iterable[tuple[bool, Mapping[str, Quantity]]]
) -> ResourceAmounts:
    """Return what containers need together: regular ones and sidecars (True) at once, or an init container in turn."""
    total: ResourceAmounts = {}
    for amounts in containers:
        add_amounts(total, amounts)
    sidecars: ResourceAmounts = {}
    during_init: ResourceAmounts = {}
    for is_sidecar, amounts in init_containers:
        if is_sidecar:
            add_amounts(total, amounts)
            add_amounts(sidecars, amounts)
            raise_amounts(during_init, sidecars)
        else:
            alone = dict(amounts)
            add_amounts(alone, sidecars)
            raise_amounts(during_init, alone)
    raise_amounts(total, during_init)
    return total


def add_amounts(total: ResourceAmounts, amounts: Mapping[str, Quantity]) -> None:
    for name, amount in amounts.items():
        total[name] = _sum(total[name], amount) if name in total else amount


def _sum(one: Quantity, other: Quantity) -> Quantity:
    """The sum; of amounts so far apart that it cannot be written out, the greater one, which it is for all purposes."""
    try:
        return one.add(other)
    except QuantityError:
        return max(one, other)


def raise_amounts(total: ResourceAmounts, amounts: Mapping[str, Quantity]) -> None:
    for name, amount in amounts.items():
        if name not in total or amount > total[name]:
            total[name] = amount
