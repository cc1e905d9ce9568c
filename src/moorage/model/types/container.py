"""Views of containers: image, environment, ports, resources, mounts, probes, security contexts.

Kubernetes: k8s.io/api/core/v1.
"""

from moorage.model.quantity import ZERO, Quantity
from moorage.model.schema import named_types as named
from moorage.model.types.meta import LocalObjectReference
from moorage.model.types.view import ABSENT_LIST, ABSENT_MAP, Int32, Int64, View


class Capabilities(View, frozen=True, gc=False):
    add: tuple[named.Capability, ...] = ABSENT_LIST
    drop: tuple[named.Capability, ...] = ABSENT_LIST


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
    type: named.SeccompProfileType = ""
    localhostProfile: str | None = None


class AppArmorProfile(View, frozen=True, gc=False):
    type: named.AppArmorProfileType = ""
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
    procMount: named.ProcMountType | None = None
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
    supplementalGroupsPolicy: named.SupplementalGroupsPolicy | None = None
    fsGroup: Int64 | None = None
    sysctls: tuple[Sysctl, ...] = ABSENT_LIST
    fsGroupChangePolicy: named.PodFSGroupChangePolicy | None = None
    seccompProfile: SeccompProfile | None = None
    appArmorProfile: AppArmorProfile | None = None
    seLinuxChangePolicy: named.PodSELinuxChangePolicy | None = None


class ExecAction(View, frozen=True, gc=False):
    command: tuple[str, ...] = ABSENT_LIST


class HTTPHeader(View, frozen=True, gc=False):
    name: str = ""
    value: str = ""


class HTTPGetAction(View, frozen=True, gc=False):
    path: str = ""
    port: Int32 | str = 0
    host: str = ""
    scheme: named.URIScheme = ""
    httpHeaders: tuple[HTTPHeader, ...] = ABSENT_LIST


class TCPSocketAction(View, frozen=True, gc=False):
    port: Int32 | str = 0
    host: str = ""


class GRPCAction(View, frozen=True, gc=False):
    port: Int32 = 0
    service: str | None = None


class ProbeHandler(View, frozen=True, gc=False):
    exec: ExecAction | None = None
    httpGet: HTTPGetAction | None = None
    tcpSocket: TCPSocketAction | None = None
    grpc: GRPCAction | None = None


class Probe(ProbeHandler, frozen=True, gc=False):
    initialDelaySeconds: Int32 = 0
    timeoutSeconds: Int32 = 0
    periodSeconds: Int32 = 0
    successThreshold: Int32 = 0
    failureThreshold: Int32 = 0
    terminationGracePeriodSeconds: Int64 | None = None


class SleepAction(View, frozen=True, gc=False):
    seconds: Int64 = 0


class LifecycleHandler(View, frozen=True, gc=False):
    exec: ExecAction | None = None
    httpGet: HTTPGetAction | None = None
    tcpSocket: TCPSocketAction | None = None
    sleep: SleepAction | None = None


class Lifecycle(View, frozen=True, gc=False):
    postStart: LifecycleHandler | None = None
    preStop: LifecycleHandler | None = None
    stopSignal: named.Signal | None = None


class ObjectFieldSelector(View, frozen=True, gc=False):
    apiVersion: str = ""
    fieldPath: str = ""


class ResourceFieldSelector(View, frozen=True, gc=False):
    containerName: str = ""
    resource: str = ""
    divisor: Quantity = ZERO


class ContainerPort(View, frozen=True, gc=False):
    name: str = ""
    hostPort: Int32 = 0
    containerPort: Int32 = 0
    protocol: named.Protocol = ""
    hostIP: str = ""


class ConfigMapEnvSource(LocalObjectReference, frozen=True, gc=False):
    optional: bool | None = None


class SecretEnvSource(LocalObjectReference, frozen=True, gc=False):
    optional: bool | None = None


class EnvFromSource(View, frozen=True, gc=False):
    prefix: str = ""
    configMapRef: ConfigMapEnvSource | None = None
    secretRef: SecretEnvSource | None = None


class ConfigMapKeySelector(LocalObjectReference, frozen=True, gc=False):
    key: str = ""
    optional: bool | None = None


class SecretKeySelector(LocalObjectReference, frozen=True, gc=False):
    key: str = ""
    optional: bool | None = None


class FileKeySelector(View, frozen=True, gc=False):
    volumeName: str = ""
    path: str = ""
    key: str = ""
    optional: bool | None = None


class EnvVarSource(View, frozen=True, gc=False):
    fieldRef: ObjectFieldSelector | None = None
    resourceFieldRef: ResourceFieldSelector | None = None
    configMapKeyRef: ConfigMapKeySelector | None = None
    secretKeyRef: SecretKeySelector | None = None
    fileKeyRef: FileKeySelector | None = None


class EnvVar(View, frozen=True, gc=False):
    name: str = ""
    value: str = ""
    valueFrom: EnvVarSource | None = None


class ResourceClaim(View, frozen=True, gc=False):
    name: str = ""
    request: str = ""


class ResourceRequirements(View, frozen=True, gc=False):
    limits: named.ResourceList = ABSENT_MAP
    requests: named.ResourceList = ABSENT_MAP
    claims: tuple[ResourceClaim, ...] = ABSENT_LIST


class ContainerResizePolicy(View, frozen=True, gc=False):
    resourceName: named.ResourceName = ""
    restartPolicy: named.ResourceResizeRestartPolicy = ""


class ContainerRestartRuleOnExitCodes(View, frozen=True, gc=False):
    operator: named.ContainerRestartRuleOnExitCodesOperator = ""
    values: tuple[Int32, ...] = ABSENT_LIST


class ContainerRestartRule(View, frozen=True, gc=False):
    action: named.ContainerRestartRuleAction = ""
    exitCodes: ContainerRestartRuleOnExitCodes | None = None


class VolumeMount(View, frozen=True, gc=False):
    name: str = ""
    readOnly: bool = False
    recursiveReadOnly: named.RecursiveReadOnlyMode | None = None
    mountPath: str = ""
    subPath: str = ""
    mountPropagation: named.MountPropagationMode | None = None
    subPathExpr: str = ""


class VolumeDevice(View, frozen=True, gc=False):
    name: str = ""
    devicePath: str = ""


class Container(View, frozen=True, gc=False):
    name: str = ""
    image: str = ""
    command: tuple[str, ...] = ABSENT_LIST
    args: tuple[str, ...] = ABSENT_LIST
    workingDir: str = ""
    ports: tuple[ContainerPort, ...] = ABSENT_LIST
    envFrom: tuple[EnvFromSource, ...] = ABSENT_LIST
    env: tuple[EnvVar, ...] = ABSENT_LIST
    resources: ResourceRequirements = ResourceRequirements()
    resizePolicy: tuple[ContainerResizePolicy, ...] = ABSENT_LIST
    restartPolicy: named.ContainerRestartPolicy | None = None
    restartPolicyRules: tuple[ContainerRestartRule, ...] = ABSENT_LIST
    volumeMounts: tuple[VolumeMount, ...] = ABSENT_LIST
    volumeDevices: tuple[VolumeDevice, ...] = ABSENT_LIST
    livenessProbe: Probe | None = None
    readinessProbe: Probe | None = None
    startupProbe: Probe | None = None
    lifecycle: Lifecycle | None = None
    terminationMessagePath: str = ""
    terminationMessagePolicy: named.TerminationMessagePolicy = ""
    imagePullPolicy: named.PullPolicy = ""
    securityContext: SecurityContext | None = None
    stdin: bool = False
    stdinOnce: bool = False
    tty: bool = False

    @property
    def is_sidecar(self) -> bool:
        """Return whether an init container runs as long as the pod does."""
        return self.restartPolicy == "Always"


class EphemeralContainerCommon(Container, frozen=True, gc=False):
    """The fields of a container."""


class EphemeralContainer(EphemeralContainerCommon, frozen=True, gc=False):
    targetContainerName: str = ""
