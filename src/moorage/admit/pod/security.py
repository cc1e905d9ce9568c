"""Validate security contexts of containers and of the pod, seccomp and AppArmor profiles in fields and annotations.

Kubernetes: ValidateSecurityContext, validatePodSpecSecurityContext, validateSysctls, validateHostUsers,
validateSeccompProfileField, ValidateAppArmorProfileField and the rules for their annotations. Differs: upstream keeps
the host namespaces in the pod's security context internally; here they are read where the manifest has them.
"""

from collections.abc import Mapping

from moorage.admit.messages.rejections import internal_form
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.shared import all_containers, containers_with_paths, trim_space, validate_descending_path
from moorage.admit.pod.windows import validate_windows_options
from moorage.model import field_error as field
from moorage.model.field_error import AsJSON, FieldError, FieldErrors
from moorage.model.go.quoting import go_quote
from moorage.model.names import byte_length, in_range_errors
from moorage.model.text.patterns import whole
from moorage.model.types.container import AppArmorProfile, PodSecurityContext, SeccompProfile, SecurityContext, Sysctl
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


def validate_seccomp_profile(profile: SeccompProfile, path: str) -> FieldErrors:
    yield from field.required_one_of(
        profile.type, _TYPES, f"{path}.type", "type is required when seccompProfile is set"
    )
    localhost_path = f"{path}.localhostProfile"
    if profile.type == "Localhost":
        if profile.localhostProfile is None:
            yield field.required(localhost_path, "must be set when seccomp type is Localhost")
        else:
            yield from validate_descending_path(profile.localhostProfile, localhost_path)
    elif profile.localhostProfile is not None:
        detail = "can only be set when seccomp type is Localhost"
        yield field.invalid(localhost_path, AsJSON(internal_form(profile)), detail)


def validate_apparmor_profile(profile: AppArmorProfile, path: str) -> FieldErrors:
    localhost = profile.localhostProfile
    localhost_path = f"{path}.localhostProfile"
    if profile.type == "Localhost":
        return _validate_apparmor_localhost(localhost, localhost_path)
    if profile.type not in _TYPES:
        return field.required_one_of(
            profile.type, _TYPES, f"{path}.type", "type is required when appArmorProfile is set"
        )
    if localhost is not None:
        return [field.invalid(localhost_path, AsJSON(localhost), "can only be set when AppArmor type is Localhost")]
    return []


def is_apparmor_localhost(name: str) -> bool:
    """Return whether the name of a profile on the node is one that the field could hold."""
    return not any(_validate_apparmor_localhost(name, ""))


def _validate_apparmor_localhost(name: str | None, path: str) -> FieldErrors:
    if name is None:
        yield field.required(path, "must be set when AppArmor type is Localhost")
        return
    trimmed = trim_space(name)
    if trimmed != name:
        yield field.invalid(path, name, "must not be padded with whitespace")
    elif not trimmed:
        yield field.required(path, "must be set when AppArmor type is Localhost")
    if byte_length(name) > _LOCALHOST_LIMIT:
        yield field.too_long(path, _LOCALHOST_LIMIT)


def validate_profile_annotations(annotations: Mapping[str, str], spec: PodSpec, path: str) -> FieldErrors:
    """Check deprecated annotations: seccomp's are reported at a child of the path, AppArmor's at a key of it."""
    if not _speak_of_profiles(annotations):
        return
    if SECCOMP_POD_ANNOTATION in annotations:
        yield from _validate_seccomp_annotation(annotations[SECCOMP_POD_ANNOTATION], f"{path}.{SECCOMP_POD_ANNOTATION}")
    for key in sorted(key for key in annotations if key.startswith(SECCOMP_CONTAINER_PREFIX)):
        yield from _validate_seccomp_annotation(annotations[key], f"{path}.{key}")
    container_names = {container.name for container in all_containers(spec)}
    for key in sorted(key for key in annotations if key.startswith(APPARMOR_CONTAINER_PREFIX)):
        container_name = key.removeprefix(APPARMOR_CONTAINER_PREFIX)
        if container_name not in container_names:
            yield field.invalid(f"{path}[{key}]", container_name, "container not found")
        profile = annotations[key]
        if profile not in ("", _APPARMOR_DEFAULT, _UNCONFINED) and not profile.startswith(LOCALHOST_PREFIX):
            yield field.invalid(f"{path}[{key}]", profile, f"invalid AppArmor profile name: {go_quote(profile)}")


def _speak_of_profiles(annotations: Mapping[str, str]) -> bool:
    return any(key.startswith(_PROFILE_ANNOTATIONS) for key in annotations)


def _validate_seccomp_annotation(profile: str, path: str) -> list[FieldError]:
    if profile in _SECCOMP_DEFAULTS or profile == _UNCONFINED:
        return []
    if profile.startswith(LOCALHOST_PREFIX):
        return validate_descending_path(profile.removeprefix(LOCALHOST_PREFIX), path)
    return [field.invalid(path, profile, "must be a valid seccomp profile")]


def validate_profiles_agree(annotations: Mapping[str, str], spec: PodSpec, path: str) -> FieldErrors:
    """Check that annotation and field of the same container agree."""
    if not _speak_of_profiles(annotations):
        return
    pod = spec.securityContext
    if pod is not None and pod.seccompProfile is not None and SECCOMP_POD_ANNOTATION in annotations:
        at = f"{path}.securityContext.seccompProfile"
        yield from _compare(annotations[SECCOMP_POD_ANNOTATION], pod.seccompProfile, at, "seccomp", _SECCOMP_DEFAULTS)
    for container, at in containers_with_paths(spec, path):
        key = f"{SECCOMP_CONTAINER_PREFIX}{container.name}"
        own = container.securityContext.seccompProfile if container.securityContext is not None else None
        if own is not None and key in annotations:
            yield from _compare(
                annotations[key], own, f"{at}.securityContext.seccompProfile", "seccomp", _SECCOMP_DEFAULTS
            )
    if spec.os is not None and spec.os.name == "windows":
        return
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
            yield from _compare(
                annotations[key], profile, f"{at}.securityContext.appArmorProfile", "apparmor", (_APPARMOR_DEFAULT,)
            )


def _compare(
    annotation: str, profile: SeccompProfile | AppArmorProfile, path: str, word: str, defaults: tuple[str, ...]
) -> list[FieldError]:
    same_type = {
        "Unconfined": annotation == _UNCONFINED,
        "RuntimeDefault": annotation in defaults,
        "Localhost": annotation.startswith(LOCALHOST_PREFIX),
    }.get(profile.type, True)
    if not same_type:
        return [field.forbidden(f"{path}.type", f"{word} type in annotation and field must match")]
    if profile.type == "Localhost" and annotation.removeprefix(LOCALHOST_PREFIX) != profile.localhostProfile:
        return [field.forbidden(f"{path}.localhostProfile", f"{word} profile in annotation and field must match")]
    return []


_HIGHEST_ID = 2**31 - 1
_PROC_MOUNTS = ("Default", "Unmasked")
_FS_GROUP_CHANGES = ("Always", "OnRootMismatch")
_GROUPS_POLICIES = ("Merge", "Strict")
_SELINUX_CHANGES = ("MountOption", "Recursive")
_SYSCTL_LIMIT = 253
_SYSCTL = r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
_is_sysctl = whole(_SYSCTL)
_SWAP_SEPARATORS = str.maketrans("./", "/.")
_IPC_SYSCTLS = frozenset(
    f"kernel.{name}"
    for name in ("sem", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "shm", "msgmax", "msgmnb", "msgmni", "msg")
)
_NOTHING_SET = PodSecurityContext()
_WITHOUT_HOST_USERS = "when `hostUsers` is false"


def validate_security_context(
    context: SecurityContext, path: str, options: ValidationOptions, *, host_users: bool
) -> FieldErrors:
    if context.privileged and not options.allow_privileged:
        yield field.forbidden(f"{path}.privileged", "disallowed by cluster policy")
    yield from _validate_id(context.runAsUser, f"{path}.runAsUser")
    yield from _validate_id(context.runAsGroup, f"{path}.runAsGroup")
    if context.procMount is not None:
        yield from field.one_of(context.procMount, _PROC_MOUNTS, f"{path}.procMount")
        if host_users and context.procMount == "Unmasked":
            detail = "`hostUsers` must be false to use `Unmasked`"
            yield field.invalid(f"{path}.procMount", AsJSON(context.procMount), detail)
    if context.seccompProfile is not None:
        yield from validate_seccomp_profile(context.seccompProfile, f"{path}.seccompProfile")
    if context.allowPrivilegeEscalation is False:
        yield from _validate_no_escalation(context, path)
    if context.windowsOptions is not None:
        yield from validate_windows_options(context.windowsOptions, f"{path}.windowsOptions")
    if context.appArmorProfile is not None:
        yield from validate_apparmor_profile(context.appArmorProfile, f"{path}.appArmorProfile")


def _validate_no_escalation(context: SecurityContext, path: str) -> FieldErrors:
    if context.privileged:
        detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        yield field.invalid(path, AsJSON(internal_form(context)), detail)
    for capability in context.capabilities.add if context.capabilities is not None else ():
        if capability == "CAP_SYS_ADMIN":
            detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            yield field.invalid(path, AsJSON(internal_form(context)), detail)


def _validate_id(number: int | None, path: str) -> list[FieldError]:
    if number is None or 0 <= number <= _HIGHEST_ID:
        return []
    return [field.invalid(path, number, message) for message in in_range_errors(number, 0, _HIGHEST_ID)]


def validate_pod_security_context(spec: PodSpec, path: str, options: ValidationOptions) -> FieldErrors:
    context = spec.securityContext if spec.securityContext is not None else _NOTHING_SET
    if context == _NOTHING_SET and not spec.hostPID:
        return
    at = f"{path}.securityContext"
    yield from _validate_id(context.fsGroup, f"{at}.fsGroup")
    yield from _validate_id(context.runAsUser, f"{at}.runAsUser")
    yield from _validate_id(context.runAsGroup, f"{at}.runAsGroup")
    for index, group in enumerate(context.supplementalGroups):
        yield from _validate_id(group, f"{at}.supplementalGroups[{index}]")
    if spec.hostPID and spec.shareProcessNamespace:
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield field.invalid(f"{at}.shareProcessNamespace", True, detail)
    if context.sysctls:
        yield from _validate_sysctls(context.sysctls, f"{at}.sysctls", spec, options)
    yield from field.one_of(context.fsGroupChangePolicy, _FS_GROUP_CHANGES, f"{at}.fsGroupChangePolicy")
    if context.seccompProfile is not None:
        yield from validate_seccomp_profile(context.seccompProfile, f"{at}.seccompProfile")
    if context.windowsOptions is not None:
        yield from validate_windows_options(context.windowsOptions, f"{at}.windowsOptions")
    if context.appArmorProfile is not None:
        yield from validate_apparmor_profile(context.appArmorProfile, f"{at}.appArmorProfile")
    yield from field.one_of(context.supplementalGroupsPolicy, _GROUPS_POLICIES, f"{at}.supplementalGroupsPolicy")
    changes = ("Recursive",) if options.allow_only_recursive_selinux_change_policy else _SELINUX_CHANGES
    yield from field.one_of(context.seLinuxChangePolicy, changes, f"{at}.seLinuxChangePolicy")


def _validate_sysctls(sysctls: tuple[Sysctl, ...], path: str, spec: PodSpec, options: ValidationOptions) -> FieldErrors:
    seen: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        at, name = f"{path}[{index}].name", sysctl.name
        if not name:
            yield field.required(at)
        elif byte_length(name) > _SYSCTL_LIMIT or not _is_sysctl(name):
            yield field.invalid(at, name, f"must have at most {_SYSCTL_LIMIT} characters and match regex {_SYSCTL}")
        elif name in seen:
            yield field.duplicate(at, name)
        if not options.allow_namespaced_sysctls_for_host_net_and_host_ipc:
            yield from validate_host_sysctl(name, at, spec)
        seen.add(name)


def validate_host_sysctl(name: str, path: str, spec: PodSpec) -> list[FieldError]:
    """Refuse sysctls of namespaces that the pod shares with its host: they would be set on the host."""
    namespace = _sysctl_namespace(name)
    if spec.hostNetwork and namespace == "Net":
        return [field.invalid(path, name, "may not be specified when 'hostNetwork' is true")]
    if spec.hostIPC and namespace == "IPC":
        return [field.invalid(path, name, "may not be specified when 'hostIPC' is true")]
    return []


def _sysctl_namespace(name: str) -> str:
    separators = [index for index in (name.find("."), name.find("/")) if index >= 0]
    if separators and name[min(separators)] == "/":
        name = name.translate(_SWAP_SEPARATORS)
    name = name.partition("*")[0]
    if name in _IPC_SYSCTLS or name.startswith("fs.mqueue."):
        return "IPC"
    return "Net" if name.startswith("net.") else ""


def validate_host_users(spec: PodSpec, path: str, options: ValidationOptions) -> FieldErrors:
    """Refuse a user namespace beside a namespace of the host, or with raw devices."""
    if spec.hostNetwork and not options.allow_user_namespaces_host_network_support:
        yield field.forbidden(f"{path}.hostNetwork", _WITHOUT_HOST_USERS)
    if spec.hostPID:
        yield field.forbidden(f"{path}.HostPID", _WITHOUT_HOST_USERS)
    if spec.hostIPC:
        yield field.forbidden(f"{path}.HostIPC", _WITHOUT_HOST_USERS)
    if not options.allow_user_namespaces_with_volume_devices:
        for container, at in containers_with_paths(spec, path):
            if container.volumeDevices:
                yield field.forbidden(f"{at}.volumeDevices", _WITHOUT_HOST_USERS)
