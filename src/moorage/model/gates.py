"""Define the feature gates of KEP-5471, KEP-5721, KEP-5500, KEP-3633 and devices (DRA), by component.

A component's `GateSet` is read by the `compile_*` and `admit` functions and nowhere deeper. Kubernetes:
component-base/featuregate, pkg/features.

Differs: an unknown gate's error lists the known ones, and `MatchLabelKeysInPodAffinity`, locked on since 1.33, can
still be turned off, because what happens when it is turned off and on again is part of what its document describes.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec


class Component(StrEnum):
    """The processes that read gates, each with values of its own, so that version skew can be reproduced."""

    API_SERVER = "kube-apiserver"
    SCHEDULER = "kube-scheduler"
    CONTROLLER_MANAGER = "kube-controller-manager"
    KUBELET = "kubelet"


ALL_COMPONENTS = frozenset(Component)


class Stage(StrEnum):
    """How far a feature has come; `AllAlpha` and `AllBeta` set every gate of their stage that is not set by name."""

    ALPHA = "ALPHA"
    BETA = "BETA"
    GA = "GA"


#: Earlier minor versions let a gate be on without those that it needs.
_FIRST_WITH_NEEDS = 35


class Release(msgspec.Struct, frozen=True):
    """What a Kubernetes release made of a gate: from this minor version on, this stage and this default.

    From `locked_from` on it cannot be set to another value.
    """

    minor: int
    stage: Stage
    default: bool
    locked_from: int | None = None


class Gate(msgspec.Struct, frozen=True):
    """One feature gate. `releases` is its history in Kubernetes, oldest first; empty if no release has it yet.

    `needs` names the gates without which it cannot be on; `locked` gates cannot be set to another value.
    """

    name: str
    stage: Stage
    default: bool
    components: frozenset[Component]
    feature: str
    releases: tuple[Release, ...] = ()
    needs: tuple[str, ...] = ()
    locked: bool = False

    def accepted_from(self) -> int | None:
        """Return the first minor version whose API server can accept the feature; None: no release so far."""
        return self.releases[0].minor if self.releases else None

    def accepted_by_default_from(self) -> int | None:
        return next((release.minor for release in self.releases if release.default), None)

    def in_release(self, minor: int) -> "Gate | None":
        """Return the gate as a minor version of Kubernetes has it; None if that does not have it."""
        past = [release for release in self.releases if release.minor <= minor]
        if not past:
            return None
        stage, default, locked_from = past[-1].stage, past[-1].default, past[-1].locked_from
        is_locked = locked_from is not None and locked_from <= minor
        needs = self.needs if minor >= _FIRST_WITH_NEEDS else ()
        return msgspec.structs.replace(self, stage=stage, default=default, locked=is_locked, needs=needs)


def _alpha(minor: int) -> Release:
    return Release(minor, Stage.ALPHA, default=False)


def _beta(minor: int, *, on: bool = True) -> Release:
    return Release(minor, Stage.BETA, default=on)


def _ga(minor: int, *, locked_from: int | None = None) -> Release:
    return Release(minor, Stage.GA, default=True, locked_from=locked_from)


def _released(
    name: str,
    components: frozenset[Component],
    feature: str,
    releases: tuple[Release, ...],
    needs: tuple[str, ...] = (),
    locked: bool = False,
) -> Gate:
    """Return a gate as the newest Kubernetes release has it."""
    newest = releases[-1]
    return Gate(name, newest.stage, newest.default, components, feature, releases, needs, locked)


_SERVER = frozenset({Component.API_SERVER})
_SERVER_AND_SCHEDULER = _SERVER | {Component.SCHEDULER}
_CONTROL_PLANE = _SERVER_AND_SCHEDULER | {Component.CONTROLLER_MANAGER}
_DRA = ("DynamicResourceAllocation",)

TAINT_TOLERATION_COMPARISON_OPERATORS = _released(
    "TaintTolerationComparisonOperators", ALL_COMPONENTS, "operators Lt and Gt in tolerations", (_alpha(35),)
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
    (_alpha(29), _beta(31), _ga(33, locked_from=33)),
)
MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD = _released(
    "MatchLabelKeysInPodTopologySpread",
    _SERVER_AND_SCHEDULER,
    "matchLabelKeys in topology spread constraints",
    (_alpha(25), _beta(27)),
)
MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD_SELECTOR_MERGE = _released(
    "MatchLabelKeysInPodTopologySpreadSelectorMerge",
    _SERVER_AND_SCHEDULER,
    "merging of a spread constraint's matchLabelKeys into its labelSelector when the pod is created",
    (_beta(34),),
    needs=("MatchLabelKeysInPodTopologySpread",),
)
POD_TOPOLOGY_LABELS_ADMISSION = _released(
    "PodTopologyLabelsAdmission",
    _SERVER,
    "zone and region of their node as labels of bound pods",
    (_alpha(33), _beta(35)),
)
DYNAMIC_RESOURCE_ALLOCATION = _released(
    "DynamicResourceAllocation",
    ALL_COMPONENTS,
    "devices claimed by ResourceClaims",
    (_alpha(26), _beta(32, on=False), _ga(34, locked_from=35)),
    locked=True,
)
DRA_ADMIN_ACCESS = _released(
    "DRAAdminAccess",
    _CONTROL_PLANE,
    "adminAccess in device requests",
    (_alpha(32), _beta(34), _ga(36, locked_from=36)),
    needs=_DRA,
    locked=True,
)
DRA_CONSUMABLE_CAPACITY = _released(
    "DRAConsumableCapacity",
    _SERVER_AND_SCHEDULER,
    "devices that several claims share by capacity",
    (_alpha(34), _beta(36)),
    needs=_DRA,
)
DRA_DEVICE_BINDING_CONDITIONS = _released(
    "DRADeviceBindingConditions",
    _SERVER_AND_SCHEDULER,
    "binding conditions of devices, which delay the binding of pods",
    (_alpha(34), _beta(36)),
    needs=("DynamicResourceAllocation", "DRAResourceClaimDeviceStatus"),
)
DRA_DEVICE_TAINT_RULES = _released(
    "DRADeviceTaintRules",
    _CONTROL_PLANE,
    "DeviceTaintRules, which taint devices",
    (_alpha(35), _beta(36, on=False)),
    needs=("DRADeviceTaints",),
)
DRA_DEVICE_TAINTS = _released(
    "DRADeviceTaints",
    _CONTROL_PLANE,
    "taints of devices and tolerations in device requests",
    (_alpha(33), _beta(36)),
    needs=_DRA,
)
DRA_EXTENDED_RESOURCE = _released(
    "DRAExtendedResource",
    frozenset({Component.API_SERVER, Component.SCHEDULER, Component.KUBELET}),
    "extended resources backed by device classes",
    (_alpha(34), _beta(36)),
    needs=_DRA,
)
DRA_LIST_TYPE_ATTRIBUTES = _released(
    "DRAListTypeAttributes", _SERVER_AND_SCHEDULER, "lists as values of device attributes", (_alpha(36),), needs=_DRA
)
DRA_NODE_ALLOCATABLE_RESOURCES = _released(
    "DRANodeAllocatableResources",
    _SERVER_AND_SCHEDULER,
    "devices that take from their node's allocatable resources",
    (_alpha(36),),
    needs=_DRA,
)
DRA_PARTITIONABLE_DEVICES = _released(
    "DRAPartitionableDevices",
    _SERVER_AND_SCHEDULER,
    "devices that consume shared counters, and per-device node selection",
    (_alpha(33), _beta(36)),
    needs=_DRA,
)
DRA_PRIORITIZED_LIST = _released(
    "DRAPrioritizedList",
    _CONTROL_PLANE,
    "firstAvailable in device requests",
    (_alpha(33), _beta(34), _ga(36)),
    needs=_DRA,
)
DRA_RESOURCE_CLAIM_DEVICE_STATUS = _released(
    "DRAResourceClaimDeviceStatus", _SERVER_AND_SCHEDULER, "status.devices of ResourceClaims", (_alpha(32), _beta(33))
)
DRA_RESOURCE_CLAIM_GRANULAR_STATUS_AUTHORIZATION = _released(
    "DRAResourceClaimGranularStatusAuthorization",
    _SERVER,
    "separate permissions for the parts of a ResourceClaim's status",
    (_beta(36),),
    needs=("DynamicResourceAllocation", "DRAResourceClaimDeviceStatus"),
)
DRA_RESOURCE_POOL_STATUS = _released(
    "DRAResourcePoolStatus",
    frozenset({Component.API_SERVER, Component.CONTROLLER_MANAGER}),
    "ResourcePoolStatusRequests",
    (_alpha(36),),
    needs=_DRA,
)
DRA_SCHEDULER_FILTER_TIMEOUT = _released(
    "DRASchedulerFilterTimeout",
    frozenset({Component.SCHEDULER}),
    "a limit on the search for devices on one node",
    (_beta(34),),
    needs=_DRA,
)
DRA_WORKLOAD_RESOURCE_CLAIMS = _released(
    "DRAWorkloadResourceClaims", ALL_COMPONENTS, "ResourceClaims of whole PodGroups", (_alpha(36),), needs=_DRA
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


def default_gates() -> GateSet:
    return gates_from({})


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
