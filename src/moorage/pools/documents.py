"""Define the views of what pools are written as: Karpenter's and Cluster Autoscaler's objects, and our NodeGroup.

Kubernetes: karpenter.sh/v1 NodePool, karpenter.sh/v1alpha1 NodeOverlay, autoscaling.x-k8s.io CapacityBuffer. Differs:
NodeGroup (capacity.moorage.dev/v1) is ours: Cluster Autoscaler has no such object.
"""

from moorage.model.quantity import Quantity
from moorage.model.types.node import NodeStatus, Taint
from moorage.model.types.view import ABSENT_LIST, ABSENT_MAP, Int32, Int64, View

Amounts = dict[str, Quantity]
Texts = dict[str, str]


class Named(View, frozen=True):
    name: str = ""
    namespace: str = ""
    labels: Texts = ABSENT_MAP
    annotations: Texts = ABSENT_MAP


class LabelRequirement(View, frozen=True):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ABSENT_LIST
    minValues: Int64 | None = None


class NodeClaimSpec(View, frozen=True):
    taints: tuple[Taint, ...] = ABSENT_LIST
    startupTaints: tuple[Taint, ...] = ABSENT_LIST
    requirements: tuple[LabelRequirement, ...] = ABSENT_LIST
    expireAfter: str | None = None


class NodeClaimTemplate(View, frozen=True):
    metadata: Named = Named()
    spec: NodeClaimSpec = NodeClaimSpec()


class BudgetView(View, frozen=True):
    nodes: str = "10%"
    reasons: tuple[str, ...] = ABSENT_LIST
    schedule: str = ""
    duration: str = ""


class DisruptionView(View, frozen=True):
    consolidateAfter: str = "0s"
    consolidationPolicy: str = "WhenEmptyOrUnderutilized"
    budgets: tuple[BudgetView, ...] | None = None


class NodePoolSpec(View, frozen=True):
    template: NodeClaimTemplate = NodeClaimTemplate()
    disruption: DisruptionView = DisruptionView()
    limits: Amounts = ABSENT_MAP
    weight: Int32 | None = None
    replicas: Int64 | None = None


class NodePool(View, frozen=True):
    metadata: Named = Named()
    spec: NodePoolSpec = NodePoolSpec()


class NodeOverlaySpec(View, frozen=True):
    requirements: tuple[LabelRequirement, ...] = ABSENT_LIST
    priceAdjustment: str | None = None
    price: str | None = None
    capacity: Amounts = ABSENT_MAP
    weight: Int32 | None = None


class NodeOverlay(View, frozen=True):
    metadata: Named = Named()
    spec: NodeOverlaySpec = NodeOverlaySpec()


class GroupNodeSpec(View, frozen=True):
    taints: tuple[Taint, ...] = ABSENT_LIST
    startupTaints: tuple[Taint, ...] = ABSENT_LIST


class GroupTemplate(View, frozen=True):
    metadata: Named = Named()
    spec: GroupNodeSpec = GroupNodeSpec()
    status: NodeStatus = NodeStatus()


class NodeGroupSpec(View, frozen=True):
    minSize: Int64 = 0
    maxSize: Int64 | None = None
    price: float | None = None
    priority: Int64 = 0
    instanceType: str = ""
    capacityType: str = ""
    zones: tuple[str, ...] = ABSENT_LIST
    template: GroupTemplate = GroupTemplate()


class NodeGroup(View, frozen=True):
    metadata: Named = Named()
    spec: NodeGroupSpec = NodeGroupSpec()


class ObjectName(View, frozen=True):
    name: str = ""


class ScalableName(View, frozen=True):
    apiGroup: str = ""
    kind: str = ""
    name: str = ""


class CapacityBufferSpec(View, frozen=True):
    provisioningStrategy: str | None = None
    podTemplateRef: ObjectName | None = None
    scalableRef: ScalableName | None = None
    replicas: Int32 | None = None
    percentage: Int32 | None = None
    limits: Amounts = ABSENT_MAP


class CapacityBuffer(View, frozen=True):
    metadata: Named = Named()
    spec: CapacityBufferSpec = CapacityBufferSpec()


class Offering(View, frozen=True):
    """A way to buy an instance type, with the field names of Karpenter's kwok provider."""

    Price: float | None = None
    Available: bool = True
    Requirements: tuple[LabelRequirement, ...] = ABSENT_LIST


class InstanceTypeView(View, frozen=True):
    name: str = ""
    offerings: tuple[Offering, ...] = ABSENT_LIST
    architecture: str = ""
    operatingSystems: tuple[str, ...] = ABSENT_LIST
    resources: Amounts = ABSENT_MAP


class Tag(View, frozen=True):
    Key: str = ""
    Value: str = ""


class InstanceOverride(View, frozen=True):
    InstanceType: str = ""


class OverridesOfTemplate(View, frozen=True):
    Overrides: tuple[InstanceOverride, ...] = ABSENT_LIST


class Distribution(View, frozen=True):
    OnDemandBaseCapacity: Int64 = 0
    OnDemandPercentageAboveBaseCapacity: Int64 = 100


class MixedInstances(View, frozen=True):
    LaunchTemplate: OverridesOfTemplate = OverridesOfTemplate()
    InstancesDistribution: Distribution | None = None


class AutoScalingGroup(View, frozen=True):
    """A group as a cloud's `describe-auto-scaling-groups` prints it."""

    AutoScalingGroupName: str = ""
    MinSize: Int64 = 0
    MaxSize: Int64 | None = None
    AvailabilityZones: tuple[str, ...] = ABSENT_LIST
    MixedInstancesPolicy: MixedInstances | None = None
    Instances: tuple[InstanceOverride, ...] = ABSENT_LIST
    Tags: tuple[Tag, ...] = ABSENT_LIST


class CloudGroups(View, frozen=True):
    AutoScalingGroups: tuple[AutoScalingGroup, ...] = ABSENT_LIST
