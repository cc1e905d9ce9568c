"""Small kinds of the whole cluster: Namespaces, PriorityClasses, StorageClasses.

In: views. Out: field errors. Kubernetes: ValidateNamespace, ValidatePriorityClass, ValidateStorageClass and their
updates.
"""

from moorage.admit.kinds.fields import validate_immutable
from moorage.admit.metadata import validate_object_meta, validate_object_meta_update
from moorage.admit.options import ValidationOptions
from moorage.admit.plugins.priority import SYSTEM_CLASSES
from moorage.admit.scheduling.label_selectors import validate_label_name
from moorage.model.field_error import (
    AsJSON,
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from moorage.model.names import byte_length, dns1123_label_errors, label_key_errors
from moorage.model.types.core import Namespace
from moorage.model.types.policy import PriorityClass
from moorage.model.types.storage import StorageClass, TopologySelectorTerm

HIGHEST_USER_PRIORITY = 1_000_000_000
SYSTEM_PREFIX = "system-"

_PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
_MAX_PARAMETERS = 512
_LARGEST_PARAMETERS = 256 * 1024


def validate_namespace(namespace: Namespace, options: ValidationOptions) -> list[FieldError]:
    errors = validate_object_meta(namespace.metadata, "metadata", namespaced=False, name_rule=dns1123_label_errors)
    return errors + validate_namespace_finalizers(namespace)


def validate_namespace_finalizers(namespace: Namespace) -> list[FieldError]:
    errors: list[FieldError] = []
    for finalizer in namespace.spec.finalizers:
        errors += [invalid("spec.finalizers", finalizer, message) for message in label_key_errors(finalizer)]
        if "/" not in finalizer and finalizer not in ("kubernetes", "orphan", "foregroundDeletion"):
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            errors.append(invalid("spec.finalizers", finalizer, detail))
    return errors


def validate_namespace_update(new: Namespace, old: Namespace, options: ValidationOptions) -> list[FieldError]:
    return validate_object_meta_update(new.metadata, old.metadata, "metadata")


def validate_priority_class(priority: PriorityClass, options: ValidationOptions) -> list[FieldError]:
    errors = validate_object_meta(priority.metadata, "metadata", namespaced=False)
    name = priority.metadata.name
    if name.startswith(SYSTEM_PREFIX):
        if problem := _system_class_problem(priority):
            detail = f"priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use only. error: "
            errors.append(forbidden("metadata.name", detail + problem))
    elif priority.value > HIGHEST_USER_PRIORITY:
        detail = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
        errors.append(forbidden("value", detail))
    policy = priority.preemptionPolicy
    if policy == "":
        errors.append(required("preemptionPolicy"))
    elif policy is not None and policy not in _PREEMPTION_POLICIES:
        errors.append(not_supported("preemptionPolicy", AsJSON(policy), _PREEMPTION_POLICIES))
    return errors


def _system_class_problem(priority: PriorityClass) -> str | None:
    name = priority.metadata.name
    known = next((one for one in SYSTEM_CLASSES if one.metadata.name == name), None)
    if known is None:
        return f"{name} is not a known system priority class"
    if known.value != priority.value:
        return f"value of {name} PriorityClass must be {known.value}"
    return f"globalDefault of {name} PriorityClass must be false" if priority.globalDefault else None


def validate_priority_class_update(
    new: PriorityClass, old: PriorityClass, options: ValidationOptions
) -> list[FieldError]:
    errors = validate_object_meta_update(new.metadata, old.metadata, "metadata")
    if new.value != old.value:
        errors.append(forbidden("value", "may not be changed in an update."))
    return errors + validate_immutable(new.preemptionPolicy, old.preemptionPolicy, "preemptionPolicy")


def validate_storage_class(storage: StorageClass, options: ValidationOptions) -> list[FieldError]:
    errors = validate_object_meta(storage.metadata, "metadata", namespaced=False)
    if storage.provisioner:
        errors += validate_label_name(storage.provisioner.lower(), "provisioner")
    else:
        errors.append(required("provisioner"))
    errors += _validate_parameters(storage.parameters, "parameters")
    if storage.reclaimPolicy and storage.reclaimPolicy not in ("Delete", "Retain"):
        errors.append(not_supported("reclaimPolicy", AsJSON(storage.reclaimPolicy), ("Delete", "Retain")))
    modes = ("Immediate", "WaitForFirstConsumer")
    if storage.volumeBindingMode is None:
        errors.append(required("volumeBindingMode"))
    elif storage.volumeBindingMode not in modes:
        errors.append(not_supported("volumeBindingMode", AsJSON(storage.volumeBindingMode), modes))
    return errors + _validate_topologies(storage.allowedTopologies, "allowedTopologies")


def validate_storage_class_update(new: StorageClass, old: StorageClass, options: ValidationOptions) -> list[FieldError]:
    errors = validate_object_meta_update(new.metadata, old.metadata, "metadata")
    for name in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        errors += validate_immutable(getattr(new, name), getattr(old, name), name)
    return errors


def _validate_parameters(parameters: dict[str, str], path: str) -> list[FieldError]:
    if len(parameters) > _MAX_PARAMETERS:
        return [too_long(path, _MAX_PARAMETERS)]
    errors = [invalid(path, key, "field can not be empty.") for key in parameters if not key]
    if sum(byte_length(key) + byte_length(value) for key, value in parameters.items()) > _LARGEST_PARAMETERS:
        errors.append(too_long(path, _LARGEST_PARAMETERS))
    return errors


def _validate_topologies(terms: tuple[TopologySelectorTerm, ...], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    earlier: list[dict[str, frozenset[str]]] = []
    for index, term in enumerate(terms):
        found: dict[str, frozenset[str]] = {}
        for position, requirement in enumerate(term.matchLabelExpressions):
            at = f"{path}[{index}].matchLabelExpressions[{position}]"
            if not requirement.values:
                errors.append(required(f"{at}.values"))
            values = requirement.values
            repeated = [place for place, value in enumerate(values) if value in values[:place]]
            errors += [duplicate(f"{at}.values[{place}]", values[place]) for place in repeated]
            errors += validate_label_name(requirement.key, f"{at}.key")
            if requirement.key in found:
                errors.append(duplicate(f"{at}.key", requirement.key))
            found[requirement.key] = frozenset(values)
        if found in earlier:
            errors.append(duplicate(f"{path}[{index}].matchLabelExpressions", ""))
        earlier.append(found)
    return errors
