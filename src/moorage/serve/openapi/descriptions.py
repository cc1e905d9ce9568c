"""Describe the API's types and fields in one sentence each, for `kubectl explain`.

The texts are in the modules `*_texts`: a line `Type: text` for a type, lines `  field: text` for its fields, all else
indented by four. The fields below `*` mean the same in every type. What has no text gets one made of its name.
Kubernetes: the comments of k8s.io/api, of which nothing is repeated here.
"""

import re
from typing import Final

from moorage.match.operators import NODE_SELECTOR, TOLERATION, OperatorPlace, comparison_of, gate_of, names_in, siblings
from moorage.serve.openapi import cluster_texts, device_texts, pod_texts

_SAME_AS = {"EphemeralContainer": "Container", "PodAntiAffinity": "PodAffinity"}
_WORDS = re.compile("[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z0-9]+")
_DEVICE_EFFECTS = ("NoExecute", "NoSchedule", "None")
_EFFECTS = ("NoExecute", "NoSchedule", "PreferNoSchedule")

VALUES: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("Toleration", "operator"): tuple(sorted(names_in(TOLERATION))),
    ("Toleration", "effect"): _EFFECTS,
    ("Taint", "effect"): _EFFECTS,
    ("DeviceToleration", "operator"): tuple(sorted(names_in(TOLERATION))),
    ("DeviceToleration", "effect"): _DEVICE_EFFECTS,
    ("DeviceTaint", "effect"): _DEVICE_EFFECTS,
    ("NodeSelectorRequirement", "operator"): tuple(sorted(names_in(NODE_SELECTOR))),
    ("TopologySpreadConstraint", "whenUnsatisfiable"): ("DoNotSchedule", "ScheduleAnyway"),
    ("TopologySpreadConstraint", "nodeAffinityPolicy"): ("Honor", "Ignore"),
    ("TopologySpreadConstraint", "nodeTaintsPolicy"): ("Honor", "Ignore"),
    ("PriorityClass", "preemptionPolicy"): ("Never", "PreemptLowerPriority"),
    ("PodSpec", "preemptionPolicy"): ("Never", "PreemptLowerPriority"),
    ("PodSpec", "restartPolicy"): ("Always", "Never", "OnFailure"),
    ("DeploymentStrategy", "type"): ("Recreate", "RollingUpdate"),
    ("StorageClass", "volumeBindingMode"): ("Immediate", "WaitForFirstConsumer"),
}


def _comparisons(place: OperatorPlace) -> str:
    """Describe the comparing operators of a place, grouped by what they compare and the gate they need."""
    groups: dict[tuple[str, ...], str] = {}
    for name in names_in(place):
        if (comparison := comparison_of(name, place)) is not None:
            *most, last = names = siblings(name, place)
            gate = gate_of(name, place)
            needs = f", with feature gate {gate.name}" if gate is not None else ""
            groups[names] = f"{', '.join(most)} and {last} ({comparison.kind.plural}{needs})"
    return ", ".join(groups.values())


def _read_texts() -> dict[tuple[str, str], str]:
    """Texts by type and field; the field of a type's own text is empty."""
    text = f"{pod_texts.TEXTS}{cluster_texts.TEXTS}{device_texts.TEXTS}".replace("\n    ", " ")
    text = text.replace("{comparisons of tolerations}", _comparisons(TOLERATION))
    text = text.replace("{comparisons of node selectors}", _comparisons(NODE_SELECTOR))
    texts, type_name = {}, ""
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, _, words = line.strip().partition(":")
            is_field = line.startswith("  ")
            type_name = type_name if is_field else name
            texts[type_name, name if is_field else ""] = words.strip()
    return texts


TEXTS: Final = _read_texts()


def describe_type(name: str) -> str:
    return TEXTS.get((name, "")) or f"The type {name} of the Kubernetes API."


def describe_field(type_name: str, field: str) -> str:
    for name in (type_name, _SAME_AS.get(type_name, ""), "*"):
        if (name, field) in TEXTS:
            return TEXTS[name, field]
    return f"The {_in_words(field)} of the {_in_words(type_name)}."


def values_of(type_name: str, field: str) -> tuple[str, ...]:
    """The values that a field may have, if they can be listed."""
    return VALUES.get((type_name, field), ())


def _in_words(name: str) -> str:
    words = _WORDS.findall(name)
    return " ".join(word if word.isupper() and len(word) > 1 else word.lower() for word in words)
