"""Collect the values that taints, labels and device taints have, and those that pods name.

Expressions in CEL name no single value: of them only the number of pods is told.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from moorage.attach.formats import is_own_domain
from moorage.match.devices.eviction import PublishedDevices
from moorage.match.operators import EQUAL, NODE_SELECTOR, TOLERATION, OperatorPlace
from moorage.model.kinds import KINDS
from moorage.model.types.devices import DeviceTaintRule, ResourceClaim
from moorage.model.types.node import Node, NodeSelectorTerm
from moorage.model.types.pod import Pod, PodSpec
from moorage.plan.devices import claims_of
from moorage.plan.input.inventory import Key
from moorage.plan.simulation.simulation import Simulation
from moorage.plan.values.value_scale import NamedValue, scale_of

#: So many workloads are named for one threshold, and thresholds for one key.
MAX_NAMED, MAX_THRESHOLDS = 5, 200
_EXPRESSION = "expression"


class _Named:
    """The values that pods name for keys: by operator and value, the pods and workloads that have it."""

    def __init__(self) -> None:
        self._by_key: dict[str, dict[tuple[str, str], tuple[dict[str, None], set[str]]]] = {}

    def note(self, key: str, operator: str, value: str, pod: str, workload: str) -> None:
        of_key = self._by_key.setdefault(key, {})
        workloads, pods = of_key.setdefault((operator, value), ({}, set()))
        workloads.setdefault(workload or pod)
        if pod:
            pods.add(pod)

    def keys(self) -> Iterable[str]:
        return self._by_key

    def of(self, key: str) -> list[NamedValue]:
        """Return what is named for a key, by most pods first."""
        rows = sorted(self._by_key.get(key, {}).items(), key=lambda row: (-len(row[1][1]), row[0]))
        return [
            NamedValue(
                operator,
                value,
                len(pods),
                tuple(list(workloads)[:MAX_NAMED]),
                max(0, len(workloads) - MAX_NAMED),
            )
            for (operator, value), (workloads, pods) in rows[:MAX_THRESHOLDS]
        ]


class Keys:
    """The keys of taints, of labels or of device taints: the values that there are, and those that pods name."""

    def __init__(self, place: OperatorPlace) -> None:
        self.place = place
        self.named = _Named()
        self.counts: dict[str, Counter[str]] = {}

    def count(self, key: str, value: str, number: int = 1) -> None:
        self.counts.setdefault(key, Counter())[value] += number

    def scale(self, key: str, value: str | None = None) -> dict[str, Any]:
        return scale_of(self.place, self.counts.get(key, {}), self.named.of(key), value)

    def scales(self) -> dict[str, Any]:
        """Return the scale of each key: those that pods compare first, then those that most pods name.

        What Kubernetes itself writes on nodes comes last: it is not for the user to move.
        """
        scales = {key: self.scale(key) for key in sorted({*self.counts, *self.named.keys()}) if key}
        return dict(
            sorted(scales.items(), key=lambda row: (not row[1]["compared"], _is_kubernetes(row[0]), -row[1]["pods"]))
        )


def _is_kubernetes(key: str) -> bool:
    domain, slash, _ = key.rpartition("/")
    return bool(slash) and (domain == "kubernetes.io" or domain.endswith(".kubernetes.io"))


def keys_of(simulation: Simulation, tainted: dict[tuple[str, str, str], int] | None = None) -> dict[str, Keys]:
    """Return the keys of taints, labels and device taints, with their values and what pods name."""
    by_kind = {"taint": Keys(TOLERATION), "label": Keys(NODE_SELECTOR), "deviceTaint": Keys(TOLERATION)}
    _count_values(simulation, by_kind, tainted_devices(simulation) if tainted is None else tainted)
    _note_pods(simulation, by_kind)
    return by_kind


def _count_values(simulation: Simulation, by_kind: dict[str, Keys], tainted: dict[tuple[str, str, str], int]) -> None:
    for stored in simulation.world.all(KINDS.NODE):
        node: Node = stored.view
        for key, value in node.metadata.labels.items():
            if not is_own_domain(key):  # the mirror of attach, which follows the taints
                by_kind["label"].count(key, value)
        for taint in node.spec.taints:
            by_kind["taint"].count(taint.key, taint.value)
    for (key, value, _), devices in tainted.items():
        by_kind["deviceTaint"].count(key, value, devices)


def _note_pods(simulation: Simulation, by_kind: dict[str, Keys]) -> None:
    taints, labels, device_taints = (by_kind[kind].named for kind in ("taint", "label", "deviceTaint"))
    for stored in simulation.world.all(KINDS.POD):
        pod: Pod = stored.view
        owner = simulation.owner_of(stored)
        workload = str(Key(*owner)) if owner is not None else ""
        for toleration in pod.spec.tolerations:
            if toleration.expression:
                taints.note(toleration.key, _EXPRESSION, "", stored.key, workload)
            elif toleration.key and toleration.value:
                taints.note(toleration.key, toleration.operator or EQUAL, toleration.value, stored.key, workload)
        for key, operator, value in _selected(pod.spec):
            labels.note(key, operator, value, stored.key, workload)
        for claim in claims_of(pod, simulation.world):
            for key, operator, value in _device_tolerations(claim):
                device_taints.note(key, operator, value, stored.key, workload)
    _note_daemon_sets(simulation, labels)


def _note_daemon_sets(simulation: Simulation, labels: _Named) -> None:
    """Note what DaemonSets ask of nodes: their pods are pinned to one, and do not name it."""
    for stored in simulation.world.all(KINDS.DAEMON_SET):
        selected = list(_selected(stored.view.spec.template.spec))
        pods = [pod.key for pod in simulation.world.owned(KINDS.POD, stored.uid)] if selected else []
        workload = str(Key(KINDS.DAEMON_SET.name, stored.namespace, stored.name))
        for key, operator, value in selected:
            for pod in pods or ("",):
                labels.note(key, operator, value, pod, workload)


def _selected(spec: PodSpec) -> Iterator[tuple[str, str, str]]:
    """Yield key, operator and value of all that a pod asks of its node's labels."""
    for key, value in spec.nodeSelector.items():
        yield key, "In", value
    affinity = spec.affinity.nodeAffinity if spec.affinity is not None else None
    if affinity is None:
        return
    required = affinity.requiredDuringSchedulingIgnoredDuringExecution
    terms: list[NodeSelectorTerm] = list(required.nodeSelectorTerms) if required is not None else []
    terms += [one.preference for one in affinity.preferredDuringSchedulingIgnoredDuringExecution]
    for term in terms:
        for requirement in term.matchExpressions:
            for value in requirement.values:
                yield requirement.key, requirement.operator, value


def _device_tolerations(claim: ResourceClaim) -> Iterator[tuple[str, str, str]]:
    for request in claim.spec.devices.requests:
        for one in (*((request.exactly,) if request.exactly is not None else ()), *request.firstAvailable):
            for toleration in one.tolerations:
                if toleration.expression:
                    yield toleration.key, _EXPRESSION, ""
                elif toleration.key and toleration.value:
                    yield toleration.key, toleration.operator or EQUAL, toleration.value


def tainted_devices(simulation: Simulation) -> dict[tuple[str, str, str], int]:
    """Return the taints that devices have: key, value, effect and how many have it."""
    counts: dict[tuple[str, str, str], int] = {}
    for _, _, device in PublishedDevices(
        resource_slice.view for resource_slice in simulation.world.all(KINDS.RESOURCE_SLICE)
    ):
        for taint in device.taints:
            of_taint = taint.key, taint.value, taint.effect
            counts[of_taint] = counts.get(of_taint, 0) + 1
    for stored in simulation.world.all(KINDS.DEVICE_TAINT_RULE):
        rule: DeviceTaintRule = stored.view
        of_rule = rule.spec.taint.key, rule.spec.taint.value, rule.spec.taint.effect
        counts.setdefault(of_rule, 0)
    return counts
