"""Validate fields by operating system: what Windows and Linux pods must not set, and Windows' own options.

In: a `PodSpec`, or the Windows options of a security context. Out: field errors. Kubernetes:
validateWindowsSecurityContextOptions, validateWindowsHostProcessPod, validateOS, validateLinux, validateWindows.
"""

from moorage.admit.options import ValidationOptions
from moorage.admit.pod.shared import all_containers, containers_with_paths
from moorage.model.field_error import AsJSON, FieldErrors, forbidden, invalid, not_supported, required
from moorage.model.names import byte_length, dns1123_subdomain_errors
from moorage.model.text.patterns import anywhere, whole
from moorage.model.text.readers import reads_text
from moorage.model.types.container import PodSecurityContext, SecurityContext, WindowsSecurityContextOptions
from moorage.model.types.pod import PodSpec

_SYSTEMS = ("linux", "windows")
_CREDENTIAL_SPEC_LIMIT_KIB = 64
_DOMAIN_LIMIT = 256
_USER_LIMIT = 104
_NOT_ON_WINDOWS = "cannot be set for a windows pod"
_NOT_ON_LINUX = "windows options cannot be set for a linux pod"
_ALL_OR_NONE = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
_NEEDS_HOST_NETWORK = "hostNetwork must be true if pod contains any hostProcess containers"
_has_control = anywhere(r"[\x00-\x1f\x7f]")
_is_netbios = whole(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_DNS_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_is_dns_domain = whole(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*")
_has_forbidden = anywhere(r'["/\\:;|=,+*?<>@\[\]]')
_is_dots_and_spaces = whole(r"[. ]+")

# Upstream's order, once for the pod's security context (with the fields it keeps there internally) and once for a
# container's. (where it is reported, where it is set)
_POD_FIELDS = (
    ("securityContext.appArmorProfile", "appArmorProfile"),
    ("securityContext.seLinuxOptions", "seLinuxOptions"),
    ("hostUsers", None),
    ("hostPID", None),
    ("hostIPC", None),
    ("securityContext.seccompProfile", "seccompProfile"),
    ("securityContext.fsGroup", "fsGroup"),
    ("securityContext.fsGroupChangePolicy", "fsGroupChangePolicy"),
    ("securityContext.sysctls", "sysctls"),
    ("shareProcessNamespace", None),
    ("securityContext.runAsUser", "runAsUser"),
    ("securityContext.runAsGroup", "runAsGroup"),
    ("securityContext.supplementalGroups", "supplementalGroups"),
    ("securityContext.supplementalGroupsPolicy", "supplementalGroupsPolicy"),
    ("securityContext.seLinuxChangePolicy", "seLinuxChangePolicy"),
)
_CONTAINER_FIELDS = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)


def validate_os(spec: PodSpec, name: str, path: str) -> FieldErrors:
    """Check `spec.os` and then everything that the named system does not have."""
    if not name:
        return [required(f"{path}.os.name")]
    if name not in _SYSTEMS:
        return [not_supported(f"{path}.os", AsJSON(name), _SYSTEMS)]
    return _validate_linux(spec, path) if name == "linux" else _validate_windows(spec, path)


def _validate_linux(spec: PodSpec, path: str) -> FieldErrors:
    if _windows_options(spec.securityContext) is not None:
        yield forbidden(f"{path}.securityContext.windowsOptions", _NOT_ON_LINUX)
    for container, at in containers_with_paths(spec, path):
        if _windows_options(container.securityContext) is not None:
            yield forbidden(f"{at}.securityContext.windowsOptions", _NOT_ON_LINUX)


def _is_set(value: object) -> bool:
    return value is not None and value != () and value is not False


def _validate_windows(spec: PodSpec, path: str) -> FieldErrors:
    for reported, attribute in _POD_FIELDS:
        value = getattr(spec, reported) if attribute is None else getattr(spec.securityContext, attribute, None)
        # False is a setting where the field is a pointer, and Go's zero value where it is not.
        pointer = reported in ("hostUsers", "shareProcessNamespace")
        if value is not None if pointer else _is_set(value):
            yield forbidden(f"{path}.{reported}", _NOT_ON_WINDOWS)
    for container, at in containers_with_paths(spec, path):
        if container.securityContext is not None:
            for name in _CONTAINER_FIELDS:
                if getattr(container.securityContext, name) is not None:
                    yield forbidden(f"{at}.securityContext.{name}", _NOT_ON_WINDOWS)


def validate_windows_options(options: WindowsSecurityContextOptions, path: str) -> FieldErrors:
    name = options.gmsaCredentialSpecName
    if name is not None:
        at = f"{path}.gmsaCredentialSpecName"
        yield from [invalid(at, AsJSON(name), message) for message in dns1123_subdomain_errors(name)]
    credential_spec = options.gmsaCredentialSpec
    if credential_spec is not None:
        at = f"{path}.gmsaCredentialSpec"
        if not credential_spec:
            yield invalid(at, AsJSON(credential_spec), "gmsaCredentialSpec cannot be an empty string")
        elif byte_length(credential_spec) > _CREDENTIAL_SPEC_LIMIT_KIB * 1024:
            detail = f"gmsaCredentialSpec size must be under {_CREDENTIAL_SPEC_LIMIT_KIB} KiB"
            yield invalid(at, AsJSON(credential_spec), detail)
    user = options.runAsUserName
    if user is not None:
        yield from [invalid(f"{path}.runAsUserName", AsJSON(user), message) for message in _user_name_errors(user)]


@reads_text("a", "\\", "/", ".", "@", "-", "\x00")
def _user_name_errors(name: str) -> list[str]:
    """`DOMAIN\\USER` or `USER`, as Windows understands them."""
    if not name:
        return ["runAsUserName cannot be an empty string"]
    if _has_control(name):
        return ["runAsUserName cannot contain control characters"]
    parts = name.split("\\")
    if len(parts) > 2:
        return ["runAsUserName cannot contain more than one backslash"]
    errors: list[str] = []
    user = parts[-1]
    if len(parts) == 2:
        domain = parts[0]
        if byte_length(domain) >= _DOMAIN_LIMIT:
            errors.append(f"runAsUserName's Domain length must be under {_DOMAIN_LIMIT} characters")
        if not _is_netbios(domain) and not _is_dns_domain(domain):
            errors.append("runAsUserName's Domain doesn't match the NetBios nor the DNS format")
    if not user:
        errors.append("runAsUserName's User cannot be empty")
    elif byte_length(user) > _USER_LIMIT:
        errors.append(f"runAsUserName's User length must not be longer than {_USER_LIMIT} characters")
    if _is_dots_and_spaces(user):
        errors.append("runAsUserName's User cannot contain only periods or spaces")
    if _has_forbidden(user):
        errors.append("runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    return errors


def validate_host_process(spec: PodSpec, path: str, options: ValidationOptions) -> FieldErrors:
    """Host process containers: all or none of a pod, on the host's network, and only where privilege is allowed."""
    pod_wants = _wants_host_process(spec.securityContext)
    containers = all_containers(spec)
    if pod_wants is None and all(_windows_options(one.securityContext) is None for one in containers):
        return
    count = 0
    for container, at in containers_with_paths(spec, path):
        wants = _wants_host_process(container.securityContext)
        if pod_wants is not None and wants is not None and pod_wants != wants:
            shown = "true" if pod_wants else "false"
            detail = f"pod hostProcess value must be identical if both are specified, was {shown}"
            yield invalid(f"{at}.securityContext.windowsOptions.hostProcess", wants, detail)
        count += bool(pod_wants if wants is None else wants)
    if count:
        if count != len(containers):
            yield invalid(path, "", _ALL_OR_NONE)
        if not spec.hostNetwork:
            yield invalid(f"{path}.hostNetwork", False, _NEEDS_HOST_NETWORK)
        if not options.allow_privileged:
            yield forbidden(path, "hostProcess containers are disallowed by cluster policy")


def _windows_options(context: SecurityContext | PodSecurityContext | None) -> WindowsSecurityContextOptions | None:
    return None if context is None else context.windowsOptions


def _wants_host_process(context: SecurityContext | PodSecurityContext | None) -> bool | None:
    options = _windows_options(context)
    return None if options is None else options.hostProcess
