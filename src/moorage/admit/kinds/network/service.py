"""Validate Services: ports, addresses, and which fields go with which type.

In: views. Out: field errors. Kubernetes: ValidateServiceCreate, ValidateServiceUpdate. Differs: addresses and ports
that a server allocates (`prepare.service_addresses`) are not demanded: offline there is no allocator.
"""

from moorage.admit.kinds.network.endpoints import validate_endpoint_ip
from moorage.admit.kinds.row import KindRow, Rows, validate_only_metadata
from moorage.admit.metadata import (
    FIELD_IS_IMMUTABLE,
    label_errors,
    validate_dns_label,
    validate_dns_subdomain,
    validate_label_name,
    validate_labels,
    validate_object_meta,
    validate_object_meta_update,
)
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.handlers import validate_port_number, validate_port_number_or_name
from moorage.admit.pod.ip_addresses import validate_cidr, validate_ip_address
from moorage.admit.prepare import kind_defaults as defaults
from moorage.admit.prepare import strategies
from moorage.admit.prepare.service_addresses import (
    MAY_NOT_CHANGE,
    is_headless,
    validate_cluster_ips,
    validate_ips_kept,
)
from moorage.admit.raw import Raw
from moorage.model import field_error as field
from moorage.model.field_error import AsJSON, FieldError, FieldErrors
from moorage.model.gates import GateSet
from moorage.model.go.quoting import GoStruct
from moorage.model.types.core import LoadBalancerStatus, Service, ServicePort, ServiceSpec
from moorage.model.types.meta import ObjectMeta

ONLY_FOR_BALANCERS = "may only be used when `type` is 'LoadBalancer'"
NOT_FOR_EXTERNAL_NAMES = "may not be set for ExternalName services"

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_AFFINITIES = ("ClientIP", "None")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_TRAFFIC_POLICIES = ("Cluster", "Local")
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_TOPOLOGY_HINTS = "service.kubernetes.io/topology-aware-hints"
_TOPOLOGY_MODE = "service.kubernetes.io/topology-mode"
_SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_IP_MODES = ("Proxy", "VIP")
_MAX_AFFINITY_LENGTH = 86_400


def validate_service(service: Service, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(service.metadata, "metadata", name_rule=label_errors)
    yield from _validate_annotations(service.metadata)
    yield from _validate_spec(service, Service())


def validate_service_update(new: Service, old: Service, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    after, before = new.spec, old.spec
    yield from validate_ips_kept(after, before)
    if after.type == before.type == "LoadBalancer" and after.loadBalancerClass != before.loadBalancerClass:
        yield field.invalid("spec.loadBalancerClass", AsJSON(after.loadBalancerClass), MAY_NOT_CHANGE)
    yield from _validate_balancer_class(after)
    both_checked = _needs_health_check(after) and _needs_health_check(before)
    if both_checked and after.healthCheckNodePort != before.healthCheckNodePort:
        yield field.forbidden("spec.healthCheckNodePort", FIELD_IS_IMMUTABLE)
    yield from _validate_annotations(new.metadata)
    yield from _validate_spec(new, old)


def _validate_annotations(metadata: ObjectMeta) -> FieldErrors:
    hints, mode = metadata.annotations.get(_TOPOLOGY_HINTS), metadata.annotations.get(_TOPOLOGY_MODE)
    if None not in (hints, mode) and hints != mode:
        detail = f"must match annotations[{_TOPOLOGY_HINTS}] when both are specified"
        yield field.invalid(f"metadata.annotations[{_TOPOLOGY_MODE}]", mode, detail)


def _validate_spec(service: Service, before: Service) -> FieldErrors:
    spec, old = service.spec, before.spec
    headless = is_headless(spec)
    if not spec.ports and not headless and spec.type != "ExternalName":
        yield field.required("spec.ports")
    if headless and spec.type in ("LoadBalancer", "NodePort"):
        yield field.invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {spec.type} services")
    if spec.type == "ExternalName":
        yield from _validate_external_name(spec)
    yield from _validate_ports(spec.ports)
    yield from validate_labels(spec.selector, "spec.selector")
    yield from _validate_affinity(spec)
    if spec.type != "ExternalName":
        yield from validate_cluster_ips(spec, old)
    kept = frozenset(old.externalIPs)
    for index, address in enumerate(spec.externalIPs):
        path = f"spec.externalIPs[{index}]"
        wrong = [] if address in kept else validate_ip_address(address, path)
        yield from wrong or validate_endpoint_ip(address, path)
    yield from field.one_of(spec.type, _TYPES, "spec.type")
    yield from _validate_port_numbers(spec)
    yield from _validate_source_ranges(service, before)
    yield from _validate_balancer(spec)
    yield from _validate_traffic(spec)


def _needs_health_check(spec: ServiceSpec) -> bool:
    return spec.type == "LoadBalancer" and spec.externalTrafficPolicy == "Local"


def _validate_external_name(spec: ServiceSpec) -> list[FieldError]:
    errors = [
        field.forbidden(f"spec.{name}", NOT_FOR_EXTERNAL_NAMES)
        for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
        if getattr(spec, name)
    ]
    name = spec.externalName.removesuffix(".")
    return errors + (
        validate_dns_subdomain(name, "spec.externalName") if name else [field.required("spec.externalName")]
    )


def _validate_ports(ports: tuple[ServicePort, ...]) -> FieldErrors:
    names: set[str] = set()
    for index, port in enumerate(ports):
        path = f"spec.ports[{index}]"
        if port.name:
            yield from validate_dns_label(port.name, f"{path}.name")
            if port.name in names:
                yield field.duplicate(f"{path}.name", port.name)
            names.add(port.name)
        elif len(ports) > 1:
            yield field.required(f"{path}.name")
        yield from validate_port_number(port.port, f"{path}.port")
        yield from field.one_of(port.protocol, _PROTOCOLS, f"{path}.protocol")
        yield from validate_port_number_or_name(port.targetPort, f"{path}.targetPort")
        if port.appProtocol is not None:
            yield from validate_label_name(port.appProtocol, f"{path}.appProtocol")


def _validate_port_numbers(spec: ServiceSpec) -> FieldErrors:
    """No number twice with the same protocol; no node ports where there are none."""
    if spec.type == "ClusterIP":
        detail = "may not be used when `type` is 'ClusterIP'"
        for index, port in enumerate(spec.ports):
            if port.nodePort:
                yield field.forbidden(f"spec.ports[{index}].nodePort", detail)
    on_nodes: set[tuple[str, int]] = set()
    for index, port in enumerate(spec.ports):
        if port.nodePort and (port.protocol, port.nodePort) in on_nodes:
            yield field.duplicate(f"spec.ports[{index}].nodePort", port.nodePort)
        on_nodes.add((port.protocol, port.nodePort))
    seen: set[tuple[str, int]] = set()
    for index, port in enumerate(spec.ports):
        if (port.protocol, port.port) in seen:
            shown = GoStruct(
                Name="", Protocol=port.protocol, AppProtocol=None, Port=port.port, TargetPort=0, NodePort=0
            )
            yield field.duplicate(f"spec.ports[{index}]", AsJSON(shown))
        seen.add((port.protocol, port.port))


def _validate_affinity(spec: ServiceSpec) -> list[FieldError]:
    if spec.sessionAffinity not in _AFFINITIES:
        return [field.not_supported("spec.sessionAffinity", AsJSON(spec.sessionAffinity), _AFFINITIES)]
    if spec.sessionAffinity == "None" or spec.sessionAffinityConfig is None:
        return []
    client = spec.sessionAffinityConfig.clientIP
    seconds = None if client is None else client.timeoutSeconds
    if seconds is None or 0 < seconds <= _MAX_AFFINITY_LENGTH:
        return []
    path = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
    return [field.invalid(path, seconds, f"must be greater than 0 and less than {_MAX_AFFINITY_LENGTH}")]


def _validate_source_ranges(service: Service, before: Service) -> FieldErrors:
    """Check the ranges of a load balancer's clients; an annotation is the older way to say them."""
    spec, is_balancer = service.spec, service.spec.type == "LoadBalancer"
    if spec.loadBalancerSourceRanges:
        if not is_balancer:
            yield field.forbidden("spec.LoadBalancerSourceRanges", ONLY_FOR_BALANCERS)
        kept = {text.strip() for text in before.spec.loadBalancerSourceRanges}
        for index, text in enumerate(spec.loadBalancerSourceRanges):
            if text.strip() not in kept:
                yield from validate_cidr(text.strip(), f"spec.LoadBalancerSourceRanges[{index}]")
        return
    ranges = service.metadata.annotations.get(_SOURCE_RANGES)
    if ranges is None:
        return
    path = f"metadata.annotations[{_SOURCE_RANGES}]"
    if not is_balancer:
        yield field.forbidden(path, ONLY_FOR_BALANCERS)
    if ranges.strip() and before.metadata.annotations.get(_SOURCE_RANGES) != ranges:
        for text in ranges.split(","):
            yield from validate_cidr(text.strip(), path)


def _validate_balancer(spec: ServiceSpec) -> FieldErrors:
    if spec.allocateLoadBalancerNodePorts is not None and spec.type != "LoadBalancer":
        yield field.forbidden("spec.allocateLoadBalancerNodePorts", ONLY_FOR_BALANCERS)
    yield from _validate_balancer_class(spec)


def _validate_balancer_class(spec: ServiceSpec) -> FieldErrors:
    if spec.loadBalancerClass is None:
        return
    if spec.type == "LoadBalancer":
        yield from validate_label_name(spec.loadBalancerClass, "spec.loadBalancerClass")
    else:
        yield field.forbidden("spec.loadBalancerClass", ONLY_FOR_BALANCERS)


def _validate_traffic(spec: ServiceSpec) -> FieldErrors:
    outside = spec.type in ("LoadBalancer", "NodePort") or (spec.type == "ClusterIP" and bool(spec.externalIPs))
    policy = spec.externalTrafficPolicy
    if not outside and policy:
        detail = "may only be set for externally-accessible services"
        yield field.invalid("spec.externalTrafficPolicy", AsJSON(policy), detail)
    elif outside and policy not in _TRAFFIC_POLICIES:
        yield field.not_supported("spec.externalTrafficPolicy", AsJSON(policy), _TRAFFIC_POLICIES)
    if spec.healthCheckNodePort:
        if not _needs_health_check(spec):
            detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
            yield field.invalid("spec.healthCheckNodePort", spec.healthCheckNodePort, detail)
        else:
            yield from validate_port_number(spec.healthCheckNodePort, "spec.healthCheckNodePort")
    inside = spec.internalTrafficPolicy
    yield from field.one_of(inside, _TRAFFIC_POLICIES, "spec.internalTrafficPolicy")
    if spec.trafficDistribution is not None and spec.trafficDistribution not in _DISTRIBUTIONS:
        yield field.not_supported("spec.trafficDistribution", spec.trafficDistribution, _DISTRIBUTIONS)


def validate_balancer_status(status: LoadBalancerStatus, spec: ServiceSpec) -> FieldErrors:
    """Check the status of a load balancer, and that only a Service with one has it."""
    path = "status.loadBalancer.ingress"
    if spec.type != "LoadBalancer":
        if status.ingress:
            yield field.forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")
        return
    for index, ingress in enumerate(status.ingress):
        at = f"{path}[{index}]"
        if ingress.ip:
            yield from validate_ip_address(ingress.ip, f"{at}.ip")
        if ingress.ipMode is None and ingress.ip:
            yield field.required(f"{at}.ipMode", "must be specified when `ip` is set")
        elif ingress.ipMode is not None and not ingress.ip:
            yield field.forbidden(f"{at}.ipMode", "may not be specified when `ip` is not set")
        elif ingress.ipMode is not None and ingress.ipMode not in _IP_MODES:
            yield field.not_supported(f"{at}.ipMode", AsJSON(ingress.ipMode), _IP_MODES)
        if ingress.hostname:
            yield from validate_dns_subdomain(ingress.hostname, f"{at}.hostname")
            if not validate_ip_address(ingress.hostname, ""):
                yield field.invalid(f"{at}.hostname", ingress.hostname, "must be a DNS name, not an IP address")


def _validate_service_status(new: Service, old: Service, gates: GateSet) -> FieldErrors:
    yield from validate_only_metadata(new, old)
    yield from validate_balancer_status(new.status.loadBalancer, new.spec)


def _service_warnings(service: Service) -> list[str]:
    spec, is_external_name = service.spec, service.spec.type == "ExternalName"
    warnings: list[str] = []
    if spec.type == "ClusterIP" and spec.clusterIP == "None":
        ignored = (
            ("loadBalancerIP", spec.loadBalancerIP),
            ("externalIPs", spec.externalIPs),
            ("SessionAffinity", spec.sessionAffinity != "None"),
        )
        warnings += [f"spec.{name} is ignored for headless services" for name, is_set in ignored if is_set]
    elif spec.externalIPs and not is_external_name:
        warnings.append("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
    if spec.externalIPs and is_external_name:
        warnings.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if spec.externalName and not is_external_name:
        warnings.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.trafficDistribution == "PreferClose":
        warnings.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
    return warnings


def _drop_policy_of_external_name(service: Raw) -> None:
    """Drop what means nothing to an ExternalName and is not shown by any read."""
    if service["spec"].get("type") == "ExternalName":
        service["spec"].pop("internalTrafficPolicy", None)


ROWS: Rows = {
    Service: KindRow(
        validate_service,
        validate_service_update,
        defaults.default_service,
        strategies.prepare_service,
        validate_status=_validate_service_status,
        warnings=_service_warnings,
        canonicalize=_drop_policy_of_external_name,
    ),
}
