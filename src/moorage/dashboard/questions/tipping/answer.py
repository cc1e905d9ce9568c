"""List the nearest values of taints and labels at which something changes: tips.

Those that cost pods their node come first, then it counts how far the value has to move from what nodes have now. Each
was tried on the simulation, and no nearer value of the same node does anything. A cluster in which no value does
anything gets the drain, or else the removal, of a node.
"""

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Any

import msgspec

from moorage.dashboard.questions.base import Base, Part
from moorage.dashboard.questions.tipping.levers import Lever, Levers
from moorage.dashboard.questions.tipping.rehearsals import Rehearsals
from moorage.dashboard.questions.tipping.wording import Effect, listed
from moorage.model.kinds import KINDS
from moorage.plan.simulation.drain import stays
from moorage.plan.simulation.simulation import Simulation

#: The most tips of one answer, and of one key.
MAX_TIPS, MAX_OF_KEY = 8, 3
#: How many nodes that have the same value are tried one by one; more are tried all together first.
MAX_ALONE = 4
#: So many nodes are changed together to find out which of them matter.
MAX_TOGETHER = 2_000
_UP, _DOWN = 1, -1
NOTHING = "No taint, no label and no drain would move a pod"


class Tip(msgspec.Struct, rename="camel"):
    """A change that does something: to which value, of which nodes, to which workloads."""

    change: dict[str, Any]
    sentence: str
    value: str = ""
    key: str = ""
    now: str = ""
    nodes: list[str] = []
    workloads: list[str] = []
    pods: int = 0
    loses: bool = False
    seconds: int | None = None
    nearness: float = 0.0


class _Walk(msgspec.Struct):
    """The values of a lever in one direction that are still to be tried, nearest first."""

    lever: Lever
    values: Iterator[str]


def tips(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    """Yield the tips that are known so far, each time that there is one more."""
    search = _Search(base)
    found: list[Tip] = []
    for tip in search.tips():
        found.append(tip)
        yield {"part": "tipping", "tips": _in_order(found), "complete": False}
    complete = not search.rehearsals.ran_out
    yield {
        "part": "tipping",
        "tips": _in_order(found),
        "complete": complete,
        "why": "" if found else NOTHING if complete else f"{NOTHING}, as far as was tried",
        "done": True,
    }


def _in_order(found: list[Tip]) -> list[Any]:
    ordered = sorted(found, key=lambda tip: (not tip.loses, tip.nearness, -tip.pods, tip.sentence))
    return [msgspec.to_builtins(tip) for tip in ordered]


class _Search:
    """Looks for values at which something changes, the most promising first."""

    def __init__(self, base: Base) -> None:
        self._simulation = base.simulation
        self._levers = Levers(base.simulation)
        self.rehearsals = Rehearsals(base)
        self._heap: list[tuple[bool, float, int, str, _Walk]] = []
        self._number = 0

    def tips(self) -> Iterator[Tip]:
        for lever in self._levers.all():
            for direction in (_UP, _DOWN):
                self._push(_Walk(lever, self._levers.values(lever.kind, lever.key).beyond(lever.now, direction)))
        number, of_key, seen = 0, dict[tuple[str, str], int](), set[tuple[str, ...]]()
        while self._heap and number < MAX_TIPS:
            *_, value, walk = heappop(self._heap)
            lever = walk.lever
            identity = lever.kind, lever.key, lever.now, value
            if of_key.get((lever.kind, lever.key), 0) >= MAX_OF_KEY or identity in seen:
                continue
            tip = self._try(lever, value)
            if tip is None:
                if self.rehearsals.is_over:
                    self.rehearsals.ran_out = True
                    break
                self._push(walk)
                continue
            seen.add(identity)
            of_key[lever.kind, lever.key] = of_key.get((lever.kind, lever.key), 0) + 1
            number += 1
            yield tip
        if not number:
            yield from self._whole_nodes()

    def _push(self, walk: _Walk) -> None:
        """Put a walk back with its next value at which something may change; leave it out after its last value."""
        lever = walk.lever
        for value in walk.values:
            evicts = bool(self._levers.affected(lever, value))
            if evicts or lever.kind == "deviceTaint" or self._levers.concerns_unsettled(lever.kind, lever.key):
                nearness = self._levers.values(lever.kind, lever.key).nearness(lever.now, value)
                self._number += 1
                heappush(self._heap, (not evicts, nearness, self._number, value, walk))
                return

    def _try(self, lever: Lever, value: str) -> Tip | None:
        """Return what the value does on the node of the lever on which it does most; None if it does nothing."""
        if lever.kind == "deviceTaint":
            return self._played(lever, value, [])
        affected = [name for name, _ in self._levers.affected(lever, value)]
        others = self._worth_trying(lever, value, affected)
        for name in (*affected[:MAX_ALONE], *others):
            if (tip := self._played(lever, value, [name])) is not None:
                return tip
        return None

    def _worth_trying(self, lever: Lever, value: str, affected: list[str]) -> list[str]:
        """Return nodes on which a pod that waits may land: of many, those that matter when all are changed."""
        if affected or not self._levers.concerns_unsettled(lever.kind, lever.key):
            return []
        if len(lever.nodes) <= MAX_ALONE:
            return list(lever.nodes)
        nodes = list(lever.nodes[:MAX_TOGETHER])
        effect = self.rehearsals.play([lever.change(value, nodes)], listed(nodes), nodes, f"at {value}")
        return effect.nodes[:MAX_ALONE] if effect is not None else []

    def _played(self, lever: Lever, value: str, nodes: list[str]) -> Tip | None:
        where = listed(nodes) if nodes else _device_text(lever)
        change = lever.change(value, nodes)
        effect = self.rehearsals.play([change], where, nodes, f"at {value}")
        if effect is None or effect.is_empty:
            return None
        nearness = self._levers.values(lever.kind, lever.key).nearness(lever.now, value)
        return _tip(effect, change, nodes, value=value, key=lever.key, now=lever.now, nearness=nearness)

    def _whole_nodes(self) -> Iterator[Tip]:
        """Yield the first drain that does something, of the nodes with most pods; else the removal of one."""
        ranked = _by_pods(self._simulation)
        tries = [
            *(("drain", "draining", name) for name in ranked[:3]),
            *(("remove", "removing", n) for n in ranked[:1]),
        ]
        for kind, verb, name in tries:
            change = {kind: {"nodes": [name]}}
            effect = self.rehearsals.play([change], f"{verb} {name}", [name], "")
            if effect is not None and not effect.is_empty:
                yield _tip(effect, change, [name])
                return


def _tip(effect: Effect, change: dict[str, Any], nodes: list[str], **more: Any) -> Tip:
    return Tip(
        change,
        effect.sentence,
        nodes=nodes,
        workloads=effect.workloads,
        pods=effect.pods,
        loses=effect.loses,
        seconds=effect.seconds,
        **more,
    )


def _device_text(lever: Lever) -> str:
    return " ".join(text for _, text in lever.device[-1:])


def _by_pods(simulation: Simulation) -> list[str]:
    """Return the nodes with pods, those first from which a drain would evict most."""
    world = simulation.world
    numbers = []
    for node in world.all(KINDS.NODE):
        pods = world.pods_on(node.name)
        if pods:
            numbers.append((-sum(not stays(pod.view) for pod in pods), -len(pods), node.name))
    return [name for *_, name in sorted(numbers)]
