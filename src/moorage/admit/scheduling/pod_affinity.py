"""Pod affinity and anti-affinity terms.

In: a `PodAffinity` or `PodAntiAffinity`, its path, the options. Out: field errors. Kubernetes: validatePodAffinity,
validatePodAntiAffinity, which do the same.
"""

from moorage.admit.options import ValidationOptions
from moorage.admit.scheduling.label_keys import validate_label_keys
from moorage.admit.scheduling.label_selectors import validate_label_name, validate_label_selector
from moorage.admit.scheduling.node_affinity import WEIGHT_RANGE
from moorage.model.field_error import FieldError, invalid, required
from moorage.model.names import dns1123_label_errors
from moorage.model.types.pod import PodAffinity, PodAffinityTerm, PodAntiAffinity

TOPOLOGY_KEY_EMPTY = "can not be empty"


def validate_pod_affinity(
    affinity: PodAffinity | PodAntiAffinity, path: str, options: ValidationOptions
) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, term in enumerate(affinity.requiredDuringSchedulingIgnoredDuringExecution):
        errors += _validate_term(term, f"{path}.requiredDuringSchedulingIgnoredDuringExecution[{index}]", options)
    for index, weighted in enumerate(affinity.preferredDuringSchedulingIgnoredDuringExecution):
        at = f"{path}.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
        if not 1 <= weighted.weight <= 100:
            errors.append(invalid(f"{at}.weight", weighted.weight, WEIGHT_RANGE))
        errors += _validate_term(weighted.podAffinityTerm, f"{at}.podAffinityTerm", options)
    return errors


def validate_term_selectors(term: PodAffinityTerm, path: str, options: ValidationOptions) -> list[FieldError]:
    errors = validate_label_selector(term.labelSelector, f"{path}.labelSelector", options)
    return errors + validate_label_selector(term.namespaceSelector, f"{path}.namespaceSelector", options)


def _validate_term(term: PodAffinityTerm, path: str, options: ValidationOptions) -> list[FieldError]:
    errors = validate_term_selectors(term, path, options)
    for namespace in term.namespaces:
        errors += [invalid(f"{path}.namespace", namespace, message) for message in dns1123_label_errors(namespace)]
    errors += validate_label_keys(term.matchLabelKeys, term.mismatchLabelKeys, term.labelSelector, path)
    if not term.topologyKey:
        errors.append(required(f"{path}.topologyKey", TOPOLOGY_KEY_EMPTY))
    return errors + validate_label_name(term.topologyKey, f"{path}.topologyKey")
