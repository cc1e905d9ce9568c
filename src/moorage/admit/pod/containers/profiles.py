"""Seccomp and AppArmor: profiles in fields, profiles in the annotations that came before them, and whether both agree.

In: profiles of pods and containers, annotations. Out: field errors. Kubernetes: validateSeccompProfileField,
ValidateAppArmorProfileField, ValidateSeccompPodAnnotations, ValidateAppArmorPodAnnotations,
validateSeccompAnnotationsAndFields, validateAppArmorAnnotationsAndFieldsMatchOnCreate.
"""

from collections.abc import Mapping

from moorage.admit.pod.go_space import trim_space
from moorage.admit.pod.visiting import all_containers, containers_with_paths
from moorage.admit.pod.volumes.paths import validate_descending_path
from moorage.model.field_error import AsJSON, FieldError, forbidden, invalid, not_supported, required, too_long
from moorage.model.go.quoting import GoStruct, go_quote
from moorage.model.names import byte_length
from moorage.model.types.container import AppArmorProfile, SeccompProfile
from moorage.model.types.pod import PodSpec

SECCOMP_POD_ANNOTATION = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER_PREFIX = "container.seccomp.security.alpha.kubernetes.io/"
APPARMOR_CONTAINER_PREFIX = "container.apparmor.security.beta.kubernetes.io/"
_PROFILE_ANNOTATIONS = (SECCOMP_POD_ANNOTATION, SECCOMP_CONTAINER_PREFIX, APPARMOR_CONTAINER_PREFIX)
_TYPES = ("Localhost", "RuntimeDefault", "Unconfined")
LOCALHOST_PREFIX = "localhost/"
_LOCALHOST_LIMIT = 4095
_SECCOMP_DEFAULTS = ("runtime/default", "docker/default")
_APPARMOR_DEFAULT = "runtime/default"
_UNCONFINED = "unconfined"


def validate_seccomp_profile(profile: SeccompProfile, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if not profile.type:
        errors.append(required(f"{path}.type", "type is required when seccompProfile is set"))
    elif profile.type not in _TYPES:
        errors.append(not_supported(f"{path}.type", AsJSON(profile.type), _TYPES))
    localhost_path = f"{path}.localhostProfile"
    if profile.type == "Localhost":
        if profile.localhostProfile is None:
            errors.append(required(localhost_path, "must be set when seccomp type is Localhost"))
        else:
            errors += validate_descending_path(profile.localhostProfile, localhost_path)
    elif profile.localhostProfile is not None:
        shown = GoStruct(Type=profile.type, LocalhostProfile=profile.localhostProfile)
        errors.append(invalid(localhost_path, AsJSON(shown), "can only be set when seccomp type is Localhost"))
    return errors


def validate_apparmor_profile(profile: AppArmorProfile, path: str) -> list[FieldError]:
    localhost = profile.localhostProfile
    localhost_path = f"{path}.localhostProfile"
    if profile.type == "Localhost":
        return _validate_apparmor_localhost(localhost, localhost_path)
    if not profile.type:
        return [required(f"{path}.type", "type is required when appArmorProfile is set")]
    if profile.type not in _TYPES:
        return [not_supported(f"{path}.type", AsJSON(profile.type), _TYPES)]
    if localhost is not None:
        return [invalid(localhost_path, AsJSON(localhost), "can only be set when AppArmor type is Localhost")]
    return []


def is_apparmor_localhost(name: str) -> bool:
    """Whether the name of a profile on the node is one that the field could hold."""
    return not _validate_apparmor_localhost(name, "")


def _validate_apparmor_localhost(name: str | None, path: str) -> list[FieldError]:
    if name is None:
        return [required(path, "must be set when AppArmor type is Localhost")]
    errors: list[FieldError] = []
    trimmed = trim_space(name)
    if trimmed != name:
        errors.append(invalid(path, name, "must not be padded with whitespace"))
    elif not trimmed:
        errors.append(required(path, "must be set when AppArmor type is Localhost"))
    if byte_length(name) > _LOCALHOST_LIMIT:
        errors.append(too_long(path, _LOCALHOST_LIMIT))
    return errors


def validate_profile_annotations(annotations: Mapping[str, str], spec: PodSpec, path: str) -> list[FieldError]:
    """The deprecated annotations: seccomp's are reported at a child of the path, AppArmor's at a key of it."""
    if not _speak_of_profiles(annotations):
        return []
    errors: list[FieldError] = []
    if SECCOMP_POD_ANNOTATION in annotations:
        errors += _validate_seccomp_annotation(annotations[SECCOMP_POD_ANNOTATION], f"{path}.{SECCOMP_POD_ANNOTATION}")
    for key in sorted(key for key in annotations if key.startswith(SECCOMP_CONTAINER_PREFIX)):
        errors += _validate_seccomp_annotation(annotations[key], f"{path}.{key}")
    container_names = {container.name for container in all_containers(spec)}
    for key in sorted(key for key in annotations if key.startswith(APPARMOR_CONTAINER_PREFIX)):
        container_name = key.removeprefix(APPARMOR_CONTAINER_PREFIX)
        if container_name not in container_names:
            errors.append(invalid(f"{path}[{key}]", container_name, "container not found"))
        profile = annotations[key]
        if profile not in ("", _APPARMOR_DEFAULT, _UNCONFINED) and not profile.startswith(LOCALHOST_PREFIX):
            detail = f"invalid AppArmor profile name: {go_quote(profile)}"
            errors.append(invalid(f"{path}[{key}]", profile, detail))
    return errors


def _speak_of_profiles(annotations: Mapping[str, str]) -> bool:
    return any(key.startswith(_PROFILE_ANNOTATIONS) for key in annotations)


def _validate_seccomp_annotation(profile: str, path: str) -> list[FieldError]:
    if profile in _SECCOMP_DEFAULTS or profile == _UNCONFINED:
        return []
    if profile.startswith(LOCALHOST_PREFIX):
        return validate_descending_path(profile.removeprefix(LOCALHOST_PREFIX), path)
    return [invalid(path, profile, "must be a valid seccomp profile")]


def validate_profiles_agree(annotations: Mapping[str, str], spec: PodSpec, path: str) -> list[FieldError]:
    """Where an annotation and a field speak of the same container, they must say the same."""
    if not _speak_of_profiles(annotations):
        return []
    errors: list[FieldError] = []
    pod = spec.securityContext
    if pod is not None and pod.seccompProfile is not None and SECCOMP_POD_ANNOTATION in annotations:
        at = f"{path}.securityContext.seccompProfile"
        errors += _compare_seccomp(annotations[SECCOMP_POD_ANNOTATION], pod.seccompProfile, at)
    for container, at in containers_with_paths(spec, path):
        key = f"{SECCOMP_CONTAINER_PREFIX}{container.name}"
        own = container.securityContext.seccompProfile if container.securityContext is not None else None
        if own is not None and key in annotations:
            errors += _compare_seccomp(annotations[key], own, f"{at}.securityContext.seccompProfile")
    if spec.os is not None and spec.os.name == "windows":
        return errors
    pod_profile = pod.appArmorProfile if pod is not None else None
    for container, at in containers_with_paths(spec, path):
        key = f"{APPARMOR_CONTAINER_PREFIX}{container.name}"
        if key not in annotations:
            continue
        context = container.securityContext
        profile = (
            context.appArmorProfile if context is not None and context.appArmorProfile is not None else pod_profile
        )
        if profile is not None:
            errors += _compare_apparmor(annotations[key], profile, f"{at}.securityContext.appArmorProfile")
    return errors


def _compare_seccomp(annotation: str, profile: SeccompProfile, path: str) -> list[FieldError]:
    return _compare(annotation, profile, path, "seccomp", _SECCOMP_DEFAULTS)


def _compare_apparmor(annotation: str, profile: AppArmorProfile, path: str) -> list[FieldError]:
    return _compare(annotation, profile, path, "apparmor", (_APPARMOR_DEFAULT,))


def _compare(
    annotation: str, profile: SeccompProfile | AppArmorProfile, path: str, word: str, defaults: tuple[str, ...]
) -> list[FieldError]:
    same_type = {
        "Unconfined": annotation == _UNCONFINED,
        "RuntimeDefault": annotation in defaults,
        "Localhost": annotation.startswith(LOCALHOST_PREFIX),
    }.get(profile.type, True)
    if not same_type:
        return [forbidden(f"{path}.type", f"{word} type in annotation and field must match")]
    if profile.type == "Localhost" and annotation.removeprefix(LOCALHOST_PREFIX) != profile.localhostProfile:
        return [forbidden(f"{path}.localhostProfile", f"{word} profile in annotation and field must match")]
    return []
