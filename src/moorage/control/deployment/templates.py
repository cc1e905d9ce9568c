"""Pod templates: which are the same, and a short name for each.

In: templates of Deployments and ReplicaSets. Out: equality, hashes. Kubernetes: EqualIgnoreHash, ComputeHash with
SafeEncodeString. Differs: the hash is of the template as JSON and not of how Go prints it, so its value is another; it
depends on nothing but the template's content. Next: `controller`.
"""

import hashlib
import json

from moorage.control.actions import Raw
from moorage.model.pod import PodTemplateSpec

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
    text = json.dumps(template, sort_keys=True, separators=(",", ":"))
    if collisions is not None:
        text += str(collisions)
    number = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big")
    return safe_encode(str(number))


def safe_encode(text: str) -> str:
    return "".join(_LETTERS[ord(letter) % len(_LETTERS)] for letter in text)


def _without_hash(labels: dict[str, str]) -> dict[str, str]:
    if HASH_LABEL not in labels:
        return labels
    return {key: value for key, value in labels.items() if key != HASH_LABEL}
