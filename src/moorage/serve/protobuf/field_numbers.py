"""Number the fields of API types as clients that speak protobuf do.

The numbers are the wire format of the Kubernetes API: they never change, and new fields get new ones. Views declare
their fields in the order of the Go types, which is mostly that of the numbers; `_EXCEPTIONS` lists the other types.
There, a field whose number is not the one after its neighbour's has it written before it, and `^Type` is a group of
fields that JSON has no level of its own for. A test compares all numbers with the published generated.proto files.
"""

from collections.abc import Iterator

from moorage.model.types.meta import TypeMeta
from moorage.model.types.view import View

_EXCEPTIONS = """
AllocatedDeviceStatus: driver pool device conditions data networkData shareID
AllocationResult: devices 3=nodeSelector 5=allocationTimestamp
CapacityRequestPolicy: default 3=validValues validRange
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
EphemeralContainer: ^Container targetContainerName
ISCSIPersistentVolumeSource: targetPortal iqn lun iscsiInterface fsType readOnly portals chapAuthDiscovery
  10=secretRef chapAuthSession initiatorName
ISCSIVolumeSource: targetPortal iqn lun iscsiInterface fsType readOnly portals chapAuthDiscovery 10=secretRef
  chapAuthSession initiatorName
JobSpec: parallelism completions activeDeadlineSeconds selector manualSelector template backoffLimit
  ttlSecondsAfterFinished completionMode suspend podFailurePolicy backoffLimitPerIndex maxFailedIndexes
  podReplacementPolicy managedBy successPolicy
JobStatus: conditions startTime completionTime active succeeded failed completedIndexes uncountedTerminatedPods ready
  failedIndexes terminating
LocalObjectReference: name
ManagedFieldsEntry: manager operation apiVersion time 6=fieldsType fieldsV1 subresource
NamespaceCondition: type status 4=lastTransitionTime reason message
NodeConfigSource: 2=configMap
NodeSpec: podCIDR externalID providerID unschedulable taints configSource podCIDRs
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
ResourceClaimConsumerReference: apiGroup 3=resource name uid
ResourceClaimStatus: allocation reservedFor 4=devices
ResourceHealth: resourceID health 6=message
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
Volume: name ^VolumeSource
VolumeMount: name readOnly mountPath subPath mountPropagation subPathExpr recursiveReadOnly
VolumeSource: hostPath emptyDir gcePersistentDisk awsElasticBlockStore gitRepo secret nfs iscsi glusterfs
  persistentVolumeClaim rbd flexVolume cinder cephfs flocker downwardAPI fc azureFile configMap vsphereVolume quobyte
  azureDisk photonPersistentDisk portworxVolume scaleIO projected storageos csi ephemeral image
"""
#: KEP-5500: no release of Kubernetes has given it a number yet.
UNNUMBERED = frozenset({"Toleration.expression", "DeviceToleration.expression"})


def _rows() -> dict[str, str]:
    rows = (line.partition(": ") for line in _EXCEPTIONS.strip().replace("\n  ", " ").splitlines())
    return {name: fields for name, _, fields in rows}


_FIELDS = _rows()


def field_numbers(view: type[View], message: str) -> Iterator[tuple[int, str]]:
    """Yield the number and the name of each field of a message whose fields the view has."""
    number = 0
    for word in _FIELDS[message].split() if message in _FIELDS else _declared_fields(view):
        given, _, name = word.rpartition("=")
        number = int(given) if given else number + 1
        if f"{message}.{name}" not in UNNUMBERED:
            yield number, name


def _declared_fields(view: type[View]) -> list[str]:
    names = view.__struct_encode_fields__
    return [name for name in names if not (issubclass(view, TypeMeta) and name in ("apiVersion", "kind"))]
