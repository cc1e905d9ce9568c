"""Validate a pod's spec, every rule in upstream's order: names and DNS, resource claims, and the parts in other files.

Kubernetes: ValidatePodSpec (pkg/apis/core/validation), validatePodDNSConfig, validatePodResourceClaims, with
PodLevelResources and RelaxedDNSSearchValidation on as in 1.36.
"""

from moorage.admit.metadata import validate_dns_label, validate_dns_subdomain, validate_label_name, validate_labels
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.containers import (
    PodContext,
    validate_containers,
    validate_ephemeral_containers,
    validate_init_containers,
)
from moorage.admit.pod.environment import any_reads_a_file, validate_files_of_variables
from moorage.admit.pod.handlers import validate_host_network_ports
from moorage.admit.pod.ip_addresses import validate_ip_address
from moorage.admit.pod.resources import validate_pod_resources, validate_resource_requirements
from moorage.admit.pod.security import validate_host_users, validate_pod_security_context
from moorage.admit.pod.selectors import validate_affinity, validate_topology_spread_constraints
from moorage.admit.pod.tolerations import validate_tolerations
from moorage.admit.pod.volumes import validate_volumes
from moorage.admit.pod.windows import validate_host_process, validate_os
from moorage.model import field_error as field
from moorage.model.field_error import AsJSON, FieldError, FieldErrors
from moorage.model.go.quoting import GoStruct
from moorage.model.names import byte_length, dns1123_subdomain_with_underscore_errors, in_range_errors
from moorage.model.types import pod as views
from moorage.model.types.container import ResourceRequirements
from moorage.model.types.meta import ObjectMeta
from moorage.model.well_known.annotations import MIRROR_POD

_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_NAMESERVERS_LIMIT = 3
_SEARCHES_LIMIT = 32
_SEARCH_CHARACTERS_LIMIT = 2048
_HOSTNAME_LIMIT = 64


def validate_dns_config(config: views.PodDNSConfig | None, path: str, policy: str) -> FieldErrors:
    if policy == "None":
        if config is None:
            yield field.required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not config.nameservers:
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield field.required(f"{path}.nameservers", detail)
            return
    if config is None:
        return
    if len(config.nameservers) > _NAMESERVERS_LIMIT:
        detail = f"must not have more than {_NAMESERVERS_LIMIT} nameservers"
        yield field.invalid(f"{path}.nameservers", list(config.nameservers), detail)
    for index, nameserver in enumerate(config.nameservers):
        yield from validate_ip_address(nameserver, f"{path}.nameservers[{index}]")
    if config.searches:
        yield from _validate_searches(config.searches, f"{path}.searches")
    for index, option in enumerate(config.options):
        if not option.name:
            yield field.required(f"{path}.options[{index}]", "must not be empty")


def _validate_searches(searches: tuple[str, ...], path: str) -> FieldErrors:
    if len(searches) > _SEARCHES_LIMIT:
        yield field.invalid(path, list(searches), f"must not have more than {_SEARCHES_LIMIT} search paths")
    if byte_length(" ".join(searches)) > _SEARCH_CHARACTERS_LIMIT:
        limit = _SEARCH_CHARACTERS_LIMIT
        detail = f"must not have more than {limit} characters (including spaces) in the search list"
        yield field.invalid(path, list(searches), detail)
    for index, search in enumerate(searches):
        if search != ".":
            domain = search.removesuffix(".")
            messages = dns1123_subdomain_with_underscore_errors(domain)
            yield from [field.invalid(f"{path}[{index}]", domain, message) for message in messages]


def validate_host_aliases(aliases: tuple[views.HostAlias, ...], path: str) -> FieldErrors:
    for index, alias in enumerate(aliases):
        yield from validate_ip_address(alias.ip, f"{path}[{index}].ip")
        for name_index, hostname in enumerate(alias.hostnames):
            yield from validate_dns_subdomain(hostname, f"{path}[{index}].hostnames[{name_index}]")


def _validate_hostname_override(spec: views.PodSpec, hostname: str, path: str) -> FieldErrors:
    if spec.setHostnameAsFQDN:
        yield field.forbidden(path, "may not be specified when setHostnameAsFQDN is true")
    if spec.hostNetwork:
        yield field.forbidden(path, "may not be specified when hostNetwork is true")
    if byte_length(hostname) > _HOSTNAME_LIMIT:
        yield field.too_long(path, _HOSTNAME_LIMIT)
    yield from validate_dns_subdomain(hostname, path)


_NO_CLAIMS = frozenset[str]()


def claim_names(claims: tuple[views.PodResourceClaim, ...]) -> frozenset[str]:
    return frozenset(claim.name for claim in claims if claim.name) if claims else _NO_CLAIMS


def validate_pod_resource_claims(
    claims: tuple[views.PodResourceClaim, ...], path: str, metadata: ObjectMeta | None
) -> FieldErrors:
    if metadata is not None and MIRROR_POD in metadata.annotations:
        # Upstream's path is an empty one, which prints as "[]".
        yield from [field.forbidden("[]", "static pods do not support resource claims") for _ in claims]
        return
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        at = f"{path}[{index}]"
        if not claim.name:
            yield field.required(f"{at}.name")
        elif claim.name in seen:
            yield field.duplicate(f"{at}.name", claim.name)
        else:
            yield from validate_dns_label(claim.name, f"{at}.name")
            seen.add(claim.name)
        yield from _validate_source(claim, at)


def _validate_source(claim: views.PodResourceClaim, path: str) -> FieldErrors:
    name, template = claim.resourceClaimName, claim.resourceClaimTemplateName
    if (name is None) == (template is None):
        shown = GoStruct(Name=claim.name, ResourceClaimName=name, ResourceClaimTemplateName=template)
        detail = (
            "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            if name is None
            else "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        )
        yield field.invalid(path, AsJSON(shown), detail)
    if name is not None:
        yield from validate_dns_subdomain(name, f"{path}.resourceClaimName")
    if template is not None:
        yield from validate_dns_subdomain(template, f"{path}.resourceClaimTemplateName")


_RESTART_POLICIES = ("Always", "OnFailure", "Never")
PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
_MAX_DEADLINE_LENGTH = 2**31 - 1


def validate_pod_spec(
    spec: views.PodSpec, metadata: ObjectMeta | None, path: str, options: ValidationOptions
) -> FieldErrors:
    """Check one thing after the other; what is absent costs one comparison."""
    if spec.terminationGracePeriodSeconds is None:
        yield field.required(f"{path}.terminationGracePeriodSeconds")
    yield from _validate_what_runs(spec, metadata, path, options)
    if spec.hostNetwork:
        pod = options.resource_is_pod
        yield from validate_host_network_ports(spec.containers, f"{path}.containers", resource_is_pod=pod)
    yield from field.required_one_of(spec.restartPolicy, _RESTART_POLICIES, f"{path}.restartPolicy")
    yield from field.required_one_of(spec.dnsPolicy, _DNS_POLICIES, f"{path}.dnsPolicy")
    if spec.nodeSelector:
        yield from validate_labels(spec.nodeSelector, f"{path}.nodeSelector")
    yield from validate_pod_security_context(spec, path, options)
    if spec.affinity is not None:
        yield from validate_affinity(spec.affinity, f"{path}.affinity", options)
    if spec.dnsConfig is not None or spec.dnsPolicy == "None":
        yield from validate_dns_config(spec.dnsConfig, f"{path}.dnsConfig", spec.dnsPolicy)
    if spec.readinessGates:
        yield from _validate_readiness_gates(spec.readinessGates, f"{path}.readinessGates")
    if spec.schedulingGates:
        yield from _validate_scheduling_gates(spec.schedulingGates, f"{path}.schedulingGates")
    if spec.topologySpreadConstraints:
        constraints_path = f"{path}.topologySpreadConstraints"
        yield from validate_topology_spread_constraints(spec.topologySpreadConstraints, constraints_path, options)
    yield from validate_host_process(spec, path, options)
    if spec.hostUsers is False:
        yield from validate_host_users(spec, path, options)
    if spec.hostnameOverride is not None:
        yield from _validate_hostname_override(spec, spec.hostnameOverride, f"{path}.hostnameOverride")
    yield from _validate_names_and_numbers(spec, path, options)
    if spec.os is not None:
        yield from validate_os(spec, spec.os.name, path)
    if spec.schedulingGroup is not None:
        yield from _validate_scheduling_group(spec.schedulingGroup, f"{path}.schedulingGroup")
    if any_reads_a_file(spec):
        yield from validate_files_of_variables(spec, path)


def _validate_what_runs(
    spec: views.PodSpec, metadata: ObjectMeta | None, path: str, options: ValidationOptions
) -> list[FieldError]:
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


def _validate_names_and_numbers(spec: views.PodSpec, path: str, options: ValidationOptions) -> FieldErrors:
    if spec.serviceAccountName:
        yield from validate_dns_subdomain(spec.serviceAccountName, f"{path}.serviceAccountName")
    if spec.nodeName:
        yield from validate_dns_subdomain(spec.nodeName, f"{path}.nodeName")
    deadline = spec.activeDeadlineSeconds
    if deadline is not None:
        for message in in_range_errors(deadline, 1, _MAX_DEADLINE_LENGTH):
            yield field.invalid(f"{path}.activeDeadlineSeconds", deadline, message)
    if spec.hostname:
        yield from validate_dns_label(spec.hostname, f"{path}.hostname")
    if spec.subdomain:
        yield from validate_dns_label(spec.subdomain, f"{path}.subdomain")
    if spec.tolerations:
        yield from validate_tolerations(spec.tolerations, f"{path}.tolerations", options)
    if spec.hostAliases:
        yield from validate_host_aliases(spec.hostAliases, f"{path}.hostAliases")
    if spec.priorityClassName:
        yield from validate_dns_subdomain(spec.priorityClassName, f"{path}.priorityClassName")
    if spec.runtimeClassName is not None:
        yield from validate_dns_subdomain(spec.runtimeClassName, f"{path}.runtimeClassName")
    if spec.preemptionPolicy is not None:
        yield from field.required_one_of(spec.preemptionPolicy, PREEMPTION_POLICIES, f"{path}.preemptionPolicy")
    if spec.overhead:
        # Upstream borrows the rules for limits, and their path with them.
        overhead = ResourceRequirements(limits=spec.overhead)
        yield from validate_resource_requirements(overhead, f"{path}.overhead", frozenset(), options)


def _validate_readiness_gates(gates: tuple[views.PodReadinessGate, ...], path: str) -> FieldErrors:
    for index, gate in enumerate(gates):
        yield from validate_label_name(gate.conditionType, f"{path}[{index}].conditionType")


def _validate_scheduling_gates(gates: tuple[views.PodSchedulingGate, ...], path: str) -> FieldErrors:
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        yield from validate_label_name(gate.name, f"{path}[{index}]")
        if gate.name in seen:
            yield field.duplicate(f"{path}[{index}]", gate.name)
        seen.add(gate.name)


def _validate_scheduling_group(group: views.PodSchedulingGroup, path: str) -> list[FieldError]:
    if group.podGroupName is None:
        return [field.invalid(f"{path}.podGroupName", AsJSON(None), "must specify one of: `podGroupName`")]
    return validate_dns_subdomain(group.podGroupName, f"{path}.podGroupName")
