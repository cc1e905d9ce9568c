"""Validate object metadata (names, labels, annotations, owners, finalizers) and label selectors.

Answers about names of ordinary length are cached, because manifests repeat the same few names. Kubernetes:
ValidateObjectMeta and ValidateObjectMetaUpdate (apimachinery, api/validation, and the finalizer rule of
pkg/apis/core/validation), ValidateDNS1123Label, ValidateDNS1123Subdomain, apis/meta/v1/validation.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

from moorage.admit.options import STRICT, ValidationOptions
from moorage.match.operators import BY_NAME, LABEL_SELECTOR, Arity, use_of
from moorage.model.field_error import AsJSON, FieldError, FieldErrors, forbidden, invalid, required, too_long
from moorage.model.go.quoting import GoStruct
from moorage.model.names import (
    byte_length,
    dns1123_label_errors,
    dns1123_subdomain_errors,
    label_key_errors,
    label_value_errors,
)
from moorage.model.text.readers import reads_text
from moorage.model.types.meta import (
    LabelSelector,
    LabelSelectorRequirement,
    ManagedFieldsEntry,
    ObjectMeta,
    OwnerReference,
)

_REMEMBERED = 4096
_ORDINARY_LENGTH = 256


def remember(rule: Callable[[str], Iterable[str]]) -> Callable[[str], Sequence[str]]:
    @lru_cache(maxsize=_REMEMBERED)
    def remembered(name: str) -> tuple[str, ...]:
        return tuple(rule(name))

    def check(name: str) -> tuple[str, ...]:
        return remembered(name) if len(name) <= _ORDINARY_LENGTH else tuple(rule(name))

    return check


label_errors = remember(dns1123_label_errors)
subdomain_errors = remember(dns1123_subdomain_errors)


def path_segment_errors(name: str) -> list[str]:
    """Return why a name cannot be part of a URL: the rule for kinds that have no other."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{part}'" for part in ("/", "%") if part in name]


def validate_dns_label(name: str, path: str) -> list[FieldError]:
    messages = label_errors(name)
    return [invalid(path, name, message) for message in messages] if messages else []


def validate_dns_subdomain(name: str, path: str) -> list[FieldError]:
    messages = subdomain_errors(name)
    return [invalid(path, name, message) for message in messages] if messages else []


def mask_trailing_dash(prefix: str) -> str:
    """Return a generateName as upstream checks it: a final dash stands for the characters that will follow it.

    Upstream replaces the last two characters, not one; so does this.
    """
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix


NOT_NEGATIVE = "must be greater than or equal to 0"
FIELD_IS_IMMUTABLE = "field is immutable"
ANNOTATIONS_SIZE_LIMIT = 256 * 1024
_IMMUTABLE = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
_FIELD_MANAGER_LIMIT = 128
_SUBRESOURCE_LIMIT = 256
_ORPHAN, _FOREGROUND = "orphan", "foregroundDeletion"
_STANDARD_FINALIZERS = frozenset({"kubernetes", _ORPHAN, _FOREGROUND})
_NOT_QUALIFIED = "name is neither a standard finalizer name nor is it fully qualified"

NameRule = Callable[[str], Iterable[str]]
_annotation_key_errors = remember(lambda key: label_key_errors(key.lower()))


def validate_object_meta(
    meta: ObjectMeta,
    path: str,
    *,
    namespaced: bool = True,
    name_rule: NameRule = subdomain_errors,
    any_finalizer: bool = False,
) -> list[FieldError]:
    """Validate the metadata of a new object; a name must have been generated before.

    `any_finalizer` is for kinds that allow finalizers without a domain, custom objects for example.
    """
    errors: list[FieldError] = []
    if meta.generateName:
        shown = mask_trailing_dash(meta.generateName)
        errors += [invalid(f"{path}.generateName", meta.generateName, message) for message in name_rule(shown)]
    if not meta.name:
        errors.append(required(f"{path}.name", "name or generateName is required"))
    else:
        errors += [invalid(f"{path}.name", meta.name, message) for message in name_rule(meta.name)]
    errors += _validate_namespace(meta.namespace, f"{path}.namespace", namespaced)
    if meta.generation < 0:
        errors.append(invalid(f"{path}.generation", meta.generation, NOT_NEGATIVE))
    errors += _validate_labels_annotations_owners(meta, path)
    if meta.finalizers:
        errors += _validate_finalizers(meta.finalizers, f"{path}.finalizers")
    if meta.managedFields:
        errors += _validate_managed_fields(meta.managedFields, f"{path}.managedFields")
    if meta.finalizers and not any_finalizer:
        errors += _validate_finalizer_qualification(meta.finalizers, f"{path}.finalizers")
    return errors


def validate_object_meta_update(
    new: ObjectMeta, old: ObjectMeta, path: str, *, any_finalizer: bool = False
) -> list[FieldError]:
    errors: list[FieldError] = []
    if old.deletionTimestamp is not None:
        added = sorted(set(new.finalizers) - set(old.finalizers))
        if added:
            shown = ", ".join(f'"{name}"' for name in added)
            detail = "no new finalizers can be added if the object is being deleted, found new finalizers"
            errors.append(forbidden(f"{path}.finalizers", f"{detail} []string{{{shown}}}"))
    if not new.resourceVersion:
        errors.append(invalid(f"{path}.resourceVersion", "", "must be specified for an update"))
    if new.generation < old.generation:
        errors.append(invalid(f"{path}.generation", new.generation, "must not be decremented"))
    for name in _IMMUTABLE:
        value = getattr(new, name)
        if value != getattr(old, name):
            rendered = value if name in ("name", "namespace") else AsJSON(value)
            errors.append(invalid(f"{path}.{name}", rendered, FIELD_IS_IMMUTABLE))
    errors += _validate_labels_annotations_owners(new, path)
    errors += _validate_managed_fields(new.managedFields, f"{path}.managedFields")
    return errors if any_finalizer else errors + _validate_finalizer_qualification(new.finalizers, f"{path}.finalizers")


def validate_written_meta(new: ObjectMeta, old: ObjectMeta, *, namespaced: bool) -> list[FieldError]:
    """What an update of any kind demands of metadata, before the kind itself is asked: its errors are told again.

    Kubernetes: validateCommonFields (apiserver, registry/rest).
    """
    created = validate_object_meta(
        new, "metadata", namespaced=namespaced, name_rule=path_segment_errors, any_finalizer=True
    )
    return created + validate_object_meta_update(new, old, "metadata", any_finalizer=True)


def validate_annotations(annotations: Mapping[str, str], path: str) -> list[FieldError]:
    """Keys are label keys but for their case; keys and values together are limited in size."""
    errors: list[FieldError] = []
    size = 0
    for key, value in annotations.items():
        if messages := _annotation_key_errors(key):
            errors += [invalid(path, key, message) for message in messages]
        size += byte_length(key) + byte_length(value)
    if size > ANNOTATIONS_SIZE_LIMIT:
        errors.append(too_long(path, ANNOTATIONS_SIZE_LIMIT))
    return errors


def _validate_namespace(namespace: str, path: str, namespaced: bool) -> list[FieldError]:
    if not namespaced:
        return [forbidden(path, "not allowed on this type")] if namespace else []
    if not namespace:
        return [required(path)]
    return [invalid(path, namespace, message) for message in label_errors(namespace)]


def _validate_labels_annotations_owners(meta: ObjectMeta, path: str) -> list[FieldError]:
    errors = validate_labels(meta.labels, f"{path}.labels") if meta.labels else []
    if meta.annotations:
        errors += validate_annotations(meta.annotations, f"{path}.annotations")
    if meta.ownerReferences:
        errors += _validate_owner_references(meta.ownerReferences, f"{path}.ownerReferences")
    return errors


def _validate_owner_references(references: tuple[OwnerReference, ...], path: str) -> list[FieldError]:
    """Upstream reports every reference at the list's path, without its index."""
    errors: list[FieldError] = []
    first_controller = ""
    for reference in references:
        errors += _validate_owner_reference(reference, path)
        if reference.controller:
            controller = f"{reference.kind}/{reference.name}"
            if first_controller:
                detail = (
                    'Only one reference can have Controller set to true. Found "true" in references for '
                    f"{first_controller} and {controller}"
                )
                errors.append(invalid(path, AsJSON([_shown_reference(one) for one in references]), detail))
            else:
                first_controller = controller
    return errors


def _validate_owner_reference(reference: OwnerReference, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    group, version = _group_and_version(reference.apiVersion)
    if not version:
        errors.append(invalid(f"{path}.apiVersion", reference.apiVersion, "version must not be empty"))
    for name in ("kind", "name", "uid"):
        if not getattr(reference, name):
            errors.append(invalid(f"{path}.{name}", "", "must not be empty"))
    if (group, version, reference.kind) == ("", "v1", "Event"):
        detail = "/v1, Kind=Event is disallowed from being an owner"
        errors.append(invalid(path, AsJSON(_shown_reference(reference)), detail))
    return errors


def _group_and_version(api_version: str) -> tuple[str, str]:
    if api_version.count("/") > 1:
        return "", ""
    group, _, version = api_version.rpartition("/")
    return group, version


def _shown_reference(reference: OwnerReference) -> GoStruct:
    shown = GoStruct(apiVersion=reference.apiVersion, kind=reference.kind, name=reference.name, uid=reference.uid)
    if reference.controller is not None:
        shown["controller"] = reference.controller
    if reference.blockOwnerDeletion is not None:
        shown["blockOwnerDeletion"] = reference.blockOwnerDeletion
    return shown


def _validate_finalizers(finalizers: tuple[str, ...], path: str) -> list[FieldError]:
    errors = [invalid(path, name, message) for name in finalizers for message in label_key_errors(name)]
    if _ORPHAN in finalizers and _FOREGROUND in finalizers:
        errors.append(invalid(path, list(finalizers), f"finalizer {_ORPHAN} and {_FOREGROUND} cannot be both set"))
    return errors


def _validate_finalizer_qualification(finalizers: tuple[str, ...], path: str) -> list[FieldError]:
    return [
        invalid(f"{path}[{index}]", name, _NOT_QUALIFIED)
        for index, name in enumerate(finalizers)
        if "/" not in name and name not in _STANDARD_FINALIZERS
    ]


def _validate_managed_fields(entries: tuple[ManagedFieldsEntry, ...], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, entry in enumerate(entries):
        at = f"{path}[{index}]"
        if entry.operation not in ("Apply", "Update"):
            errors.append(invalid(f"{at}.operation", AsJSON(entry.operation), "must be `Apply` or `Update`"))
        if entry.fieldsType and entry.fieldsType != "FieldsV1":
            errors.append(invalid(f"{at}.fieldsType", entry.fieldsType, "must be `FieldsV1`"))
        errors += validate_field_manager(entry.manager, f"{at}.manager")
        if byte_length(entry.subresource) > _SUBRESOURCE_LIMIT:
            errors.append(too_long(f"{at}.subresource", _SUBRESOURCE_LIMIT))
    return errors


@reads_text("a", "\x00", "é", arguments=("",))
def validate_field_manager(manager: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if byte_length(manager) > _FIELD_MANAGER_LIMIT:
        errors.append(too_long(path, _FIELD_MANAGER_LIMIT))
    if not manager.isprintable():
        position = 0
        for character in manager[:_FIELD_MANAGER_LIMIT]:  # each is quoted with the whole
            if not character.isprintable():
                detail = f"invalid character U+{ord(character):04X} (at position {position})"
                errors.append(invalid(path, manager, detail))
            position += byte_length(character)
    return errors


NEEDS_VALUES = "must be specified when `operator` is 'In' or 'NotIn'"
TAKES_NO_VALUES = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
NOT_AN_OPERATOR = "not a valid selector operator"


def validate_label_name(name: str, path: str) -> list[FieldError]:
    messages = label_key_errors(name)
    return [invalid(path, name, message) for message in messages] if messages else []


def validate_labels(labels: Mapping[str, str], path: str) -> list[FieldError]:
    """Check keys and values; both are reported at the map's own path, as upstream does.

    Go visits maps in random order; here it is the order of the document.
    """
    errors: list[FieldError] = []
    for key, value in labels.items():
        errors += validate_label_name(key, path)
        errors += [invalid(path, value, message) for message in label_value_errors(value)]
    return errors


def validate_label_selector(
    selector: LabelSelector | None, path: str, options: ValidationOptions = STRICT
) -> list[FieldError]:
    if selector is None:
        return []
    errors = validate_labels(selector.matchLabels, f"{path}.matchLabels") if selector.matchLabels else []
    for index, requirement in enumerate(selector.matchExpressions):
        errors += _validate_requirement(requirement, f"{path}.matchExpressions[{index}]", options)
    return errors


def _validate_requirement(requirement: LabelSelectorRequirement, path: str, options: ValidationOptions) -> FieldErrors:
    errors: list[FieldError] = []
    if use_of(requirement.operator, LABEL_SELECTOR) is None:
        errors.append(invalid(f"{path}.operator", AsJSON(requirement.operator), NOT_AN_OPERATOR))
    elif BY_NAME[requirement.operator].arity is Arity.SOME:
        if not requirement.values:
            errors.append(required(f"{path}.values", NEEDS_VALUES))
    elif requirement.values:
        errors.append(forbidden(f"{path}.values", TAKES_NO_VALUES))
    errors += validate_label_name(requirement.key, f"{path}.key")
    if not options.allow_invalid_label_value_in_selector:
        for index, value in enumerate(requirement.values):
            errors += [invalid(f"{path}.values[{index}]", value, message) for message in label_value_errors(value)]
    return errors


def has_invalid_label_value(selector: LabelSelector | None) -> bool:
    """True if an expression of the selector holds what is no label value; updates of such an object may keep it."""
    return selector is not None and any(
        label_value_errors(value) for requirement in selector.matchExpressions for value in requirement.values
    )
