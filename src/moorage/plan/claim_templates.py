"""A StatefulSet's volumeClaimTemplates → the claims of one of its pods, and the pod's volumes that use them.

In: a raw pod about to be created. Out: the pod with a volume for each template, which replaces one of the same name;
claims that the inventory does not have yet are admitted and added to it. Kubernetes: pkg/controller/statefulset
(getPersistentVolumeClaims, updateStorage).
"""

from moorage.admit.admission import Rejected, admit
from moorage.admit.raw import Raw, copy_document
from moorage.model.gates import GateSet
from moorage.model.kinds import KINDS
from moorage.plan.input.inventory import Inventory, Item, Key

_CLAIM = "PersistentVolumeClaim"


def add_claim_volumes(pod: Raw, item: Item, inventory: Inventory, gates: GateSet) -> list[Item]:
    """Change the pod; returns the claims that are new."""
    templates: list[Raw] = item.raw["spec"].get("volumeClaimTemplates") or []
    if not templates:
        return []
    claims = {_name(template): f"{_name(template)}-{pod['metadata']['name']}" for template in templates}
    kept = [volume for volume in pod["spec"].get("volumes") or [] if volume.get("name") not in claims]
    pod["spec"]["volumes"] = [
        *({"name": volume, "persistentVolumeClaim": {"claimName": claim}} for volume, claim in claims.items()),
        *kept,
    ]
    made = [_add_claim(template, claims[_name(template)], item, inventory, gates) for template in templates]
    return [claim for claim in made if claim is not None]


def _add_claim(template: Raw, name: str, item: Item, inventory: Inventory, gates: GateSet) -> Item | None:
    key = Key(_CLAIM, item.key.namespace, name)
    if key in inventory.items:
        return None
    metadata = template.get("metadata") or {}
    selector = item.view.spec.selector
    labels = {**(metadata.get("labels") or {}), **(selector.matchLabels if selector is not None else {})}
    raw = {
        "apiVersion": "v1",
        "kind": _CLAIM,
        "metadata": {**metadata, "name": name, "namespace": item.key.namespace, "labels": labels},
        "spec": copy_document(template.get("spec") or {}),
    }
    result = admit(raw, None, gates)
    if isinstance(result, Rejected):
        inventory.reject(item.key, f"create Claim {name} failed: {result.status['message']}", item.place)
        return None
    claim = Item(key, KINDS["v1", _CLAIM], result.object, result.view, False, item.place)
    inventory.items[key] = claim
    return claim


def _name(template: Raw) -> str:
    return str((template.get("metadata") or {}).get("name") or "")
