"""Define the feature gates of KEP-5471, KEP-5721, KEP-5500, KEP-3633, devices (DRA) and nodes, by component.

A component's `GateSet` is read by the `compile_*` and `admit` functions and nowhere deeper. Kubernetes:
component-base/featuregate, pkg/features.

Differs: an unknown gate's error lists the known ones, and `MatchLabelKeysInPodAffinity`, locked on since 1.33, can
still be turned off, because what happens when it is turned off and on again is part of what its document describes.
"""

from collections.abc import Iterable, Mapping
from functools import cache

import msgspec

from moorage.model.gate_types import ALL_COMPONENTS, alpha, beta, ga, released
from moorage.model.gate_types import Component as Component
from moorage.model.gate_types import Gate as Gate
from moorage.model.gate_types import Stage as Stage

_SERVER = frozenset({Component.API_SERVER})
_SERVER_AND_SCHEDULER = _SERVER | {Component.SCHEDULER}
_KUBELET = frozenset({Component.KUBELET})
_SCHEDULER = frozenset({Component.SCHEDULER})
_CONTROL_PLANE = _SERVER_AND_SCHEDULER | {Component.CONTROLLER_MANAGER}
_DRA = ("DynamicResourceAllocation",)

TAINT_TOLERATION_COMPARISON_OPERATORS = released(
    "TaintTolerationComparisonOperators", ALL_COMPONENTS, "operators Lt and Gt in tolerations", (alpha(35),)
)
SEMVER_COMPARISON_OPERATORS = Gate(
    "TaintTolerationNodeAffinitySemverComparisonOperators",
    Stage.ALPHA,
    False,
    ALL_COMPONENTS,
    "operators SemverLt, SemverGt and SemverEq in tolerations, node affinity and PersistentVolume node affinity",
)
TAINT_TOLERATION_CEL = Gate("TaintTolerationCEL", Stage.ALPHA, False, ALL_COMPONENTS, "CEL expressions in tolerations")
MATCH_LABEL_KEYS_IN_POD_AFFINITY = Gate(
    "MatchLabelKeysInPodAffinity",
    Stage.BETA,
    True,
    _SERVER,
    "matchLabelKeys and mismatchLabelKeys in pod affinity and anti-affinity",
    (alpha(29), beta(31), ga(33, locked_from=33)),
)
MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD = released(
    "MatchLabelKeysInPodTopologySpread",
    _SERVER_AND_SCHEDULER,
    "matchLabelKeys in topology spread constraints",
    (alpha(25), beta(27)),
)
MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD_SELECTOR_MERGE = released(
    "MatchLabelKeysInPodTopologySpreadSelectorMerge",
    _SERVER_AND_SCHEDULER,
    "merging of a spread constraint's matchLabelKeys into its labelSelector when the pod is created",
    (beta(34),),
    needs=("MatchLabelKeysInPodTopologySpread",),
)
POD_TOPOLOGY_LABELS_ADMISSION = released(
    "PodTopologyLabelsAdmission",
    _SERVER,
    "zone and region of their node as labels of bound pods",
    (alpha(33), beta(35)),
)
DYNAMIC_RESOURCE_ALLOCATION = released(
    "DynamicResourceAllocation",
    ALL_COMPONENTS,
    "devices claimed by ResourceClaims",
    (alpha(26), beta(32, on=False), ga(34, locked_from=35)),
    locked=True,
)
DRA_ADMIN_ACCESS = released(
    "DRAAdminAccess",
    _CONTROL_PLANE,
    "adminAccess in device requests",
    (alpha(32), beta(34), ga(36, locked_from=36)),
    needs=_DRA,
    locked=True,
)
DRA_CONSUMABLE_CAPACITY = released(
    "DRAConsumableCapacity",
    _SERVER_AND_SCHEDULER,
    "devices that several claims share by capacity",
    (alpha(34), beta(36)),
    needs=_DRA,
)
DRA_DEVICE_BINDING_CONDITIONS = released(
    "DRADeviceBindingConditions",
    _SERVER_AND_SCHEDULER,
    "binding conditions of devices, which delay the binding of pods",
    (alpha(34), beta(36)),
    needs=("DynamicResourceAllocation", "DRAResourceClaimDeviceStatus"),
)
DRA_DEVICE_TAINT_RULES = released(
    "DRADeviceTaintRules",
    _CONTROL_PLANE,
    "DeviceTaintRules, which taint devices",
    (alpha(35), beta(36, on=False)),
    needs=("DRADeviceTaints",),
)
DRA_DEVICE_TAINTS = released(
    "DRADeviceTaints",
    _CONTROL_PLANE,
    "taints of devices and tolerations in device requests",
    (alpha(33), beta(36)),
    needs=_DRA,
)
DRA_EXTENDED_RESOURCE = released(
    "DRAExtendedResource",
    frozenset({Component.API_SERVER, Component.SCHEDULER, Component.KUBELET}),
    "extended resources backed by device classes",
    (alpha(34), beta(36)),
    needs=_DRA,
)
DRA_LIST_TYPE_ATTRIBUTES = released(
    "DRAListTypeAttributes", _SERVER_AND_SCHEDULER, "lists as values of device attributes", (alpha(36),), needs=_DRA
)
DRA_NODE_ALLOCATABLE_RESOURCES = released(
    "DRANodeAllocatableResources",
    _SERVER_AND_SCHEDULER,
    "devices that take from their node's allocatable resources",
    (alpha(36),),
    needs=_DRA,
)
DRA_PARTITIONABLE_DEVICES = released(
    "DRAPartitionableDevices",
    _SERVER_AND_SCHEDULER,
    "devices that consume shared counters, and per-device node selection",
    (alpha(33), beta(36)),
    needs=_DRA,
)
DRA_PRIORITIZED_LIST = released(
    "DRAPrioritizedList",
    _CONTROL_PLANE,
    "firstAvailable in device requests",
    (alpha(33), beta(34), ga(36)),
    needs=_DRA,
)
DRA_RESOURCE_CLAIM_DEVICE_STATUS = released(
    "DRAResourceClaimDeviceStatus", _SERVER_AND_SCHEDULER, "status.devices of ResourceClaims", (alpha(32), beta(33))
)
DRA_RESOURCE_CLAIM_GRANULAR_STATUS_AUTHORIZATION = released(
    "DRAResourceClaimGranularStatusAuthorization",
    _SERVER,
    "separate permissions for the parts of a ResourceClaim's status",
    (beta(36),),
    needs=("DynamicResourceAllocation", "DRAResourceClaimDeviceStatus"),
)
DRA_RESOURCE_POOL_STATUS = released(
    "DRAResourcePoolStatus",
    frozenset({Component.API_SERVER, Component.CONTROLLER_MANAGER}),
    "ResourcePoolStatusRequests",
    (alpha(36),),
    needs=_DRA,
)
DRA_SCHEDULER_FILTER_TIMEOUT = released(
    "DRASchedulerFilterTimeout",
    _SCHEDULER,
    "a limit on the search for devices on one node",
    (beta(34),),
    needs=_DRA,
)
DRA_WORKLOAD_RESOURCE_CLAIMS = released(
    "DRAWorkloadResourceClaims", ALL_COMPONENTS, "ResourceClaims of whole PodGroups", (alpha(36),), needs=_DRA
)

STORAGE_CAPACITY_SCORING = released(
    "StorageCapacityScoring", _SCHEDULER, "scores of nodes by the storage that volumes would use", (alpha(33),)
)
CLEARING_NOMINATED_NODE_NAME_AFTER_BINDING = released(
    "ClearingNominatedNodeNameAfterBinding",
    _SERVER,
    "binding clears status.nominatedNodeName",
    (alpha(34), beta(35)),
)
NOMINATED_NODE_NAME_FOR_EXPECTATION = released(
    "NominatedNodeNameForExpectation",
    _SCHEDULER,
    "status.nominatedNodeName before volumes and devices are bound",
    (alpha(34), beta(35)),
)
GRACEFUL_NODE_SHUTDOWN = released(
    "GracefulNodeShutdown", _KUBELET, "pods that end before their node shuts down", (alpha(20), beta(21))
)
GRACEFUL_NODE_SHUTDOWN_BASED_ON_POD_PRIORITY = released(
    "GracefulNodeShutdownBasedOnPodPriority",
    _KUBELET,
    "periods by priority in which pods end before their node shuts down",
    (alpha(23), beta(24)),
    needs=("GracefulNodeShutdown",),
)
_DECLARED = ("NodeDeclaredFeatures",)
NODE_DECLARED_FEATURES = released(
    "NodeDeclaredFeatures",
    _SERVER_AND_SCHEDULER | _KUBELET,
    "features that nodes declare, and pods that need them",
    (alpha(35), beta(36)),
)
EXTEND_WEB_SOCKETS_TO_KUBELET = released(
    "ExtendWebSocketsToKubelet", _KUBELET, "streams by WebSocket to the kubelet", (beta(36),), needs=_DECLARED
)
IN_PLACE_POD_LEVEL_RESOURCES_VERTICAL_SCALING = released(
    "InPlacePodLevelResourcesVerticalScaling",
    _SERVER | _KUBELET,
    "in-place resize of resources at pod level",
    (alpha(35), beta(36)),
    needs=_DECLARED,
)
IN_PLACE_POD_VERTICAL_SCALING_INIT_CONTAINERS = released(
    "InPlacePodVerticalScalingInitContainers",
    _SERVER | _KUBELET,
    "in-place resize of init containers that are not sidecars",
    (beta(36),),
    needs=_DECLARED,
)
RESTART_ALL_CONTAINERS_ON_CONTAINER_EXITS = released(
    "RestartAllContainersOnContainerExits",
    _KUBELET,
    "restart rules with the action RestartAllContainers",
    (alpha(35), beta(36)),
    needs=_DECLARED,
)
USER_NAMESPACES_HOST_NETWORK_SUPPORT = released(
    "UserNamespacesHostNetworkSupport",
    _SERVER | _KUBELET,
    "user namespaces of pods on the host network",
    (alpha(35),),
    needs=_DECLARED,
)
_AUTOSCALING = _SERVER | {Component.CONTROLLER_MANAGER}
HPA_CONFIGURABLE_TOLERANCE = released(
    "HPAConfigurableTolerance", _AUTOSCALING, "tolerances of HorizontalPodAutoscalers", (alpha(33), beta(35))
)
HPA_SCALE_TO_ZERO = released(
    "HPAScaleToZero",
    _AUTOSCALING,
    "HorizontalPodAutoscalers that scale to zero by Object and External metrics",
    (alpha(16),),
)

#: Every gate above, in this order.
GATES = tuple(gate for gate in list(vars().values()) if isinstance(gate, Gate))
_BY_NAME = {gate.name: gate for gate in GATES}
_ALL_OF_STAGE = {"AllAlpha": Stage.ALPHA, "AllBeta": Stage.BETA}
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE = frozenset({"0", "f", "F", "false", "FALSE", "False"})


class GateError(ValueError):
    """A `--feature-gates` value that cannot be used, with the reason."""


class GateSet(msgspec.Struct, frozen=True):
    """The gates that are on in one component. Hashable, so that compiled matchers can be cached by it.

    `release` is the minor version of Kubernetes whose gates they are; None: Moorage's own, as of the newest.
    """

    names: frozenset[str]
    release: int | None = None

    def enabled(self, gate: Gate) -> bool:
        return gate.name in self.names

    def with_gate(self, gate: Gate, on: bool) -> "GateSet":
        return GateSet(self.names | {gate.name} if on else self.names - {gate.name}, self.release)


@cache
def default_gates() -> GateSet:
    return gates_from({})


@cache
def all_gates() -> GateSet:
    """Return the gates with every alpha and beta gate on."""
    return gates_from({"AllAlpha": True, "AllBeta": True})


def gates_from(settings: Mapping[str, bool], release: int | None = None) -> GateSet:
    """Return the defaults, overridden by `AllAlpha`/`AllBeta`, overridden by the gates set by name.

    With a `release`, the gates and defaults are those of that minor version of Kubernetes. Raises GateError.
    """
    gates = GATES if release is None else _gates_of(release)
    known = {gate.name for gate in gates}
    unknown = sorted(name for name in settings if name not in known and name not in _ALL_OF_STAGE)
    if unknown:
        listed = ", ".join([*_ALL_OF_STAGE, *(gate.name for gate in gates)])
        whose = "known gates" if release is None else f"known gates of Kubernetes 1.{release}"
        raise GateError(f"unrecognized feature gate: {', '.join(map(_with_first, unknown))} ({whose}: {listed})")
    for gate in gates:
        if gate.locked and settings.get(gate.name, gate.default) is not gate.default:
            value, default = (str(on).lower() for on in (settings[gate.name], gate.default))
            raise GateError(f"cannot set feature gate {gate.name} to {value}, feature is locked to {default}")
    values = {gate.name: gate.default for gate in gates}
    values.update(named_values(settings, gates))
    for gate in gates:
        missing = [name for name in gate.needs if not values[name]]
        if values[gate.name] and missing:
            raise GateError(f"{gate.name} is enabled, but depends on features that are disabled: [{' '.join(missing)}]")
    return GateSet(frozenset(name for name, on in values.items() if on), release)


def _gates_of(release: int) -> tuple[Gate, ...]:
    return tuple(found for gate in GATES if (found := gate.in_release(release)) is not None)


def _with_first(name: str) -> str:
    """Add to the name of a gate which releases have it, if Moorage knows the gate."""
    if name not in _BY_NAME:
        return name
    first = _BY_NAME[name].accepted_from()
    return f"{name} ({'in no release so far' if first is None else f'since 1.{first}'})"


def named_values(settings: Mapping[str, bool], gates: Iterable[Gate] = GATES) -> dict[str, bool]:
    """Return the value of every gate that the settings decide, by name or by stage."""
    values = {
        gate.name: settings[name]
        for name, stage in _ALL_OF_STAGE.items()
        if name in settings
        for gate in gates
        if gate.stage is stage
    }
    return values | {name: on for name, on in settings.items() if name in _BY_NAME}


def parse_feature_gates(text: str) -> dict[str, bool]:
    """Parse `A=true,B=false`, with Kubernetes' complaints about the syntax."""
    settings: dict[str, bool] = {}
    for item in text.split(","):
        name, equals, value = (part.strip() for part in item.partition("="))
        if not name and not equals:
            continue
        if not equals:
            raise GateError(f"missing bool value for {name}")
        if value not in _TRUE and value not in _FALSE:
            raise GateError(
                f'invalid value of {name}={value}, err: strconv.ParseBool: parsing "{value}": invalid syntax'
            )
        settings[name] = value in _TRUE
    return settings


def component_gates(
    everywhere: Iterable[str] = (), only: Mapping[Component, Iterable[str]] | None = None
) -> dict[Component, GateSet]:
    """Return the gates of all four components: settings for every component, overridden by a component's own ones."""
    shared: dict[str, bool] = {}
    for text in everywhere:
        shared.update(parse_feature_gates(text))
    result: dict[Component, GateSet] = {}
    for component in Component:
        settings = dict(shared)
        for text in (only or {}).get(component, ()):
            settings.update(parse_feature_gates(text))
        result[component] = gates_from(settings)
    return result
