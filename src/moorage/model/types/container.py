"""A container: image, environment, ports, resources, mounts.

In: raw documents, by way of `kinds.view_of`. Out: frozen views, field for field the API's. Kubernetes:
k8s.io/api/core/v1.
"""

# The names are the API's own and its reference documents each of them.
# ruff: noqa: D101

from moorage.model.quantity import ZERO, Quantity
from moorage.model.schema.absent import ABSENT_LIST, ABSENT_MAP
from moorage.model.schema.named_types import (
    ContainerRestartPolicy,
    ContainerRestartRuleAction,
    ContainerRestartRuleOnExitCodesOperator,
    MountPropagationMode,
    Protocol,
    PullPolicy,
    RecursiveReadOnlyMode,
    ResourceList,
    ResourceName,
    ResourceResizeRestartPolicy,
    TerminationMessagePolicy,
)
from moorage.model.types.meta import LocalObjectReference
from moorage.model.types.probe import Lifecycle, Probe
from moorage.model.types.security import SecurityContext
from moorage.model.types.view import Int32, View


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
    protocol: Protocol = ""
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
    limits: ResourceList = ABSENT_MAP
    requests: ResourceList = ABSENT_MAP
    claims: tuple[ResourceClaim, ...] = ABSENT_LIST


class ContainerResizePolicy(View, frozen=True, gc=False):
    resourceName: ResourceName = ""
    restartPolicy: ResourceResizeRestartPolicy = ""


class ContainerRestartRuleOnExitCodes(View, frozen=True, gc=False):
    operator: ContainerRestartRuleOnExitCodesOperator = ""
    values: tuple[Int32, ...] = ABSENT_LIST


class ContainerRestartRule(View, frozen=True, gc=False):
    action: ContainerRestartRuleAction = ""
    exitCodes: ContainerRestartRuleOnExitCodes | None = None


class VolumeMount(View, frozen=True, gc=False):
    name: str = ""
    readOnly: bool = False
    recursiveReadOnly: RecursiveReadOnlyMode | None = None
    mountPath: str = ""
    subPath: str = ""
    mountPropagation: MountPropagationMode | None = None
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
    restartPolicy: ContainerRestartPolicy | None = None
    restartPolicyRules: tuple[ContainerRestartRule, ...] = ABSENT_LIST
    volumeMounts: tuple[VolumeMount, ...] = ABSENT_LIST
    volumeDevices: tuple[VolumeDevice, ...] = ABSENT_LIST
    livenessProbe: Probe | None = None
    readinessProbe: Probe | None = None
    startupProbe: Probe | None = None
    lifecycle: Lifecycle | None = None
    terminationMessagePath: str = ""
    terminationMessagePolicy: TerminationMessagePolicy = ""
    imagePullPolicy: PullPolicy = ""
    securityContext: SecurityContext | None = None
    stdin: bool = False
    stdinOnce: bool = False
    tty: bool = False


class EphemeralContainerCommon(View, frozen=True, gc=False):
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
    restartPolicy: ContainerRestartPolicy | None = None
    restartPolicyRules: tuple[ContainerRestartRule, ...] = ABSENT_LIST
    volumeMounts: tuple[VolumeMount, ...] = ABSENT_LIST
    volumeDevices: tuple[VolumeDevice, ...] = ABSENT_LIST
    livenessProbe: Probe | None = None
    readinessProbe: Probe | None = None
    startupProbe: Probe | None = None
    lifecycle: Lifecycle | None = None
    terminationMessagePath: str = ""
    terminationMessagePolicy: TerminationMessagePolicy = ""
    imagePullPolicy: PullPolicy = ""
    securityContext: SecurityContext | None = None
    stdin: bool = False
    stdinOnce: bool = False
    tty: bool = False


class EphemeralContainer(EphemeralContainerCommon, frozen=True, gc=False):
    targetContainerName: str = ""
