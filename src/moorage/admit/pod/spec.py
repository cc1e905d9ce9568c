"""A pod's spec: every rule in upstream's order.

In: a defaulted `PodSpec`, the metadata beside it (None in a template), its path, the options. Out: field errors.
Kubernetes: ValidatePodSpec (pkg/apis/core/validation), with PodLevelResources on as in 1.36.
"""

from moorage.admit.dns_names import validate_dns_label, validate_dns_subdomain
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.claims import claim_names, validate_pod_resource_claims
from moorage.admit.pod.containers.containers import (
    PodContext,
    validate_containers,
    validate_ephemeral_containers,
    validate_init_containers,
)
from moorage.admit.pod.containers.environment import validate_files_of_variables
from moorage.admit.pod.containers.ports import validate_host_network_ports
from moorage.admit.pod.containers.resources import validate_resource_requirements
from moorage.admit.pod.containers.security import validate_host_users, validate_pod_security_context
from moorage.admit.pod.hosts import (
    validate_dns_config,
    validate_dns_policy,
    validate_host_aliases,
    validate_hostname_override,
)
from moorage.admit.pod.pod_resources import validate_pod_resources
from moorage.admit.pod.volumes.volumes import validate_volumes
from moorage.admit.pod.windows import validate_host_process, validate_os
from moorage.admit.scheduling import (
    validate_affinity,
    validate_label_name,
    validate_labels,
    validate_tolerations,
    validate_topology_spread_constraints,
)
from moorage.model.field_error import AsJSON, FieldError, duplicate, invalid, not_supported, required
from moorage.model.names import in_range_errors
from moorage.model.types.container import ResourceRequirements
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.pod import PodReadinessGate, PodSchedulingGate, PodSchedulingGroup, PodSpec

_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
_MAX_DEADLINE_LENGTH = 2**31 - 1


def validate_pod_spec(
    spec: PodSpec, metadata: ObjectMeta | None, path: str, options: ValidationOptions
) -> list[FieldError]:
    """Check one thing after the other; what is absent costs one comparison."""
    errors: list[FieldError] = []
    if spec.terminationGracePeriodSeconds is None:
        errors.append(required(f"{path}.terminationGracePeriodSeconds"))
    errors += _validate_what_runs(spec, metadata, path, options)
    if spec.hostNetwork:
        pod = options.resource_is_pod
        errors += validate_host_network_ports(spec.containers, f"{path}.containers", resource_is_pod=pod)
    errors += _validate_choice(spec.restartPolicy, f"{path}.restartPolicy", _RESTART_POLICIES)
    errors += validate_dns_policy(spec.dnsPolicy, f"{path}.dnsPolicy")
    if spec.nodeSelector:
        errors += validate_labels(spec.nodeSelector, f"{path}.nodeSelector")
    errors += validate_pod_security_context(spec, path, options)
    if spec.affinity is not None:
        errors += validate_affinity(spec.affinity, f"{path}.affinity", options)
    errors += validate_dns_config(spec.dnsConfig, f"{path}.dnsConfig", spec.dnsPolicy)
    if spec.readinessGates:
        errors += _validate_readiness_gates(spec.readinessGates, f"{path}.readinessGates")
    if spec.schedulingGates:
        errors += _validate_scheduling_gates(spec.schedulingGates, f"{path}.schedulingGates")
    if spec.topologySpreadConstraints:
        constraints_path = f"{path}.topologySpreadConstraints"
        errors += validate_topology_spread_constraints(spec.topologySpreadConstraints, constraints_path, options)
    errors += validate_host_process(spec, path, options)
    errors += validate_host_users(spec, path, options)
    errors += validate_hostname_override(spec, f"{path}.hostnameOverride")
    errors += _validate_names_and_numbers(spec, path, options)
    errors += validate_os(spec, path)
    if spec.schedulingGroup is not None:
        errors += _validate_scheduling_group(spec.schedulingGroup, f"{path}.schedulingGroup")
    return errors + validate_files_of_variables(spec, path)


def _validate_what_runs(
    spec: PodSpec, metadata: ObjectMeta | None, path: str, options: ValidationOptions
) -> list[FieldError]:
    """Volumes, claims, containers and the resources of all containers together."""
    volumes, errors = validate_volumes(spec.volumes, f"{path}.volumes", metadata, options)
    claims = claim_names(spec.resourceClaims)
    if spec.resourceClaims:
        errors += validate_pod_resource_claims(spec.resourceClaims, f"{path}.resourceClaims", metadata)
    context = PodContext(
        volumes=volumes,
        claim_names=claims,
        grace_period=spec.terminationGracePeriodSeconds,
        restart_policy=spec.restartPolicy,
        os=spec.os,
        host_users=spec.hostUsers is not False,
        options=options,
    )
    errors += validate_containers(spec, f"{path}.containers", context)
    if spec.initContainers:
        errors += validate_init_containers(spec, f"{path}.initContainers", context)
    if spec.ephemeralContainers:
        errors += validate_ephemeral_containers(spec, f"{path}.ephemeralContainers", context)
    if spec.resources is not None:
        errors += validate_pod_resources(spec, path, claims, options)
    return errors


def _validate_names_and_numbers(spec: PodSpec, path: str, options: ValidationOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    if spec.serviceAccountName:
        errors += validate_dns_subdomain(spec.serviceAccountName, f"{path}.serviceAccountName")
    if spec.nodeName:
        errors += validate_dns_subdomain(spec.nodeName, f"{path}.nodeName")
    deadline = spec.activeDeadlineSeconds
    if deadline is not None:
        for message in in_range_errors(deadline, 1, _MAX_DEADLINE_LENGTH):
            errors.append(invalid(f"{path}.activeDeadlineSeconds", deadline, message))
    if spec.hostname:
        errors += validate_dns_label(spec.hostname, f"{path}.hostname")
    if spec.subdomain:
        errors += validate_dns_label(spec.subdomain, f"{path}.subdomain")
    if spec.tolerations:
        errors += validate_tolerations(spec.tolerations, f"{path}.tolerations", options)
    if spec.hostAliases:
        errors += validate_host_aliases(spec.hostAliases, f"{path}.hostAliases")
    if spec.priorityClassName:
        errors += validate_dns_subdomain(spec.priorityClassName, f"{path}.priorityClassName")
    if spec.runtimeClassName is not None:
        errors += validate_dns_subdomain(spec.runtimeClassName, f"{path}.runtimeClassName")
    if spec.preemptionPolicy is not None:
        errors += _validate_choice(spec.preemptionPolicy, f"{path}.preemptionPolicy", _PREEMPTION_POLICIES)
    if spec.overhead:
        # Upstream borrows the rules for limits, and their path with them.
        overhead = ResourceRequirements(limits=spec.overhead)
        errors += validate_resource_requirements(overhead, f"{path}.overhead", frozenset(), options)
    return errors


def _validate_choice(value: str, path: str, choices: tuple[str, ...]) -> list[FieldError]:
    if value in choices:
        return []
    return [not_supported(path, AsJSON(value), choices)] if value else [required(path)]


def _validate_readiness_gates(gates: tuple[PodReadinessGate, ...], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, gate in enumerate(gates):
        errors += validate_label_name(gate.conditionType, f"{path}[{index}].conditionType")
    return errors


def _validate_scheduling_gates(gates: tuple[PodSchedulingGate, ...], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        errors += validate_label_name(gate.name, f"{path}[{index}]")
        if gate.name in seen:
            errors.append(duplicate(f"{path}[{index}]", gate.name))
        seen.add(gate.name)
    return errors


def _validate_scheduling_group(group: PodSchedulingGroup, path: str) -> list[FieldError]:
    if group.podGroupName is None:
        return [invalid(f"{path}.podGroupName", AsJSON(None), "must specify one of: `podGroupName`")]
    return validate_dns_subdomain(group.podGroupName, f"{path}.podGroupName")
