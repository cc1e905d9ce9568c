"""Security contexts of containers and of the pod.

In: a `SecurityContext` or a `PodSpec` with its pod security context. Out: field errors. Kubernetes:
ValidateSecurityContext, validatePodSpecSecurityContext, validateSysctls, validateHostUsers. Differs: upstream keeps the
host namespaces in the pod's security context internally; here they are read where the manifest has them. Whether
privileged containers are allowed is the API server's --allow-privileged, an option here.
"""

import re

from moorage.admit.options import ValidationOptions
from moorage.admit.pod.containers.profiles import validate_apparmor_profile, validate_seccomp_profile
from moorage.admit.pod.visiting import containers_with_paths
from moorage.admit.pod.windows import validate_windows_options
from moorage.model.field_error import AsJSON, FieldError, duplicate, forbidden, invalid, not_supported, required
from moorage.model.go.quoting import GoStruct
from moorage.model.names import byte_length, in_range_errors
from moorage.model.types.container import PodSecurityContext, SecurityContext, Sysctl
from moorage.model.types.pod import PodSpec

_HIGHEST_ID = 2**31 - 1
_PROC_MOUNTS = ("Default", "Unmasked")
_FS_GROUP_CHANGES = ("Always", "OnRootMismatch")
_GROUPS_POLICIES = ("Merge", "Strict")
_SELINUX_CHANGES = ("MountOption", "Recursive")
_SYSCTL_LIMIT = 253
_SYSCTL = r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
_is_sysctl = re.compile(_SYSCTL.removesuffix("$") + r"\Z").match
_SWAP_SEPARATORS = str.maketrans("./", "/.")
_IPC_SYSCTLS = frozenset(
    f"kernel.{name}"
    for name in ("sem", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "shm", "msgmax", "msgmnb", "msgmni", "msg")
)
_NOTHING_SET = PodSecurityContext()
_WITHOUT_HOST_USERS = "when `hostUsers` is false"


def validate_security_context(
    context: SecurityContext, path: str, options: ValidationOptions, *, host_users: bool
) -> list[FieldError]:
    errors: list[FieldError] = []
    if context.privileged and not options.allow_privileged:
        errors.append(forbidden(f"{path}.privileged", "disallowed by cluster policy"))
    errors += _validate_id(context.runAsUser, f"{path}.runAsUser")
    errors += _validate_id(context.runAsGroup, f"{path}.runAsGroup")
    if context.procMount is not None:
        if context.procMount not in _PROC_MOUNTS:
            errors.append(not_supported(f"{path}.procMount", AsJSON(context.procMount), _PROC_MOUNTS))
        if host_users and context.procMount == "Unmasked":
            detail = "`hostUsers` must be false to use `Unmasked`"
            errors.append(invalid(f"{path}.procMount", AsJSON(context.procMount), detail))
    if context.seccompProfile is not None:
        errors += validate_seccomp_profile(context.seccompProfile, f"{path}.seccompProfile")
    if context.allowPrivilegeEscalation is False:
        errors += _validate_no_escalation(context, path)
    if context.windowsOptions is not None:
        errors += validate_windows_options(context.windowsOptions, f"{path}.windowsOptions")
    if context.appArmorProfile is not None:
        errors += validate_apparmor_profile(context.appArmorProfile, f"{path}.appArmorProfile")
    return errors


def _validate_no_escalation(context: SecurityContext, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if context.privileged:
        detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        errors.append(invalid(path, AsJSON(_shown(context)), detail))
    for capability in context.capabilities.add if context.capabilities is not None else ():
        if capability == "CAP_SYS_ADMIN":
            detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            errors.append(invalid(path, AsJSON(_shown(context)), detail))
    return errors


def _shown(context: SecurityContext) -> GoStruct:
    """The context as upstream's internal type prints it."""
    capabilities, selinux, windows = context.capabilities, context.seLinuxOptions, context.windowsOptions
    seccomp, apparmor = context.seccompProfile, context.appArmorProfile
    return GoStruct(
        Capabilities=capabilities and GoStruct(Add=capabilities.add, Drop=capabilities.drop),
        Privileged=context.privileged,
        SELinuxOptions=selinux
        and GoStruct(User=selinux.user, Role=selinux.role, Type=selinux.type, Level=selinux.level),
        WindowsOptions=windows
        and GoStruct(
            GMSACredentialSpecName=windows.gmsaCredentialSpecName,
            GMSACredentialSpec=windows.gmsaCredentialSpec,
            RunAsUserName=windows.runAsUserName,
            HostProcess=windows.hostProcess,
        ),
        RunAsUser=context.runAsUser,
        RunAsGroup=context.runAsGroup,
        RunAsNonRoot=context.runAsNonRoot,
        ReadOnlyRootFilesystem=context.readOnlyRootFilesystem,
        AllowPrivilegeEscalation=context.allowPrivilegeEscalation,
        ProcMount=context.procMount,
        SeccompProfile=seccomp and GoStruct(Type=seccomp.type, LocalhostProfile=seccomp.localhostProfile),
        AppArmorProfile=apparmor and GoStruct(Type=apparmor.type, LocalhostProfile=apparmor.localhostProfile),
    )


def _validate_id(number: int | None, path: str) -> list[FieldError]:
    if number is None or 0 <= number <= _HIGHEST_ID:
        return []
    return [invalid(path, number, message) for message in in_range_errors(number, 0, _HIGHEST_ID)]


def validate_pod_security_context(spec: PodSpec, path: str, options: ValidationOptions) -> list[FieldError]:
    """Check `path`, the spec's own, plus `.securityContext`."""
    context = spec.securityContext if spec.securityContext is not None else _NOTHING_SET
    if context == _NOTHING_SET and not spec.hostPID:
        return []
    at = f"{path}.securityContext"
    errors = _validate_id(context.fsGroup, f"{at}.fsGroup")
    errors += _validate_id(context.runAsUser, f"{at}.runAsUser")
    errors += _validate_id(context.runAsGroup, f"{at}.runAsGroup")
    for index, group in enumerate(context.supplementalGroups):
        errors += _validate_id(group, f"{at}.supplementalGroups[{index}]")
    if spec.hostPID and spec.shareProcessNamespace:
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.append(invalid(f"{at}.shareProcessNamespace", True, detail))
    if context.sysctls:
        errors += _validate_sysctls(context.sysctls, f"{at}.sysctls", spec, options)
    errors += _validate_choice(context.fsGroupChangePolicy, f"{at}.fsGroupChangePolicy", _FS_GROUP_CHANGES)
    if context.seccompProfile is not None:
        errors += validate_seccomp_profile(context.seccompProfile, f"{at}.seccompProfile")
    if context.windowsOptions is not None:
        errors += validate_windows_options(context.windowsOptions, f"{at}.windowsOptions")
    if context.appArmorProfile is not None:
        errors += validate_apparmor_profile(context.appArmorProfile, f"{at}.appArmorProfile")
    errors += _validate_choice(context.supplementalGroupsPolicy, f"{at}.supplementalGroupsPolicy", _GROUPS_POLICIES)
    changes = ("Recursive",) if options.allow_only_recursive_selinux_change_policy else _SELINUX_CHANGES
    return errors + _validate_choice(context.seLinuxChangePolicy, f"{at}.seLinuxChangePolicy", changes)


def _validate_choice(value: str | None, path: str, choices: tuple[str, ...]) -> list[FieldError]:
    return [] if value is None or value in choices else [not_supported(path, AsJSON(value), choices)]


def _validate_sysctls(
    sysctls: tuple[Sysctl, ...], path: str, spec: PodSpec, options: ValidationOptions
) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        at, name = f"{path}[{index}].name", sysctl.name
        if not name:
            errors.append(required(at))
        elif byte_length(name) > _SYSCTL_LIMIT or not _is_sysctl(name):
            detail = f"must have at most {_SYSCTL_LIMIT} characters and match regex {_SYSCTL}"
            errors.append(invalid(at, name, detail))
        elif name in seen:
            errors.append(duplicate(at, name))
        if not options.allow_namespaced_sysctls_for_host_net_and_host_ipc:
            errors += validate_host_sysctl(name, at, spec)
        seen.add(name)
    return errors


def validate_host_sysctl(name: str, path: str, spec: PodSpec) -> list[FieldError]:
    """A sysctl of a namespace that the pod shares with its host would be set on the host."""
    namespace = _sysctl_namespace(name)
    if spec.hostNetwork and namespace == "Net":
        return [invalid(path, name, "may not be specified when 'hostNetwork' is true")]
    if spec.hostIPC and namespace == "IPC":
        return [invalid(path, name, "may not be specified when 'hostIPC' is true")]
    return []


def _sysctl_namespace(name: str) -> str:
    separators = [index for index in (name.find("."), name.find("/")) if index >= 0]
    if separators and name[min(separators)] == "/":
        name = name.translate(_SWAP_SEPARATORS)
    name = name.partition("*")[0]
    if name in _IPC_SYSCTLS or name.startswith("fs.mqueue."):
        return "IPC"
    return "Net" if name.startswith("net.") else ""


def validate_host_users(spec: PodSpec, path: str, options: ValidationOptions) -> list[FieldError]:
    """A user namespace of its own goes with no other namespace of the host, nor with raw devices."""
    if spec.hostUsers is not False:
        return []
    errors: list[FieldError] = []
    if spec.hostNetwork and not options.allow_user_namespaces_host_network_support:
        errors.append(forbidden(f"{path}.hostNetwork", _WITHOUT_HOST_USERS))
    if spec.hostPID:
        errors.append(forbidden(f"{path}.HostPID", _WITHOUT_HOST_USERS))
    if spec.hostIPC:
        errors.append(forbidden(f"{path}.HostIPC", _WITHOUT_HOST_USERS))
    if not options.allow_user_namespaces_with_volume_devices:
        errors += [
            forbidden(f"{at}.volumeDevices", _WITHOUT_HOST_USERS)
            for container, at in containers_with_paths(spec, path)
            if container.volumeDevices
        ]
    return errors
