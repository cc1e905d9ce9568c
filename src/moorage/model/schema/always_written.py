"""List the fields that Go writes even when they are zero: those without `omitempty`, by their struct.

Any other scalar that is no pointer is left out when it is zero; structs that are no pointers are always written.
Kubernetes: the tags of k8s.io/api and apimachinery.
"""

_FIELDS = """
APIServiceCondition status type
APIServiceSpec groupPriorityMinimum versionPriority
AWSElasticBlockStoreVolumeSource volumeID
AllocatedDeviceStatus conditions device driver pool
AppArmorProfile type
AttachedVolume devicePath name
AuditAnnotation key valueExpression
AzureDiskVolumeSource diskName diskURI
AzureFilePersistentVolumeSource secretName shareName
AzureFileVolumeSource secretName shareName
CELDeviceSelector expression
CertificateSigningRequestCondition status type
CSINodeDriver name nodeID topologyKeys
CSINodeSpec drivers
CSIPersistentVolumeSource driver volumeHandle
CSIStorageCapacity storageClassName
CSIVolumeSource driver
CephFSPersistentVolumeSource monitors
CephFSVolumeSource monitors
CinderPersistentVolumeSource volumeID
CinderVolumeSource volumeID
ClusterRole rules
ClusterTrustBundleProjection path
Condition message reason status type
ConfigMapKeySelector key
ConfigMapNodeConfigSource kubeletConfigKey name namespace
Container name
ContainerExtendedResourceRequest containerName requestName resourceName
ContainerImage names
ContainerPort containerPort
ContainerResizePolicy resourceName restartPolicy
ContainerResourceMetricSource container name
ContainerResourceMetricStatus container name
ContainerStateTerminated exitCode
ContainerStatus image imageID name ready restartCount
ControllerRevision revision
CounterSet name
CronJobSpec schedule
CrossVersionObjectReference kind name
CustomResourceColumnDefinition jsonPath name type
CustomResourceConversion strategy
CustomResourceDefinitionCondition status type
CustomResourceDefinitionNames kind plural
CustomResourceDefinitionSpec group scope versions
CustomResourceDefinitionStatus conditions storedVersions
CustomResourceDefinitionVersion name served storage
CustomResourceSubresourceScale specReplicasPath statusReplicasPath
DaemonEndpoint Port
DaemonSetCondition status type
DaemonSetStatus currentNumberScheduled desiredNumberScheduled numberMisscheduled numberReady
DeploymentCondition status type
Device name
DeviceAllocationConfiguration source
DeviceClaim requests
DeviceCounterConsumption counterSet
DeviceRequest name
DeviceRequestAllocationResult device driver pool request
DeviceSubRequest deviceClassName name
DeviceTaint effect key
DownwardAPIVolumeFile path
Endpoint addresses
EndpointAddress ip
EndpointPort port
EndpointSlice addressType endpoints ports
EnvVar name
EphemeralContainer name
Event reportingComponent reportingInstance
ExactDeviceRequest deviceClassName
ExpressionWarning fieldRef warning
FieldSelectorRequirement key operator
FileKeySelector key path volumeName
FlexPersistentVolumeSource driver
FlexVolumeSource driver
FlowDistinguisherMethod type
FlowSchemaSpec matchingPrecedence
ForNode name
ForZone name
GCEPersistentDiskVolumeSource pdName
GRPCAction port
GitRepoVolumeSource repository
GlusterfsPersistentVolumeSource endpoints path
GlusterfsVolumeSource endpoints path
GroupSubject name
HPAScalingPolicy periodSeconds type value
HTTPHeader name value
HTTPIngressRuleValue paths
HorizontalPodAutoscalerCondition status type
HorizontalPodAutoscalerSpec maxReplicas
HorizontalPodAutoscalerStatus currentMetrics desiredReplicas
HostAlias ip
HostIP ip
HostPathVolumeSource path
IPBlock cidr
ISCSIPersistentVolumeSource iqn lun targetPortal
ISCSIVolumeSource iqn lun targetPortal
IngressClassParametersReference kind name
IngressPortStatus port protocol
IngressServiceBackend name
JobCondition status type
KeyToPath key path
LabelSelectorRequirement key operator
LimitRangeItem type
LimitRangeSpec limits
LimitResponse type
LinuxContainerUser gid uid
LocalVolumeSource path
MatchCondition expression name
MetricIdentifier name
MetricSpec type
MetricStatus type
MetricTarget type
ModifyVolumeStatus status
MutatingWebhook admissionReviewVersions name
Mutation patchType
NFSVolumeSource path server
NamespaceCondition status type
NodeAddress address type
NodeAllocatableResourceClaimStatus resourceClaimName resources
NodeCondition status type
NodeRuntimeHandler name
NodeSelector nodeSelectorTerms
NodeSelectorRequirement key operator
NodeSystemInfo architecture bootID containerRuntimeVersion kernelVersion kubeProxyVersion kubeletVersion machineID
NodeSystemInfo operatingSystem osImage systemUUID
NonResourcePolicyRule nonResourceURLs verbs
ObjectFieldSelector fieldPath
OpaqueDeviceConfiguration driver
OwnerReference apiVersion kind name uid
PersistentVolumeClaimCondition status type
PersistentVolumeClaimVolumeSource claimName
PhotonPersistentDiskVolumeSource pdID
PodAffinityTerm topologyKey
PodCondition status type
PodDisruptionBudgetStatus currentHealthy desiredHealthy disruptionsAllowed expectedPods
PodExtendedResourceClaimStatus requestMappings resourceClaimName
PodFailurePolicy rules
PodFailurePolicyOnExitCodesRequirement operator values
PodFailurePolicyOnPodConditionsPattern status type
PodFailurePolicyRule action
PodIP ip
PodOS name
PodReadinessGate conditionType
PodResourceClaim name
PodResourceClaimStatus name
PodSchedulingGate name
PodSpec containers
PolicyRule verbs
PolicyRulesWithSubjects subjects
PortStatus port protocol
PortworxVolumeSource volumeID
PreferredSchedulingTerm weight
PriorityClass value
PriorityLevelConfigurationReference name
PriorityLevelConfigurationSpec type
ProjectedVolumeSource sources
QueuingConfiguration handSize queueLengthLimit queues
QuobyteVolumeSource registry volume
RBDPersistentVolumeSource image monitors
RBDVolumeSource image monitors
ReplicaSetCondition status type
ReplicaSetStatus replicas
ReplicationControllerCondition status type
ReplicationControllerStatus replicas
ResourceClaim name
ResourceClaimConsumerReference name resource uid
ResourceFieldSelector resource
ResourceHealth resourceID
ResourceMetricSource name
ResourceMetricStatus name
ResourcePolicyRule apiGroups namespaces resources verbs
ResourcePool generation name resourceSliceCount
ResourceSliceSpec driver
ResourceStatus name
Role rules
RoleRef apiGroup kind name
RuntimeClass handler
ScaleIOPersistentVolumeSource gateway system
ScaleIOVolumeSource gateway system
ScopedResourceSelectorRequirement operator scopeName
SeccompProfile type
SecretKeySelector key
SelectableField jsonPath
ServiceAccountSubject name namespace
ServiceAccountTokenProjection path
ServicePort port
SleepAction seconds
StatefulSetCondition status type
StatefulSetOrdinals start
StatefulSetSpec serviceName
StatefulSetStatus availableReplicas replicas
StorageClass provisioner
Subject kind name
SuccessPolicy rules
Sysctl name value
Taint effect key
TokenRequest audience
TopologySelectorLabelRequirement key values
TopologySpreadConstraint maxSkew topologyKey whenUnsatisfiable
TypedLocalObjectReference kind name
TypedObjectReference kind name
UserSubject name
ValidatingWebhook admissionReviewVersions name
Validation expression
ValidationRule rule
Variable expression name
Volume name
VolumeAttachmentSpec attacher nodeName
VolumeAttachmentStatus attached
VolumeAttributesClass driverName
VolumeDevice devicePath name
VolumeMount mountPath name
VolumeMountStatus mountPath name
VsphereVirtualDiskVolumeSource volumePath
WebhookConversion conversionReviewVersions
WeightedPodAffinityTerm weight
"""
#: By the names of structs.
ALWAYS_WRITTEN: dict[str, frozenset[str]] = {}
for _struct, *_names in map(str.split, _FIELDS.strip().splitlines()):
    ALWAYS_WRITTEN[_struct] = ALWAYS_WRITTEN.get(_struct, frozenset()) | frozenset(_names)

#: Pointers without `omitempty`, by the names of structs: null when they are not set.
NULL_POINTERS: dict[str, frozenset[str]] = {
    "AzureFilePersistentVolumeSource": frozenset({"secretNamespace"}),
    "CapacityRequestPolicy": frozenset({"default"}),
    "ScaleIOPersistentVolumeSource": frozenset({"secretRef"}),
    "ScaleIOVolumeSource": frozenset({"secretRef"}),
    "TypedLocalObjectReference": frozenset({"apiGroup"}),
    "TypedObjectReference": frozenset({"apiGroup"}),
}
