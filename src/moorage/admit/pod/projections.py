"""Validate volumes of files: ConfigMaps, Secrets, the downward API, directories, and projected volumes.

Kubernetes: the validate*VolumeSource functions of pkg/apis/core/validation, validateProjectionSources, names.go for
signers, validateLocalDescendingPath.
"""

from collections.abc import Mapping

from msgspec.structs import astuple

from moorage.admit.messages.rejections import internal_form
from moorage.admit.metadata import ANNOTATIONS_SIZE_LIMIT, NameRule, validate_label_selector
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.environment import FIELDS_FOR_FILES, validate_field_selector, validate_resource_selector
from moorage.admit.pod.shared import validate_local_path, validate_no_backsteps
from moorage.model import field_error as field
from moorage.model.field_error import AsJSON, FieldError, FieldErrors
from moorage.model.go.quoting import go_quote
from moorage.model.names import byte_length, dns1123_label_errors, dns1123_subdomain_errors, label_key_errors
from moorage.model.text.readers import reads_text
from moorage.model.types import volume_sources as sources

_HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_NOT_A_MODE = "must be a number between 0 and 0777 (octal), both inclusive"


def validate_empty_dir(source: sources.EmptyDirVolumeSource, path: str, _: ValidationOptions) -> list[FieldError]:
    if source.sizeLimit is not None and source.sizeLimit.sign() < 0:
        return [field.forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")]
    return []


def validate_host_path(source: sources.HostPathVolumeSource, path: str, _: ValidationOptions) -> FieldErrors:
    if not source.path:
        yield field.required(f"{path}.path")
        return
    yield from validate_no_backsteps(source.path, f"{path}.path")
    yield from field.one_of(source.type, _HOST_PATH_TYPES, f"{path}.type")


def validate_secret(source: sources.SecretVolumeSource, path: str, _: ValidationOptions) -> FieldErrors:
    if not source.secretName:
        yield field.required(f"{path}.secretName")
    yield from _validate_files(source, path)


def validate_config_map(source: sources.ConfigMapVolumeSource, path: str, _: ValidationOptions) -> FieldErrors:
    if not source.name:
        yield field.required(f"{path}.name")
    yield from _validate_files(source, path)


def _validate_files(source: sources.SecretVolumeSource | sources.ConfigMapVolumeSource, path: str) -> FieldErrors:
    yield from validate_mode(source.defaultMode, f"{path}.defaultMode")
    for index, item in enumerate(source.items):
        yield from validate_key_to_path(item, f"{path}.items[{index}]")


def validate_downward_api(source: sources.DownwardAPIVolumeSource, path: str, _: ValidationOptions) -> FieldErrors:
    """Upstream reports every file at the source's path, without its index."""
    yield from validate_mode(source.defaultMode, f"{path}.defaultMode")
    for file in source.items:
        yield from validate_downward_file(file, path)


def validate_downward_file(file: sources.DownwardAPIVolumeFile, path: str) -> list[FieldError]:
    errors = [] if file.path else [field.required(f"{path}.path")]
    errors += validate_local_path(file.path, f"{path}.path")
    if file.fieldRef is not None:
        errors += validate_field_selector(file.fieldRef, f"{path}.fieldRef", FIELDS_FOR_FILES)
        if file.resourceFieldRef is not None:
            detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(field.invalid(path, "resource", detail))
    elif file.resourceFieldRef is not None:
        errors += validate_resource_selector(file.resourceFieldRef, f"{path}.resourceFieldRef", in_volume=True)
    else:
        errors.append(field.required(path, "one of fieldRef and resourceFieldRef is required"))
    return errors + validate_mode(file.mode, f"{path}.mode")


def validate_key_to_path(item: sources.KeyToPath, path: str) -> list[FieldError]:
    errors = [] if item.key else [field.required(f"{path}.key")]
    if not item.path:
        errors.append(field.required(f"{path}.path"))
    errors += validate_local_path(item.path, f"{path}.path")
    return errors + validate_mode(item.mode, f"{path}.mode")


def validate_mode(mode: int | None, path: str) -> list[FieldError]:
    return [] if mode is None or 0 <= mode <= 0o777 else [field.invalid(path, mode, _NOT_A_MODE)]


_DOMAIN_LIMIT = 253
_NAME_LIMIT = _DOMAIN_LIMIT + 1 + 253 + 63 + 1


def is_kubernetes_signer(name: str) -> bool:
    host = name.partition("/")[0]
    return host == "kubernetes.io" or host.endswith(".kubernetes.io")


@reads_text("a", "A", "1", "-", "_", ".", "/", "*", " ", arguments=("",))
def validate_signer_name(name: str, path: str) -> FieldErrors:
    """Check a domain of at least two labels, one slash, and a path of DNS names."""
    if not name:
        yield field.required(path)
        return
    segments = name.split("/")
    if len(segments) != 2:
        detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        yield field.invalid(path, name, detail)
        return
    domain, resource = segments
    if byte_length(domain) > _DOMAIN_LIMIT:
        yield field.too_long(path, _DOMAIN_LIMIT)
    labels = domain.split(".")
    yield from _first_complaints(labels, domain, path, dns=dns1123_label_errors)
    if len(labels) < 2:
        yield field.invalid(path, domain, "should be a domain with at least two segments separated by dots")
    yield from _first_complaints(resource.split("."), resource, path, dns=dns1123_subdomain_errors)
    if byte_length(name) > _NAME_LIMIT:
        yield field.too_long(path, _NAME_LIMIT)


def _first_complaints(labels: list[str], whole: str, path: str, *, dns: NameRule) -> list[FieldError]:
    """Only the first bad label is reported; the others would read the same."""
    for label in labels:
        if messages := dns(label):
            return [
                field.invalid(path, whole, f"validating label {go_quote(label)}: {message}") for message in messages
            ]
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


def validate_user_annotations(annotations: Mapping[str, str], path: str) -> FieldErrors:
    for key in sorted(annotations):
        yield from _validate_prefixed_key(key.lower(), path)
    if sum(byte_length(key) + byte_length(value) for key, value in annotations.items()) > ANNOTATIONS_SIZE_LIMIT:
        yield field.too_long(path, ANNOTATIONS_SIZE_LIMIT)


def _validate_prefixed_key(key: str, path: str) -> list[FieldError]:
    if not key:
        return [field.required(path)]
    if messages := label_key_errors(key):
        return [field.invalid(path, key, message) for message in messages]
    return [] if "/" in key else [field.invalid(path, key, 'must be a domain-prefixed key (such as "acme.io/foo")')]


_SHORTEST_TOKEN, _MAX_TOKEN_LENGTH = 10 * 60, 1 << 32
_KEY_TYPES = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
_SHORTEST_CERTIFICATE = 3600
_MAX_CERTIFICATE_LENGTH, _MAX_KUBERNETES_CERTIFICATE_LENGTH = 91 * 24 * 3600, 24 * 3600
_COLLISION = "conflicting duplicate paths"
_NO_FILE = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"


def validate_projected(source: sources.ProjectedVolumeSource, path: str, options: ValidationOptions) -> FieldErrors:
    yield from validate_mode(source.defaultMode, f"{path}.defaultMode")
    taken: set[str] = set()
    for index, projection in enumerate(source.sources):
        yield from _validate_projection(projection, f"{path}.sources[{index}]", path, taken, options)


def _validate_projection(
    source: sources.VolumeProjection, path: str, volume_path: str, taken: set[str], options: ValidationOptions
) -> FieldErrors:
    """`taken` has the files of the sources before, and gets this one's."""
    if source.secret is not None:
        yield from _validate_items(source.secret, f"{path}.secret", volume_path, taken)
    if source.configMap is not None:
        yield from _validate_items(source.configMap, f"{path}.configMap", volume_path, taken)
    if source.downwardAPI is not None:
        for file in source.downwardAPI.items:
            yield from validate_downward_file(file, f"{path}.downwardAPI")
            if file.path:
                yield from _take(file.path, file.path, volume_path, taken)
    if source.serviceAccountToken is not None:
        yield from _validate_token(source.serviceAccountToken, f"{path}.serviceAccountToken", volume_path, options)
    if source.clusterTrustBundle is not None:
        yield from _validate_trust_bundle(source.clusterTrustBundle, f"{path}.clusterTrustBundle")
        yield from _take(source.clusterTrustBundle.path, source.clusterTrustBundle.path, volume_path, taken)
    if source.podCertificate is not None:
        yield from _validate_certificate(source.podCertificate, f"{path}.podCertificate", volume_path, taken)
    if sum(given is not None for given in astuple(source)) > 1:
        yield field.forbidden(path, "may not specify more than 1 volume type per source")


def _take(file: str, shown: str, volume_path: str, taken: set[str]) -> list[FieldError]:
    if file in taken:
        return [field.invalid(volume_path, shown, _COLLISION)]
    taken.add(file)
    return []


def _validate_items(
    source: sources.SecretProjection | sources.ConfigMapProjection, path: str, volume_path: str, taken: set[str]
) -> FieldErrors:
    if not source.name:
        yield field.required(f"{path}.name")
    for index, item in enumerate(source.items):
        yield from validate_key_to_path(item, f"{path}.items[{index}]")
        if item.path:
            yield from _take(item.path, source.name, volume_path, taken)


def _validate_token(
    token: sources.ServiceAccountTokenProjection, path: str, volume_path: str, options: ValidationOptions
) -> FieldErrors:
    """Upstream reports the token's path at the volume's path."""
    yield from validate_token_seconds(token.expirationSeconds or 0, f"{path}.expirationSeconds")
    if not token.path:
        yield field.required(f"{volume_path}.path")
    elif not options.allow_non_local_projected_token_path:
        yield from validate_local_path(token.path, f"{volume_path}.path")


def validate_token_seconds(seconds: int, path: str) -> FieldErrors:
    if seconds < _SHORTEST_TOKEN:
        yield field.invalid(path, seconds, "may not specify a duration less than 10 minutes")
    if seconds > _MAX_TOKEN_LENGTH:
        yield field.invalid(path, seconds, "may not specify a duration larger than 2^32 seconds")


def _validate_trust_bundle(bundle: sources.ClusterTrustBundleProjection, path: str) -> FieldErrors:
    name, signer = bundle.name, bundle.signerName
    if name is not None and signer is not None:
        yield field.invalid(path, AsJSON(internal_form(bundle)), "only one of name and signerName may be used")
    elif name is not None:
        if not name:
            yield field.required(f"{path}.name", "must be a valid object name")
        for message in trust_bundle_name_errors(name):
            yield field.invalid(f"{path}.name", name, f"not a valid clustertrustbundlename: {message}")
        if bundle.labelSelector is not None:
            detail = "labelSelector must be unset if name is specified"
            yield field.invalid(f"{path}.labelSelector", AsJSON(internal_form(bundle.labelSelector)), detail)
    elif signer is not None:
        if not signer:
            yield field.required(f"{path}.signerName", "must be a valid signer name")
        yield from validate_signer_name(signer, f"{path}.signerName")
        yield from validate_label_selector(bundle.labelSelector, f"{path}.labelSelector")
    else:
        yield field.required(path, "either name or signerName must be specified")
    if not bundle.path:
        yield field.required(f"{path}.path")
    yield from validate_local_path(bundle.path, f"{path}.path")


def _validate_certificate(
    certificate: sources.PodCertificateProjection, path: str, volume_path: str, taken: set[str]
) -> FieldErrors:
    yield from validate_signer_name(certificate.signerName, f"{path}.signerName")
    if certificate.userAnnotations:
        yield from validate_user_annotations(certificate.userAnnotations, f"{path}.userAnnotations")
    if certificate.keyType not in _KEY_TYPES:
        yield field.not_supported(f"{path}.keyType", certificate.keyType, _KEY_TYPES)
    seconds = certificate.maxExpirationSeconds
    if seconds is not None:
        kubernetes = is_kubernetes_signer(certificate.signerName)
        longest = _MAX_KUBERNETES_CERTIFICATE_LENGTH if kubernetes else _MAX_CERTIFICATE_LENGTH
        at, words = f"{path}.maxExpirationSeconds", "if provided, maxExpirationSeconds must be"
        if seconds < _SHORTEST_CERTIFICATE:
            yield field.invalid(at, seconds, f"{words} >= {_SHORTEST_CERTIFICATE}")
        if seconds > longest:
            yield field.invalid(at, seconds, f"{words} <= {longest}")
    files = 0
    for name in ("credentialBundlePath", "keyPath", "certificateChainPath"):
        file = getattr(certificate, name)
        if file:
            files += 1
            yield from validate_local_path(file, f"{path}.{name}")
            yield from _take(file, file, volume_path, taken)
    if not files:
        yield field.required(path, _NO_FILE)
