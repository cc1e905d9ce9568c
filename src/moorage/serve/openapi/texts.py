"""Describe the types of the API and their fields, in the format that `descriptions` reads."""

TEXTS = """
# Where pods go: tolerations and taints, affinity, spreading, priority.
Affinity: Which nodes and which neighbours a pod must have, or would rather have.
  nodeAffinity: Conditions on the node itself.
  podAffinity: Pods that must, or should, run in the same place.
  podAntiAffinity: Pods that must not, or should not, run in the same place.
LabelSelector: Chooses objects by their labels. All parts must match; an empty selector matches everything.
  matchLabels: Labels that must be there with exactly these values.
  matchExpressions: Conditions on labels.
LabelSelectorRequirement: One condition on a label.
  key: The label.
  operator: In, NotIn, Exists or DoesNotExist.
  values: The values for In and NotIn; none for the others.
NodeAffinity: Conditions on the node that a pod runs on.
  requiredDuringSchedulingIgnoredDuringExecution: Nodes that the pod may be scheduled to. A pod that runs stays even if
    its node stops matching.
  preferredDuringSchedulingIgnoredDuringExecution: Nodes that are better than others: the weights of all terms that
    match are added up.
NodeSelector: Chooses nodes: a node is chosen if at least one of the terms matches it.
  nodeSelectorTerms: The terms, of which one must match.
NodeSelectorRequirement: One condition on a label or a field of a node.
  key: The label, or the field, that the condition is about.
  operator: How the label's value is compared: In, NotIn, Exists, DoesNotExist, {comparisons of node selectors}.
  values: What the label's value is compared with. At least one for In and NotIn, none for Exists and DoesNotExist,
    exactly one for operators that compare whole numbers or versions.
NodeSelectorTerm: Conditions of which all must hold. A term without conditions matches no node.
  matchExpressions: Conditions on the node's labels.
  matchFields: Conditions on the node's fields, of which metadata.name is the only one.
PodAffinity: Conditions on the pods that already run in the same place.
  requiredDuringSchedulingIgnoredDuringExecution: Terms that must all hold at the time of scheduling.
  preferredDuringSchedulingIgnoredDuringExecution: Terms that make a node better the more of them hold.
PodAffinityTerm: Pods, and the node label that says what counts as one place.
  labelSelector: The pods that are meant. Without a selector, none.
  matchLabelKeys: Labels whose values are taken from the pod itself and added to the selector: only pods with the same
    values count, such as those of the same revision of a Deployment.
  mismatchLabelKeys: Labels whose values are taken from the pod itself: only pods with other values count.
  namespaces: Namespaces in which pods are looked for. Without any, and without a selector for them, the pod's own.
  namespaceSelector: Namespaces in which pods are looked for, by their labels. An empty selector means all.
  topologyKey: The node label that says what one place is: nodes with the same value are in one place.
PodAntiAffinity: Conditions on the pods that must not, or should not, run in the same place.
PodSchedulingGate: A reason not to schedule the pod yet.
  name: Name of the gate. The pod is scheduled once all gates are gone.
PreferredSchedulingTerm: A condition on nodes, and what meeting it is worth.
  preference: The nodes that are preferred.
  weight: What a match is worth, from 1 to 100.
PriorityClass: A named priority that pods can ask for.
  description: For whom this class is.
  globalDefault: Whether pods without a class get this one. At most one class may say so.
  preemptionPolicy: Whether pods of this class may displace others: PreemptLowerPriority (the default) or Never.
  value: The priority. Pods with a larger one are scheduled first and may displace those with a smaller one.
Taint: A mark on a node that keeps away every pod which does not tolerate it.
  key: Name of the taint.
  value: Value of the taint, which tolerations may compare with a text, a number or a version.
  effect: What happens to pods that do not tolerate it: NoSchedule keeps new ones away, PreferNoSchedule tries to,
    NoExecute also evicts those that run.
  timeAdded: Since when the taint has been there; only for NoExecute.
Toleration: Lets a pod onto nodes with a taint that matches: by key and value, by comparison, or by expression.
  key: Key of the taints that are meant. Empty, with operator Exists, means every key.
  operator: How the taint's value is compared with `value`: Equal (the default), Exists (any value), {comparisons of
    tolerations}. The taint's value is the left side of the comparison.
  value: What the taint's value is compared with: a whole number or a version for operators that compare them, empty for
    Exists.
  effect: Effect of the taints that are meant. Empty means every effect.
  tolerationSeconds: For how long a NoExecute taint is tolerated once it is there; without it forever, 0 or less not at
    all.
  expression: A CEL expression over `taint.key`, `taint.value` and `taint.effect` that is true for the taints that are
    tolerated. Stands instead of key, operator, value and effect. Needs feature gate TaintTolerationCEL.
TopologySpreadConstraint: How evenly matching pods must be spread over zones, nodes or other domains.
  labelSelector: The pods that are counted.
  matchLabelKeys: Labels whose values are taken from the pod itself and added to the selector, so that each revision is
    spread on its own.
  maxSkew: By how many pods a domain may exceed the emptiest one.
  minDomains: If there are fewer domains than this, the emptiest one counts as having no pods. Only for DoNotSchedule.
  nodeAffinityPolicy: Whether nodes that the pod's node affinity rules out are counted: Honor (no, the default) or
    Ignore (yes).
  nodeTaintsPolicy: Whether nodes with taints that the pod does not tolerate are counted: Honor (no) or Ignore (yes, the
    default).
  topologyKey: The node label whose values are the domains.
  whenUnsatisfiable: What to do if the pod fits nowhere: DoNotSchedule leaves it waiting, ScheduleAnyway only prefers
    emptier domains.
WeightedPodAffinityTerm: A condition on neighbours, and what meeting it is worth.
  podAffinityTerm: The condition on neighbours.
  weight: What a match is worth, from 1 to 100.
# Pods, their containers and their state.
Container: One program that runs in a pod.
  args: Arguments of the command; those of the image, if this is not set.
  command: What is run, instead of what the image says.
  env: Environment variables.
  envFrom: Where further environment variables come from.
  image: The image.
  imagePullPolicy: When the image is fetched: Always, IfNotPresent or Never.
  lifecycle: What is done after the container starts and before it stops.
  livenessProbe: If this fails, the container is started anew.
  name: The name, different for each container of the pod.
  ports: Ports that the container listens on. A hostPort is taken on the node, for one pod at a time.
  readinessProbe: While this fails, the container is not ready.
  resources: What the container asks for, which the scheduler reserves, and what it may use at most.
  restartPolicy: For an init container, Always makes it run beside the others instead of before them.
  startupProbe: The other probes wait until this has succeeded once.
  volumeMounts: Which volumes the container sees, and where.
ContainerPort: A port that a container listens on.
  containerPort: The port.
  hostIP: The address of the node that hostPort is taken on.
  hostPort: A port of the node that leads to this one. Two pods that want the same cannot share a node.
  name: A name that services can use instead of the number.
  protocol: TCP (the default), UDP or SCTP.
ContainerStatus: What has become of a container.
EnvVar: An environment variable of a container.
EphemeralContainer: A container that is added to a running pod to look into it.
Pod: Containers that run together on one node.
PodCondition: One aspect of a pod's state, and since when it holds.
PodSpec: What runs in a pod, and where it may run.
  activeDeadlineSeconds: For how long the pod may run before it is ended and counts as failed.
  affinity: Conditions on the node and on the pods near it.
  automountServiceAccountToken: Whether containers get a token for the pod's service account.
  containers: The containers, at least one.
  ephemeralContainers: Containers that were added to look into the running pod.
  hostAliases: Further lines for the hosts file of the containers.
  hostNetwork: Whether the pod uses the network of its node. Its ports are then taken on the node.
  hostname: The host name that the pod sees; the pod's name, if this is not set.
  imagePullSecrets: Secrets with which images are fetched.
  initContainers: Containers that run one after another before the others start.
  nodeName: The node that the pod runs on. Set by the scheduler, or by a client that does without it.
  nodeSelector: Labels that the node must have, with exactly these values.
  os: The operating system of the containers.
  overhead: Resources that the pod takes in addition to those of its containers.
  preemptionPolicy: Whether the pod may displace pods of lower priority: PreemptLowerPriority (the default) or Never.
  priority: The priority, which comes from the priority class.
  priorityClassName: The priority class. The default class, if there is one, if this is not set.
  readinessGates: Conditions that must be true, besides ready containers, for the pod to count as ready.
  resourceClaims: Claims to devices that containers use.
  resources: Resources for the pod as a whole, shared by its containers.
  restartPolicy: When containers that ended are started again: Always (the default), OnFailure or Never.
  runtimeClassName: The way in which the node is to run the pod.
  schedulerName: Which scheduler is responsible; default-scheduler, if this is not set.
  schedulingGates: As long as there is one, the pod is not scheduled. Gates can be removed, never added.
  securityContext: Users, groups and permissions that hold for all containers.
  serviceAccountName: The service account that the pod runs as.
  subdomain: The domain below the cluster's in which the pod's host name is.
  terminationGracePeriodSeconds: How long the containers have to end before they are killed; 30 by default.
  tolerations: Taints that do not keep the pod away.
  topologySpreadConstraints: How pods like this one are to be spread over domains. All constraints must hold.
  volumes: Volumes that containers can mount.
PodStatus: What has become of a pod.
  conditions: Whether the pod is scheduled, initialised, ready.
  containerStatuses: What has become of each container.
  hostIP: The address of the node.
  message: Why the pod is in this phase, for people.
  nominatedNodeName: The node on which room is being made for this pod.
  phase: Pending, Running, Succeeded, Failed or Unknown.
  podIP: The address of the pod.
  podIPs: All addresses of the pod.
  qosClass: Guaranteed, Burstable or BestEffort: who has to go first if a node runs out of something.
  reason: Why the pod is in this phase, for programs.
  startTime: When the node took the pod.
PodTemplateSpec: What the pods look like that a controller makes.
Probe: A check that is made of a container again and again.
ResourceRequirements: How much of each resource is asked for, and how much may be used.
  claims: Claims of the pod that this container uses.
  limits: What may be used at most.
  requests: What is reserved on the node. As much as the limits, if there are limits only.
Volume: A directory that the containers of a pod can mount.
VolumeMount: Where a container sees a volume.
# The kinds that create pods.
DaemonSetSpec DeploymentSpec ReplicaSetSpec StatefulSetSpec:
  minReadySeconds: How long a pod must have been ready to count as available.
  selector: Which pods belong to the object. Must match the labels of the template.
DaemonSetSpec DeploymentSpec StatefulSetSpec:
  revisionHistoryLimit: How many old revisions are kept for going back to.
DeploymentSpec ReplicaSetSpec StatefulSetSpec:
  replicas: How many pods there are to be; 1 by default.
  template: What the pods look like.
ControllerRevision: What an object looked like once, kept for going back to.
CronJob: Makes a Job at the times of a schedule.
CronJobSpec: When jobs are made, and what they look like.
  concurrencyPolicy: What to do if the last job still runs: Allow, Forbid or Replace.
  failedJobsHistoryLimit: How many failed jobs are kept.
  jobTemplate: What the jobs look like.
  schedule: The times, as five fields of cron.
  startingDeadlineSeconds: How late a job may be started.
  successfulJobsHistoryLimit: How many successful jobs are kept.
  suspend: Whether no jobs are made for now.
  timeZone: The time zone of the schedule.
DaemonSet: Keeps one pod on every node that fits.
DaemonSetSpec: Which pods there are on every node, and how they are replaced.
  template: What the pods look like. They go to every node that their affinity and tolerations allow.
  updateStrategy: How pods are replaced if the template changes.
Deployment: Keeps a number of equal pods, and replaces them step by step if they are to change.
DeploymentSpec: How many pods there are, what they look like, and how they are replaced.
  paused: Whether changes of the template wait.
  progressDeadlineSeconds: How long a change may make no progress before it is reported as failed.
  strategy: How pods are replaced if the template changes.
DeploymentStrategy: How old pods are replaced by new ones.
  rollingUpdate: The limits of a rolling update.
  type: RollingUpdate (the default) replaces pods a few at a time, Recreate ends all of them first.
Job: Runs pods until enough of them have succeeded.
JobSpec: How often and how many at a time pods are run, and what they look like.
  activeDeadlineSeconds: How long the job may take before it is ended and counts as failed.
  backoffLimit: How many failures of pods are tolerated; 6 by default.
  completionMode: NonIndexed, or Indexed if each pod has a number.
  completions: How many pods must succeed.
  parallelism: How many pods run at a time.
  podFailurePolicy: Which failures count.
  selector: Which pods belong to the job. Usually left to the server.
  suspend: Whether no pods are run for now.
  template: What the pods look like.
  ttlSecondsAfterFinished: How long the job is kept once it is over.
PodDisruptionBudget: How many of some pods may be missing when pods are evicted on purpose.
PodDisruptionBudgetSpec: Which pods are protected, and how many must stay.
  maxUnavailable: How many of the pods may be missing: a number or a percentage.
  minAvailable: How many of the pods must stay: a number or a percentage.
  selector: The pods that are protected.
  unhealthyPodEvictionPolicy: Whether pods that are not ready may always be evicted.
PodFailurePolicy: Which failures of pods count, and which end the job.
ReplicaSet: Keeps a number of equal pods.
ReplicaSetSpec: How many pods there are, and what they look like.
ReplicationController: Keeps a number of equal pods. A ReplicaSet does the same with a richer selector.
ReplicationControllerSpec: How many pods there are, and what they look like.
  minReadySeconds: How long a pod must be ready before it counts as available.
  replicas: How many pods are wanted; 1 by default.
  selector: The labels of its pods; by default those of the template.
  template: What the pods look like.
RollingUpdateDeployment: How many pods may be missing or surplus while they are replaced.
  maxSurge: How many pods there may be beyond the wanted number: a number or a percentage.
  maxUnavailable: How many pods may be missing: a number or a percentage.
Scale: The number of pods of an object, whatever its kind.
StatefulSet: Keeps numbered pods, each with a name and volumes of its own.
StatefulSetSpec: How many pods there are, what they look like, and which volumes each has.
  ordinals: Where the numbers of the pods start.
  persistentVolumeClaimRetentionPolicy: What becomes of the volumes of pods that are gone.
  podManagementPolicy: OrderedReady makes one pod after another, Parallel all at once.
  serviceName: The service that gives the pods their names in the network.
  updateStrategy: How pods are replaced if the template changes.
  volumeClaimTemplates: Claims of which every pod gets its own.
# Volumes, claims and classes of storage.
CSIDriver: A storage driver that the cluster has, and what it can do.
CSINode: The storage drivers of a node, and how many volumes each can attach.
CSIStorageCapacity: How much room a storage driver has in a part of the cluster.
  capacity: How much room there is.
  maximumVolumeSize: How large a single volume can be.
  nodeTopology: The nodes from which this storage can be reached.
  storageClassName: The class that this is about.
PersistentVolume: A piece of storage that a claim can be bound to.
PersistentVolumeClaim: A request for storage, which pods name instead of a volume.
PersistentVolumeClaimSpec: What kind of storage is asked for, and how much.
  accessModes: How it can be mounted: ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod.
  dataSource: What the new volume is filled with.
  dataSourceRef: What the new volume is filled with, of any kind.
  resources: How much room is asked for.
  selector: Which volumes will do, by their labels.
  storageClassName: The class that is asked for. The default class if this is not set, none if it is empty.
  volumeMode: Filesystem (the default) or Block.
  volumeName: The volume that the claim is bound to.
PersistentVolumeSpec: Where the storage is, how much it is, and which nodes can reach it.
  accessModes: How it can be mounted: ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod.
  capacity: How much room there is.
  claimRef: The claim that the volume is bound to, or kept for.
  nodeAffinity: Which nodes can reach the volume. A pod that uses it is only scheduled to those.
  persistentVolumeReclaimPolicy: What becomes of the volume once its claim is gone: Retain or Delete.
  storageClassName: The class that the volume belongs to.
  volumeMode: Filesystem (the default) or Block.
StorageClass: A kind of storage that volumes can be made of on demand.
  allowVolumeExpansion: Whether claims may ask for more later.
  allowedTopologies: Where in the cluster volumes may be made.
  mountOptions: Options with which volumes are mounted.
  parameters: What the provisioner is told.
  provisioner: Who makes volumes of this class.
  reclaimPolicy: What becomes of a volume once its claim is gone: Delete (the default) or Retain.
  volumeBindingMode: Immediate binds a claim at once, WaitForFirstConsumer when a pod that uses it is scheduled, to
    storage that the pod's node can reach.
VolumeAttachment: A volume that is, or is to be, attached to a node.
VolumeNodeAffinity: Which nodes can reach a volume.
  required: The nodes, chosen as in a pod's node affinity, with the Semver operators too if their feature gate is on.
CSINodeDriver:
  allocatable: How many volumes of the driver can be attached to the node.
  name: Name of the driver.
  nodeID: What the driver calls the node.
  topologyKeys: Labels of the node that say where its storage is.
# Nodes, namespaces and what else a cluster has.
Binding: Puts a pod on a node.
  target: The node that the pod is put on.
ConfigMap: Settings that pods can read.
  binaryData: Settings that are bytes, in base64.
  data: Settings that are text.
  immutable: Whether the settings can no longer change.
Event: Something that happened to an object.
  count: How often it happened.
  firstTimestamp: When it first happened.
  involvedObject: The object that it happened to.
  lastTimestamp: When it last happened.
  message: What happened, for people.
  note: What happened, for people.
  reason: What happened, for programs.
  regarding: The object that it happened to.
  source: Who says so.
  type: Normal or Warning.
Eviction: Asks a pod to leave its node, as far as disruption budgets allow.
Lease: Who holds a role, and until when. Nodes renew theirs as a sign of life.
LeaseSpec: The holder, and when it last renewed its claim.
  acquireTime: Since when the holder has been the holder.
  holderIdentity: Who holds the lease.
  leaseDurationSeconds: For how long a renewal counts.
  leaseTransitions: How often the holder has changed.
  renewTime: When the holder last renewed the lease.
Namespace: A space of names that objects live in.
Node: A machine that pods run on.
NodeCondition: One aspect of a node's state, and since when it holds.
NodeSpec: What is wanted of a node: its taints, and whether it takes new pods.
  podCIDR: The addresses of the node's pods.
  podCIDRs: The addresses of the node's pods, one range for each family.
  providerID: What the provider of the machine calls it.
  taints: Marks that keep pods away which do not tolerate them. Values may be texts, whole numbers or versions, for
    tolerations to compare with.
  unschedulable: Whether new pods stay away, as after `kubectl cordon`.
NodeStatus: What a node has to offer, and how it is.
  addresses: How the node can be reached.
  allocatable: What pods can have of each resource. The scheduler goes by this.
  capacity: What the node has of each resource.
  conditions: Whether the node is ready, and what it is short of.
  images: Images that are already there.
  nodeInfo: The node's versions of everything.
  volumesAttached: Volumes that are attached to the node.
  volumesInUse: Volumes that are attached and mounted.
NodeSystemInfo: The node's versions of everything.
Secret: Settings that pods can read and others should not.
  data: Settings, in base64.
  immutable: Whether the settings can no longer change.
  stringData: Settings as plain text, for writing only.
  type: What kind of secret it is.
Service: One address for a changing set of pods.
ServiceAccount: Who a pod is when it talks to the API.
ServicePort: A port of a service, and where it leads.
ServiceSpec: Which pods a service leads to, and on which ports.
  clusterIP: The address of the service. None makes it a service without one.
  ports: The ports of the service.
  selector: The labels of the pods that the service leads to.
  type: ClusterIP (the default), NodePort, LoadBalancer or ExternalName.
# What every object has, and what clients ask the server.
Condition: One aspect of an object's state, and since when it holds.
DeleteOptions: How an object is to be deleted.
  dryRun: All: do everything but delete.
  gracePeriodSeconds: How long the object has to end; 0 is at once.
  preconditions: What must be true of the object for it to be deleted.
  propagationPolicy: What becomes of dependents: Orphan, Background or Foreground.
ListMeta: What is true of a list as a whole.
ManagedFieldsEntry: Which fields a writer owns.
ObjectMeta: What every object has: its name, labels and owners.
  annotations: Notes of programs and people, by name.
  creationTimestamp: When the object was created. Set by the server.
  deletionGracePeriodSeconds: How long the object has until it is removed.
  deletionTimestamp: When the object is to be gone. Set by the server once it is being deleted.
  finalizers: Who must still agree before the object is removed.
  generateName: What a name that the server makes up starts with.
  generation: Grows with every change of what is wanted.
  labels: Labels, which selectors look at.
  managedFields: Which fields each writer owns, for server-side apply.
  name: The name, of which there is one at a time for each kind and namespace.
  namespace: The namespace that the object lives in.
  ownerReferences: The objects that this one belongs to. It is deleted when all of them are.
  resourceVersion: The revision of this version of the object, for watches and for changes without surprises.
  selfLink: No longer set.
  uid: Identifies this object among all that ever were.
ObjectReference: Points to an object.
OwnerReference: Points to an object that this one belongs to, and is deleted with.
  blockOwnerDeletion: Whether a foreground deletion of the owner waits for this object.
  controller: Whether the owner is the one that controls this object.
SelfSubjectAccessReview: Asks whether one may do something.
SelfSubjectReview: Asks who one is.
SelfSubjectRulesReview: Asks what one may do in a namespace.
TokenReview: Asks whose a token is.
TokenReviewSpec:
  audiences: Whom the token is to be for; without any, for the API server.
UserInfo: The identity of a user.
  groups: The groups one belongs to.
  username: The name one is known by.
NonResourceAttributes:
  path: The path of the request.
  verb: The method, in small letters.
SelfSubjectAccessReviewSpec:
  nonResourceAttributes: What is to be done to a path that is no resource's.
  resourceAttributes: What is to be done to a resource.
SelfSubjectRulesReviewSpec:
  namespace: The namespace that is meant.
SubjectAccessReviewStatus:
  allowed: Whether it may be done.
SubjectRulesReviewStatus:
  incomplete: Whether there may be more rules than are listed.
  nonResourceRules: What may be done to which paths that are no resource's.
  resourceRules: What may be done to which resources.
# Fields that mean the same in any type without a text of its own for them.
*:
  apiVersion: The group and version of the schema that the document follows.
  conditions: Aspects of the state, each with the time since when it holds.
  kind: What the document is: the name of its kind.
  lastTransitionTime: Since when the state has been as it is.
  message: Why it is so, for people.
  metadata: Name, labels and all else that every object has.
  observedGeneration: The generation of the object that this is about.
  reason: Why it is so, for programs.
  spec: What is wanted.
  status: What is observed. Set by the system.
"""
