"""Projected volumes: several sources in one directory, whose files must not collide.

In: a `ProjectedVolumeSource`. Out: field errors. Kubernetes: validateProjectedVolumeSource, validateProjectionSources,
and pkg/apis/core/validation/names.go for signers.
"""

from moorage.admit.options import ValidationOptions
from moorage.admit.pod.volumes.paths import validate_local_path
from moorage.admit.pod.volumes.signers import (
    is_kubernetes_signer,
    trust_bundle_name_errors,
    validate_signer_name,
    validate_user_annotations,
)
from moorage.admit.pod.volumes.volume_files import validate_downward_file, validate_key_to_path, validate_mode
from moorage.admit.scheduling.label_selectors import validate_label_selector
from moorage.model.field_error import AsJSON, FieldError, forbidden, invalid, not_supported, required
from moorage.model.go.quoting import GoStruct
from moorage.model.types.meta import LabelSelector
from moorage.model.types.volume_sources import (
    ClusterTrustBundleProjection,
    ConfigMapProjection,
    PodCertificateProjection,
    ProjectedVolumeSource,
    SecretProjection,
    ServiceAccountTokenProjection,
    VolumeProjection,
)

_SHORTEST_TOKEN, _MAX_TOKEN_LENGTH = 10 * 60, 1 << 32
_KEY_TYPES = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
_SHORTEST_CERTIFICATE = 3600
_MAX_CERTIFICATE_LENGTH, _MAX_KUBERNETES_CERTIFICATE_LENGTH = 91 * 24 * 3600, 24 * 3600
_COLLISION = "conflicting duplicate paths"
_NO_FILE = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"


def validate_projected(source: ProjectedVolumeSource, path: str, options: ValidationOptions) -> list[FieldError]:
    errors = validate_mode(source.defaultMode, f"{path}.defaultMode")
    taken: set[str] = set()
    for index, projection in enumerate(source.sources):
        errors += _validate_projection(projection, f"{path}.sources[{index}]", path, taken, options)
    return errors


def _validate_projection(
    source: VolumeProjection, path: str, volume_path: str, taken: set[str], options: ValidationOptions
) -> list[FieldError]:
    """`taken` has the files of the sources before, and gets this one's."""
    errors: list[FieldError] = []
    kinds = 0
    if source.secret is not None:
        kinds += 1
        errors += _validate_items(source.secret, f"{path}.secret", volume_path, taken)
    if source.configMap is not None:
        kinds += 1
        errors += _validate_items(source.configMap, f"{path}.configMap", volume_path, taken)
    if source.downwardAPI is not None:
        kinds += 1
        for file in source.downwardAPI.items:
            errors += validate_downward_file(file, f"{path}.downwardAPI")
            if file.path:
                errors += _take(file.path, file.path, volume_path, taken)
    if source.serviceAccountToken is not None:
        kinds += 1
        errors += _validate_token(source.serviceAccountToken, f"{path}.serviceAccountToken", volume_path, options)
    if source.clusterTrustBundle is not None:
        kinds += 1
        errors += _validate_trust_bundle(source.clusterTrustBundle, f"{path}.clusterTrustBundle")
        errors += _take(source.clusterTrustBundle.path, source.clusterTrustBundle.path, volume_path, taken)
    if source.podCertificate is not None:
        kinds += 1
        errors += _validate_certificate(source.podCertificate, f"{path}.podCertificate", volume_path, taken)
    if kinds > 1:
        errors.append(forbidden(path, "may not specify more than 1 volume type per source"))
    return errors


def _take(file: str, shown: str, volume_path: str, taken: set[str]) -> list[FieldError]:
    if file in taken:
        return [invalid(volume_path, shown, _COLLISION)]
    taken.add(file)
    return []


def _validate_items(
    source: SecretProjection | ConfigMapProjection, path: str, volume_path: str, taken: set[str]
) -> list[FieldError]:
    errors = [] if source.name else [required(f"{path}.name")]
    for index, item in enumerate(source.items):
        errors += validate_key_to_path(item, f"{path}.items[{index}]")
        if item.path:
            errors += _take(item.path, source.name, volume_path, taken)
    return errors


def _validate_token(
    token: ServiceAccountTokenProjection, path: str, volume_path: str, options: ValidationOptions
) -> list[FieldError]:
    """Upstream reports the token's path at the volume's path."""
    errors: list[FieldError] = []
    seconds = token.expirationSeconds or 0
    if seconds < _SHORTEST_TOKEN:
        detail = "may not specify a duration less than 10 minutes"
        errors.append(invalid(f"{path}.expirationSeconds", seconds, detail))
    if seconds > _MAX_TOKEN_LENGTH:
        detail = "may not specify a duration larger than 2^32 seconds"
        errors.append(invalid(f"{path}.expirationSeconds", seconds, detail))
    if not token.path:
        errors.append(required(f"{volume_path}.path"))
    elif not options.allow_non_local_projected_token_path:
        errors += validate_local_path(token.path, f"{volume_path}.path")
    return errors


def _validate_trust_bundle(bundle: ClusterTrustBundleProjection, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    name, signer = bundle.name, bundle.signerName
    if name is not None and signer is not None:
        detail = "only one of name and signerName may be used"
        errors.append(invalid(path, AsJSON(_shown_bundle(bundle)), detail))
    elif name is not None:
        if not name:
            errors.append(required(f"{path}.name", "must be a valid object name"))
        for message in trust_bundle_name_errors(name):
            errors.append(invalid(f"{path}.name", name, f"not a valid clustertrustbundlename: {message}"))
        if bundle.labelSelector is not None:
            detail = "labelSelector must be unset if name is specified"
            errors.append(invalid(f"{path}.labelSelector", AsJSON(_shown_selector(bundle.labelSelector)), detail))
    elif signer is not None:
        if not signer:
            errors.append(required(f"{path}.signerName", "must be a valid signer name"))
        errors += validate_signer_name(signer, f"{path}.signerName")
        errors += validate_label_selector(bundle.labelSelector, f"{path}.labelSelector")
    else:
        errors.append(required(path, "either name or signerName must be specified"))
    if not bundle.path:
        errors.append(required(f"{path}.path"))
    return errors + validate_local_path(bundle.path, f"{path}.path")


def _shown_bundle(bundle: ClusterTrustBundleProjection) -> GoStruct:
    return GoStruct(
        Name=bundle.name,
        SignerName=bundle.signerName,
        LabelSelector=None if bundle.labelSelector is None else _shown_selector(bundle.labelSelector),
        Optional=bundle.optional,
        Path=bundle.path,
    )


def _shown_selector(selector: LabelSelector) -> GoStruct:
    shown = GoStruct()
    if selector.matchLabels:
        shown["matchLabels"] = dict(selector.matchLabels)
    if selector.matchExpressions:
        shown["matchExpressions"] = [
            GoStruct(key=one.key, operator=one.operator, **({"values": list(one.values)} if one.values else {}))
            for one in selector.matchExpressions
        ]
    return shown


def _validate_certificate(
    certificate: PodCertificateProjection, path: str, volume_path: str, taken: set[str]
) -> list[FieldError]:
    errors = validate_signer_name(certificate.signerName, f"{path}.signerName")
    if certificate.userAnnotations:
        errors += validate_user_annotations(certificate.userAnnotations, f"{path}.userAnnotations")
    if certificate.keyType not in _KEY_TYPES:
        errors.append(not_supported(f"{path}.keyType", certificate.keyType, _KEY_TYPES))
    seconds = certificate.maxExpirationSeconds
    if seconds is not None:
        kubernetes = is_kubernetes_signer(certificate.signerName)
        longest = _MAX_KUBERNETES_CERTIFICATE_LENGTH if kubernetes else _MAX_CERTIFICATE_LENGTH
        at, words = f"{path}.maxExpirationSeconds", "if provided, maxExpirationSeconds must be"
        if seconds < _SHORTEST_CERTIFICATE:
            errors.append(invalid(at, seconds, f"{words} >= {_SHORTEST_CERTIFICATE}"))
        if seconds > longest:
            errors.append(invalid(at, seconds, f"{words} <= {longest}"))
    files = 0
    for field in ("credentialBundlePath", "keyPath", "certificateChainPath"):
        file = getattr(certificate, field)
        if file:
            files += 1
            errors += validate_local_path(file, f"{path}.{field}")
            errors += _take(file, file, volume_path, taken)
    if not files:
        errors.append(required(path, _NO_FILE))
    return errors
