"""What the API's types and fields mean, in one sentence each.

In: the name of a Go type, and of one of its fields. Out: text for `kubectl explain`. What decides where a pod goes is
told by hand, area by area in the modules beside this one; the rest gets a text made of its name. Kubernetes: the
comments of k8s.io/api, of which nothing is repeated here.
"""

import re
from types import ModuleType

from moorage.serve.openapi.descriptions import cluster, everywhere, placement, pods, storage, workloads

_AREAS: tuple[ModuleType, ...] = (placement, pods, workloads, storage, cluster, everywhere)
_TYPES: dict[str, str] = {name: text for area in _AREAS for name, text in area.TYPES.items()}
_FIELDS: dict[tuple[str, str], str] = {
    (type_name, field): text
    for area in _AREAS
    for type_name, fields in area.FIELDS.items()
    for field, text in fields.items()
}
_SAME_AS = {"EphemeralContainer": "Container", "PodAntiAffinity": "PodAffinity"}
_WORDS = re.compile("[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z0-9]+")


def describe_type(name: str) -> str:
    """What a type is."""
    return _TYPES.get(name) or f"The type {name} of the Kubernetes API."


def describe_field(type_name: str, field: str) -> str:
    """What a field is for."""
    told = _FIELDS.get((type_name, field)) or _FIELDS.get((_SAME_AS.get(type_name, ""), field))
    return told or everywhere.COMMON.get(field) or f"The {_in_words(field)} of the {_in_words(type_name)}."


def values_of(type_name: str, field: str) -> tuple[str, ...]:
    """The values that a field may have, if they can be listed."""
    return placement.VALUES.get((type_name, field), ())


def _in_words(name: str) -> str:
    words = _WORDS.findall(name)
    return " ".join(word if word.isupper() and len(word) > 1 else word.lower() for word in words)
