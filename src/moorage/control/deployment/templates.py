"""Pod templates: which are the same, and a short name for each.

In: templates of Deployments and ReplicaSets. Out: equality, hashes. Kubernetes: EqualIgnoreHash, ComputeHash with
SafeEncodeString. Differs: the hash is of the template as JSON and not of how Go prints it, so its value is another; it
depends on nothing but the template's content. A ReplicaSet whose template lost fields when it was created, because a
feature gate is off, is still the one that was made of the Deployment's; upstream makes another one, for ever.
"""

import hashlib
import json

from moorage.client.protocol import Object
from moorage.control.framework.actions import Raw
from moorage.model.template_identity import telling_part
from moorage.model.types.pod import PodTemplateSpec

HASH_LABEL = "pod-template-hash"
#: No vowels, so that no words come out, and nothing that is easily mistaken.
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def is_same_template(one: PodTemplateSpec, other: PodTemplateSpec) -> bool:
    """But for the label that says which one it is."""
    return (
        one.spec == other.spec
        and _without_hash(one.metadata.labels) == _without_hash(other.metadata.labels)
        and one.metadata.annotations == other.metadata.annotations
        and one.metadata.finalizers == other.metadata.finalizers
        and one.metadata.name == other.metadata.name
        and one.metadata.generateName == other.metadata.generateName
    )


def template_hash(template: Raw, collisions: int | None) -> str:
    """Short, and fit for names and labels. The count of collisions makes another one of the same template."""
    text = json.dumps(telling_part(template), sort_keys=True, separators=(",", ":"))
    if collisions is not None:
        text += str(collisions)
    number = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big")
    return safe_encode(str(number))


def is_made_of(replica_set: Object, deployment: Object) -> bool:
    """Whether it has the Deployment's template; or had, when it was sent, and the API server left something out."""
    if is_same_template(replica_set.view.spec.template, deployment.view.spec.template):
        return True
    collisions = deployment.view.status.collisionCount
    named: str = replica_set.view.metadata.labels.get(HASH_LABEL, "")
    if named != template_hash(deployment.raw["spec"]["template"], collisions):
        return False
    # Named after this template. If its own has that name too, they collide; if not, it is not what was sent.
    stored: Raw = replica_set.raw["spec"]["template"]
    metadata: Raw = stored.get("metadata") or {}
    labels = _without_hash(metadata.get("labels") or {})
    return named != template_hash({**stored, "metadata": {**metadata, "labels": labels}}, collisions)


def safe_encode(text: str) -> str:
    return "".join(_LETTERS[ord(letter) % len(_LETTERS)] for letter in text)


def _without_hash(labels: dict[str, str]) -> dict[str, str]:
    if HASH_LABEL not in labels:
        return labels
    return {key: value for key, value in labels.items() if key != HASH_LABEL}
