"""How a pod is named and resolves names: DNS policy and configuration, host aliases, hostnames.

In: a `PodSpec` or parts of it. Out: field errors. Kubernetes: validateDNSPolicy, validatePodDNSConfig,
ValidateHostAliases, validatePodHostName, with RelaxedDNSSearchValidation on as in 1.36.
"""

from moorage.admit.dns_names import validate_dns_subdomain
from moorage.admit.pod.ip_addresses import validate_ip_address
from moorage.model.field_error import AsJSON, FieldError, forbidden, invalid, not_supported, required, too_long
from moorage.model.names import byte_length, dns1123_subdomain_with_underscore_errors
from moorage.model.types.pod import HostAlias, PodDNSConfig, PodSpec

_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_NAMESERVERS_LIMIT = 3
_SEARCHES_LIMIT = 32
_SEARCH_CHARACTERS_LIMIT = 2048
_HOSTNAME_LIMIT = 64


def validate_dns_policy(policy: str, path: str) -> list[FieldError]:
    if policy in _POLICIES:
        return []
    return [not_supported(path, AsJSON(policy), _POLICIES)] if policy else [required(path)]


def validate_dns_config(config: PodDNSConfig | None, path: str, policy: str) -> list[FieldError]:
    if policy == "None":
        if config is None:
            return [required(path, "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not config.nameservers:
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            return [required(f"{path}.nameservers", detail)]
    if config is None:
        return []
    errors: list[FieldError] = []
    if len(config.nameservers) > _NAMESERVERS_LIMIT:
        detail = f"must not have more than {_NAMESERVERS_LIMIT} nameservers"
        errors.append(invalid(f"{path}.nameservers", list(config.nameservers), detail))
    for index, nameserver in enumerate(config.nameservers):
        errors += validate_ip_address(nameserver, f"{path}.nameservers[{index}]")
    if config.searches:
        errors += _validate_searches(config.searches, f"{path}.searches")
    for index, option in enumerate(config.options):
        if not option.name:
            errors.append(required(f"{path}.options[{index}]", "must not be empty"))
    return errors


def _validate_searches(searches: tuple[str, ...], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if len(searches) > _SEARCHES_LIMIT:
        errors.append(invalid(path, list(searches), f"must not have more than {_SEARCHES_LIMIT} search paths"))
    if byte_length(" ".join(searches)) > _SEARCH_CHARACTERS_LIMIT:
        limit = _SEARCH_CHARACTERS_LIMIT
        detail = f"must not have more than {limit} characters (including spaces) in the search list"
        errors.append(invalid(path, list(searches), detail))
    for index, search in enumerate(searches):
        if search != ".":
            domain = search.removesuffix(".")
            messages = dns1123_subdomain_with_underscore_errors(domain)
            errors += [invalid(f"{path}[{index}]", domain, message) for message in messages]
    return errors


def validate_host_aliases(aliases: tuple[HostAlias, ...], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, alias in enumerate(aliases):
        errors += validate_ip_address(alias.ip, f"{path}[{index}].ip")
        for name_index, hostname in enumerate(alias.hostnames):
            errors += validate_dns_subdomain(hostname, f"{path}[{index}].hostnames[{name_index}]")
    return errors


def validate_hostname_override(spec: PodSpec, path: str) -> list[FieldError]:
    hostname = spec.hostnameOverride
    if hostname is None:
        return []
    errors: list[FieldError] = []
    if spec.setHostnameAsFQDN:
        errors.append(forbidden(path, "may not be specified when setHostnameAsFQDN is true"))
    if spec.hostNetwork:
        errors.append(forbidden(path, "may not be specified when hostNetwork is true"))
    if byte_length(hostname) > _HOSTNAME_LIMIT:
        errors.append(too_long(path, _HOSTNAME_LIMIT))
    return errors + validate_dns_subdomain(hostname, path)
