"""Say in one sentence what a change of a value would do: `spot-1 would lose checkout at 5`."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from moorage.plan.departures import Cause, Departure
from moorage.plan.difference.comparison import Becomes, Pair
from moorage.plan.difference.difference import Difference

#: More workloads than these are counted, not named.
MAX_NAMED = 2


class Effect(msgspec.Struct):
    """What a change did in the simulation. `signature` is the same for two changes that do the same to all pods."""

    is_empty: bool
    signature: str
    what: str
    sentence: str
    workloads: list[str]
    pods: int
    loses: bool
    seconds: int | None
    nodes: list[str]


def effect_of(difference: Difference, where: str, nodes: Sequence[str], when: str) -> Effect:
    """Return what differs. `where` names what is changed, `when` says to what: `at 5`; empty of a drain."""
    lost = _first_departures(difference)
    verb, subjects, keys = _subject(difference, lost)
    numbers = Counter(keys)
    names = sorted(numbers, key=lambda name: (-numbers[name], name))
    what = _pods_of(len(keys), [_short(name) for name in names])
    if not keys:
        text = f"{f'{where} {when}'.rstrip()}: {_held(difference) or difference.sentence.partition(';')[0]}"
    elif verb:
        text = f"{what} {verb} with {where} {when}" if when else f"{what} {verb} by {where}"
    elif when:
        text = f"{where} would lose {what} {when}{_pending(difference)}"
    else:
        text = f"{where} would evict {what}{_pending(difference)}"
    return Effect(
        is_empty=difference.is_empty,
        signature=_signature(difference),
        what=what,
        sentence=text,
        workloads=names,
        pods=len(keys),
        loses=bool(lost) or bool(difference.comparison.of(Becomes.PENDING)),
        seconds=min((one.after_seconds for one in lost), default=None),
        nodes=[name for name in nodes if name in subjects],
    )


def _first_departures(difference: Difference) -> list[Departure]:
    """Return the pods that leave and would not otherwise, without the successors that leave in their turn."""
    successors = {one.replaced_by for one in difference.departures if one.replaced_by != one.pod}
    first = {one.pod: one for one in reversed(difference.departures) if one.pod not in successors and not one.without}
    return [one for one in first.values() if one.cause is not Cause.NEW_TEMPLATE]


#: What is said of pods that do not leave, by what becomes of them; the first that there are.
_OTHERS = (
    ((Becomes.PLACED, Becomes.NEW), "would get a node"),
    ((Becomes.PENDING, Becomes.NEW_PENDING), "would be Pending"),
    ((Becomes.STAYS,), "would stay"),
    ((Becomes.OTHERWISE, Becomes.EVICTING), "would leave at another time"),
    ((Becomes.REMOVED,), "would be removed"),
    ((Becomes.ELSEWHERE,), "would get another node"),
)


def _subject(difference: Difference, lost: Sequence[Departure]) -> tuple[str, set[str], list[str]]:
    """Return what happens to whom: a verb, empty where pods leave, the nodes concerned, and a workload for each pod."""
    if lost:
        return "", {one.node for one in lost}, [one.workload or one.pod for one in lost]
    for kinds, verb in _OTHERS:
        if pairs := difference.comparison.of(*kinds):
            nodes = {line.node for pair in pairs for line in (pair.before, pair.after) if line is not None}
            return verb, nodes, [pair.workload or pair.line.key for pair in pairs]
    return "", set(), []


def _pods_of(number: int, names: Sequence[str]) -> str:
    """Return `checkout`, `4 pods of reports and checkout` or `9 pods of 3 workloads`."""
    if number == 1:
        return names[0]
    shown = " and ".join(names) if len(names) <= MAX_NAMED else f"{len(names)} workloads"
    return f"{number:,} pods of {shown}"


def _short(workload: str) -> str:
    """Return the name of a workload or pod without kind and namespace."""
    return workload.rpartition(" ")[2].rpartition("/")[2]


def _pending(difference: Difference) -> str:
    number = len(difference.comparison.of(Becomes.PENDING))
    return f", and {number:,} would be Pending" if number else ""


def _held(difference: Difference) -> str:
    """Return which pods a budget would hold; empty if something else happens, too."""
    names = sorted({_short(one.pod) for one in difference.blocked})
    if not names or difference.comparison.differences or difference.departures:
        return ""
    budgets = sorted({budget.name for one in difference.blocked for budget in one.budgets})
    by = f"budget {_short(budgets[0])}" if len(budgets) == 1 else "budgets"
    return f"{by} would hold {names[0] if len(names) == 1 else f'{len(names):,} pods'}"


def _signature(difference: Difference) -> str:
    """Return what differs without the names that controllers invent, to compare two changes."""
    places: list[Any] = [_place(pair) for pair in difference.comparison.differences]
    left = [
        [one.cause, one.workload or one.pod, one.node, one.new_node, one.after_seconds] for one in difference.departures
    ]
    held = [[one.node, one.pod] for one in difference.blocked]
    return "\n".join(sorted(map(repr, (*places, *left, *held))))


def _place(pair: Pair) -> list[str]:
    nodes = [line.node if line is not None else "" for line in (pair.before, pair.after)]
    return [pair.becomes, pair.workload or pair.line.key, *nodes]


def listed(names: Iterable[str]) -> str:
    """Return `spot-1`, or `3 nodes`."""
    names = list(names)
    return names[0] if len(names) == 1 else f"{len(names):,} nodes"
