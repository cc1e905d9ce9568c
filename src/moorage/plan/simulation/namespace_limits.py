"""What LimitRanges, RuntimeClasses and ResourceQuotas do to the objects of the input, before a simulation is loaded.

They may stand below the pods that they concern, and quotas of files have no status: it is counted from the objects that
exist. New objects are charged in the order of the input; those that do not fit are noted and left out.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from moorage.admit.admission import Rejected, admit
from moorage.admit.objects_world import ObjectsWorld
from moorage.admit.plugins import Forbidden
from moorage.admit.plugins.limit_ranger import ANNOTATION, LimitRanger
from moorage.admit.plugins.quota import QuotaBalance, quota_charges
from moorage.admit.plugins.runtime_class import RuntimeClassPlugin
from moorage.admit.request import Request
from moorage.lint.finding import Severity
from moorage.match.quota.usage import count_used, usage_of
from moorage.model.api_error import forbidden
from moorage.model.kinds import Kind
from moorage.model.quantity import ResourceAmounts, add_amounts
from moorage.plan.input.inventory import NOWHERE, Inventory, Item, Key, Note, note_at
from moorage.plan.simulation.simulation import Simulation

_replace = msgspec.structs.replace
_SET = "LimitRanger plugin set: "


def apply_limits(inventory: Inventory, now: float) -> None:
    """Complete the new pods of the input, and remove what is refused. PriorityClasses are resolved already."""
    _apply_ranges_and_classes(inventory)
    quotas = list(inventory.of_kind("ResourceQuota"))
    if quotas:
        _charge(inventory, quotas, now)


def _apply_ranges_and_classes(inventory: Inventory) -> None:
    ranges = {item.key.namespace for item in inventory.of_kind("LimitRange")}
    known = ((item.kind, item.view) for item in inventory.of_kind("LimitRange", "RuntimeClass"))
    world = ObjectsWorld.of(known, is_complete=True)
    plugins = (LimitRanger(world), RuntimeClassPlugin(world))
    for item in list(inventory.of_kind("Pod", "PersistentVolumeClaim")):
        spec = item.view.spec
        named = item.key.kind == "Pod" and (spec.runtimeClassName is not None or spec.overhead)
        if item.existing or (item.key.namespace not in ranges and not named):
            continue
        result = admit(item.raw, None, inventory.gates, plugins=plugins, request=Request(item.key.namespace))
        if isinstance(result, Rejected):
            _remove(inventory, item, str(result.status["message"]))
        else:
            item.raw, item.view, item.template = result.object, result.view, None


def _remove(inventory: Inventory, item: Item, message: str) -> None:
    del inventory.items[item.key]
    inventory.reject(item.key, message, item.place)


def _charge(inventory: Inventory, quotas: list[Item], now: float) -> None:
    existing: dict[tuple[str, Kind], list[Any]] = {}
    for item in inventory.items.values():
        if item.existing:
            existing.setdefault((item.key.namespace, item.kind), []).append(item.view)
    used: dict[str, dict[str, ResourceAmounts]] = {}
    for item in quotas:
        quota, namespace = item.view, item.key.namespace
        if not (item.existing and quota.status.hard):

            def views(kind: Kind, namespace: str = namespace) -> list[Any]:
                return existing.get((namespace, kind), [])

            status = _replace(quota.status, hard=quota.spec.hard, used=count_used(quota, views, now))
            item.view = _replace(quota, status=status)
        used.setdefault(namespace, {})[item.key.name] = dict(item.view.status.used)
    views_by_key = {item.key: item.view for item in quotas}
    for item in list(inventory.items.values()):
        counting = usage_of(item.kind)
        if item.existing or counting is None or item.key.namespace not in used:
            continue
        mine = used[item.key.namespace]
        balances = [
            QuotaBalance(view, mine[key.name])
            for key, view in sorted(views_by_key.items())
            if key.namespace == item.key.namespace
        ]
        try:
            for name, amounts in quota_charges(counting, item.view, None, balances, "", now):
                add_amounts(mine[name], amounts)
        except Forbidden as refusal:
            _remove(inventory, item, str(forbidden(item.kind, item.key.name, str(refusal)).message))
    for item in quotas:
        amounts = used[item.key.namespace][item.key.name]
        item.view = _replace(item.view, status=_replace(item.view.status, used=amounts))
        status = {"hard": item.view.status.hard, "used": amounts}
        written = {side: {name: str(amount) for name, amount in each.items()} for side, each in status.items()}
        item.raw = {**item.raw, "status": written}


def default_notes(simulation: Simulation, inventory: Inventory) -> Iterator[Note]:
    """Note once for each workload, and for each pod without one, what LimitRanges set in its containers."""
    new = [item for item in inventory.of_kind("Pod") if not item.existing]
    pods = [(item.view, item.key) for item in new]
    pods += [(pod.view, Key(*simulation.workload_of(pod))) for pod in simulation.api.limited_pods]
    noted: set[tuple[Key, str]] = set()
    for pod, key in pods:
        text = pod.metadata.annotations.get(ANNOTATION, "")
        if text.startswith(_SET) and (key, text) not in noted:
            noted.add((key, text))
            place = inventory.items[key].place if key in inventory.items else NOWHERE
            yield note_at(Severity.INFO, str(key), f"LimitRanges set {text.removeprefix(_SET)}", place)
