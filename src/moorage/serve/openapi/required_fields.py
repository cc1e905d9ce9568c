"""List the fields that a document must have, for `kubectl explain` and for old clients that check them.

Each line has required fields, then the types that require exactly these; where two types share a name, it is that of
the definition. What the server itself requires is up to `moorage.admit`. Kubernetes: the fields of k8s.io/api without
`omitempty`.
"""

from typing import Final

_ROWS = """
Port: DaemonEndpoint
action: ContainerRestartRule PodFailurePolicyRule
address type: NodeAddress
allowed: SubjectAccessReviewStatus
apiVersion kind name uid: OwnerReference
architecture bootID containerRuntimeVersion kernelVersion kubeProxyVersion kubeletVersion machineID operatingSystem
  osImage systemUUID: NodeSystemInfo
attached: VolumeAttachmentStatus
attacher nodeName source: VolumeAttachmentSpec
audience: TokenRequest
claimName: PersistentVolumeClaimVolumeSource
conditionType: PodReadinessGate
containerName requestName resourceName: ContainerExtendedResourceRequest
containerPort: ContainerPort
containers: PodSpec
count lastObservedTime: io.k8s.api.events.v1.EventSeries
counterSet counters: DeviceCounterConsumption
counters name: CounterSet
currentNumberScheduled desiredNumberScheduled numberMisscheduled numberReady: DaemonSetStatus
device driver pool: AllocatedDeviceStatus
device driver pool request: DeviceRequestAllocationResult
deviceClassName: ExactDeviceRequest
deviceClassName name: DeviceSubRequest
devicePath name: AttachedVolume VolumeDevice
diskName diskURI: AzureDiskVolumeSource
driver: CSIVolumeSource FlexPersistentVolumeSource FlexVolumeSource
driver parameters: OpaqueDeviceConfiguration
driver pool: ResourceSliceSpec
driver volumeHandle: CSIPersistentVolumeSource
drivers: CSINodeSpec
effect key: DeviceTaint Taint
endpoints path: GlusterfsPersistentVolumeSource GlusterfsVolumeSource
eventTime: io.k8s.api.events.v1.Event
exitCode: ContainerStateTerminated
expression: CELDeviceSelector
fieldPath: ObjectFieldSelector
gateway secretRef system: ScaleIOPersistentVolumeSource ScaleIOVolumeSource
generation name resourceSliceCount: ResourcePool
gid uid: LinuxContainerUser
image imageID name ready restartCount: ContainerStatus
image monitors: RBDPersistentVolumeSource RBDVolumeSource
imageRef: ImageVolumeStatus
incomplete nonResourceRules resourceRules: SubjectRulesReviewStatus
involvedObject metadata: io.k8s.api.core.v1.Event
ip: HostAlias HostIP PodIP
iqn lun targetPortal: ISCSIPersistentVolumeSource ISCSIVolumeSource
jobTemplate schedule: CronJobSpec
key: ConfigMapKeySelector SecretKeySelector
key operator: FieldSelectorRequirement LabelSelectorRequirement NodeSelectorRequirement
key path: KeyToPath
key path volumeName: FileKeySelector
key values: TopologySelectorLabelRequirement
keyType signerName: PodCertificateProjection
kind name: TypedLocalObjectReference TypedObjectReference
kubeletConfigKey name namespace: ConfigMapNodeConfigSource
lastTransitionTime message reason status type: Condition
maxSkew topologyKey whenUnsatisfiable: TopologySpreadConstraint
min: CapacityRequestPolicyRange
monitors: CephFSPersistentVolumeSource CephFSVolumeSource
mountPath name: VolumeMount VolumeMountStatus
name: Container Device DeviceRequest EnvVar EphemeralContainer PodOS PodResourceClaim PodResourceClaimStatus
  PodSchedulingGate ResourceStatus Volume io.k8s.api.core.v1.ResourceClaim
name nodeID: CSINodeDriver
name resource uid: ResourceClaimConsumerReference
name value: HTTPHeader Sysctl
nodeSelectorTerms: NodeSelector
operator: ContainerRestartRuleOnExitCodes
operator values: PodFailurePolicyOnExitCodesRequirement
path: ClusterTrustBundleProjection DownwardAPIVolumeFile HostPathVolumeSource LocalVolumeSource
  ServiceAccountTokenProjection
path server: NFSVolumeSource
pdID: PhotonPersistentDiskVolumeSource
pdName: GCEPersistentDiskVolumeSource
podAffinityTerm weight: WeightedPodAffinityTerm
port: GRPCAction HTTPGetAction ServicePort TCPSocketAction
port protocol: PortStatus
preference weight: PreferredSchedulingTerm
provisioner: StorageClass
registry volume: QuobyteVolumeSource
replicas: ReplicaSetStatus ScaleStatus StatefulSetStatus
repository: GitRepoVolumeSource
requestMappings resourceClaimName: PodExtendedResourceClaimStatus
resource: ResourceFieldSelector
resourceClaimName resources: NodeAllocatableResourceClaimStatus
resourceID: ResourceHealth
resourceName restartPolicy: ContainerResizePolicy
revision: ControllerRevision
rules: PodFailurePolicy SuccessPolicy
seconds: SleepAction
secretName shareName: AzureFilePersistentVolumeSource AzureFileVolumeSource
selector: ReplicaSetSpec
selector template: DaemonSetSpec DeploymentSpec StatefulSetSpec
source: DeviceAllocationConfiguration
spec: CSIDriver CSINode CronJob DeviceClass DeviceTaintRule PersistentVolumeClaimTemplate ResourceClaimTemplate
  ResourceClaimTemplateSpec ResourceSlice SelfSubjectAccessReview SelfSubjectRulesReview VolumeAttachment
  io.k8s.api.resource.v1.ResourceClaim
status: ModifyVolumeStatus
status type: DaemonSetCondition DeploymentCondition JobCondition NamespaceCondition NodeCondition
  PersistentVolumeClaimCondition PodCondition ReplicaSetCondition StatefulSetCondition
storageClassName: CSIStorageCapacity
taint: DeviceTaintRuleSpec
target: Binding
template: JobSpec
topologyKey: PodAffinityTerm
type: AppArmorProfile PodFailurePolicyOnPodConditionsPattern SeccompProfile
value: Counter DeviceCapacity
verbs: NonResourceRule ResourceRule
volumeID: AWSElasticBlockStoreVolumeSource CinderPersistentVolumeSource CinderVolumeSource PortworxVolumeSource
volumePath: VsphereVirtualDiskVolumeSource
"""


def type_rows(text: str) -> dict[str, tuple[str, ...]]:
    """Read rows of fields and the types that have them; a row goes on where the next line is indented."""
    rows = (row.partition(": ") for row in text.strip().replace("\n  ", " ").splitlines())
    return {type_name: tuple(fields.split()) for fields, _, types in rows for type_name in types.split()}


REQUIRED_FIELDS: Final = type_rows(_ROWS)
