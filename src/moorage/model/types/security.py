"""Security contexts of pods and containers.

In: raw documents, by way of `kinds.view_of`. Out: frozen views, field for field the API's. Kubernetes:
k8s.io/api/core/v1.
"""

# The names are the API's own and its reference documents each of them.
# ruff: noqa: D101

from moorage.model.schema.absent import ABSENT_LIST
from moorage.model.schema.named_types import (
    AppArmorProfileType,
    Capability,
    PodFSGroupChangePolicy,
    PodSELinuxChangePolicy,
    ProcMountType,
    SeccompProfileType,
    SupplementalGroupsPolicy,
)
from moorage.model.types.view import Int64, View


class Capabilities(View, frozen=True, gc=False):
    add: tuple[Capability, ...] = ABSENT_LIST
    drop: tuple[Capability, ...] = ABSENT_LIST


class SELinuxOptions(View, frozen=True, gc=False):
    user: str = ""
    role: str = ""
    type: str = ""
    level: str = ""


class WindowsSecurityContextOptions(View, frozen=True, gc=False):
    gmsaCredentialSpecName: str | None = None
    gmsaCredentialSpec: str | None = None
    runAsUserName: str | None = None
    hostProcess: bool | None = None


class SeccompProfile(View, frozen=True, gc=False):
    type: SeccompProfileType = ""
    localhostProfile: str | None = None


class AppArmorProfile(View, frozen=True, gc=False):
    type: AppArmorProfileType = ""
    localhostProfile: str | None = None


class SecurityContext(View, frozen=True, gc=False):
    capabilities: Capabilities | None = None
    privileged: bool | None = None
    seLinuxOptions: SELinuxOptions | None = None
    windowsOptions: WindowsSecurityContextOptions | None = None
    runAsUser: Int64 | None = None
    runAsGroup: Int64 | None = None
    runAsNonRoot: bool | None = None
    readOnlyRootFilesystem: bool | None = None
    allowPrivilegeEscalation: bool | None = None
    procMount: ProcMountType | None = None
    seccompProfile: SeccompProfile | None = None
    appArmorProfile: AppArmorProfile | None = None


class Sysctl(View, frozen=True, gc=False):
    name: str = ""
    value: str = ""


class PodSecurityContext(View, frozen=True, gc=False):
    seLinuxOptions: SELinuxOptions | None = None
    windowsOptions: WindowsSecurityContextOptions | None = None
    runAsUser: Int64 | None = None
    runAsGroup: Int64 | None = None
    runAsNonRoot: bool | None = None
    supplementalGroups: tuple[Int64, ...] = ABSENT_LIST
    supplementalGroupsPolicy: SupplementalGroupsPolicy | None = None
    fsGroup: Int64 | None = None
    sysctls: tuple[Sysctl, ...] = ABSENT_LIST
    fsGroupChangePolicy: PodFSGroupChangePolicy | None = None
    seccompProfile: SeccompProfile | None = None
    appArmorProfile: AppArmorProfile | None = None
    seLinuxChangePolicy: PodSELinuxChangePolicy | None = None
