"""Count what the objects of a namespace use of a ResourceQuota.

Kubernetes: CalculateUsage of apiserver/pkg/quota/v1.
"""

from collections.abc import Callable, Iterable
from typing import Any

from moorage.match.quota.usage import COUNTED_KINDS, usage_of
from moorage.model.kinds import Kind
from moorage.model.quantity import Quantity, ResourceAmounts, add_amounts
from moorage.model.types.policy import ResourceQuota

_ZERO = Quantity.from_int(0)


def count_used(
    quota: ResourceQuota, views: Callable[[Kind], Iterable[Any]], now: float, custom: Iterable[Kind] = ()
) -> ResourceAmounts:
    """Return what is used of the amounts that the spec limits. `views` gives the namespace's objects of a kind.

    `custom` are the kinds of custom resource definitions. Amounts that no known kind uses stay as in the status.
    """
    hard = quota.spec.hard
    used = {name: amount for name, amount in quota.status.used.items() if name in hard}
    for kind in (*COUNTED_KINDS, *custom):
        counting = usage_of(kind)
        names = counting.names(hard) if counting is not None else []
        if not names or counting is None:
            continue
        total = dict.fromkeys(names, _ZERO)
        for view in views(kind):
            if counting.matches(quota, view):
                usage = counting.usage(view, now)
                add_amounts(total, {name: usage[name] for name in names if name in usage})
        used.update(total)
    return used
