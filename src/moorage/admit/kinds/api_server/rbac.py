"""Validate Roles, ClusterRoles and their bindings.

Kubernetes: pkg/apis/rbac/validation, the defaults of pkg/apis/rbac/v1.
"""

from collections.abc import Sequence

import msgspec

from moorage.admit.kinds.row import KindRow, Rows
from moorage.admit.messages.rejections import internal_form
from moorage.admit.metadata import (
    has_invalid_label_value,
    path_segment_errors,
    validate_label_selector,
    validate_object_meta,
    validate_object_meta_update,
)
from moorage.admit.options import ValidationOptions, options_for_create
from moorage.admit.raw import Raw
from moorage.match.label_selector import compile_label_selector
from moorage.match.requirement import SelectorError
from moorage.model import field_error as field
from moorage.model.field_error import AsJSON, FieldErrors
from moorage.model.gates import GateSet
from moorage.model.names import dns1123_subdomain_errors
from moorage.model.types.policy import (
    ClusterRole,
    ClusterRoleBinding,
    PolicyRule,
    Role,
    RoleBinding,
    RoleRef,
    Subject,
)

GROUP = "rbac.authorization.k8s.io"
SERVICE_ACCOUNT, USER, GROUP_OF_USERS = "ServiceAccount", "User", "Group"
_ROLE_KINDS = ("Role", "ClusterRole")


def default_rules(raw: Raw) -> None:
    """Write the list of rules even if it is empty: Go's field has no omitempty."""
    rules = raw.get("rules") or None
    raw["rules"] = rules
    for rule in rules or ():
        if isinstance(rule, dict):
            for name in ("apiGroups", "resources", "resourceNames", "nonResourceURLs"):
                if rule.get(name, True) in (None, []):
                    del rule[name]


def default_binding(raw: Raw) -> None:
    reference = raw.setdefault("roleRef", {})
    if not reference.get("apiGroup"):
        reference["apiGroup"] = GROUP
    if not raw.get("subjects"):
        raw.pop("subjects", None)
    for subject in raw.get("subjects") or ():
        if not subject.get("apiGroup"):
            subject.pop("apiGroup", None)
            if subject.get("kind") in (USER, GROUP_OF_USERS):
                subject["apiGroup"] = GROUP


def validate_role(role: Role, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(role.metadata, "metadata", name_rule=path_segment_errors)
    yield from _validate_rules(role.rules, namespaced=True)


def validate_role_update(new: Role, old: Role, options: ValidationOptions) -> FieldErrors:
    yield from validate_role(new, options)
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")


def validate_cluster_role(role: ClusterRole, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(role.metadata, "metadata", namespaced=False, name_rule=path_segment_errors)
    yield from _validate_rules(role.rules, namespaced=False)
    if role.aggregationRule is None:
        return
    path = "aggregationRule.clusterRoleSelectors"
    if not role.aggregationRule.clusterRoleSelectors:
        yield field.required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")
    for index, selector in enumerate(role.aggregationRule.clusterRoleSelectors):
        at = f"{path}[{index}]"
        yield from validate_label_selector(selector, at, options)
        try:
            compile_label_selector(selector)
        except SelectorError:
            yield field.invalid(at, None, "invalid label selector.")


def validate_cluster_role_update(new: ClusterRole, old: ClusterRole, options: ValidationOptions) -> FieldErrors:
    yield from validate_cluster_role(new, options)
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")


def _cluster_role_options(gates: GateSet, old: ClusterRole | None) -> ValidationOptions:
    options = options_for_create(gates)
    aggregation = None if old is None else old.aggregationRule
    if aggregation is None or not any(map(has_invalid_label_value, aggregation.clusterRoleSelectors)):
        return options
    return msgspec.structs.replace(options, allow_invalid_label_value_in_selector=True)


def _validate_rules(rules: Sequence[PolicyRule], *, namespaced: bool) -> FieldErrors:
    for index, rule in enumerate(rules):
        yield from _validate_rule(rule, f"rules[{index}]", namespaced)


def _validate_rule(rule: PolicyRule, path: str, namespaced: bool) -> FieldErrors:
    if not rule.verbs:
        yield field.required(f"{path}.verbs", "verbs must contain at least one value")
    if rule.nonResourceURLs:
        at, shown = f"{path}.nonResourceURLs", AsJSON(rule.nonResourceURLs)
        if namespaced:
            yield field.invalid(at, shown, "namespaced rules cannot apply to non-resource URLs")
        if rule.apiGroups or rule.resources or rule.resourceNames:
            yield field.invalid(at, shown, "rules cannot apply to both regular resources and non-resource URLs")
        return
    if not rule.apiGroups:
        yield field.required(f"{path}.apiGroups", "resource rules must supply at least one api group")
    if not rule.resources:
        yield field.required(f"{path}.resources", "resource rules must supply at least one resource")


def validate_role_binding(binding: RoleBinding, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(binding.metadata, "metadata", name_rule=path_segment_errors)
    yield from _validate_role_ref(binding.roleRef, _ROLE_KINDS)
    yield from _validate_subjects(binding.subjects, namespaced=True)


def validate_cluster_role_binding(binding: ClusterRoleBinding, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(binding.metadata, "metadata", namespaced=False, name_rule=path_segment_errors)
    yield from _validate_role_ref(binding.roleRef, _ROLE_KINDS[1:])
    yield from _validate_subjects(binding.subjects, namespaced=False)


def validate_role_binding_update(new: RoleBinding, old: RoleBinding, options: ValidationOptions) -> FieldErrors:
    yield from validate_role_binding(new, options)
    yield from _validate_binding_change(new, old)


def validate_cluster_role_binding_update(
    new: ClusterRoleBinding, old: ClusterRoleBinding, options: ValidationOptions
) -> FieldErrors:
    yield from validate_cluster_role_binding(new, options)
    yield from _validate_binding_change(new, old)


def _validate_binding_change(
    new: RoleBinding | ClusterRoleBinding, old: RoleBinding | ClusterRoleBinding
) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    if new.roleRef != old.roleRef:
        yield field.invalid("roleRef", AsJSON(internal_form(new.roleRef)), "cannot change roleRef")


def _validate_role_ref(reference: RoleRef, kinds: Sequence[str]) -> FieldErrors:
    if reference.apiGroup != GROUP:
        yield field.not_supported("roleRef.apiGroup", reference.apiGroup, (GROUP,))
    if reference.kind not in kinds:
        yield field.not_supported("roleRef.kind", reference.kind, kinds)
    if not reference.name:
        yield field.required("roleRef.name")
    for message in path_segment_errors(reference.name) if reference.name else ():
        yield field.invalid("roleRef.name", reference.name, message)


def _validate_subjects(subjects: Sequence[Subject], *, namespaced: bool) -> FieldErrors:
    for index, subject in enumerate(subjects):
        yield from _validate_subject(subject, f"subjects[{index}]", namespaced)


def _validate_subject(subject: Subject, path: str, namespaced: bool) -> FieldErrors:
    if not subject.name:
        yield field.required(f"{path}.name")
    if subject.kind == SERVICE_ACCOUNT:
        for message in dns1123_subdomain_errors(subject.name) if subject.name else ():
            yield field.invalid(f"{path}.name", subject.name, message)
        if subject.apiGroup:
            yield field.not_supported(f"{path}.apiGroup", subject.apiGroup, ("",))
        if not namespaced and not subject.namespace:
            yield field.required(f"{path}.namespace")
    elif subject.kind in (USER, GROUP_OF_USERS):
        if subject.apiGroup != GROUP:
            yield field.not_supported(f"{path}.apiGroup", subject.apiGroup, (GROUP,))
    else:
        yield field.not_supported(f"{path}.kind", subject.kind, (SERVICE_ACCOUNT, USER, GROUP_OF_USERS))


ROWS: Rows = {
    Role: KindRow(validate_role, validate_role_update, default_rules),
    ClusterRole: KindRow(
        validate_cluster_role, validate_cluster_role_update, default_rules, options=_cluster_role_options
    ),
    RoleBinding: KindRow(validate_role_binding, validate_role_binding_update, default_binding),
    ClusterRoleBinding: KindRow(validate_cluster_role_binding, validate_cluster_role_binding_update, default_binding),
}
