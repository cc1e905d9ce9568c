"""Collect the values that taints, labels and device taints have and that pods name, and what else a what-if can move.

A slider draws them: `value_scale` says how. Expressions in CEL name no single value: of them only the number
of pods is told. Also listed: drivers with their pools and devices, and workloads with replicas. Asked of one key and
one value, the answer is the scale of that key with the value on it: the page asks it when a value is typed.
"""

from collections.abc import Iterator
from typing import Any

from moorage.dashboard.questions.base import BadQuestion, Base, Part
from moorage.match.devices.eviction import PublishedDevices
from moorage.model.kinds import KINDS
from moorage.plan.rollout import SCALED, kind_of_workload
from moorage.plan.simulation.simulation import Simulation
from moorage.plan.values.keys import keys_of, tainted_devices

#: So many devices and pools of one driver are listed.
MAX_DEVICES = 500


def answer(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    """Yield one part. Arguments are absent, or `kind` (taint, label or deviceTaint), `key` and `value`."""
    simulation = base.simulation
    tainted = tainted_devices(simulation)
    by_kind = keys_of(simulation, tainted)
    if arguments:
        kind, key, value = (arguments.get(name) for name in ("kind", "key", "value"))
        if not isinstance(kind, str) or kind not in by_kind:
            raise BadQuestion(f"kind: must be one of {', '.join(by_kind)}")
        if not isinstance(key, str) or not isinstance(value, str):
            raise BadQuestion("key and value: must be texts")
        yield {"part": "scale", **by_kind[kind].scale(key, value), "done": True}
        return
    yield {
        "part": "thresholds",
        "taints": by_kind["taint"].scales(),
        "labels": by_kind["label"].scales(),
        "deviceTaints": by_kind["deviceTaint"].scales(),
        "devices": _devices(simulation),
        "devicesTainted": [
            {"key": key, "value": value, "effect": effect, "devices": number}
            for (key, value, effect), number in sorted(tainted.items())
        ],
        "workloads": _workloads(simulation),
        "done": True,
    }


def _devices(simulation: Simulation) -> list[dict[str, Any]]:
    """Return drivers with their pools and devices."""
    drivers: dict[str, dict[str, list[str]]] = {}
    for driver, pool, device in PublishedDevices(
        resource_slice.view for resource_slice in simulation.world.all(KINDS.RESOURCE_SLICE)
    ):
        devices = drivers.setdefault(driver, {}).setdefault(pool, [])
        if len(devices) < MAX_DEVICES:
            devices.append(device.name)
    return [
        {
            "driver": driver,
            "pools": [{"pool": pool, "devices": names} for pool, names in list(pools.items())[:MAX_DEVICES]],
        }
        for driver, pools in drivers.items()
    ]


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
