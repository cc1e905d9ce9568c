"""Amounts of resources as kube-scheduler and the kubelet count them: in Go's int64, which wraps around.

Kubernetes: framework.Resource, NodeInfo.update, fitsRequest, the scorers of noderesources.
"""

import math
from collections.abc import Sequence
from typing import Any

from moorage.model.quantity import Quantity, parse_quantity

Raw = dict[str, Any]
Whole = dict[str, int]
MAX_NODE_SCORE = 100


def go(number: int) -> int:
    """Return what is left of a number in an int64."""
    return int.from_bytes((number & (2**64 - 1)).to_bytes(8, "little"), "little", signed=True)


def divided(number: int, divisor: int) -> int:
    quotient = abs(number) // abs(divisor)
    return go(quotient if (number < 0) is (divisor < 0) else -quotient)


def in_units(name: str, quantity: Quantity) -> int:
    return quantity.milli_value() if name == "cpu" else quantity.value()


def _plus(total: dict[str, Quantity], more: Raw) -> None:
    for name, text in more.items():
        amount = parse_quantity(text)
        total[name] = total[name].add(amount) if name in total else amount


def _at_least(total: dict[str, Quantity], floor: dict[str, Quantity]) -> None:
    for name, amount in floor.items():
        if name not in total or amount.compare(total[name]) > 0:
            total[name] = amount


def requested(pod: Raw, defaults: Raw | None = None) -> Whole:
    """Return PodRequests, as the numbers of `Resource.Add`."""
    spec, total = pod["spec"], dict[str, Quantity]()

    def of(container: Raw) -> Raw:
        return {**(defaults or {}), **container["resources"]["requests"]}

    for container in spec["containers"]:
        _plus(total, of(container))
    sidecars: dict[str, Quantity] = {}
    first: dict[str, Quantity] = {}
    for container in spec.get("initContainers", ()):
        if container.get("restartPolicy") == "Always":
            _plus(total, of(container))
            _plus(sidecars, of(container))
            _at_least(first, sidecars)
        else:
            alone: dict[str, Quantity] = {}
            _plus(alone, of(container))
            for name, amount in sidecars.items():
                alone[name] = alone[name].add(amount) if name in alone else amount
            _at_least(first, alone)
    _at_least(total, first)
    _plus(total, spec.get("overhead", {}))
    return {name: in_units(name, amount) for name, amount in total.items()}


def allocatable(node: Raw) -> Whole:
    return {name: in_units(name, parse_quantity(text)) for name, text in node["status"]["allocatable"].items()}


def used(pods: Sequence[Raw]) -> Whole:
    """Return what is requested of a node, after one pod was added after the other."""
    total: Whole = {}
    for pod in pods:
        for name, amount in requested(pod).items():
            total[name] = go(total.get(name, 0) + amount)
    return total


def non_zero(pods: Sequence[Raw], defaults: Raw) -> Whole:
    total: Whole = {}
    for pod in pods:
        amounts = requested(pod, defaults)
        for name in defaults:
            total[name] = go(total.get(name, 0) + amounts[name])
    return total


def refusals(pod: Raw, node: Raw, pods: Sequence[Raw]) -> set[str]:
    """Return the resources that fitsRequest finds insufficient."""
    has, taken = allocatable(node), used(pods)
    lacking = {"pods"} if len(pods) + 1 > has.get("pods", 0) else set()
    for name, amount in requested(pod).items():
        if amount > 0 and amount > go(has.get(name, 0) - taken.get(name, 0)):
            lacking.add(name)
    return lacking


def least(asked: int, capacity: int) -> int:
    return 0 if asked > capacity else divided(go(go(capacity - asked) * 100), capacity)


def most(asked: int, capacity: int) -> int:
    return divided(go(min(asked, capacity) * 100), capacity)


def within(score: int) -> int:
    """Bring a score back to where kube-scheduler would give up: our one difference."""
    return max(0, min(score, MAX_NODE_SCORE))


def weighted(scorer: Any, needs: Sequence[tuple[int, int]]) -> int:
    scores = [scorer(asked, capacity) for asked, capacity in needs if capacity]
    return within(divided(go(sum(scores)), len(scores))) if scores else 0


def balance(needs: Sequence[tuple[int, int]]) -> int:
    fractions = [min(float(asked) / float(capacity), 1.0) for asked, capacity in needs if capacity]
    deviation = abs((fractions[0] - fractions[1]) / 2) if len(fractions) == 2 else 0.0
    score = (1 - deviation) * 100
    return math.trunc(score) if -(2.0**63) <= score < 2.0**63 else -(2**63)


def improved(before: Sequence[tuple[int, int]], after: Sequence[tuple[int, int]]) -> int:
    return within(50 + divided(go(50 + balance(after) - balance(before)), 2))
