"""Read protobuf bodies into the documents that the same objects would be in JSON.

Go clients, kubectl among them, send what they create as protobuf. The views know every field's type, so only its number
is needed here. Go writes fields without pointers even if they are empty; JSON leaves them out, and so does this.
Nothing is allocated for what a length merely promises. Kubernetes: the protobuf serializer, gogo's generated
unmarshalers. Differs: fields that no view has are dropped.

The numbers are the wire format of the Kubernetes API: they never change, and new fields get new ones. Views declare
their fields in the order of the Go types, which is mostly that of the numbers; `_EXCEPTIONS` lists the other types.
There, a field whose number is not the one after its neighbour's has it written before it, and `^Type` is a group of
fields that JSON has no level of its own for. A test compares all numbers with the published generated.proto files.
"""

import base64
import datetime
import struct
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import msgspec

from moorage.model.api_error import Raw
from moorage.model.go.times import whole_seconds
from moorage.model.kinds import Kind
from moorage.model.schema.shapes import (
    AnyShape,
    BytesShape,
    EitherShape,
    IntOrStringShape,
    ListShape,
    MapShape,
    QuantityShape,
    ScalarShape,
    Shape,
    StructShape,
    TimeShape,
    struct_shape,
)
from moorage.model.text.readers import reads_text
from moorage.model.types.meta import TypeMeta
from moorage.model.types.view import View

_EXCEPTIONS = """
APIServiceSpec: service group version insecureSkipTLSVerify caBundle 7=groupPriorityMinimum versionPriority
AllocatedDeviceStatus: driver pool device conditions data networkData shareID
AllocationResult: devices 3=nodeSelector 5=allocationTimestamp
CapacityRequestPolicy: default 3=validValues validRange
CertificateSigningRequestCondition: type reason message lastUpdateTime lastTransitionTime status
CertificateSigningRequestSpec: request username uid groups usages extra signerName expirationSeconds
ClusterTrustBundleProjection: name signerName labelSelector path optional
ConfigMap: metadata data binaryData immutable
ConfigMapEnvSource: ^LocalObjectReference optional
ConfigMapKeySelector: ^LocalObjectReference key optional
ConfigMapProjection: ^LocalObjectReference items 4=optional
ConfigMapVolumeSource: ^LocalObjectReference items defaultMode optional
Container: name image command args workingDir ports env resources volumeMounts livenessProbe readinessProbe lifecycle
  terminationMessagePath imagePullPolicy securityContext stdin stdinOnce tty envFrom terminationMessagePolicy
  volumeDevices startupProbe resizePolicy restartPolicy restartPolicyRules
CronJobSpec: schedule startingDeadlineSeconds concurrencyPolicy suspend jobTemplate successfulJobsHistoryLimit
  failedJobsHistoryLimit timeZone
CronJobStatus: active 4=lastScheduleTime lastSuccessfulTime
CustomResourceDefinitionSpec: group 3=names scope 7=versions 9=conversion preserveUnknownFields
CustomResourceDefinitionVersion: name served storage schema subresources additionalPrinterColumns deprecated
  deprecationWarning selectableFields
DaemonSetSpec: selector template updateStrategy minReadySeconds 6=revisionHistoryLimit
DeploymentCondition: type status 4=reason message lastUpdateTime lastTransitionTime
DeploymentSpec: replicas selector template strategy minReadySeconds revisionHistoryLimit paused
  9=progressDeadlineSeconds
DeploymentStatus: observedGeneration replicas updatedReplicas availableReplicas unavailableReplicas conditions
  readyReplicas collisionCount terminatingReplicas
DeviceAllocationConfiguration: source requests ^DeviceConfiguration
DeviceAttribute: 2=int bool string version ints bools strings versions
DeviceClaimConfiguration: requests ^DeviceConfiguration
DeviceClassConfiguration: ^DeviceConfiguration
DeviceClassSpec: selectors config 4=extendedResourceName
DeviceConfiguration: opaque
DeviceTaintSelector: 2=driver pool device
EndpointAddress: ip targetRef hostname nodeName
EndpointSlice: metadata endpoints ports addressType
EphemeralContainer: ^Container targetContainerName
ExpressionWarning: 2=fieldRef warning
HPAScalingRules: selectPolicy policies stabilizationWindowSeconds tolerance
HTTPIngressPath: path backend pathType
ISCSIPersistentVolumeSource: targetPortal iqn lun iscsiInterface fsType readOnly portals chapAuthDiscovery
  10=secretRef chapAuthSession initiatorName
ISCSIVolumeSource: targetPortal iqn lun iscsiInterface fsType readOnly portals chapAuthDiscovery 10=secretRef
  chapAuthSession initiatorName
IngressBackend: 3=resource service
IngressLoadBalancerIngress: ip hostname 4=ports
IngressRule: host ^IngressRuleValue
IngressRuleValue: http
IngressSpec: defaultBackend tls rules ingressClassName
JobSpec: parallelism completions activeDeadlineSeconds selector manualSelector template backoffLimit
  ttlSecondsAfterFinished completionMode suspend podFailurePolicy backoffLimitPerIndex maxFailedIndexes
  podReplacementPolicy managedBy successPolicy
JobStatus: conditions startTime completionTime active succeeded failed completedIndexes uncountedTerminatedPods ready
  failedIndexes terminating
LocalObjectReference: name
ManagedFieldsEntry: manager operation apiVersion time 6=fieldsType fieldsV1 subresource
MatchResources: namespaceSelector objectSelector resourceRules excludeResourceRules 7=matchPolicy
MetricSpec: type object pods resource external 7=containerResource
MetricStatus: type object pods resource external 7=containerResource
MutatingWebhook: name clientConfig rules failurePolicy namespaceSelector sideEffects timeoutSeconds
  admissionReviewVersions matchPolicy reinvocationPolicy objectSelector matchConditions
Mutation: 2=patchType applyConfiguration jsonPatch
NamedRuleWithOperations: resourceNames ^RuleWithOperations
NamespaceCondition: type status 4=lastTransitionTime reason message
NodeConfigSource: 2=configMap
NodeSpec: podCIDR externalID providerID unschedulable taints configSource podCIDRs
NonResourcePolicyRule: verbs 6=nonResourceURLs
ObjectMeta: name generateName namespace selfLink uid resourceVersion generation creationTimestamp deletionTimestamp
  deletionGracePeriodSeconds labels annotations ownerReferences finalizers 17=managedFields
OwnerReference: kind 3=name uid apiVersion controller blockOwnerDeletion
PersistentVolumeClaimSpec: accessModes resources volumeName selector storageClassName volumeMode dataSource
  dataSourceRef volumeAttributesClassName
PersistentVolumeClaimStatus: phase accessModes capacity conditions allocatedResources 7=allocatedResourceStatuses
  currentVolumeAttributesClassName modifyVolumeStatus
PersistentVolumeSource: gcePersistentDisk awsElasticBlockStore hostPath glusterfs nfs rbd iscsi cinder cephfs fc
  flocker flexVolume azureFile vsphereVolume quobyte azureDisk photonPersistentDisk portworxVolume scaleIO local
  storageos csi
PersistentVolumeSpec: capacity ^PersistentVolumeSource accessModes claimRef persistentVolumeReclaimPolicy
  storageClassName mountOptions volumeMode nodeAffinity volumeAttributesClassName
PodCondition: type status lastProbeTime lastTransitionTime reason message observedGeneration
PodResourceClaim: name 3=resourceClaimName resourceClaimTemplateName
PodSecurityContext: seLinuxOptions runAsUser runAsNonRoot supplementalGroups fsGroup runAsGroup sysctls windowsOptions
  fsGroupChangePolicy seccompProfile appArmorProfile supplementalGroupsPolicy seLinuxChangePolicy
PodSpec: volumes containers restartPolicy terminationGracePeriodSeconds activeDeadlineSeconds dnsPolicy nodeSelector
  serviceAccountName serviceAccount nodeName hostNetwork hostPID hostIPC securityContext imagePullSecrets hostname
  subdomain affinity schedulerName initContainers automountServiceAccountToken tolerations hostAliases
  priorityClassName priority dnsConfig shareProcessNamespace readinessGates runtimeClassName enableServiceLinks
  preemptionPolicy overhead topologySpreadConstraints ephemeralContainers setHostnameAsFQDN os hostUsers
  schedulingGates resourceClaims resources hostnameOverride 43=schedulingGroup
PodStatus: phase conditions message reason hostIP podIP startTime containerStatuses qosClass initContainerStatuses
  nominatedNodeName podIPs ephemeralContainerStatuses resize resourceClaimStatuses hostIPs observedGeneration
  extendedResourceClaimStatus allocatedResources resources nodeAllocatableResourceClaimStatuses
Probe: ^ProbeHandler initialDelaySeconds timeoutSeconds periodSeconds successThreshold failureThreshold
  terminationGracePeriodSeconds
ProbeHandler: exec httpGet tcpSocket grpc
ReplicaSetSpec: replicas selector template minReadySeconds
ReplicaSetStatus: replicas fullyLabeledReplicas observedGeneration readyReplicas availableReplicas conditions
  terminatingReplicas
ReplicationControllerSpec: replicas selector template minReadySeconds
ReplicationControllerStatus: replicas fullyLabeledReplicas observedGeneration readyReplicas availableReplicas conditions
ResourceClaimConsumerReference: apiGroup 3=resource name uid
ResourceClaimStatus: allocation reservedFor 4=devices
ResourceHealth: resourceID health 6=message
Rule: apiGroups apiVersions resources scope
RuleWithOperations: operations ^Rule
Secret: metadata data type stringData immutable
SecretEnvSource: ^LocalObjectReference optional
SecretKeySelector: ^LocalObjectReference key optional
SecretProjection: ^LocalObjectReference items 4=optional
SecurityContext: capabilities privileged seLinuxOptions runAsUser runAsNonRoot readOnlyRootFilesystem
  allowPrivilegeEscalation runAsGroup procMount windowsOptions seccompProfile appArmorProfile
ServicePort: name protocol port targetPort nodePort appProtocol
ServiceSpec: ports selector clusterIP type externalIPs 7=sessionAffinity loadBalancerIP loadBalancerSourceRanges
  externalName externalTrafficPolicy healthCheckNodePort publishNotReadyAddresses sessionAffinityConfig
  17=ipFamilyPolicy clusterIPs ipFamilies allocateLoadBalancerNodePorts loadBalancerClass internalTrafficPolicy
  trafficDistribution
StatefulSetStatus: observedGeneration replicas readyReplicas currentReplicas updatedReplicas currentRevision
  updateRevision 9=collisionCount conditions availableReplicas
SubjectAccessReviewStatus: allowed reason evaluationError denied
TokenRequestSpec: audiences 3=boundObjectRef expirationSeconds
TokenReviewStatus: authenticated user error audiences
ValidatingWebhook: name clientConfig rules failurePolicy namespaceSelector sideEffects timeoutSeconds
  admissionReviewVersions matchPolicy objectSelector matchConditions
Volume: name ^VolumeSource
VolumeMount: name readOnly mountPath subPath mountPropagation subPathExpr recursiveReadOnly
VolumeSource: hostPath emptyDir gcePersistentDisk awsElasticBlockStore gitRepo secret nfs iscsi glusterfs
  persistentVolumeClaim rbd flexVolume cinder cephfs flocker downwardAPI fc azureFile configMap vsphereVolume quobyte
  azureDisk photonPersistentDisk portworxVolume scaleIO projected storageos csi ephemeral image
WebhookClientConfig: service caBundle url
WebhookConversion: 2=clientConfig conversionReviewVersions
"""
#: KEP-5500: no release of Kubernetes has given it a number yet.
UNNUMBERED = frozenset({"Toleration.expression", "DeviceToleration.expression"})


def _rows() -> dict[str, str]:
    rows = (line.partition(": ") for line in _EXCEPTIONS.strip().replace("\n  ", " ").splitlines())
    return {name: fields for name, _, fields in rows}


_FIELDS = _rows()


def field_numbers(view: type[View], message: str) -> Iterator[tuple[int, str]]:
    number = 0
    for word in _FIELDS[message].split() if message in _FIELDS else _declared_fields(view):
        given, _, name = word.rpartition("=")
        number = int(given) if given else number + 1
        if f"{message}.{name}" not in UNNUMBERED:
            yield number, name


def _declared_fields(view: type[View]) -> list[str]:
    both = zip(view.__struct_fields__, view.__struct_encode_fields__, strict=True)
    names = [in_json for name, in_json in both if name not in view.internal]
    return [name for name in names if not (issubclass(view, TypeMeta) and name in ("apiVersion", "kind"))]


_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
_MAX_VARINT_LENGTH = 10


class WireError(ValueError):
    """Bytes that are not protobuf."""


@reads_text("\x08", "\x01", "\x7f", "\x0a", "\x00", "é", raises=WireError)
def read_fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    at, end = 0, len(message)
    while at < end:
        tag, at = _read_varint(message, at)
        number, kind = tag >> 3, tag & 7
        if not number:
            raise WireError("a field has no number")
        if kind == _VARINT:
            value, at = _read_varint(message, at)
            yield number, value
        elif kind == _BYTES:
            length, at = _read_varint(message, at)
            if length > end - at:
                raise WireError("unexpected EOF")
            yield number, message[at : at + length]
            at += length
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            size = 8 if kind == _EIGHT_BYTES else 4
            if size > end - at:
                raise WireError("unexpected EOF")
            yield number, message[at : at + size]
            at += size
        else:
            raise WireError(f"illegal wireType {kind}")


def as_signed(value: int | bytes, bits: int) -> int:
    """Negative numbers are sent as their two's complement in 64 bits."""
    if isinstance(value, bytes):
        raise WireError("bytes where a number belongs")
    value &= (1 << 64) - 1
    number = value - (1 << 64) if value >> 63 else value
    if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise WireError(f"{number} does not fit in {bits} bits")
    return number


def as_text(value: int | bytes) -> str:
    if not isinstance(value, bytes):
        raise WireError("a number where text belongs")
    return value.decode("utf-8", "replace")


def as_bytes(value: int | bytes) -> bytes:
    if not isinstance(value, bytes):
        raise WireError("a number where a message belongs")
    return value


def as_double(value: int | bytes) -> float:
    data = as_bytes(value)
    return float(struct.unpack("<d" if len(data) == 8 else "<f", data)[0])


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for position in range(_MAX_VARINT_LENGTH):
        if at >= len(message):
            raise WireError("unexpected EOF")
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << (7 * position)
        if byte < 0x80:
            return value, at
    raise WireError("integer overflow")


MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_DEEPEST = 64
_MAX_FIELDS = 250_000


class _Numbered(NamedTuple):
    """A field by number. `group` is set for a group of fields that has no level in JSON; `keeps_zero` for pointers."""

    name: str
    shape: Shape
    keeps_zero: bool
    group: str = ""


def read_object(body: bytes, kind: Kind) -> Raw:
    if not body.startswith(_MAGIC):
        raise WireError("the body does not begin as Kubernetes' protobuf does")
    api_version = name = ""
    message = b""
    for number, value in read_fields(body[len(_MAGIC) :]):
        if number == 1:
            named = dict(read_fields(as_bytes(value)))
            api_version, name = as_text(named.get(1, b"")), as_text(named.get(2, b""))
        elif number == 2:
            message = as_bytes(value)
    table_name = "events.Event" if kind.group == "events.k8s.io" else kind.name
    raw = _read_struct(message, _fields_of(kind.view, table_name), 0)
    return {"apiVersion": api_version, "kind": name} | raw


@cache
def _fields_of(view: type[View], name: str) -> dict[int, _Numbered]:
    shape = struct_shape(view)
    defaults = dict(zip(reversed(view.__struct_encode_fields__), reversed(view.__struct_defaults__), strict=False))
    fields: dict[int, _Numbered] = {}
    for number, field in field_numbers(view, name):
        if field.startswith("^"):
            fields[number] = _Numbered("", shape, False, field[1:])
        else:
            keeps_zero = defaults.get(field) is None
            fields[number] = _Numbered(field, shape.field(field), keeps_zero)
    return fields


def _read_struct(message: bytes, fields: dict[int, _Numbered], depth: int) -> Raw:
    if depth > _DEEPEST:
        raise WireError("nested too deeply")
    raw: Raw = {}
    for count, (number, value) in enumerate(read_fields(message)):
        field = fields.get(number)
        if count > _MAX_FIELDS:
            raise WireError(f"a message has more than {_MAX_FIELDS} fields")
        if field is None:
            continue
        if field.group:
            raw |= _read_struct(as_bytes(value), _fields_of(field.shape.view, field.group), depth + 1)
            continue
        shape, name = field.shape, field.name
        if isinstance(shape, ListShape):
            raw.setdefault(name, []).append(_read(value, shape.item, depth))
        elif isinstance(shape, MapShape):
            key, item = _read_entry(as_bytes(value), shape.value, depth)
            raw.setdefault(name, {})[key] = item
        else:
            read = _read(value, shape, depth)
            if read or (field.keeps_zero and read is not None):
                raw[name] = read
    return raw


def _read_entry(message: bytes, shape: Shape, depth: int) -> tuple[str, Any]:
    """One entry of a map: the key is field 1, the value field 2, and either is left out if it is empty."""
    entry = dict(read_fields(message))
    if isinstance(shape, ListShape):  # a message such as ExtraValue, whose field 1 has the values
        items = [value for number, value in read_fields(as_bytes(entry.get(2, b""))) if number == 1]
        return as_text(entry.get(1, b"")), [_read(item, shape.item, depth) for item in items]
    empty: int | bytes = 0 if isinstance(shape, ScalarShape) and shape.python_type is not str else b""
    return as_text(entry.get(1, b"")), _read(entry.get(2, empty), shape, depth)


def _read(value: int | bytes, shape: Shape, depth: int) -> Any:
    if isinstance(shape, StructShape):
        return _read_struct(as_bytes(value), _fields_of(shape.view, shape.view.__name__), depth + 1)
    if isinstance(shape, ScalarShape):
        return _read_scalar(value, shape)
    if isinstance(shape, QuantityShape):
        return as_text(dict(read_fields(as_bytes(value))).get(1, b""))
    if isinstance(shape, TimeShape):
        return _read_time(as_bytes(value), micro=shape.micro)
    if isinstance(shape, BytesShape):
        return base64.b64encode(as_bytes(value)).decode()
    if isinstance(shape, IntOrStringShape):
        parts = dict(read_fields(as_bytes(value)))
        return as_text(parts.get(3, b"")) if parts.get(1) else as_signed(parts.get(2, 0), 32)
    if isinstance(shape, EitherShape):
        return _read_either(as_bytes(value), shape, depth)
    if isinstance(shape, AnyShape):
        return _read_any(as_bytes(value))
    raise WireError(f"a list in a list is not protobuf: {shape}")


def _read_either(message: bytes, shape: EitherShape, depth: int) -> Any:
    """Return a schema, or a list in field 2; or a schema in field 2, or a boolean."""
    fields = list(read_fields(message))
    in_order = (1, 2) if isinstance(shape.other, ListShape) else (2, 1)
    schemas, others = ([value for number, value in fields if number == wanted] for wanted in in_order)
    if isinstance(shape.other, ListShape):
        if others or not schemas:
            return [_read(value, shape.other.item, depth) for value in others]
    elif not schemas:
        return bool(others and as_signed(others[-1], 64))
    return _read(schemas[-1], shape.struct, depth)


def _read_scalar(value: int | bytes, shape: ScalarShape) -> Any:
    if shape.python_type is str:
        return as_text(value)
    if shape.python_type is bool:
        return bool(as_signed(value, 64))
    if shape.python_type is int:
        return as_signed(value, 32 if shape.go_type == "int32" else 64)
    return as_double(value)


def _read_time(message: bytes, *, micro: bool) -> str | None:
    parts = dict(read_fields(message))
    seconds, nanos = as_signed(parts.get(1, 0), 64), as_signed(parts.get(2, 0), 32)
    if not parts:
        return None
    try:
        time = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    except (OverflowError, OSError, ValueError):
        raise WireError(f"no time: {seconds} seconds") from None
    text = whole_seconds(time)
    return f"{text}.{nanos // 1000:06d}Z" if micro else f"{text}Z"


def _read_any(message: bytes) -> Any:
    """JSON inside of protobuf: the fields that a manager owns, or an extension."""
    parts = dict(read_fields(message))
    try:
        return msgspec.json.decode(as_bytes(parts.get(1, b"null")))
    except msgspec.DecodeError as error:
        raise WireError(f"no JSON: {error}") from None
