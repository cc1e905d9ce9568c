"""Describe claims to devices, the devices that drivers publish, and their taints.

The format is that of `descriptions`.
"""

TEXTS = """
ResourceClaim: A request for devices, which pods name, and what was allocated for it.
ResourceClaimSpec: What is asked for. It cannot be changed.
  devices: The devices that are asked for.
DeviceClaim: Which devices a claim asks for, and how they are to be set up.
  config: Settings for drivers, for some or all requests.
  constraints: What the devices of several requests must have in common, or must not.
  requests: The requests, of which each is for one or more devices. All of them must be met.
DeviceRequest: A request for devices, in one of two ways.
  exactly: One kind of device, and how many of it.
  firstAvailable: Several kinds of devices; the first that can be had is allocated.
  name: The name by which containers, constraints and settings refer to the request.
ExactDeviceRequest: One kind of device, and how many of it.
  adminAccess: Whether to have access to devices that are in use. The namespace needs the label
    resource.kubernetes.io/admin-access with the value true.
  allocationMode: ExactCount (the default) for as many as `count` says, All for all that match.
  capacity: How much of devices that several claims can share.
  count: How many devices; 1 if it is not set.
  deviceClassName: The DeviceClass that the devices must belong to.
  selectors: CEL expressions that must all be true of a device.
  tolerations: Taints of devices that do not matter to this request.
DeviceSubRequest: One of several kinds of devices of which the first that can be had is allocated.
  allocationMode: ExactCount (the default) for as many as `count` says, All for all that match.
  capacity: How much of devices that several claims can share.
  count: How many devices; 1 if it is not set.
  deviceClassName: The DeviceClass that the devices must belong to.
  name: The name of the subrequest; settings refer to it as request/subrequest.
  selectors: CEL expressions that must all be true of a device.
  tolerations: Taints of devices that do not matter to this request.
CapacityRequirements: How much of a device's capacity is asked for.
  requests: Amounts by the name of the capacity.
DeviceSelector: Chooses devices.
  cel: An expression about the device.
CELDeviceSelector: An expression about a device.
  expression: A CEL expression that is true of the devices to be chosen. `device` has driver, attributes and capacity.
DeviceToleration: A taint of devices that does not matter.
  effect: The effect of the taint; any if it is not set.
  expression: A CEL expression about the taint instead of key, operator, value and effect, with feature gate
    TaintTolerationCEL.
  key: The key of the taint; any if it is not set and the operator is Exists.
  operator: Exists, Equal (the default), and {comparisons of tolerations}.
  tolerationSeconds: For how long a taint of effect NoExecute is tolerated; for ever if it is not set.
  value: What the value of the taint is compared with.
DeviceConstraint: What devices must have in common, or must not.
  distinctAttribute: An attribute, with its domain, whose value must differ among the devices.
  matchAttribute: An attribute, with its domain, whose value must be the same for all the devices.
  requests: The requests that the constraint is about; all if none is named.
DeviceClaimConfiguration: Settings for a driver.
  requests: The requests that the settings are for; all if none is named.
  opaque: Settings that only the driver understands.
OpaqueDeviceConfiguration: Settings that only a driver understands.
  driver: The driver that the settings are for.
  parameters: The settings, an object with apiVersion and kind.
ResourceClaimStatus: What was allocated, and who uses it.
  allocation: The devices that were allocated. Absent before the claim is allocated.
  devices: What drivers say of the allocated devices.
  reservedFor: The pods that may use the claim, at most 256.
AllocationResult: The devices that were allocated, and where they can be used.
  allocationTimestamp: When they were allocated.
  devices: The devices, and settings for their drivers.
  nodeSelector: The nodes on which the devices can be used; all if it is not set.
DeviceAllocationResult: The devices that were allocated, and settings for their drivers.
  config: Settings of the class and of the claim.
  results: The devices.
DeviceRequestAllocationResult: A device that was allocated for a request.
  adminAccess: Whether the device may be in use otherwise.
  bindingConditions: Conditions that must be true before a pod is bound.
  bindingFailureConditions: Conditions of which none may be true when a pod is bound.
  consumedCapacity: How much was taken of a device that several claims share.
  device: Name of the device in its pool.
  driver: The driver of the device.
  pool: The pool of the device.
  request: The request, or request/subrequest, that the device was allocated for.
  shareID: Tells apart the shares of a device.
  tolerations: The tolerations of the request when it was allocated.
DeviceAllocationConfiguration: Settings for a driver, and where they came from.
  requests: The requests that the settings are for; all if none is named.
  source: FromClass or FromClaim.
ResourceClaimConsumerReference: A pod that may use a claim.
  apiGroup: The group of the consumer; empty for pods.
  resource: The resource of the consumer, such as pods.
AllocatedDeviceStatus: What a driver says of an allocated device.
  conditions: Conditions of the device, at most 8.
  data: What else the driver has to say.
  networkData: The interface and addresses of a network device.
PodResourceClaim: A claim on devices that containers of the pod name; exactly one source is set.
  name: The name by which containers refer to the claim, in resources.claims.
  resourceClaimName: A ResourceClaim in the pod's namespace, which pods may share.
  resourceClaimTemplateName: A ResourceClaimTemplate in the pod's namespace; a claim is made of it for this pod alone.
ResourceClaimTemplate: The claim that is made for each pod that names the template.
ResourceClaimTemplateSpec: Labels, annotations and the spec of the claims to be made.
DeviceClass: A kind of devices that claims can ask for, made by administrators.
DeviceClassSpec: Which devices belong to the class, and how they are set up.
  config: Settings for drivers, of every device of the class.
  extendedResourceName: An extended resource for which devices of this class are allocated too.
  selectors: CEL expressions that must all be true of a device.
DeviceTaintRule: A taint that administrators put on devices.
DeviceTaintRuleSpec: The taint, and the devices that get it.
  deviceSelector: The devices; all if it is not set.
  taint: The taint.
DeviceTaintRuleStatus: What the controller that evicts pods has found.
DeviceTaintSelector: Chooses devices by their driver, pool and name; what is not set matches all.
  device: The name of the device in its pool.
  driver: The driver that published the device.
  pool: The pool of the device.
DeviceTaint: Keeps claims that do not tolerate it off a device.
  effect: None, NoSchedule keeps new claims away, NoExecute also evicts pods that use the device.
  key: The key of the taint, such as example.com/temperature.
  timeAdded: When the taint was added, from which seconds of tolerations count.
  value: The value of the taint.
ResourceSlice: Devices that a driver publishes, all or some of a pool.
ResourceSliceSpec: The devices, and which nodes can use them.
  allNodes: Whether all nodes can use the devices.
  devices: The devices, at most 128, or 64 if any has taints, counters or lists.
  driver: Name of the driver.
  nodeName: The node that has the devices.
  nodeSelector: The nodes that can use the devices.
  perDeviceNodeSelection: Whether each device says for itself which nodes can use it.
  pool: The pool that the devices belong to.
  sharedCounters: Counters that devices of the pool consume.
ResourcePool: A pool of devices, which may take several slices.
  generation: Counts the changes of the pool; older slices no longer count.
  name: Name of the pool, often that of the node.
  resourceSliceCount: How many slices the pool has, so that clients know whether they see all of it.
Device: A device that can be allocated.
  allNodes: Whether all nodes can use the device, if the slice leaves that to each device.
  allowMultipleAllocations: Whether several claims can share the device.
  attributes: What the device is, by name; a name without a domain is in the domain of the driver.
  bindingConditions: Conditions that must be true before a pod is bound.
  bindingFailureConditions: Conditions of which none may be true when a pod is bound.
  bindsToNode: Whether the claim is then bound to the node.
  capacity: How much of something the device has, by name.
  consumesCounters: What the device consumes of the pool's counters.
  nodeAllocatableResourceMappings: What the device takes of its node's allocatable resources.
  nodeName: The node that has the device, if the slice leaves that to each device.
  nodeSelector: The nodes that can use the device, if the slice leaves that to each device.
  taints: Taints that the driver puts on the device.
DeviceAttribute: The value of an attribute, exactly one.
  bool: A truth value.
  int: A whole number.
  string: A text of at most 64 bytes.
  version: A semantic version.
DeviceCapacity: How much of something a device has.
  requestPolicy: How much of it claims can ask for, if they share the device.
  value: The amount.
CounterSet: Counters that devices of a pool share.
DeviceCounterConsumption: What a device consumes of a set of counters.
"""
