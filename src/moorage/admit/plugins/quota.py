"""ResourceQuota: what a write adds to the quotas of its namespace, or why it may not.

Kubernetes: CheckRequest of apiserver/pkg/admission/plugin/resourcequota.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from moorage.admit.plugins import Forbidden
from moorage.match.quota.usage import QuotaUsage, usage_of
from moorage.model.api_error import forbidden
from moorage.model.kinds import Kind
from moorage.model.quantity import Quantity, ResourceAmounts, add_amounts, difference
from moorage.model.types.policy import ResourceQuota


class QuotaBalance(NamedTuple):
    """A quota, and what is used of it, with all that is about to be."""

    quota: ResourceQuota
    used: Mapping[str, Quantity]


class QuotaCharge(NamedTuple):
    """What is added to one quota."""

    quota: str
    amounts: ResourceAmounts


def charges_of(
    kind: Kind, name: str, new: Any, old: Any, balances: Sequence[QuotaBalance], subresource: str, now: float
) -> list[QuotaCharge]:
    """Return what a write is to be charged, given the quotas of its namespace. Raises ApiError 403."""
    counting = usage_of(kind) if balances else None
    if counting is None:
        return []
    try:
        return quota_charges(counting, new, old, balances, subresource, now)
    except Forbidden as refusal:
        raise forbidden(kind, name, str(refusal)) from None


def without_object(balance: QuotaBalance, kind: Kind, view: Any, now: float) -> QuotaBalance:
    """Return a balance as if an object that was charged did not exist."""
    counting = usage_of(kind)
    if counting is None or not counting.matches(balance.quota, view):
        return balance
    freed = counting.usage(view, now)
    used = {name: difference(amount, freed[name]) if name in freed else amount for name, amount in balance.used.items()}
    return balance._replace(used=used)


def quota_charges(
    counting: QuotaUsage, new: Any, old: Any, balances: Iterable[QuotaBalance], subresource: str, now: float
) -> list[QuotaCharge]:
    """Return what writing an object adds to the quotas that count it. Raises Forbidden if one does not allow it.

    `old` is None for an object that is created. An object that uses less than before gives nothing back here.
    """
    if not counting.is_charged(new, old, subresource):
        return []
    matching = [balance for balance in balances if _is_matching(counting, balance, new)]
    if not matching:
        return []
    usage = counting.usage(new, now)
    negative = sorted(name for name, amount in usage.items() if amount.sign() < 0)
    if negative:
        raise Forbidden(f"quota usage is negative for resource(s): {','.join(negative)}")
    before = counting.usage(old, now) if old is not None else {}
    charges = []
    for quota, used in matching:
        is_counted_already = old is not None and counting.matches(quota, old)
        hard = quota.status.hard
        amounts = _growth({name: usage[name] for name in usage if name in hard}, before if is_counted_already else {})
        if not amounts:
            continue
        if subresource != "status":
            check_quota(quota, used, amounts)
        charges.append(QuotaCharge(quota.metadata.name, amounts))
    return charges


def _is_matching(counting: QuotaUsage, balance: QuotaBalance, view: Any) -> bool:
    """Return whether a quota counts the object. Raises Forbidden if it cannot tell how much."""
    quota, used = balance
    names = counting.names(quota.status.hard)
    if not names or not counting.matches(quota, view):
        return False
    missing = counting.missing(names, view)
    if missing:
        raise Forbidden(f"failed quota: {quota.metadata.name}: {missing}")
    if any(name not in used for name in names):
        raise Forbidden(f"status unknown for quota: {quota.metadata.name}, resources: {','.join(names)}")
    return True


def _growth(usage: Mapping[str, Quantity], before: Mapping[str, Quantity]) -> ResourceAmounts:
    growth = {name: difference(amount, before[name]) if name in before else amount for name, amount in usage.items()}
    return {name: amount for name, amount in growth.items() if amount.sign() > 0}


def check_quota(quota: ResourceQuota, used: Mapping[str, Quantity], amounts: Mapping[str, Quantity]) -> None:
    """Raise Forbidden if the amounts do not fit into what a quota has left."""
    hard = quota.status.hard
    total = {name: used[name] for name in amounts if name in used}
    add_amounts(total, amounts)
    exceeded = sorted(name for name in amounts if name in hard and total[name] > hard[name])
    if exceeded:
        parts = (
            f"{label}: {','.join(f'{name}={values[name]}' for name in exceeded if name in values)}"
            for label, values in (("requested", amounts), ("used", used), ("limited", hard))
        )
        raise Forbidden(f"exceeded quota: {quota.metadata.name}, {', '.join(parts)}")
