"""Which number stands for which field when clients speak protobuf.

In: the names of API types. Out: their fields in the order of their numbers. A field whose number is not the one after
its neighbour's has it written before it, and `^Type` is a group of fields that JSON has no level of its own for. The
numbers are the wire format of the Kubernetes API: they never change, and new fields get new ones.
"""

FIELD_NUMBERS: dict[str, str] = {
    "AWSElasticBlockStoreVolumeSource": "volumeID fsType partition readOnly",
    "Affinity": "nodeAffinity podAffinity podAntiAffinity",
    "AppArmorProfile": "type localhostProfile",
    "AttachedVolume": "name devicePath",
    "AzureDiskVolumeSource": "diskName diskURI cachingMode fsType readOnly kind",
    "AzureFilePersistentVolumeSource": "secretName shareName readOnly secretNamespace",
    "AzureFileVolumeSource": "secretName shareName readOnly",
    "Binding": "metadata target",
    "CSIDriver": "metadata spec",
    "CSIDriverSpec": (
        "attachRequired podInfoOnMount volumeLifecycleModes storageCapacity fsGroupPolicy tokenRequests "
        "requiresRepublish seLinuxMount nodeAllocatableUpdatePeriodSeconds serviceAccountTokenInSecrets "
        "preventPodSchedulingIfMissing"
    ),
    "CSINode": "metadata spec",
    "CSINodeDriver": "name nodeID topologyKeys allocatable",
    "CSINodeSpec": "drivers",
    "CSIPersistentVolumeSource": (
        "driver volumeHandle readOnly fsType volumeAttributes controllerPublishSecretRef nodeStageSecretRef "
        "nodePublishSecretRef controllerExpandSecretRef nodeExpandSecretRef"
    ),
    "CSIStorageCapacity": "metadata nodeTopology storageClassName capacity maximumVolumeSize",
    "CSIVolumeSource": "driver readOnly fsType volumeAttributes nodePublishSecretRef",
    "Capabilities": "add drop",
    "CephFSPersistentVolumeSource": "monitors path user secretFile secretRef readOnly",
    "CephFSVolumeSource": "monitors path user secretFile secretRef readOnly",
    "CinderPersistentVolumeSource": "volumeID fsType readOnly secretRef",
    "CinderVolumeSource": "volumeID fsType readOnly secretRef",
    "ClientIPConfig": "timeoutSeconds",
    "ClusterTrustBundleProjection": "name signerName labelSelector path optional",
    "Condition": "type status observedGeneration lastTransitionTime reason message",
    "ConfigMap": "metadata data binaryData immutable",
    "ConfigMapEnvSource": "^LocalObjectReference optional",
    "ConfigMapKeySelector": "^LocalObjectReference key optional",
    "ConfigMapNodeConfigSource": "namespace name uid resourceVersion kubeletConfigKey",
    "ConfigMapProjection": "^LocalObjectReference items 4=optional",
    "ConfigMapVolumeSource": "^LocalObjectReference items defaultMode optional",
    "Container": (
        "name image command args workingDir ports env resources volumeMounts livenessProbe readinessProbe lifecycle "
        "terminationMessagePath imagePullPolicy securityContext stdin stdinOnce tty envFrom "
        "terminationMessagePolicy volumeDevices startupProbe resizePolicy restartPolicy restartPolicyRules"
    ),
    "ContainerExtendedResourceRequest": "containerName resourceName requestName",
    "ContainerImage": "names sizeBytes",
    "ContainerPort": "name hostPort containerPort protocol hostIP",
    "ContainerResizePolicy": "resourceName restartPolicy",
    "ContainerRestartRule": "action exitCodes",
    "ContainerRestartRuleOnExitCodes": "operator values",
    "ContainerState": "waiting running terminated",
    "ContainerStateRunning": "startedAt",
    "ContainerStateTerminated": "exitCode signal reason message startedAt finishedAt containerID",
    "ContainerStateWaiting": "reason message",
    "ContainerStatus": (
        "name state lastState ready restartCount image imageID containerID started allocatedResources resources "
        "volumeMounts user allocatedResourcesStatus stopSignal"
    ),
    "ContainerUser": "linux",
    "ControllerRevision": "metadata data revision",
    "CronJob": "metadata spec status",
    "CronJobSpec": (
        "schedule startingDeadlineSeconds concurrencyPolicy suspend jobTemplate successfulJobsHistoryLimit "
        "failedJobsHistoryLimit timeZone"
    ),
    "CronJobStatus": "active 4=lastScheduleTime lastSuccessfulTime",
    "DaemonEndpoint": "Port",
    "DaemonSet": "metadata spec status",
    "DaemonSetCondition": "type status lastTransitionTime reason message",
    "DaemonSetSpec": "selector template updateStrategy minReadySeconds 6=revisionHistoryLimit",
    "DaemonSetStatus": (
        "currentNumberScheduled numberMisscheduled desiredNumberScheduled numberReady observedGeneration "
        "updatedNumberScheduled numberAvailable numberUnavailable collisionCount conditions"
    ),
    "DaemonSetUpdateStrategy": "type rollingUpdate",
    "DeleteOptions": (
        "gracePeriodSeconds preconditions orphanDependents propagationPolicy dryRun "
        "ignoreStoreReadErrorWithClusterBreakingPotential"
    ),
    "Deployment": "metadata spec status",
    "DeploymentCondition": "type status 4=reason message lastUpdateTime lastTransitionTime",
    "DeploymentSpec": (
        "replicas selector template strategy minReadySeconds revisionHistoryLimit paused 9=progressDeadlineSeconds"
    ),
    "DeploymentStatus": (
        "observedGeneration replicas updatedReplicas availableReplicas unavailableReplicas conditions readyReplicas "
        "collisionCount terminatingReplicas"
    ),
    "DeploymentStrategy": "type rollingUpdate",
    "DownwardAPIProjection": "items",
    "DownwardAPIVolumeFile": "path fieldRef resourceFieldRef mode",
    "DownwardAPIVolumeSource": "items defaultMode",
    "EmptyDirVolumeSource": "medium sizeLimit",
    "EnvFromSource": "prefix configMapRef secretRef",
    "EnvVar": "name value valueFrom",
    "EnvVarSource": "fieldRef resourceFieldRef configMapKeyRef secretKeyRef fileKeyRef",
    "EphemeralContainer": "^EphemeralContainerCommon targetContainerName",
    "EphemeralContainerCommon": (
        "name image command args workingDir ports env resources volumeMounts livenessProbe readinessProbe lifecycle "
        "terminationMessagePath imagePullPolicy securityContext stdin stdinOnce tty envFrom "
        "terminationMessagePolicy volumeDevices startupProbe resizePolicy restartPolicy restartPolicyRules"
    ),
    "EphemeralVolumeSource": "volumeClaimTemplate",
    "Event": (
        "metadata involvedObject reason message source firstTimestamp lastTimestamp count type eventTime series "
        "action related reportingComponent reportingInstance"
    ),
    "EventSeries": "count lastObservedTime",
    "EventSource": "component host",
    "Eviction": "metadata deleteOptions",
    "ExecAction": "command",
    "FCVolumeSource": "targetWWNs lun fsType readOnly wwids",
    "FileKeySelector": "volumeName path key optional",
    "FlexPersistentVolumeSource": "driver fsType secretRef readOnly options",
    "FlexVolumeSource": "driver fsType secretRef readOnly options",
    "FlockerVolumeSource": "datasetName datasetUUID",
    "GCEPersistentDiskVolumeSource": "pdName fsType partition readOnly",
    "GRPCAction": "port service",
    "GitRepoVolumeSource": "repository revision directory",
    "GlusterfsPersistentVolumeSource": "endpoints path readOnly endpointsNamespace",
    "GlusterfsVolumeSource": "endpoints path readOnly",
    "HTTPGetAction": "path port host scheme httpHeaders",
    "HTTPHeader": "name value",
    "HostAlias": "ip hostnames",
    "HostIP": "ip",
    "HostPathVolumeSource": "path type",
    "ISCSIPersistentVolumeSource": (
        "targetPortal iqn lun iscsiInterface fsType readOnly portals chapAuthDiscovery 10=secretRef chapAuthSession "
        "initiatorName"
    ),
    "ISCSIVolumeSource": (
        "targetPortal iqn lun iscsiInterface fsType readOnly portals chapAuthDiscovery 10=secretRef chapAuthSession "
        "initiatorName"
    ),
    "ImageVolumeSource": "reference pullPolicy",
    "ImageVolumeStatus": "imageRef",
    "Job": "metadata spec status",
    "JobCondition": "type status lastProbeTime lastTransitionTime reason message",
    "JobSpec": (
        "parallelism completions activeDeadlineSeconds selector manualSelector template backoffLimit "
        "ttlSecondsAfterFinished completionMode suspend podFailurePolicy backoffLimitPerIndex maxFailedIndexes "
        "podReplacementPolicy managedBy successPolicy"
    ),
    "JobStatus": (
        "conditions startTime completionTime active succeeded failed completedIndexes uncountedTerminatedPods ready "
        "failedIndexes terminating"
    ),
    "JobTemplateSpec": "metadata spec",
    "KeyToPath": "key path mode",
    "LabelSelector": "matchLabels matchExpressions",
    "LabelSelectorRequirement": "key operator values",
    "Lease": "metadata spec",
    "LeaseSpec": (
        "holderIdentity leaseDurationSeconds acquireTime renewTime leaseTransitions strategy preferredHolder"
    ),
    "Lifecycle": "postStart preStop stopSignal",
    "LifecycleHandler": "exec httpGet tcpSocket sleep",
    "LinuxContainerUser": "uid gid supplementalGroups",
    "LoadBalancerIngress": "ip hostname ipMode ports",
    "LoadBalancerStatus": "ingress",
    "LocalObjectReference": "name",
    "LocalVolumeSource": "path fsType",
    "ManagedFieldsEntry": "manager operation apiVersion time 6=fieldsType fieldsV1 subresource",
    "ModifyVolumeStatus": "targetVolumeAttributesClassName status",
    "NFSVolumeSource": "server path readOnly",
    "Namespace": "metadata spec status",
    "NamespaceCondition": "type status 4=lastTransitionTime reason message",
    "NamespaceSpec": "finalizers",
    "NamespaceStatus": "phase conditions",
    "Node": "metadata spec status",
    "NodeAddress": "type address",
    "NodeAffinity": ("requiredDuringSchedulingIgnoredDuringExecution preferredDuringSchedulingIgnoredDuringExecution"),
    "NodeAllocatableResourceClaimStatus": "resourceClaimName containers resources",
    "NodeCondition": "type status lastHeartbeatTime lastTransitionTime reason message",
    "NodeConfigSource": "2=configMap",
    "NodeConfigStatus": "assigned active lastKnownGood error",
    "NodeDaemonEndpoints": "kubeletEndpoint",
    "NodeFeatures": "supplementalGroupsPolicy",
    "NodeRuntimeHandler": "name features",
    "NodeRuntimeHandlerFeatures": "recursiveReadOnlyMounts userNamespaces",
    "NodeSelector": "nodeSelectorTerms",
    "NodeSelectorRequirement": "key operator values",
    "NodeSelectorTerm": "matchExpressions matchFields",
    "NodeSpec": "podCIDR externalID providerID unschedulable taints configSource podCIDRs",
    "NodeStatus": (
        "capacity allocatable phase conditions addresses daemonEndpoints nodeInfo images volumesInUse "
        "volumesAttached config runtimeHandlers features declaredFeatures"
    ),
    "NodeSwapStatus": "capacity",
    "NodeSystemInfo": (
        "machineID systemUUID bootID kernelVersion osImage containerRuntimeVersion kubeletVersion kubeProxyVersion "
        "operatingSystem architecture swap"
    ),
    "NonResourceAttributes": "path verb",
    "NonResourceRule": "verbs nonResourceURLs",
    "ObjectFieldSelector": "apiVersion fieldPath",
    "ObjectMeta": (
        "name generateName namespace selfLink uid resourceVersion generation creationTimestamp deletionTimestamp "
        "deletionGracePeriodSeconds labels annotations ownerReferences finalizers 17=managedFields"
    ),
    "ObjectReference": "kind namespace name uid apiVersion resourceVersion fieldPath",
    "OwnerReference": "kind 3=name uid apiVersion controller blockOwnerDeletion",
    "PersistentVolume": "metadata spec status",
    "PersistentVolumeClaim": "metadata spec status",
    "PersistentVolumeClaimCondition": "type status lastProbeTime lastTransitionTime reason message",
    "PersistentVolumeClaimSpec": (
        "accessModes resources volumeName selector storageClassName volumeMode dataSource dataSourceRef "
        "volumeAttributesClassName"
    ),
    "PersistentVolumeClaimStatus": (
        "phase accessModes capacity conditions allocatedResources 7=allocatedResourceStatuses "
        "currentVolumeAttributesClassName modifyVolumeStatus"
    ),
    "PersistentVolumeClaimTemplate": "metadata spec",
    "PersistentVolumeClaimVolumeSource": "claimName readOnly",
    "PersistentVolumeSource": (
        "gcePersistentDisk awsElasticBlockStore hostPath glusterfs nfs rbd iscsi cinder cephfs fc flocker "
        "flexVolume azureFile vsphereVolume quobyte azureDisk photonPersistentDisk portworxVolume scaleIO local "
        "storageos csi"
    ),
    "PersistentVolumeSpec": (
        "capacity ^PersistentVolumeSource accessModes claimRef persistentVolumeReclaimPolicy storageClassName "
        "mountOptions volumeMode nodeAffinity volumeAttributesClassName"
    ),
    "PersistentVolumeStatus": "phase message reason lastPhaseTransitionTime",
    "PhotonPersistentDiskVolumeSource": "pdID fsType",
    "Pod": "metadata spec status",
    "PodAffinity": ("requiredDuringSchedulingIgnoredDuringExecution preferredDuringSchedulingIgnoredDuringExecution"),
    "PodAffinityTerm": "labelSelector namespaces topologyKey namespaceSelector matchLabelKeys mismatchLabelKeys",
    "PodAntiAffinity": (
        "requiredDuringSchedulingIgnoredDuringExecution preferredDuringSchedulingIgnoredDuringExecution"
    ),
    "PodCertificateProjection": (
        "signerName keyType maxExpirationSeconds credentialBundlePath keyPath certificateChainPath userAnnotations"
    ),
    "PodCondition": "type status lastProbeTime lastTransitionTime reason message observedGeneration",
    "PodDNSConfig": "nameservers searches options",
    "PodDNSConfigOption": "name value",
    "PodDisruptionBudget": "metadata spec status",
    "PodDisruptionBudgetSpec": "minAvailable selector maxUnavailable unhealthyPodEvictionPolicy",
    "PodDisruptionBudgetStatus": (
        "observedGeneration disruptedPods disruptionsAllowed currentHealthy desiredHealthy expectedPods conditions"
    ),
    "PodExtendedResourceClaimStatus": "requestMappings resourceClaimName",
    "PodFailurePolicy": "rules",
    "PodFailurePolicyOnExitCodesRequirement": "containerName operator values",
    "PodFailurePolicyOnPodConditionsPattern": "type status",
    "PodFailurePolicyRule": "action onExitCodes onPodConditions",
    "PodIP": "ip",
    "PodOS": "name",
    "PodReadinessGate": "conditionType",
    "PodResourceClaim": "name 3=resourceClaimName resourceClaimTemplateName",
    "PodResourceClaimStatus": "name resourceClaimName",
    "PodSchedulingGate": "name",
    "PodSchedulingGroup": "podGroupName",
    "PodSecurityContext": (
        "seLinuxOptions runAsUser runAsNonRoot supplementalGroups fsGroup runAsGroup sysctls windowsOptions "
        "fsGroupChangePolicy seccompProfile appArmorProfile supplementalGroupsPolicy seLinuxChangePolicy"
    ),
    "PodSpec": (
        "volumes containers restartPolicy terminationGracePeriodSeconds activeDeadlineSeconds dnsPolicy "
        "nodeSelector serviceAccountName serviceAccount nodeName hostNetwork hostPID hostIPC securityContext "
        "imagePullSecrets hostname subdomain affinity schedulerName initContainers automountServiceAccountToken "
        "tolerations hostAliases priorityClassName priority dnsConfig shareProcessNamespace readinessGates "
        "runtimeClassName enableServiceLinks preemptionPolicy overhead topologySpreadConstraints "
        "ephemeralContainers setHostnameAsFQDN os hostUsers schedulingGates resourceClaims resources "
        "hostnameOverride 43=schedulingGroup"
    ),
    "PodStatus": (
        "phase conditions message reason hostIP podIP startTime containerStatuses qosClass initContainerStatuses "
        "nominatedNodeName podIPs ephemeralContainerStatuses resize resourceClaimStatuses hostIPs "
        "observedGeneration extendedResourceClaimStatus allocatedResources resources "
        "nodeAllocatableResourceClaimStatuses"
    ),
    "PodTemplateSpec": "metadata spec",
    "PortStatus": "port protocol error",
    "PortworxVolumeSource": "volumeID fsType readOnly",
    "Preconditions": "uid resourceVersion",
    "PreferredSchedulingTerm": "weight preference",
    "PriorityClass": "metadata value globalDefault description preemptionPolicy",
    "Probe": (
        "^ProbeHandler initialDelaySeconds timeoutSeconds periodSeconds successThreshold failureThreshold "
        "terminationGracePeriodSeconds"
    ),
    "ProbeHandler": "exec httpGet tcpSocket grpc",
    "ProjectedVolumeSource": "sources defaultMode",
    "QuobyteVolumeSource": "registry volume readOnly user group tenant",
    "RBDPersistentVolumeSource": "monitors image fsType pool user keyring secretRef readOnly",
    "RBDVolumeSource": "monitors image fsType pool user keyring secretRef readOnly",
    "ReplicaSet": "metadata spec status",
    "ReplicaSetCondition": "type status lastTransitionTime reason message",
    "ReplicaSetSpec": "replicas selector template minReadySeconds",
    "ReplicaSetStatus": (
        "replicas fullyLabeledReplicas observedGeneration readyReplicas availableReplicas conditions "
        "terminatingReplicas"
    ),
    "ResourceAttributes": "namespace verb group version resource subresource name",
    "ResourceClaim": "name request",
    "ResourceFieldSelector": "containerName resource divisor",
    "ResourceHealth": "resourceID health 6=message",
    "ResourceRequirements": "limits requests claims",
    "ResourceRule": "verbs apiGroups resources resourceNames",
    "ResourceStatus": "name resources",
    "RollingUpdateDaemonSet": "maxUnavailable maxSurge",
    "RollingUpdateDeployment": "maxUnavailable maxSurge",
    "RollingUpdateStatefulSetStrategy": "partition maxUnavailable",
    "SELinuxOptions": "user role type level",
    "Scale": "metadata spec status",
    "ScaleIOPersistentVolumeSource": (
        "gateway system secretRef sslEnabled protectionDomain storagePool storageMode volumeName fsType readOnly"
    ),
    "ScaleIOVolumeSource": (
        "gateway system secretRef sslEnabled protectionDomain storagePool storageMode volumeName fsType readOnly"
    ),
    "ScaleSpec": "replicas",
    "ScaleStatus": "replicas selector",
    "SeccompProfile": "type localhostProfile",
    "Secret": "metadata data type stringData immutable",
    "SecretEnvSource": "^LocalObjectReference optional",
    "SecretKeySelector": "^LocalObjectReference key optional",
    "SecretProjection": "^LocalObjectReference items 4=optional",
    "SecretReference": "name namespace",
    "SecretVolumeSource": "secretName items defaultMode optional",
    "SecurityContext": (
        "capabilities privileged seLinuxOptions runAsUser runAsNonRoot readOnlyRootFilesystem "
        "allowPrivilegeEscalation runAsGroup procMount windowsOptions seccompProfile appArmorProfile"
    ),
    "SelfSubjectAccessReview": "metadata spec status",
    "SelfSubjectAccessReviewSpec": "resourceAttributes nonResourceAttributes",
    "SelfSubjectReview": "metadata status",
    "SelfSubjectReviewStatus": "userInfo",
    "SelfSubjectRulesReview": "metadata spec status",
    "SelfSubjectRulesReviewSpec": "namespace",
    "Service": "metadata spec status",
    "ServiceAccount": "metadata secrets imagePullSecrets automountServiceAccountToken",
    "ServiceAccountTokenProjection": "audience expirationSeconds path",
    "ServicePort": "name protocol port targetPort nodePort appProtocol",
    "ServiceSpec": (
        "ports selector clusterIP type externalIPs 7=sessionAffinity loadBalancerIP loadBalancerSourceRanges "
        "externalName externalTrafficPolicy healthCheckNodePort publishNotReadyAddresses sessionAffinityConfig "
        "17=ipFamilyPolicy clusterIPs ipFamilies allocateLoadBalancerNodePorts loadBalancerClass "
        "internalTrafficPolicy trafficDistribution"
    ),
    "ServiceStatus": "loadBalancer conditions",
    "SessionAffinityConfig": "clientIP",
    "SleepAction": "seconds",
    "StatefulSet": "metadata spec status",
    "StatefulSetCondition": "type status lastTransitionTime reason message",
    "StatefulSetOrdinals": "start",
    "StatefulSetPersistentVolumeClaimRetentionPolicy": "whenDeleted whenScaled",
    "StatefulSetSpec": (
        "replicas selector template volumeClaimTemplates serviceName podManagementPolicy updateStrategy "
        "revisionHistoryLimit minReadySeconds persistentVolumeClaimRetentionPolicy ordinals"
    ),
    "StatefulSetStatus": (
        "observedGeneration replicas readyReplicas currentReplicas updatedReplicas currentRevision updateRevision "
        "9=collisionCount conditions availableReplicas"
    ),
    "StatefulSetUpdateStrategy": "type rollingUpdate",
    "StorageClass": (
        "metadata provisioner parameters reclaimPolicy mountOptions allowVolumeExpansion volumeBindingMode "
        "allowedTopologies"
    ),
    "StorageOSPersistentVolumeSource": "volumeName volumeNamespace fsType readOnly secretRef",
    "StorageOSVolumeSource": "volumeName volumeNamespace fsType readOnly secretRef",
    "SubjectAccessReviewStatus": "allowed reason evaluationError denied",
    "SubjectRulesReviewStatus": "resourceRules nonResourceRules incomplete evaluationError",
    "SuccessPolicy": "rules",
    "SuccessPolicyRule": "succeededIndexes succeededCount",
    "Sysctl": "name value",
    "TCPSocketAction": "port host",
    "Taint": "key value effect timeAdded",
    "TokenRequest": "audience expirationSeconds",
    "Toleration": "key operator value effect tolerationSeconds",
    "TopologySelectorLabelRequirement": "key values",
    "TopologySelectorTerm": "matchLabelExpressions",
    "TopologySpreadConstraint": (
        "maxSkew topologyKey whenUnsatisfiable labelSelector minDomains nodeAffinityPolicy nodeTaintsPolicy "
        "matchLabelKeys"
    ),
    "TypedLocalObjectReference": "apiGroup kind name",
    "TypedObjectReference": "apiGroup kind name namespace",
    "UncountedTerminatedPods": "succeeded failed",
    "UserInfo": "username uid groups extra",
    "Volume": "name ^VolumeSource",
    "VolumeAttachment": "metadata spec status",
    "VolumeAttachmentSource": "persistentVolumeName inlineVolumeSpec",
    "VolumeAttachmentSpec": "attacher source nodeName",
    "VolumeAttachmentStatus": "attached attachmentMetadata attachError detachError",
    "VolumeDevice": "name devicePath",
    "VolumeError": "time message errorCode",
    "VolumeMount": "name readOnly mountPath subPath mountPropagation subPathExpr recursiveReadOnly",
    "VolumeMountStatus": "name mountPath readOnly recursiveReadOnly volumeStatus",
    "VolumeNodeAffinity": "required",
    "VolumeNodeResources": "count",
    "VolumeProjection": "secret downwardAPI configMap serviceAccountToken clusterTrustBundle podCertificate",
    "VolumeResourceRequirements": "limits requests",
    "VolumeSource": (
        "hostPath emptyDir gcePersistentDisk awsElasticBlockStore gitRepo secret nfs iscsi glusterfs "
        "persistentVolumeClaim rbd flexVolume cinder cephfs flocker downwardAPI fc azureFile configMap "
        "vsphereVolume quobyte azureDisk photonPersistentDisk portworxVolume scaleIO projected storageos csi "
        "ephemeral image"
    ),
    "VolumeStatus": "image",
    "VsphereVirtualDiskVolumeSource": "volumePath fsType storagePolicyName storagePolicyID",
    "WeightedPodAffinityTerm": "weight podAffinityTerm",
    "WindowsSecurityContextOptions": "gmsaCredentialSpecName gmsaCredentialSpec runAsUserName hostProcess",
    "events.Event": (
        "metadata eventTime series reportingController reportingInstance action reason regarding related note type "
        "deprecatedSource deprecatedFirstTimestamp deprecatedLastTimestamp deprecatedCount"
    ),
}
