"""Describe storage, nodes, what else a cluster has, and fields that many types have.

The format is that of `descriptions`.
"""

TEXTS = """
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
