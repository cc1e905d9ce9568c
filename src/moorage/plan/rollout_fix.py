"""Find the `matchLabelKeys` line that would let a rollout complete, by trying.

The line is tried as if it had always been there: the update that adds it has still to get past the old pods, which do
not have it. Kubernetes: KEP-3633 (matchLabelKeys).
"""

from collections.abc import Callable, Iterator

from moorage.admit.admission import Rejected, admit
from moorage.admit.raw import Raw, copy_document
from moorage.control.framework.world import controller_of
from moorage.plan.input.absent_owners import POD_TEMPLATE_HASH, deployment_of
from moorage.plan.input.inventory import Inventory, Item, Key

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_KEYS = "matchLabelKeys"


def find_fix(inventory: Inventory, key: Key, completes: Callable[[Inventory], bool]) -> str:
    """Return the lines to add as YAML; empty if no such line helps."""
    item = inventory.items[key]
    paths = [path for path, _ in _terms(item.raw["spec"]["template"]["spec"])]
    attempts = [[path] for path in paths] + ([paths] if len(paths) > 1 else [])
    for attempt in attempts:
        changed = _with_keys(inventory, item, attempt)
        if changed is not None and completes(changed):
            return "\n".join(f"{path}:\n  {_KEYS}:\n  - {POD_TEMPLATE_HASH}" for path in attempt)
    return ""


def _terms(spec: Raw) -> Iterator[tuple[str, Raw]]:
    """Return the required rules between new and old pods that have no `pod-template-hash` key yet."""
    affinity = spec.get("affinity") or {}
    for kind in ("podAntiAffinity", "podAffinity"):
        for index, term in enumerate((affinity.get(kind) or {}).get(_REQUIRED) or []):
            if _can_have_keys(term):
                yield f"spec.template.spec.affinity.{kind}.{_REQUIRED}[{index}]", term
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or []):
        if constraint.get("whenUnsatisfiable") == "DoNotSchedule" and _can_have_keys(constraint):
            yield f"spec.template.spec.topologySpreadConstraints[{index}]", constraint


def _can_have_keys(term: Raw) -> bool:
    return bool(term.get("labelSelector")) and POD_TEMPLATE_HASH not in (term.get(_KEYS) or [])


def _with_keys(inventory: Inventory, item: Item, paths: list[str]) -> Inventory | None:
    """Return the inventory as if the Deployment always had the line; None if the API server refuses it."""
    raw = copy_document(item.raw)
    for path, term in _terms(raw["spec"]["template"]["spec"]):
        if path in paths:
            term[_KEYS] = [*(term.get(_KEYS) or []), POD_TEMPLATE_HASH]
    result = admit(raw, None, inventory.gates, plugins=())
    if isinstance(result, Rejected):
        return None
    changed = inventory.copy()
    changed.items[item.key] = Item(item.key, item.kind, result.object, result.view, item.existing, item.place)
    for other in list(changed.of_kind("Pod", "ReplicaSet")):
        if _belongs_to(changed, other, item.key):
            del changed.items[other.key]
    return changed


def _belongs_to(inventory: Inventory, item: Item, key: Key) -> bool:
    """Return whether the Deployment controls a ReplicaSet, or the ReplicaSet of a pod."""
    owner = controller_of(item.view.metadata)
    if owner is None:
        return False
    above = Key(owner.kind, item.key.namespace, owner.name)
    deployment = deployment_of(inventory, item) if item.key.kind == "Pod" else None
    if above == key or (deployment is not None and deployment.key == key):
        return True
    return above in inventory.items and _belongs_to(inventory, inventory.items[above], key)
