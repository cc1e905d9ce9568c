"""List the fields that a document must have, for `kubectl explain` and for old clients that check them.

Each line has required fields, then the types that require exactly these; where two types share a name, it is that of
the definition. What the server itself requires is up to `moorage.admit`. Kubernetes: the fields of k8s.io/api without
`omitempty`.
"""

from typing import Final

from moorage.model.schema.type_rows import type_rows

_ROWS = """
Port: DaemonEndpoint
action: ContainerRestartRule PodFailurePolicyRule
address type: NodeAddress
addressType endpoints: EndpointSlice
addresses: Endpoint
admissionReviewVersions clientConfig name sideEffects: MutatingWebhook ValidatingWebhook
allowed: SubjectAccessReviewStatus
apiGroups resources verbs: ResourcePolicyRule
apiVersion kind name uid: OwnerReference
architecture bootID containerRuntimeVersion kernelVersion kubeProxyVersion kubeletVersion machineID operatingSystem
  osImage systemUUID: NodeSystemInfo
attached: VolumeAttachmentStatus
attacher nodeName source: VolumeAttachmentSpec
audience: TokenRequest
backend pathType: HTTPIngressPath
cidr: IPBlock
claimName: PersistentVolumeClaimVolumeSource
conditionType: PodReadinessGate
container current name: ContainerResourceMetricStatus
container name target: ContainerResourceMetricSource
containerName requestName resourceName: ContainerExtendedResourceRequest
containerPort: ContainerPort
containers: PodSpec
count lastObservedTime: io.k8s.api.events.v1.EventSeries
counterSet counters: DeviceCounterConsumption
counters name: CounterSet
current describedObject metric: ObjectMetricStatus
current metric: ExternalMetricStatus PodsMetricStatus
current name: ResourceMetricStatus
currentNumberScheduled desiredNumberScheduled numberMisscheduled numberReady: DaemonSetStatus
currentReplicas desiredReplicas: io.k8s.api.autoscaling.v1.HorizontalPodAutoscalerStatus
describedObject metric target: ObjectMetricSource
desiredReplicas: HorizontalPodAutoscalerStatus
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
driverName: VolumeAttributesClass
drivers: CSINodeSpec
effect key: DeviceTaint Taint
endpoints path: GlusterfsPersistentVolumeSource GlusterfsVolumeSource
eventTime: io.k8s.api.events.v1.Event
exitCode: ContainerStateTerminated
expression: CELDeviceSelector Validation
expression name: MatchCondition Variable
fieldPath: ObjectFieldSelector
fieldRef warning: ExpressionWarning
gateway secretRef system: ScaleIOPersistentVolumeSource ScaleIOVolumeSource
generation name resourceSliceCount: ResourcePool
gid uid: LinuxContainerUser
groupPriorityMinimum versionPriority: APIServiceSpec
handler: RuntimeClass
image imageID name ready restartCount: ContainerStatus
image monitors: RBDPersistentVolumeSource RBDVolumeSource
imageRef: ImageVolumeStatus
incomplete nonResourceRules resourceRules: SubjectRulesReviewStatus
involvedObject metadata: io.k8s.api.core.v1.Event
ip: EndpointAddress HostAlias HostIP PodIP
iqn lun targetPortal: ISCSIPersistentVolumeSource ISCSIVolumeSource
jobTemplate schedule: CronJobSpec
key: ConfigMapKeySelector SecretKeySelector
key operator: FieldSelectorRequirement LabelSelectorRequirement NodeSelectorRequirement
key path: KeyToPath
key path volumeName: FileKeySelector
key valueExpression: AuditAnnotation
key values: TopologySelectorLabelRequirement
keyType signerName: PodCertificateProjection
kind: io.k8s.api.flowcontrol.v1.Subject
kind name: CrossVersionObjectReference IngressClassParametersReference RoleRef Subject TypedLocalObjectReference
  TypedObjectReference
kubeletConfigKey name namespace: ConfigMapNodeConfigSource
lastTransitionTime message reason status type: Condition
limits: LimitRangeSpec
maxReplicas scaleTargetRef: HorizontalPodAutoscalerSpec
maxSkew topologyKey whenUnsatisfiable: TopologySpreadConstraint
metric target: ExternalMetricSource PodsMetricSource
min: CapacityRequestPolicyRange
monitors: CephFSPersistentVolumeSource CephFSVolumeSource
mountPath name: VolumeMount VolumeMountStatus
name: Container Device DeviceRequest EnvVar EphemeralContainer ForNode ForZone GroupSubject IngressServiceBackend
  MetricIdentifier PodOS PodResourceClaim PodResourceClaimStatus PodSchedulingGate PriorityLevelConfigurationReference
  ResourceStatus UserSubject Volume io.k8s.api.core.v1.ResourceClaim
name namespace: ServiceAccountSubject io.k8s.api.admissionregistration.v1.ServiceReference
name nodeID: CSINodeDriver
name resource: ParentReference
name resource uid: ResourceClaimConsumerReference
name target: ResourceMetricSource
name value: HTTPHeader Sysctl
nodeSelectorTerms: NodeSelector
nonResourceURLs verbs: NonResourcePolicyRule
operator: ContainerRestartRuleOnExitCodes
operator scopeName: ScopedResourceSelectorRequirement
operator values: PodFailurePolicyOnExitCodesRequirement
parentRef: IPAddressSpec
patchType: Mutation
path: ClusterTrustBundleProjection DownwardAPIVolumeFile HostPathVolumeSource LocalVolumeSource
  ServiceAccountTokenProjection
path server: NFSVolumeSource
paths: HTTPIngressRuleValue
pdID: PhotonPersistentDiskVolumeSource
pdName: GCEPersistentDiskVolumeSource
periodSeconds type value: HPAScalingPolicy
podAffinityTerm weight: WeightedPodAffinityTerm
policyName validationActions: ValidatingAdmissionPolicyBindingSpec
port: GRPCAction HTTPGetAction ServicePort TCPSocketAction io.k8s.api.core.v1.EndpointPort
port protocol: IngressPortStatus PortStatus
preference weight: PreferredSchedulingTerm
priorityLevelConfiguration: FlowSchemaSpec
provisioner: StorageClass
registry volume: QuobyteVolumeSource
replicas: ReplicaSetStatus ReplicationControllerStatus ScaleStatus StatefulSetStatus
repository: GitRepoVolumeSource
requestMappings resourceClaimName: PodExtendedResourceClaimStatus
resource: ResourceFieldSelector
resourceClaimName resources: NodeAllocatableResourceClaimStatus
resourceID: ResourceHealth
resourceName restartPolicy: ContainerResizePolicy
revision: ControllerRevision
roleRef: ClusterRoleBinding RoleBinding
rules: PodFailurePolicy SuccessPolicy
seconds: SleepAction
secretName shareName: AzureFilePersistentVolumeSource AzureFileVolumeSource
selector: ReplicaSetSpec
selector template: DaemonSetSpec DeploymentSpec StatefulSetSpec
source: DeviceAllocationConfiguration
spec: CSIDriver CSINode CronJob DeviceClass DeviceTaintRule HorizontalPodAutoscaler IPAddress LocalSubjectAccessReview
  PersistentVolumeClaimTemplate ResourceClaimTemplate ResourceClaimTemplateSpec ResourceSlice SelfSubjectAccessReview
  SelfSubjectRulesReview SubjectAccessReview ValidatingAdmissionPolicyBinding VolumeAttachment
  io.k8s.api.resource.v1.ResourceClaim
status: ModifyVolumeStatus
status type: APIServiceCondition ComponentCondition DaemonSetCondition DeploymentCondition
  HorizontalPodAutoscalerCondition JobCondition NamespaceCondition NodeCondition PersistentVolumeClaimCondition
  PodCondition ReplicaSetCondition ReplicationControllerCondition StatefulSetCondition
storageClassName: CSIStorageCapacity
subjects: PolicyRulesWithSubjects
taint: DeviceTaintRuleSpec
target: Binding
template: JobSpec
topologyKey: PodAffinityTerm
type: AppArmorProfile FlowDistinguisherMethod LimitRangeItem LimitResponse MetricSpec MetricStatus MetricTarget
  PodFailurePolicyOnPodConditionsPattern PriorityLevelConfigurationSpec SeccompProfile
value: Counter DeviceCapacity
verbs: NonResourceRule PolicyRule ResourceRule
volumeID: AWSElasticBlockStoreVolumeSource CinderPersistentVolumeSource CinderVolumeSource PortworxVolumeSource
volumePath: VsphereVirtualDiskVolumeSource
"""
REQUIRED_FIELDS: Final = type_rows(_ROWS)
