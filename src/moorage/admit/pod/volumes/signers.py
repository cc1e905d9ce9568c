"""Names of certificate signers and of the trust bundles they publish.

In: a name. Out: field errors or messages. Kubernetes: pkg/apis/core/validation/names.go, ValidateUserAnnotations.
"""

from collections.abc import Mapping

from moorage.admit.metadata import ANNOTATIONS_SIZE_LIMIT, NameRule
from moorage.model.field_error import FieldError, invalid, required, too_long
from moorage.model.go.quoting import go_quote
from moorage.model.names import byte_length, dns1123_label_errors, dns1123_subdomain_errors, label_key_errors

_DOMAIN_LIMIT = 253
_NAME_LIMIT = _DOMAIN_LIMIT + 1 + 253 + 63 + 1


def is_kubernetes_signer(name: str) -> bool:
    host = name.partition("/")[0]
    return host == "kubernetes.io" or host.endswith(".kubernetes.io")


def validate_signer_name(name: str, path: str) -> list[FieldError]:
    """A domain of at least two labels, one slash, and a path of DNS names."""
    if not name:
        return [required(path)]
    segments = name.split("/")
    if len(segments) != 2:
        detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [invalid(path, name, detail)]
    domain, resource = segments
    errors: list[FieldError] = []
    if byte_length(domain) > _DOMAIN_LIMIT:
        errors.append(too_long(path, _DOMAIN_LIMIT))
    labels = domain.split(".")
    errors += _first_complaints(labels, domain, path, dns=dns1123_label_errors)
    if len(labels) < 2:
        errors.append(invalid(path, domain, "should be a domain with at least two segments separated by dots"))
    errors += _first_complaints(resource.split("."), resource, path, dns=dns1123_subdomain_errors)
    if byte_length(name) > _NAME_LIMIT:
        errors.append(too_long(path, _NAME_LIMIT))
    return errors


def _first_complaints(labels: list[str], whole: str, path: str, *, dns: NameRule) -> list[FieldError]:
    """Only the first bad label is reported; the others would read the same."""
    for label in labels:
        if messages := dns(label):
            return [invalid(path, whole, f"validating label {go_quote(label)}: {message}") for message in messages]
    return []


def trust_bundle_name_errors(name: str) -> list[str]:
    """`signer:domain:name` for a signer's bundle, a DNS subdomain for one without signer."""
    prefix, colon, own_name = name.rpartition(":")
    if not colon:
        return dns1123_subdomain_errors(name)
    signer = prefix.replace(":", "/")
    if not signer:
        return ['ClusterTrustBundle without signer name must not have ":" in its name']
    required_prefix = signer.replace("/", ":") + ":"
    if not name.startswith(required_prefix):
        return [f"ClusterTrustBundle for signerName {signer} must be named with prefix {required_prefix}"]
    return dns1123_subdomain_errors(own_name)


def validate_user_annotations(annotations: Mapping[str, str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for key in sorted(annotations):
        errors += _validate_prefixed_key(key.lower(), path)
    if sum(byte_length(key) + byte_length(value) for key, value in annotations.items()) > ANNOTATIONS_SIZE_LIMIT:
        errors.append(too_long(path, ANNOTATIONS_SIZE_LIMIT))
    return errors


def _validate_prefixed_key(key: str, path: str) -> list[FieldError]:
    if not key:
        return [required(path)]
    if messages := label_key_errors(key):
        return [invalid(path, key, message) for message in messages]
    return [] if "/" in key else [invalid(path, key, 'must be a domain-prefixed key (such as "acme.io/foo")')]
