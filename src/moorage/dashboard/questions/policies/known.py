"""List the policies of the cluster, each with its bindings and their parameters as a text to begin with."""

from collections.abc import Iterator
from typing import Any

from moorage.admit.raw import Raw
from moorage.dashboard.questions.base import Base, Part
from moorage.model.kinds import KINDS, Kind
from moorage.model.text.yaml_writer import write_yaml
from moorage.plan.input.extensions.objects import InventoryDocuments
from moorage.plan.input.inventory import Inventory, Item

_POLICIES = {
    KINDS.VALIDATING_ADMISSION_POLICY: KINDS.VALIDATING_ADMISSION_POLICY_BINDING,
    KINDS.MUTATING_ADMISSION_POLICY: KINDS.MUTATING_ADMISSION_POLICY_BINDING,
}
_MOST_KNOWN = 200
_MOST_PARAMETERS = 10
_KEPT_METADATA = ("name", "namespace", "labels", "annotations")


def answer(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    inventory = base.planner.inventory
    documents = InventoryDocuments(inventory)
    found = [item for item in inventory.items.values() if item.kind in _POLICIES]
    policies = [
        {"kind": item.kind.name, "name": item.key.name, "text": _text_of(item, inventory, documents)}
        for item in sorted(found, key=lambda item: (item.key.kind, item.key.name))[:_MOST_KNOWN]
    ]
    yield {"policies": policies, "left": len(found) - len(policies), "done": True}


def _text_of(policy: Item, inventory: Inventory, documents: InventoryDocuments) -> str:
    raws = [document_of(policy)]
    param_kind = _param_kind(policy)
    for binding in inventory.of_kind(_POLICIES[policy.kind].name):
        if binding.view.spec.policyName != policy.key.name:
            continue
        raws.append(document_of(binding))
        reference = binding.view.spec.paramRef
        if param_kind is not None and reference is not None and reference.name:
            found = _parameters(documents, param_kind, reference.namespace, reference.name, inventory)
            raws += [raw for raw in found if raw not in raws][:_MOST_PARAMETERS]
    return "---\n".join(write_yaml(_as_written(raw)) for raw in raws)


def _param_kind(policy: Item) -> Kind | None:
    row = policy.view.spec.paramKind
    return None if row is None else KINDS.get((row.apiVersion, row.kind))


def _parameters(
    documents: InventoryDocuments, kind: Kind, namespace: str, name: str, inventory: Inventory
) -> Iterator[Raw]:
    """Yield the parameter of a binding; without a namespace there may be one in each."""
    if namespace or not kind.namespaced:
        namespaces = [namespace]
    else:
        namespaces = [item.key.name for item in inventory.of_kind(KINDS.NAMESPACE.name)]
    for one in namespaces:
        raw = documents.find(kind, one, name)
        if raw is not None:
            yield {**raw, "apiVersion": kind.api_version, "kind": kind.name}


def _as_written(raw: Raw) -> Raw:
    """Return an object without what an API server adds to it."""
    metadata = {name: value for name, value in raw["metadata"].items() if name in _KEPT_METADATA and value}
    written = {"apiVersion": raw["apiVersion"], "kind": raw["kind"], "metadata": metadata}
    return written | {name: value for name, value in raw.items() if name not in (*written, "status")}


def document_of(item: Item) -> Raw:
    """Return an object with its kind, which objects of a simulation do not name."""
    return {"apiVersion": item.kind.api_version, "kind": item.kind.name, **item.raw}
