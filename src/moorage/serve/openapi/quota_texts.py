"""Describe what namespaces may use, and RuntimeClasses.

The format is that of `descriptions`.
"""

TEXTS = """
LimitRange: Defaults and bounds for what the pods, containers and claims of a namespace ask for.
LimitRangeSpec: The entries, one for each type of object.
  limits: The entries that are enforced.
LimitRangeItem: Defaults and bounds for one type of object.
  type: What is limited: Container, Pod or PersistentVolumeClaim.
  max: The most of each resource.
  min: The least of each resource.
  default: The limit of a container that has none.
  defaultRequest: The request of a container that has none.
  maxLimitRequestRatio: How many times its request a limit may be.
ResourceQuota: What the objects of a namespace may use together.
ResourceQuotaSpec: The amounts that are allowed, and the objects that are counted.
  hard: The most of each resource, or of objects of a kind.
  scopes: Conditions of which all must hold for an object to be counted.
  scopeSelector: More such conditions, with operators and values.
ResourceQuotaStatus: The amounts that are enforced and used.
  hard: The amounts that are enforced.
  used: The amounts that the objects of the namespace use.
ScopeSelector: Conditions of which all must hold.
  matchExpressions: The conditions.
ScopedResourceSelectorRequirement: One condition on a scope.
  scopeName: The scope.
  operator: In, NotIn, Exists or DoesNotExist.
  values: The values for In and NotIn; none for the others.
RuntimeClass: A container runtime that pods can ask for by name.
  handler: The runtime's configuration on the nodes.
  overhead: What a pod uses beside its containers.
  scheduling: The nodes that support the runtime.
Overhead: What a pod uses beside its containers.
  podFixed: The amounts, which are the same for every pod.
Scheduling: The nodes that support a runtime.
  nodeSelector: Labels that such nodes have. Pods get them in addition to their own selector.
  tolerations: Tolerations that pods of the runtime get in addition to their own.
"""
