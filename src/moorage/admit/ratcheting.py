"""Compute the options of an update: an object may keep what it already had.

A feature whose gate is off is allowed if the old object uses it, and a mistake that validation learned to see later is
allowed if the old object has it. Kubernetes: pkg/api/pod/util.go and ValidationOptionsForPersistentVolume.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from moorage.admit.metadata import has_invalid_label_value, validate_label_selector
from moorage.admit.options import STRICT, ValidationOptions, options_for_create
from moorage.admit.pod.pod import is_deletion_cost
from moorage.admit.pod.resources import is_whole_pages, resource_rules
from moorage.admit.pod.security import validate_host_sysctl
from moorage.admit.pod.selectors import validate_label_keys, validate_term_selectors, validate_unmerged_label_keys
from moorage.admit.pod.shared import all_containers, validate_local_path
from moorage.admit.pod.tolerations import is_attached
from moorage.match.node_selector import needed_by
from moorage.match.operators import TOLERATION, gate_of
from moorage.model.gates import GateSet
from moorage.model.names import label_value_errors
from moorage.model.types.devices import DeviceToleration
from moorage.model.types.meta import LabelSelector, ObjectMeta
from moorage.model.types.node import NodeSelectorTerm
from moorage.model.types.pod import PodAffinityTerm, PodSpec, PodTemplateSpec, Toleration
from moorage.model.types.storage import PersistentVolume
from moorage.model.well_known.annotations import POD_DELETION_COST


def options_for_update(
    gates: GateSet, old_spec: PodSpec | None, old_meta: ObjectMeta | None, *, resource_is_pod: bool = False
) -> ValidationOptions:
    """Options for a pod or template whose earlier version is known; None: there was none, as at creation."""
    options = options_for_create(gates, resource_is_pod=resource_is_pod)
    if old_spec is None or old_meta is None:
        return options
    allowed = _features_in_use(options, old_spec) | _mistakes_in_use(options, old_spec)
    cost = old_meta.annotations.get(POD_DELETION_COST)
    if cost is not None and not is_deletion_cost(cost):
        allowed["allow_invalid_pod_deletion_cost"] = True
    return msgspec.structs.replace(options, **allowed) if allowed else options


def options_for_template_update(gates: GateSet, old: PodTemplateSpec | None) -> ValidationOptions:
    return options_for_create(gates) if old is None else options_for_update(gates, old.spec, old.metadata)


def options_for_selector_update(
    gates: GateSet, old: PodTemplateSpec | None, selector: LabelSelector | None
) -> ValidationOptions:
    """Options for a kind whose own selector is an excuse, too, if a value in it was invalid before."""
    options = options_for_template_update(gates, old)
    if not has_invalid_label_value(selector):
        return options
    return msgspec.structs.replace(options, allow_invalid_label_value_in_selector=True)


def options_for_volume_update(gates: GateSet, old: PersistentVolume | None) -> ValidationOptions:
    """Options for a PersistentVolume, of which only its node affinity knows gates."""
    options = options_for_create(gates)
    affinity = None if old is None else old.spec.nodeAffinity
    if affinity is None or affinity.required is None:
        return options
    terms = affinity.required.nodeSelectorTerms
    return msgspec.structs.replace(
        options,
        operator_gates=options.operator_gates | operator_gates_in_use((), terms),
        allow_invalid_label_value_in_required_node_affinity=_terms_have_invalid_value(terms),
    )


def _features_in_use(options: ValidationOptions, old: PodSpec) -> dict[str, Any]:
    allowed: dict[str, Any] = {}
    if any(toleration.expression and not toleration.attached for toleration in old.tolerations):
        allowed["allow_taint_toleration_cel"] = True
    if in_use := operator_gates_in_use(old.tolerations, _node_terms(old)):
        allowed["operator_gates"] = options.operator_gates | in_use
    context = old.securityContext
    if context is not None and context.seLinuxChangePolicy is not None:
        allowed["allow_only_recursive_selinux_change_policy"] = False
    if old.hostUsers is False and old.hostNetwork:
        allowed["allow_user_namespaces_host_network_support"] = True
    return allowed


def _mistakes_in_use(options: ValidationOptions, old: PodSpec) -> dict[str, bool]:
    allowed = {
        "allow_invalid_label_value_in_selector": any(
            error for term in _pod_terms(old) for error in validate_term_selectors(term, "", STRICT)
        ),
        "allow_invalid_label_value_in_required_node_affinity": _terms_have_invalid_value(_required_node_terms(old)),
        "allow_indivisible_huge_pages_values": _has_indivisible_huge_pages(old),
        "allow_non_local_projected_token_path": _has_non_local_token_path(old),
        "allow_namespaced_sysctls_for_host_net_and_host_ipc": _has_sysctl_of_host_namespace(old),
        "allow_existing_restart_container_for_non_sidecar_init_container": any(
            policy.restartPolicy == "RestartContainer"
            for container in old.initContainers
            if container.restartPolicy != "Always"
            for policy in container.resizePolicy
        ),
        "allow_user_namespaces_with_volume_devices": old.hostUsers is False
        and any(container.volumeDevices for container in all_containers(old)),
    }
    if old.topologySpreadConstraints:
        allowed |= _spread_mistakes(options, old)
    return {name: True for name, found in allowed.items() if found}


def _spread_mistakes(options: ValidationOptions, old: PodSpec) -> dict[str, bool]:
    constraints = old.topologySpreadConstraints
    found = {
        "allow_invalid_topology_spread_constraint_label_selector": any(
            validate_label_selector(constraint.labelSelector, "", STRICT) for constraint in constraints
        )
    }
    if options.allow_match_label_keys_in_pod_topology_spread_selector_merge:
        found["old_pod_violates_match_label_keys_validation"] = any(
            error
            for constraint in constraints
            for error in validate_label_keys(constraint.matchLabelKeys, (), constraint.labelSelector, "")
        )
    elif options.allow_match_label_keys_in_pod_topology_spread:
        found["old_pod_violates_legacy_match_label_keys_validation"] = any(
            error
            for constraint in constraints
            for error in validate_unmerged_label_keys(constraint.matchLabelKeys, constraint.labelSelector, "")
        )
    return found


def _required_node_terms(spec: PodSpec) -> tuple[NodeSelectorTerm, ...]:
    affinity = spec.affinity.nodeAffinity if spec.affinity is not None else None
    required = affinity.requiredDuringSchedulingIgnoredDuringExecution if affinity is not None else None
    return required.nodeSelectorTerms if required is not None else ()


def _node_terms(spec: PodSpec) -> Iterator[NodeSelectorTerm]:
    yield from _required_node_terms(spec)
    if spec.affinity is not None and spec.affinity.nodeAffinity is not None:
        for preferred in spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution:
            yield preferred.preference


def operator_gates_in_use(
    tolerations: Iterable[Toleration | DeviceToleration], terms: Iterable[NodeSelectorTerm]
) -> set[str]:
    """Return the names of the gates that the operators of tolerations and node selectors need."""
    gates = [gate_of(toleration.operator, TOLERATION) for toleration in tolerations if not is_attached(toleration)]
    gates += [needed_by(one) for term in terms for one in term.matchExpressions]
    return {gate.name for gate in gates if gate is not None}


def _terms_have_invalid_value(terms: Iterable[NodeSelectorTerm]) -> bool:
    return any(
        label_value_errors(value)
        for term in terms
        for requirement in term.matchExpressions
        for value in requirement.values
    )


def _pod_terms(spec: PodSpec) -> Iterator[PodAffinityTerm]:
    if spec.affinity is None:
        return
    for affinity in (spec.affinity.podAffinity, spec.affinity.podAntiAffinity):
        if affinity is not None:
            yield from affinity.requiredDuringSchedulingIgnoredDuringExecution
            for weighted in affinity.preferredDuringSchedulingIgnoredDuringExecution:
                yield weighted.podAffinityTerm


def _has_indivisible_huge_pages(spec: PodSpec) -> bool:
    lists = [
        amounts
        for container in all_containers(spec)
        for amounts in (container.resources.limits, container.resources.requests)
    ]
    return any(
        resource_rules(name).is_huge_pages and not is_whole_pages(amount, resource_rules(name))
        for amounts in (*lists, spec.overhead)
        for name, amount in amounts.items()
    )


def _has_non_local_token_path(spec: PodSpec) -> bool:
    return any(
        source.serviceAccountToken is not None and any(validate_local_path(source.serviceAccountToken.path, ""))
        for volume in spec.volumes
        if volume.projected is not None
        for source in volume.projected.sources
    )


def _has_sysctl_of_host_namespace(spec: PodSpec) -> bool:
    context = spec.securityContext
    return context is not None and any(validate_host_sysctl(sysctl.name, "", spec) for sysctl in context.sysctls)
