"""Warn of gates that are on in some components and off in others: the one table of what happens to pods then.

`moorage up` (banner and log), `moorage gates`, its audit, and `plan` and `explain` on a live cluster read it. A gate
that is off in the API server alone is mostly left out: what uses it is refused, as if the gate were off everywhere.
Kubernetes: "Version Skew Strategy" of KEP-5471, KEP-5721, KEP-5500 and KEP-3633.
"""

from collections.abc import Iterable, Iterator, Mapping
from textwrap import wrap
from typing import NamedTuple

from moorage.model import gates as known
from moorage.model.gates import GATES, Component, Gate, GateSet

API, SCHEDULER = Component.API_SERVER, Component.SCHEDULER
MANAGER, KUBELET = Component.CONTROLLER_MANAGER, Component.KUBELET

#: By component: the gates that are on, and those that are known to be off.
Known = Mapping[Component, Mapping[str, bool]]


class Hazard(NamedTuple):
    """What happens where a gate is on in one of some components, and off in another.

    `unless` is a gate of the API server that makes it harmless.
    """

    gates: tuple[Gate, ...]
    on: tuple[Component, ...]
    off: Component
    happens: str
    unless: Gate | None = None


_TOLERATIONS = (
    known.TAINT_TOLERATION_COMPARISON_OPERATORS,
    known.SEMVER_COMPARISON_OPERATORS,
    known.TAINT_TOLERATION_CEL,
)
_WIDTH = 79
_NOT_ALLOCATED = "claims on such devices are accepted and stay Pending: the scheduler does not allocate them"
_NOT_DECLARED = "nodes declare no features, and pods that need one stay Pending"

HAZARDS = (
    Hazard(
        _TOLERATIONS,
        (API,),
        SCHEDULER,
        "pods that need it are accepted and stay Pending: to the scheduler such a toleration tolerates nothing",
    ),
    Hazard(
        _TOLERATIONS,
        (API, SCHEDULER),
        MANAGER,
        "pods that tolerate a NoExecute taint only this way are evicted at once, their replacements too; DaemonSets "
        "make no pods for such nodes",
    ),
    Hazard(
        _TOLERATIONS,
        (SCHEDULER,),
        KUBELET,
        "pods that tolerate a NoExecute taint only this way are refused by their node (phase Failed), and their owners "
        "make new ones",
    ),
    Hazard(
        (known.SEMVER_COMPARISON_OPERATORS,),
        (API,),
        SCHEDULER,
        "to the scheduler such node affinity, of a pod or a PersistentVolume, matches no node",
    ),
    Hazard(
        (known.SEMVER_COMPARISON_OPERATORS,),
        (SCHEDULER,),
        KUBELET,
        "pods with such node affinity are refused by their node (phase Failed)",
    ),
    Hazard(
        (known.MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD,),
        (API,),
        SCHEDULER,
        "matchLabelKeys are accepted and do not count: pods are spread as if all revisions were one",
        unless=known.MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD_SELECTOR_MERGE,
    ),
    Hazard(
        (known.DRA_DEVICE_TAINTS, known.DRA_DEVICE_TAINT_RULES),
        (API,),
        SCHEDULER,
        "such taints keep no claim away: tainted devices are allocated like others",
    ),
    Hazard(
        (known.DRA_DEVICE_TAINTS, known.DRA_DEVICE_TAINT_RULES),
        (API, SCHEDULER),
        MANAGER,
        "such taints with the effect NoExecute evict no pod",
    ),
    Hazard(
        (known.DRA_EXTENDED_RESOURCE,),
        (API,),
        SCHEDULER,
        "pods that ask for the extended resource of a DeviceClass stay Pending: the scheduler gives them no devices",
    ),
    Hazard(
        (known.DRA_EXTENDED_RESOURCE,),
        (SCHEDULER,),
        KUBELET,
        "pods that were given devices for an extended resource start without them: the kubelet prepares no claim",
    ),
    Hazard(
        (known.DRA_PRIORITIZED_LIST, known.DRA_PARTITIONABLE_DEVICES, known.DRA_DEVICE_BINDING_CONDITIONS),
        (API,),
        SCHEDULER,
        _NOT_ALLOCATED,
    ),
    Hazard(
        (known.DRA_CONSUMABLE_CAPACITY,),
        (API,),
        SCHEDULER,
        "devices that several claims could share are allocated to one claim, as a whole",
    ),
    Hazard(
        (known.DRA_LIST_TYPE_ATTRIBUTES,),
        (API,),
        SCHEDULER,
        "selectors fail for devices whose attributes are lists, and their claims stay Pending",
    ),
    Hazard(
        (known.DRA_PRIORITIZED_LIST,),
        (API,),
        MANAGER,
        "no claims are made of templates with firstAvailable, and their pods stay Pending",
    ),
    Hazard(
        (known.HPA_CONFIGURABLE_TOLERANCE,),
        (API,),
        MANAGER,
        "tolerances of HorizontalPodAutoscalers are accepted and do not count: all have the one of the flag",
    ),
    Hazard(
        (known.HPA_SCALE_TO_ZERO,),
        (API,),
        MANAGER,
        "HorizontalPodAutoscalers with minReplicas 0 scale to zero, and from there never up again",
    ),
    Hazard((known.NODE_DECLARED_FEATURES,), (SCHEDULER,), API, _NOT_DECLARED),
    Hazard((known.NODE_DECLARED_FEATURES,), (SCHEDULER,), KUBELET, _NOT_DECLARED),
)


class Skew(NamedTuple):
    """Gates that are on and off in the same components, and all that happens because of it."""

    gates: tuple[str, ...]
    on: tuple[Component, ...]
    off: tuple[Component, ...]
    happens: tuple[str, ...]

    @property
    def situation(self) -> str:
        """`A and B are on in kube-apiserver, off in kubelet`."""
        verb = "is" if len(self.gates) == 1 else "are"
        return f"{listed(self.gates)} {verb} on in {listed(self.on)}, off in {listed(self.off)}"

    def __str__(self) -> str:
        return f"{self.situation}: {'; '.join(self.happens)}"


def skews(values: Known) -> list[Skew]:
    """Return the gates that are half enabled, with what happens; a component whose value is not known is not judged."""
    by_components: dict[tuple[tuple[Component, ...], tuple[Component, ...], tuple[str, ...]], list[str]] = {}
    for gate in GATES:
        happens = tuple(hazard.happens for hazard in HAZARDS if gate in hazard.gates and _holds(hazard, gate, values))
        if happens:
            on, off = (
                tuple(
                    component
                    for component in Component
                    if component in gate.components and _value(values, component, gate) is is_on
                )
                for is_on in (True, False)
            )
            by_components.setdefault((on, off, happens), []).append(gate.name)
    return [Skew(tuple(names), *key) for key, names in by_components.items()]


def known_values(gates: Mapping[Component, GateSet]) -> Known:
    """Return what `skews` reads, of components whose gates are all known."""
    return {
        component: {gate.name: switched.enabled(gate) for gate in GATES if component in gate.components}
        for component, switched in gates.items()
    }


def _holds(hazard: Hazard, gate: Gate, values: Known) -> bool:
    if _value(values, hazard.off, gate) is not False:
        return False
    if hazard.unless is not None and _value(values, API, hazard.unless):
        return False
    return any(_value(values, component, gate) for component in hazard.on)


def _value(values: Known, component: Component, gate: Gate) -> bool | None:
    return values.get(component, {}).get(gate.name)


def listed(words: Iterable[str]) -> str:
    """Write `a, b and c`."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else str(last)


def skew_lines(given: Iterable[Skew]) -> Iterator[str]:
    """Print warnings: a line for each situation, and an indented one for each consequence."""
    for skew in given:
        yield from wrap(f"warning: {skew.situation}:", _WIDTH, subsequent_indent="  ", break_on_hyphens=False)
        for text in skew.happens:
            yield from wrap(text, _WIDTH, initial_indent="  - ", subsequent_indent="    ", break_on_hyphens=False)
