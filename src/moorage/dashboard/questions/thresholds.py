"""Collect the values that pods name for taints, labels and device taints, and what else a what-if can move.

A slider marks them on its scale: between two of them nothing changes. Expressions in CEL name no single value, so of
them only the number of pods is told. Also listed: drivers with their pools and devices, and workloads with replicas.
"""

from collections.abc import Iterator
from typing import Any

from moorage.dashboard.questions.base import Base, Part
from moorage.match.devices.eviction import PublishedDevices
from moorage.match.operators import EQUAL
from moorage.model.kinds import KINDS
from moorage.model.types.devices import DeviceTaintRule, ResourceClaim
from moorage.model.types.node import NodeSelectorTerm
from moorage.model.types.pod import Pod
from moorage.plan.devices import claims_of
from moorage.plan.input.inventory import Key
from moorage.plan.rollout import SCALED, kind_of_workload
from moorage.plan.simulation.simulation import Simulation

#: So many workloads are named for one threshold, thresholds for one key, and devices and pools of one driver.
MAX_NAMED, MAX_THRESHOLDS, MAX_DEVICES = 5, 200, 500
_EXPRESSION = "expression"


class _Thresholds:
    """The thresholds of many keys: by operator and value, the pods and workloads that have it."""

    def __init__(self) -> None:
        self._found: dict[str, dict[tuple[str, str], tuple[dict[str, None], set[str]]]] = {}

    def note(self, key: str, operator: str, value: str, pod: str, workload: str) -> None:
        of_key = self._found.setdefault(key, {})
        workloads, pods = of_key.setdefault((operator, value), ({}, set()))
        workloads.setdefault(workload or pod)
        pods.add(pod)

    def data(self) -> dict[str, list[dict[str, Any]]]:
        """Return the thresholds of each key, those of most pods first."""
        told = {}
        for key, of_key in sorted(self._found.items()):
            rows = sorted(of_key.items(), key=lambda row: (-len(row[1][1]), row[0]))
            told[key] = [
                {
                    "operator": operator,
                    "value": value,
                    "pods": len(pods),
                    "workloads": list(workloads)[:MAX_NAMED],
                    "moreWorkloads": max(0, len(workloads) - MAX_NAMED),
                }
                for (operator, value), (workloads, pods) in rows[:MAX_THRESHOLDS]
            ]
        return told


def answer(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    """Yield one part. There are no arguments."""
    simulation = base.simulation
    taints, labels, device_taints = _Thresholds(), _Thresholds(), _Thresholds()
    for found in simulation.world.all(KINDS.POD):
        pod: Pod = found.view
        owner = simulation.owner_of(found)
        workload = str(Key(*owner)) if owner is not None else ""
        for toleration in pod.spec.tolerations:
            if toleration.expression:
                taints.note(toleration.key, _EXPRESSION, "", found.key, workload)
            elif toleration.key and toleration.value:
                taints.note(toleration.key, toleration.operator or EQUAL, toleration.value, found.key, workload)
        for key, operator, value in _selected(pod):
            labels.note(key, operator, value, found.key, workload)
        for claim in claims_of(pod, simulation.world):
            for key, operator, value in _device_tolerations(claim):
                device_taints.note(key, operator, value, found.key, workload)
    yield {
        "part": "thresholds",
        "taints": taints.data(),
        "labels": labels.data(),
        "deviceTaints": device_taints.data(),
        **_devices(simulation),
        "workloads": _workloads(simulation),
        "done": True,
    }


def _selected(pod: Pod) -> Iterator[tuple[str, str, str]]:
    """Yield key, operator and value of all that a pod asks of its node's labels."""
    for key, value in pod.spec.nodeSelector.items():
        yield key, "In", value
    affinity = pod.spec.affinity.nodeAffinity if pod.spec.affinity is not None else None
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


def _devices(simulation: Simulation) -> dict[str, Any]:
    """Return drivers with pools and devices, and the taints that devices have: key, value, effect and how many."""
    drivers: dict[str, dict[str, list[str]]] = {}
    counts: dict[tuple[str, str, str], int] = {}
    for driver, pool, device in PublishedDevices(one.view for one in simulation.world.all(KINDS.RESOURCE_SLICE)):
        devices = drivers.setdefault(driver, {}).setdefault(pool, [])
        if len(devices) < MAX_DEVICES:
            devices.append(device.name)
        for taint in device.taints:
            of_taint = taint.key, taint.value, taint.effect
            counts[of_taint] = counts.get(of_taint, 0) + 1
    for found in simulation.world.all(KINDS.DEVICE_TAINT_RULE):
        rule: DeviceTaintRule = found.view
        of_rule = rule.spec.taint.key, rule.spec.taint.value, rule.spec.taint.effect
        counts.setdefault(of_rule, 0)
    return {
        "devices": [
            {
                "driver": driver,
                "pools": [{"pool": pool, "devices": names} for pool, names in list(pools.items())[:MAX_DEVICES]],
            }
            for driver, pools in drivers.items()
        ],
        "devicesTainted": [
            {"key": key, "value": value, "effect": effect, "devices": number}
            for (key, value, effect), number in sorted(counts.items())
        ],
    }


def _workloads(simulation: Simulation) -> list[dict[str, Any]]:
    """Return what can be scaled, except ReplicaSets of Deployments."""
    found = []
    for kind in SCALED:
        for one in simulation.world.all(kind_of_workload(kind)):
            if any(owner.controller for owner in one.view.metadata.ownerReferences):
                continue
            replicas = one.view.spec.replicas
            found.append(
                {
                    "kind": kind,
                    "namespace": one.namespace,
                    "name": one.name,
                    "replicas": 1 if replicas is None else replicas,
                }
            )
    return found
