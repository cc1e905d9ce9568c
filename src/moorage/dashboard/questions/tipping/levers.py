"""Collect what could be moved in a cluster, and where a move may do something: the filter before the simulation.

A lever is a taint or label of nodes that have the same value and the same other NoExecute taints, or a taint of a
device. A move of its value can do something only to pods that name the key: those on a node of the lever, which the
taint eviction controller would evict at another time, and those that are not settled: they wait for a node, have to
leave their node anyway, or belong to a DaemonSet. All others stay where they are.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from moorage.client.protocol import Object
from moorage.match.devices.eviction import PublishedDevices
from moorage.match.taint_eviction import Eviction, no_execute
from moorage.model.kinds import KINDS
from moorage.model.types.devices import DeviceTaintRule
from moorage.model.types.node import Node, Taint
from moorage.model.types.pod import PodSpec, Toleration
from moorage.model.well_known.taints import NO_EXECUTE
from moorage.plan.node_changes import TaintChange, with_taint
from moorage.plan.simulation.simulation import Simulation
from moorage.plan.values.keys import Keys, keys_of
from moorage.plan.values.turning_values import TurningValues, constants_of

Tolerations = tuple[Toleration, ...]
#: More devices of one value are not looked at: any of them stands for the others.
MAX_DEVICES = 20
_ANY_KEY = ""


class Lever(msgspec.Struct, frozen=True):
    """A value that can be moved. `nodes` have it; of a device taint, `device` says which devices."""

    kind: str
    key: str
    effect: str
    now: str
    nodes: tuple[str, ...] = ()
    device: tuple[tuple[str, str], ...] = ()
    taints: tuple[Taint, ...] = ()  # the NoExecute taints of its nodes

    def change(self, value: str, nodes: Iterable[str] = ()) -> dict[str, Any]:
        """Return the change that a what-if takes."""
        what: dict[str, Any] = {"key": self.key, "value": value}
        if self.kind == "deviceTaint":
            return {self.kind: {**dict(self.device), **what, "effect": self.effect}}
        effect = {"effect": self.effect} if self.kind == "taint" else {}
        return {self.kind: {"nodes": list(nodes), **what, **effect}}


class Levers:
    """The levers of a simulated cluster."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._keys = keys_of(simulation)
        self._scales: dict[tuple[str, str], TurningValues] = {}
        self._constants = constants_of(self._expressions())
        self._unsettled = self._named_by_unsettled()
        self._pods: dict[str, Counter[int]] = {}  # by node: how many pods have which list of tolerations
        self._lists: dict[int, Tolerations] = {}

    def all(self) -> Iterator[Lever]:
        """Yield the levers whose values have an order and are named by a pod."""
        groups: dict[tuple[str, str, str, str, tuple[Taint, ...]], list[str]] = {}
        for stored in self._simulation.world.all(KINDS.NODE):
            node: Node = stored.view
            evicting = no_execute(node)
            for taint in node.spec.taints:
                groups.setdefault(("taint", taint.key, taint.effect, taint.value, evicting), []).append(stored.name)
            for key, value in node.metadata.labels.items():
                groups.setdefault(("label", key, "", value, ()), []).append(stored.name)
        for (kind, key, effect, now, taints), nodes in groups.items():
            if self._is_named(kind, key) and self._is_ordered(kind, key, now):
                yield Lever(kind, key, effect, now, tuple(nodes), taints=taints)
        yield from self._devices()

    def values(self, kind: str, key: str) -> TurningValues:
        """Return the values of a key at which something may change."""
        scale = self._scales.get((kind, key))
        if scale is None:
            keys: Keys = self._keys[kind]
            constants = () if kind == "label" else self._constants
            scale = TurningValues(keys.place, keys.counts.get(key, {}), keys.named.of(key), constants)
            self._scales[kind, key] = scale
        return scale

    def affected(self, lever: Lever, value: str) -> list[tuple[str, int]]:
        """Return the nodes on which pods would be evicted at another time, and how many; most pods first."""
        if lever.kind != "taint" or lever.effect != NO_EXECUTE:
            return []
        new = tuple(with_taint(lever.taints, TaintChange("", lever.key, value, lever.effect)))
        decide = self._simulation.evictions.decide
        known: dict[int, bool] = {}
        numbers: list[tuple[str, int]] = []
        for name in lever.nodes:
            tolerated = self._tolerated_on(name)
            for identity in tolerated.keys() - known.keys():
                tolerations = self._lists[identity]
                times = (_time_of(decide(taints, tolerations)) for taints in (lever.taints, new))
                known[identity] = next(times) != next(times)
            numbers.append((name, sum(number for identity, number in tolerated.items() if known[identity])))
        return sorted(((name, number) for name, number in numbers if number), key=lambda row: (-row[1], row[0]))

    def concerns_unsettled(self, kind: str, key: str) -> bool:
        """Return whether a pod that is not settled names the key."""
        return bool(self._unsettled[kind] & {key, _ANY_KEY})

    def _tolerated_on(self, node: str) -> Counter[int]:
        """Count the lists of tolerations of the pods on a node: pods of one template share theirs."""
        counted = self._pods.get(node)
        if counted is None:
            counted = self._pods[node] = Counter()
            for pod in self._simulation.world.pods_on(node):
                if pod.view.metadata.deletionTimestamp is None:
                    tolerations = pod.view.spec.tolerations
                    self._lists[id(tolerations)] = tolerations
                    counted[id(tolerations)] += 1
        return counted

    # -- what pods name -----------------------------------------------------------------------------------------------

    def _is_named(self, kind: str, key: str) -> bool:
        """Return whether a pod compares the key with a value; an expression may be about any key."""
        return bool(self._keys[kind].named.of(key)) or (kind != "label" and bool(self._constants))

    def _is_ordered(self, kind: str, key: str, now: str) -> bool:
        scale = self.values(kind, key)
        return scale.kind is not None and scale.kind.value_of(now) is not None

    def _expressions(self) -> Iterator[str]:
        lists = {id(one): one for one in self._all_tolerations()}
        for tolerations in lists.values():
            yield from (one.expression for one in tolerations if one.expression)

    def _all_tolerations(self) -> Iterator[Tolerations]:
        for stored in self._simulation.world.all(KINDS.POD):
            yield stored.view.spec.tolerations

    def _named_by_unsettled(self) -> dict[str, set[str]]:
        """Return the keys of taints, labels and device taints that pods name whose place is not settled."""
        simulation = self._simulation
        named: dict[str, set[str]] = {"taint": set(), "label": set(), "deviceTaint": set()}
        waiting = [pod for pod in simulation.world.all(KINDS.POD) if not pod.view.spec.nodeName]
        leaving = [timer.pod for timer in simulation.evictions.timers()]
        specs: list[PodSpec] = [pod.view.spec for pod in (*waiting, *leaving)]
        specs += [one.view.spec.template.spec for one in simulation.world.all(KINDS.DAEMON_SET)]
        for spec in specs:
            named["taint"].update(one.key for one in spec.tolerations if one.value or one.expression)
            named["label"].update(_labels_of(spec))
        if any(_has_claims(pod) for pod in (*waiting, *leaving)):
            named["deviceTaint"].add(_ANY_KEY)
        return named

    # -- devices ------------------------------------------------------------------------------------------------------

    def _devices(self) -> Iterator[Lever]:
        """Yield taints of devices that evict: by slices for each device, by rules for what the rule selects."""
        if not self._keys["deviceTaint"].counts:
            return
        world, numbers = self._simulation.world, Counter[tuple[str, str]]()
        slices = (one.view for one in world.all(KINDS.RESOURCE_SLICE))
        for driver, pool, device in PublishedDevices(slices):
            for taint in device.taints:
                numbers[taint.key, taint.value] += 1
                if numbers[taint.key, taint.value] <= MAX_DEVICES:
                    selected = ("driver", driver), ("pool", pool), ("device", device.name)
                    yield from self._device_lever(taint.key, taint.value, taint.effect, selected)
        for stored in world.all(KINDS.DEVICE_TAINT_RULE):
            rule: DeviceTaintRule = stored.view
            selector, taint = rule.spec.deviceSelector, rule.spec.taint
            fields = ((name, getattr(selector, name, None)) for name in ("driver", "pool", "device"))
            selected_by = tuple((name, text) for name, text in fields if text) if selector is not None else ()
            if selected_by:
                yield from self._device_lever(taint.key, taint.value, taint.effect, selected_by)

    def _device_lever(self, key: str, now: str, effect: str, device: tuple[tuple[str, str], ...]) -> Iterator[Lever]:
        kind = "deviceTaint"
        if effect == NO_EXECUTE and self._is_named(kind, key) and self._is_ordered(kind, key, now):
            yield Lever(kind, key, effect, now, device=device)


def _time_of(eviction: Eviction | None) -> tuple[str, int] | None:
    return None if eviction is None else (eviction.when, eviction.nanoseconds)


def _has_claims(pod: Object) -> bool:
    return bool(pod.view.spec.resourceClaims)


def _labels_of(spec: PodSpec) -> Iterator[str]:
    yield from spec.nodeSelector
    affinity = spec.affinity.nodeAffinity if spec.affinity is not None else None
    if affinity is None:
        return
    required = affinity.requiredDuringSchedulingIgnoredDuringExecution
    terms = list(required.nodeSelectorTerms) if required is not None else []
    terms += [one.preference for one in affinity.preferredDuringSchedulingIgnoredDuringExecution]
    for term in terms:
        yield from (requirement.key for requirement in term.matchExpressions)
