"""Describe the types that pods are made of, that decide where they go, and that create them.

The format is that of `descriptions`.
"""

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
  minReadySeconds: How long a pod must have been ready to count as available.
  revisionHistoryLimit: How many old revisions are kept for going back to.
  selector: Which pods belong to the object. Must match the labels of the template.
  template: What the pods look like. They go to every node that their affinity and tolerations allow.
  updateStrategy: How pods are replaced if the template changes.
Deployment: Keeps a number of equal pods, and replaces them step by step if they are to change.
DeploymentSpec: How many pods there are, what they look like, and how they are replaced.
  minReadySeconds: How long a pod must have been ready to count as available.
  paused: Whether changes of the template wait.
  progressDeadlineSeconds: How long a change may make no progress before it is reported as failed.
  replicas: How many pods there are to be; 1 by default.
  revisionHistoryLimit: How many old revisions are kept for going back to.
  selector: Which pods belong to the object. Must match the labels of the template.
  strategy: How pods are replaced if the template changes.
  template: What the pods look like.
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
  minReadySeconds: How long a pod must have been ready to count as available.
  replicas: How many pods there are to be; 1 by default.
  selector: Which pods belong to the object. Must match the labels of the template.
  template: What the pods look like.
RollingUpdateDeployment: How many pods may be missing or surplus while they are replaced.
  maxSurge: How many pods there may be beyond the wanted number: a number or a percentage.
  maxUnavailable: How many pods may be missing: a number or a percentage.
Scale: The number of pods of an object, whatever its kind.
StatefulSet: Keeps numbered pods, each with a name and volumes of its own.
StatefulSetSpec: How many pods there are, what they look like, and which volumes each has.
  minReadySeconds: How long a pod must have been ready to count as available.
  ordinals: Where the numbers of the pods start.
  persistentVolumeClaimRetentionPolicy: What becomes of the volumes of pods that are gone.
  podManagementPolicy: OrderedReady makes one pod after another, Parallel all at once.
  replicas: How many pods there are to be; 1 by default.
  revisionHistoryLimit: How many old revisions are kept for going back to.
  selector: Which pods belong to the object. Must match the labels of the template.
  serviceName: The service that gives the pods their names in the network.
  template: What the pods look like.
  updateStrategy: How pods are replaced if the template changes.
  volumeClaimTemplates: Claims of which every pod gets its own.
"""
