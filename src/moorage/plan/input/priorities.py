"""Resolve PriorityClass names to priorities, once all PriorityClasses are known.

A class that no document defines is learned from existing pods that have its priority. Pods whose class is unknown are
refused. Kubernetes: plugin/pkg/admission/priority.
"""

import msgspec

from moorage.admit.messages.rejection_status import forbidden_status
from moorage.admit.plugins import Forbidden
from moorage.admit.plugins.priority import SYSTEM_CLASSES, Priority
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.pod import PodSpec
from moorage.model.types.policy import PriorityClass
from moorage.plan.input.inventory import Inventory, Item


def resolve_priorities(inventory: Inventory) -> list[PriorityClass]:
    """Give every pod its priority; note and remove what cannot have one. Return the classes learned from pods."""
    classes, learned = _classes(inventory)
    plugin = Priority([*classes, *learned])
    specs: dict[int, tuple[PodSpec, PodSpec]] = {}
    for item in list(inventory.of_kind("Pod")):
        if item.view.spec.priority is not None and item.existing:
            continue
        try:
            plugin.admit("Pod", item.raw, None)
        except Forbidden as refusal:
            _refuse(inventory, item, refusal)
            continue
        # Pods of one template go on sharing their spec.
        known = specs.get(id(item.view.spec))
        if known is None:
            known = specs[id(item.view.spec)] = item.view.spec, _with_priority(item.view.spec, item.raw["spec"])
        item.view = msgspec.structs.replace(item.view, spec=known[1])
    return learned


def _refuse(inventory: Inventory, item: Item, refusal: Forbidden) -> None:
    del inventory.items[item.key]
    message = forbidden_status(item.kind, item.key.name, str(refusal))["message"]
    inventory.reject(item.key, str(message), item.place)


def _with_priority(view: PodSpec, spec: dict[str, object]) -> PodSpec:
    fields = {name: spec[name] for name in ("priority", "priorityClassName", "preemptionPolicy") if name in spec}
    return msgspec.structs.replace(view, **fields)


def _classes(inventory: Inventory) -> tuple[list[PriorityClass], list[PriorityClass]]:
    classes: list[PriorityClass] = []
    learned: list[PriorityClass] = []
    for item in list(inventory.of_kind("PriorityClass")):
        try:
            Priority(classes).validate("PriorityClass", item.raw, None)
        except Forbidden as refusal:
            _refuse(inventory, item, refusal)
            continue
        classes.append(item.view)
    known = {one.metadata.name for one in (*SYSTEM_CLASSES, *classes)}
    for item in inventory.of_kind("Pod"):
        spec, name = item.view.spec, item.view.spec.priorityClassName
        if item.existing and name and name not in known and spec.priority is not None:
            known.add(name)
            policy = spec.preemptionPolicy
            learned.append(PriorityClass(metadata=ObjectMeta(name=name), value=spec.priority, preemptionPolicy=policy))
    return classes, learned
