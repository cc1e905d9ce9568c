"""Validate Ingresses, IngressClasses, IPAddresses and ServiceCIDRs.

Kubernetes: ValidateIngressCreate, ValidateIngressClass, ValidateIPAddress, ValidateServiceCIDR and their updates.
"""

from moorage.admit.kinds.fields import validate_immutable
from moorage.admit.kinds.row import KindRow, Rows, ungated, validate_only_metadata
from moorage.admit.messages.rejections import internal_form
from moorage.admit.metadata import (
    FIELD_IS_IMMUTABLE,
    path_segment_errors,
    validate_dns_label,
    validate_dns_subdomain,
    validate_object_meta,
    validate_object_meta_update,
)
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.handlers import validate_port_number
from moorage.admit.pod.ip_addresses import (
    address_errors,
    canonical_cidr_errors,
    cidr_family,
    is_ip_address,
    parse_cidr,
    validate_ip_address,
)
from moorage.admit.prepare import kind_defaults as defaults
from moorage.admit.prepare import strategies
from moorage.model import field_error as field
from moorage.model.field_error import AsJSON, FieldError, FieldErrors
from moorage.model.gates import GateSet
from moorage.model.names import (
    byte_length,
    dns1123_subdomain_errors,
    port_name_errors,
    regex_error,
    wildcard_subdomain_errors,
)
from moorage.model.text.patterns import whole
from moorage.model.types import networking as views
from moorage.model.types.meta import TypedLocalObjectReference
from moorage.model.types.networking import IPAddress, ServiceCIDR

CLASS_ANNOTATION = "kubernetes.io/ingress.class"
NOT_AN_ADDRESS = "must be a DNS name, not an IP address"

_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_FORBIDDEN_PARTS = ("//", "/./", "/../", "%2f", "%2F")
_FORBIDDEN_ENDS = ("/..", "/.")
_SCOPES = ("Cluster", "Namespace")
_MAX_CONTROLLER_LENGTH = 250
_HTTP_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_is_http_path = whole(_HTTP_PATH)


def validate_ingress(ingress: views.Ingress, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(ingress.metadata, "metadata")
    yield from _validate_spec(ingress.spec, views.IngressSpec())
    annotated, named = ingress.metadata.annotations.get(CLASS_ANNOTATION), ingress.spec.ingressClassName
    if annotated is not None and named is not None and annotated != named:
        detail = "must match `ingressClassName` when both are specified"
        yield field.invalid(f"annotations.{CLASS_ANNOTATION}", annotated, detail)


def validate_ingress_update(new: views.Ingress, old: views.Ingress, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from validate_object_meta(new.metadata, "metadata")
    yield from _validate_spec(new.spec, old.spec)


def _validate_spec(spec: views.IngressSpec, old: views.IngressSpec) -> FieldErrors:
    """`old` excuses secret names and rules of wildcard hosts that were wrong before."""
    if not spec.rules and spec.defaultBackend is None:
        yield field.invalid("spec", AsJSON(spec.rules), "either `defaultBackend` or `rules` must be specified")
    if spec.defaultBackend is not None:
        yield from _validate_backend(spec.defaultBackend, "spec.defaultBackend")
    excused = any("*" in rule.host and any(_validate_http(rule, "")) for rule in old.rules)
    for index, rule in enumerate(spec.rules):
        path = f"spec.rules[{index}]"
        if rule.host:
            if is_ip_address(rule.host):
                yield field.invalid(f"{path}.host", rule.host, NOT_AN_ADDRESS)
            yield from _validate_host(rule.host, f"{path}.host")
        if "*" not in rule.host or not excused:
            yield from _validate_http(rule, path)
    secrets_excused = any(tls.secretName and dns1123_subdomain_errors(tls.secretName) for tls in old.tls)
    for index, tls in enumerate(spec.tls):
        for place, host in enumerate(tls.hosts):
            yield from _validate_host(host, f"spec.tls[{index}].hosts[{place}]")
        if tls.secretName and not secrets_excused:
            yield from validate_dns_subdomain(tls.secretName, f"spec.tls[{index}].secretName")
    if spec.ingressClassName is not None:
        yield from validate_dns_subdomain(spec.ingressClassName, "spec.ingressClassName")


def _validate_host(host: str, path: str) -> list[FieldError]:
    messages = wildcard_subdomain_errors(host) if "*" in host else dns1123_subdomain_errors(host)
    return [field.invalid(path, host, message) for message in messages]


def _validate_http(rule: views.IngressRule, path: str) -> FieldErrors:
    if rule.http is None:
        return
    if not rule.http.paths:
        yield field.required(f"{path}.http.paths")
    for index, one in enumerate(rule.http.paths):
        at = f"{path}.http.paths[{index}]"
        if one.pathType is None:
            yield field.required(f"{at}.pathType", "pathType must be specified")
            continue
        yield from _validate_path(one.path, one.pathType, at)
        yield from _validate_backend(one.backend, f"{at}.backend")


def _validate_path(path: str, kind: str, at: str) -> FieldErrors:
    if kind not in _PATH_TYPES:
        yield field.not_supported(f"{at}.pathType", AsJSON(kind), _PATH_TYPES)
        return
    is_free = kind == "ImplementationSpecific"
    if not path.startswith("/") and not (is_free and not path):
        yield field.invalid(f"{at}.path", path, "must be an absolute path")
    if not is_free:
        wrong = [f"must not contain '{piece}'" for piece in _FORBIDDEN_PARTS if piece in path]
        wrong += [f"cannot end with '{end}'" for end in _FORBIDDEN_ENDS if path.endswith(end)]
        yield from (field.invalid(f"{at}.path", path, detail) for detail in wrong)


def _validate_backend(backend: views.IngressBackend, path: str) -> FieldErrors:
    if backend.resource is not None and backend.service is not None:
        yield field.invalid(path, "", "cannot set both resource and service backends")
    elif backend.resource is not None:
        yield from validate_reference(backend.resource, f"{path}.resource")
    elif backend.service is not None:
        yield from _validate_service(backend.service, path)
    else:
        yield field.invalid(path, "", "resource or service backend is required")


def _validate_service(service: views.IngressServiceBackend, path: str) -> FieldErrors:
    if service.name:
        yield from validate_dns_label(service.name, f"{path}.service.name")
    else:
        yield field.required(f"{path}.service.name")
    port = service.port
    if port.name and port.number:
        yield field.invalid(path, "", "cannot set both port name & port number")
    elif port.name:
        at = f"{path}.service.port.name"
        yield from (field.invalid(at, port.name, message) for message in port_name_errors(port.name))
    elif port.number:
        yield from validate_port_number(port.number, f"{path}.service.port.number")
    else:
        yield field.required(path, "port name or number is required")


def validate_reference(
    reference: TypedLocalObjectReference | views.IngressClassParametersReference, path: str
) -> FieldErrors:
    """Check the group, kind and name of an object that is referred to."""
    if reference.apiGroup is not None:
        yield from validate_dns_subdomain(reference.apiGroup, f"{path}.apiGroup")
    yield from validate_path_segment(reference.kind, f"{path}.kind")
    yield from validate_path_segment(reference.name, f"{path}.name")


def validate_path_segment(value: str, path: str) -> list[FieldError]:
    if not value:
        return [field.required(path)]
    return [field.invalid(path, value, message) for message in path_segment_errors(value)]


def validate_ingress_class(ingress_class: views.IngressClass, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(ingress_class.metadata, "metadata", namespaced=False)
    controller = ingress_class.spec.controller
    if byte_length(controller) > _MAX_CONTROLLER_LENGTH:
        yield field.too_long("spec.controller", _MAX_CONTROLLER_LENGTH)
    yield from _validate_prefixed_path(controller, "spec.controller")
    if ingress_class.spec.parameters is not None:
        yield from _validate_parameters(ingress_class.spec.parameters, "spec.parameters")


def validate_ingress_class_update(
    new: views.IngressClass, old: views.IngressClass, options: ValidationOptions
) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from validate_immutable(new.spec.controller, old.spec.controller, "spec.controller")
    yield from validate_ingress_class(new, options)


def _validate_prefixed_path(value: str, path: str) -> FieldErrors:
    if not value:
        yield field.required(path)
        return
    domain, _, rest = value.partition("/")
    if not domain or not rest:
        yield field.invalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")')
        return
    yield from validate_dns_subdomain(domain, path)
    if not _is_http_path(rest):
        yield field.invalid(path, rest, regex_error("Invalid path", _HTTP_PATH))


def _validate_parameters(parameters: views.IngressClassParametersReference, path: str) -> FieldErrors:
    yield from validate_reference(parameters, path)
    scope, namespace = parameters.scope, parameters.namespace
    if scope is None:
        yield field.required(f"{path}.scope")
    elif scope not in _SCOPES:
        yield field.not_supported(f"{path}.scope", scope, _SCOPES)
    elif scope == "Namespace" and namespace is None:
        yield field.required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'")
    elif scope == "Namespace" and namespace is not None:
        yield from validate_dns_label(namespace, f"{path}.namespace")
    elif namespace is not None:
        yield field.forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'")


def _validate_ingress_status(new: views.Ingress, old: views.Ingress, gates: GateSet) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    known = {point.ip for point in old.status.loadBalancer.ingress}
    for index, point in enumerate(new.status.loadBalancer.ingress):
        path = f"status.loadBalancer.ingress[{index}]"
        if point.ip and point.ip not in known:
            yield from validate_ip_address(point.ip, f"{path}.ip")
        if point.hostname:
            yield from validate_dns_subdomain(point.hostname, f"{path}.hostname")
            if is_ip_address(point.hostname):
                yield field.invalid(f"{path}.hostname", point.hostname, NOT_AN_ADDRESS)


def _ingress_warnings(ingress: views.Ingress) -> list[str]:
    if CLASS_ANNOTATION not in ingress.metadata.annotations or ingress.spec.ingressClassName is not None:
        return []
    return [f"annotation \"{CLASS_ANNOTATION}\" is deprecated, please use 'spec.ingressClassName' instead"]


def validate_address(address: IPAddress, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(address.metadata, "metadata", namespaced=False, name_rule=address_errors)
    parent = address.spec.parentRef
    if parent is None:
        yield field.required("spec.parentRef")
        return
    if parent.group:
        yield from validate_dns_subdomain(parent.group, "spec.parentRef.group")
    yield from validate_path_segment(parent.resource, "spec.parentRef.resource")
    yield from validate_path_segment(parent.name, "spec.parentRef.name")
    if parent.namespace:
        yield from validate_path_segment(parent.namespace, "spec.parentRef.namespace")


def validate_address_update(new: IPAddress, old: IPAddress, options: ValidationOptions) -> FieldErrors:
    yield from validate_address(new, options)
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    if new.spec.parentRef != old.spec.parentRef:
        yield field.invalid("spec.parentRef", AsJSON(internal_form(new.spec.parentRef)), FIELD_IS_IMMUTABLE)


def validate_service_cidr(service_cidr: ServiceCIDR, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(service_cidr.metadata, "metadata", namespaced=False)
    yield from _validate_ranges(service_cidr)


def _validate_ranges(service_cidr: ServiceCIDR) -> FieldErrors:
    path, ranges = "spec.cidrs", service_cidr.spec.cidrs
    if not ranges:
        yield field.required(path, "at least one CIDR required")
        return
    if len(ranges) > 2:
        yield field.invalid(path, AsJSON(internal_form(service_cidr.spec)), "may only hold up to 2 values")
        return
    for index, text in enumerate(ranges):
        messages = canonical_cidr_errors(text)
        yield from (field.invalid(f"{path}[{index}]", text, message) for message in messages)
    families = [cidr_family(*parsed) for parsed in map(parse_cidr, ranges) if parsed is not None]
    if len(families) == 2 and families[0] == families[1]:
        detail = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        yield field.invalid(path, AsJSON(ranges), detail)


def validate_service_cidr_update(new: ServiceCIDR, old: ServiceCIDR, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    after, before = new.spec.cidrs, old.spec.cidrs
    if len(after) == len(before):
        for index, (now, then) in enumerate(zip(after, before, strict=True)):
            if now != then:
                yield field.invalid(f"spec.cidrs[{index}]", now, FIELD_IS_IMMUTABLE)
    elif len(before) == 1 and len(after) == 2:
        if after[0] != before[0]:
            yield field.invalid("spec.cidrs[0]", after[0], FIELD_IS_IMMUTABLE)
        yield from _validate_ranges(new)
    else:
        yield field.invalid("spec.cidrs", AsJSON(after), FIELD_IS_IMMUTABLE)


ROWS: Rows = {
    views.Ingress: KindRow(
        validate_ingress,
        validate_ingress_update,
        prepare=strategies.prepare_counted,
        validate_status=_validate_ingress_status,
        has_generation=True,
        warnings=_ingress_warnings,
    ),
    views.IngressClass: KindRow(
        validate_ingress_class,
        validate_ingress_class_update,
        defaults.default_ingress_class,
        strategies.prepare_counted,
        has_generation=True,
    ),
    IPAddress: KindRow(validate_address, validate_address_update),
    ServiceCIDR: KindRow(
        validate_service_cidr,
        validate_service_cidr_update,
        prepare=strategies.prepare_first_status,
        validate_status=ungated(validate_only_metadata),
    ),
}
