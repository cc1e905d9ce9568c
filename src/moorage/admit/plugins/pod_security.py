"""PodSecurity: pods must keep to the level that their namespace's labels enforce, or are warned about.

Kubernetes: k8s.io/pod-security-admission. Differs: the checks are those of the newest version, whichever a label names;
updates of pods are not checked again; nothing is audited.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from moorage.admit.plugins import Forbidden, Plugin
from moorage.admit.raw import Raw
from moorage.admit.world import AdmissionWorld
from moorage.model.go.quoting import go_quote
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import convert_view
from moorage.model.types.container import SecurityContext
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.pod import Pod, PodSpec, PodTemplateSpec

PRIVILEGED, BASELINE, RESTRICTED = "privileged", "baseline", "restricted"
_LABEL = "pod-security.kubernetes.io/"
_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
_PROFILES = ("RuntimeDefault", "Localhost")
_CAPABILITIES = frozenset(
    [
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    ]
)
_SELINUX_TYPES = frozenset({"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"})
_SYSCTLS = frozenset(
    {"kernel.shm_rmid_forced"}
    | {
        f"net.ipv4.{name}"
        for name in (
            "ip_local_port_range",
            "ip_local_reserved_ports",
            "ip_unprivileged_port_start",
            "ping_group_range",
            "tcp_fin_timeout",
            "tcp_keepalive_intvl",
            "tcp_keepalive_probes",
            "tcp_keepalive_time",
            "tcp_rmem",
            "tcp_syncookies",
            "tcp_wmem",
        )
    }
)
_VOLUMES = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
]


class Violation(NamedTuple):
    """What a pod does that its level forbids, in short and in detail."""

    reason: str
    detail: str


class PodSecurity(Plugin):
    """Checks new pods, and pod templates, by the labels of their namespace; a namespace that is not known has none."""

    def __init__(self, world: AdmissionWorld) -> None:
        self._world = world

    def validate(self, kind: Kind, new: Raw, old: Raw | None) -> None:
        if kind is KINDS.POD and old is None and (policy := self._policy(new, "enforce")) is not None:
            pod = convert_view(new, Pod)
            text = _violations(policy[0], pod.metadata, pod.spec)
            if text:
                raise Forbidden(f"violates PodSecurity {go_quote(':'.join(policy))}: {text}")

    def warnings(self, kind: Kind, new: Raw, old: Raw | None) -> list[str]:
        policy = self._policy(new, "warn")
        if policy is None or (kind is KINDS.POD and old is not None):
            return []
        template: Any = new
        for step in kind.template or ():
            template = template.get(step) or {}
        if template is new and kind is not KINDS.POD:
            return []
        view = convert_view({name: template.get(name) or {} for name in ("metadata", "spec")}, PodTemplateSpec)
        text = _violations(policy[0], view.metadata, view.spec)
        return [f"would violate PodSecurity {go_quote(':'.join(policy))}: {text}"] if text else []

    def _policy(self, document: Raw, mode: str) -> tuple[str, str] | None:
        """Return level and version of a namespace, or None if everything is allowed.

        A namespace that says nothing of warnings has those of the level it enforces.
        """
        namespace = self._world.namespace((document.get("metadata") or {}).get("namespace") or "")
        labels = None if namespace is None else namespace.metadata.labels
        if mode == "warn" and labels and f"{_LABEL}warn" not in labels:
            level = labels.get(f"{_LABEL}enforce")
            versions = (labels.get(f"{_LABEL}{name}-version") for name in ("warn", "enforce"))
            return (level, next(filter(None, versions), "latest")) if level in (BASELINE, RESTRICTED) else None
        level = labels.get(f"{_LABEL}{mode}", PRIVILEGED) if labels else PRIVILEGED
        if level not in (PRIVILEGED, BASELINE, RESTRICTED):
            level = RESTRICTED if mode == "enforce" else PRIVILEGED
        return None if level == PRIVILEGED or not labels else (level, labels.get(f"{_LABEL}{mode}-version", "latest"))


def _violations(level: str, metadata: ObjectMeta, spec: PodSpec) -> str:
    checks = _RESTRICTED_CHECKS if level == RESTRICTED else _BASELINE_CHECKS
    violations = (violation for check in checks if (violation := check(metadata, spec)) is not None)
    return ", ".join(f"{reason} ({detail})" if detail else reason for reason, detail in violations)


def _containers(spec: PodSpec) -> Iterator[Any]:
    yield from (*spec.initContainers, *spec.containers, *spec.ephemeralContainers)


def _contexts(spec: PodSpec) -> Iterator[tuple[str, SecurityContext]]:
    for container in _containers(spec):
        if container.securityContext is not None:
            yield container.name, container.securityContext


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _plural(noun: str, number: int) -> str:
    return noun if number == 1 else f"{noun}s"


def _named(names: list[str]) -> str:
    return f"{_plural('container', len(names))} {_quoted(names)}"


def _setters(pod: bool, names: list[str]) -> str:
    return " and ".join([*(["pod"] if pod else []), *([_named(names)] if names else [])])


def _is_windows(spec: PodSpec) -> bool:
    return spec.os is not None and spec.os.name == "windows"


def _app_armor(metadata: ObjectMeta, spec: PodSpec) -> Violation | None:
    profile = spec.securityContext.appArmorProfile if spec.securityContext is not None else None
    is_pod = profile is not None and profile.type not in _PROFILES
    values = {profile.type} if profile is not None and is_pod else set()
    names = []
    for name, context in _contexts(spec):
        if context.appArmorProfile is not None and context.appArmorProfile.type not in _PROFILES:
            names.append(name)
            values.add(context.appArmorProfile.type)
    annotated = sorted(
        f"{key}={go_quote(value)}"
        for key, value in metadata.annotations.items()
        if key.startswith(_APPARMOR) and value not in ("", "runtime/default") and not value.startswith("localhost/")
    )
    setters = [one for one in (_setters(is_pod, names),) if one]
    setters += [_plural("annotation", len(annotated))] if annotated else []
    if not setters:
        return None
    bad = [*sorted(values), *annotated]
    reason = _plural("forbidden AppArmor profile", len(bad))
    return Violation(reason, f"{' and '.join(setters)} must not set AppArmor profile type to {_quoted(bad)}")


def _capabilities(metadata: ObjectMeta, spec: PodSpec) -> Violation | None:
    added = {
        name: bad
        for name, context in _contexts(spec)
        if context.capabilities is not None and (bad := set(context.capabilities.add) - _CAPABILITIES)
    }
    if not added:
        return None
    what = _quoted(sorted(set().union(*added.values())))
    detail = f"{_named(list(added))} must not include {what} in securityContext.capabilities.add"
    return Violation("non-default capabilities", detail)


def _dropped_capabilities(metadata: ObjectMeta, spec: PodSpec) -> Violation | None:
    if _is_windows(spec):
        return None
    missing, adding, added = [], [], set()
    for container in _containers(spec):
        capabilities = container.securityContext.capabilities if container.securityContext is not None else None
        if capabilities is None or "ALL" not in capabilities.drop:
            missing.append(container.name)
        bad = set(capabilities.add) - {"NET_BIND_SERVICE"} if capabilities is not None else set()
        if bad:
            adding.append(container.name)
            added |= bad
    details = [f'{_named(missing)} must set securityContext.capabilities.drop=["ALL"]'] if missing else []
    if adding:
        what = _quoted(sorted(added))
        details.append(f"{_named(adding)} must not include {what} in securityContext.capabilities.add")
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


def _host_namespaces(metadata: ObjectMeta, spec: PodSpec) -> Violation | None:
    used = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if getattr(spec, name)]
    return Violation("host namespaces", ", ".join(used)) if used else None


def _host_paths(metadata: ObjectMeta, spec: PodSpec) -> Violation | None:
    names = [volume.name for volume in spec.volumes if volume.hostPath is not None]
    return Violation("hostPath volumes", f"{_plural('volume', len(names))} {_quoted(names)}") if names else None


def _host_ports(metadata: ObjectMeta, spec: PodSpec) -> Violation | None:
    used = {one.name: {str(port.hostPort) for port in one.ports if port.hostPort} for one in _containers(spec)}
    names = [name for name, ports in used.items() if ports]
    if not names:
        return None
    ports = sorted(set().union(*used.values()))
    uses = "uses" if len(names) == 1 else "use"
    return Violation("hostPort", f"{_named(names)} {uses} {_plural('hostPort', len(ports))} {', '.join(ports)}")


def _host_probes(metadata: ObjectMeta, spec: PodSpec) -> Violation | None:
    used: dict[str, set[str]] = {}
    for container in _containers(spec):
        lifecycle = container.lifecycle
        handlers = [container.livenessProbe, container.readinessProbe, container.startupProbe]
        handlers += [lifecycle.postStart, lifecycle.preStop] if lifecycle is not None else []
        actions = [one for handler in handlers if handler is not None for one in (handler.httpGet, handler.tcpSocket)]
        hosts = {one.host for one in actions if one is not None and one.host}
        if hosts:
            used[container.name] = hosts
    if not used:
        return None
    names, all_hosts = sorted(used), sorted(set().union(*used.values()))
    uses, what = "uses" if len(names) == 1 else "use", _plural("probe or lifecycle host", len(all_hosts))
    return Violation("probe or lifecycle host", f"{_named(names)} {uses} {what} {_quoted(all_hosts)}")


def _privileged(metadata: ObjectMeta, spec: PodSpec) -> Violation | None:
    names = [name for name, context in _contexts(spec) if context.privileged]
    return Violation("privileged", f"{_named(names)} must not set securityContext.privileged=true") if names else None


def _proc_mounts(metadata: ObjectMeta, spec: PodSpec) -> Violation | None:
    used = {name: context.procMount for name, context in _contexts(spec) if context.procMount not in (None, "Default")}
    if not used:
        return None
    what = _quoted(sorted({str(value) for value in used.values()}))
    return Violation("procMount", f"{_named(list(used))} must not set securityContext.procMount to {what}")


def _proc_mounts_of_the_host(metadata: ObjectMeta, spec: PodSpec) -> Violation | None:
    return None if spec.hostUsers is False else _proc_mounts(metadata, spec)


def _selinux(metadata: ObjectMeta, spec: PodSpec) -> Violation | None:
    own = spec.securityContext.seLinuxOptions if spec.securityContext is not None else None
    options = [("", own)] if own is not None else []
    options += [(name, one.seLinuxOptions) for name, one in _contexts(spec) if one.seLinuxOptions is not None]
    bad = [(name, one) for name, one in options if one.type not in _SELINUX_TYPES or one.user or one.role]
    if not bad:
        return None
    types = sorted({one.type for _, one in bad} - _SELINUX_TYPES)
    data = [f"{_plural('type', len(types))} {_quoted(types)}"] if types else []
    data += ["user may not be set"] if any(one.user for _, one in bad) else []
    data += ["role may not be set"] if any(one.role for _, one in bad) else []
    setters = _setters(any(not name for name, _ in bad), [name for name, _ in bad if name])
    return Violation("seLinuxOptions", f"{setters} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}")


def _seccomp(metadata: ObjectMeta, spec: PodSpec) -> Violation | None:
    own = spec.securityContext.seccompProfile if spec.securityContext is not None else None
    is_pod = own is not None and own.type not in _PROFILES
    values = {own.type} if own is not None and is_pod else set()
    names = []
    for name, context in _contexts(spec):
        if context.seccompProfile is not None and context.seccompProfile.type not in _PROFILES:
            names.append(name)
            values.add(context.seccompProfile.type)
    setters = _setters(is_pod, names)
    if not setters:
        return None
    detail = f"{setters} must not set securityContext.seccompProfile.type to {_quoted(sorted(values))}"
    return Violation("seccompProfile", detail)


def _required_seccomp(metadata: ObjectMeta, spec: PodSpec) -> Violation | None:
    if _is_windows(spec):
        return None
    violation = _seccomp(metadata, spec)
    if violation is not None or (spec.securityContext is not None and spec.securityContext.seccompProfile is not None):
        return violation
    has = {name for name, context in _contexts(spec) if context.seccompProfile is not None}
    names = [one.name for one in _containers(spec) if one.name not in has]
    wanted = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Violation("seccompProfile", f"pod or {_named(names)} {wanted}") if names else None


def _sysctls(metadata: ObjectMeta, spec: PodSpec) -> Violation | None:
    sysctls = spec.securityContext.sysctls if spec.securityContext is not None else ()
    names = [one.name for one in sysctls if one.name not in _SYSCTLS]
    return Violation("forbidden sysctls", ", ".join(names)) if names else None


def _host_processes(metadata: ObjectMeta, spec: PodSpec) -> Violation | None:
    own = spec.securityContext.windowsOptions if spec.securityContext is not None else None
    names = [name for name, one in _contexts(spec) if one.windowsOptions is not None and one.windowsOptions.hostProcess]
    setters = _setters(own is not None and bool(own.hostProcess), names)
    wanted = "must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", f"{setters} {wanted}") if setters else None


def _escalation(metadata: ObjectMeta, spec: PodSpec) -> Violation | None:
    if _is_windows(spec):
        return None
    fine = {name for name, context in _contexts(spec) if context.allowPrivilegeEscalation is False}
    names = [one.name for one in _containers(spec) if one.name not in fine]
    wanted = "must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", f"{_named(names)} {wanted}") if names else None


def _volume_types(metadata: ObjectMeta, spec: PodSpec) -> Violation | None:
    bad: dict[str, str] = {}
    for volume in spec.volumes:
        used = [name for name in volume.__struct_fields__ if name != "name" and getattr(volume, name) is not None]
        if not any(name in _VOLUMES for name in used):
            bad[volume.name] = used[0] if used else "unknown"
    if not bad:
        return None
    types = sorted(set(bad.values()))
    uses = "uses" if len(bad) == 1 else "use"
    what = f"{_plural('restricted volume type', len(types))} {_quoted(types)}"
    return Violation("restricted volume types", f"{_plural('volume', len(bad))} {_quoted(bad)} {uses} {what}")


def _non_root(metadata: ObjectMeta, spec: PodSpec) -> Violation | None:
    if spec.hostUsers is False:
        return None
    own = spec.securityContext.runAsNonRoot if spec.securityContext is not None else None
    given = {name: context.runAsNonRoot for name, context in _contexts(spec) if context.runAsNonRoot is not None}
    setters = _setters(own is False, [name for name, value in given.items() if not value])
    reason = "runAsNonRoot != true"
    if setters:
        return Violation(reason, f"{setters} must not set securityContext.runAsNonRoot=false")
    names = [] if own else [one.name for one in _containers(spec) if one.name not in given]
    return Violation(reason, f"pod or {_named(names)} must set securityContext.runAsNonRoot=true") if names else None


def _root_user(metadata: ObjectMeta, spec: PodSpec) -> Violation | None:
    if spec.hostUsers is False:
        return None
    own = spec.securityContext.runAsUser if spec.securityContext is not None else None
    setters = _setters(own == 0, [name for name, context in _contexts(spec) if context.runAsUser == 0])
    return Violation("runAsUser=0", f"{setters} must not set runAsUser=0") if setters else None


Check = Callable[[ObjectMeta, PodSpec], Violation | None]
_BOTH: tuple[Check, ...] = (_host_ports, _host_probes, _privileged)
_BASELINE_CHECKS: tuple[Check, ...] = (
    _app_armor,
    _capabilities,
    _host_namespaces,
    _host_paths,
    *_BOTH,
    _proc_mounts_of_the_host,
    _selinux,
    _seccomp,
    _sysctls,
    _host_processes,
)
_RESTRICTED_CHECKS: tuple[Check, ...] = (
    _app_armor,
    _host_namespaces,
    *_BOTH,
    _selinux,
    _sysctls,
    _host_processes,
    _escalation,
    _dropped_capabilities,
    _proc_mounts,
    _volume_types,
    _non_root,
    _root_user,
    _required_seccomp,
)
