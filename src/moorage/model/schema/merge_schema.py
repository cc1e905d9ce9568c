"""Define for each field of a kind what it is, and how the values of two writers are merged.

`MERGED_FIELDS` has a row for each field that is not as usual: a list is atomic, an object granular. Two readers share a
row: server-side apply looks at `topology` and `keys`, strategic merge patch at `patch_strategy` and `patch_merge_key`;
they disagree for a few fields, as upstream's do. A `StructType` mirrors a view; its levels are made when first asked
for. A field that the view lacks is `UNTYPED`: lists atomic, maps granular. Kubernetes: the `+listType`, `+listMapKey`,
`+structType`, `+mapType` and `patchStrategy` marks of k8s.io/api, and the OpenAPI models made of them.
"""

from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any, Final, Literal, NamedTuple

from moorage.model.kinds import Kind
from moorage.model.schema import shapes
from moorage.model.types.view import View

Topology = Literal["atomic", "set", "map"]


class MergeRow(NamedTuple):
    """How one field is merged."""

    topology: Topology = "atomic"
    keys: tuple[str, ...] = ()
    patch_strategy: str = ""
    patch_merge_key: str = ""


def _by(*keys: str, retain_keys: bool = False) -> MergeRow:
    """Return the row of a list of objects told apart by keys, of which strategic merge looks at the first only."""
    return MergeRow("map", keys, "merge,retainKeys" if retain_keys else "merge", keys[0])


def _patched_by(key: str) -> MergeRow:
    """Return the row of a list that strategic merge patches merge and server-side apply replaces."""
    return MergeRow("atomic", (), "merge", key)


def _applied_by(key: str) -> MergeRow:
    """Return the row of a list that server-side apply merges and strategic merge patches replace."""
    return MergeRow("map", (key,))


_SET = MergeRow("set")
_CONTAINERS = ("Container", "EphemeralContainerCommon")
_PATCHED_SET = MergeRow("set", (), "merge")

MERGED_FIELDS: Final[dict[tuple[str, str], MergeRow]] = {
    # What every object carries
    ("ObjectMeta", "ownerReferences"): _by("uid"),
    ("ObjectMeta", "finalizers"): _PATCHED_SET,
    # Pods
    ("PodSpec", "containers"): _by("name"),
    ("PodSpec", "initContainers"): _by("name"),
    ("PodSpec", "ephemeralContainers"): _by("name"),
    ("PodSpec", "volumes"): _by("name", retain_keys=True),
    ("PodSpec", "resourceClaims"): _by("name", retain_keys=True),
    ("PodSpec", "imagePullSecrets"): _by("name"),
    ("PodSpec", "schedulingGates"): _by("name"),
    ("PodSpec", "hostAliases"): _by("ip"),
    ("PodSpec", "topologySpreadConstraints"): _by("topologyKey", "whenUnsatisfiable"),
    ("PodStatus", "conditions"): _by("type"),
    ("PodStatus", "podIPs"): _by("ip"),
    ("PodStatus", "hostIPs"): _patched_by("ip"),
    ("PodStatus", "resourceClaimStatuses"): _by("name", retain_keys=True),
    ("NodeAllocatableResourceClaimStatus", "containers"): _SET,
    # Containers
    **{(owner, "env"): _by("name") for owner in _CONTAINERS},
    **{(owner, "ports"): _by("containerPort", "protocol") for owner in _CONTAINERS},
    **{(owner, "volumeMounts"): _by("mountPath") for owner in (*_CONTAINERS, "ContainerStatus")},
    **{(owner, "volumeDevices"): _by("devicePath") for owner in _CONTAINERS},
    ("ResourceRequirements", "claims"): _applied_by("name"),
    ("ContainerRestartRuleOnExitCodes", "values"): _SET,
    ("ContainerStatus", "allocatedResourcesStatus"): _by("name"),
    ("ResourceStatus", "resources"): _applied_by("resourceID"),
    # Nodes and namespaces
    ("NodeSpec", "podCIDRs"): _PATCHED_SET,
    ("NodeStatus", "conditions"): _by("type"),
    ("NodeStatus", "addresses"): _by("type"),
    ("NamespaceStatus", "conditions"): _by("type"),
    # Services and their accounts
    ("ServiceSpec", "ports"): _by("port", "protocol"),
    ("ServiceStatus", "conditions"): _by("type"),
    ("ServiceAccount", "secrets"): _by("name"),
    ("Endpoint", "addresses"): _SET,
    # Storage
    ("PersistentVolumeClaimStatus", "conditions"): _by("type"),
    ("CSINodeSpec", "drivers"): _by("name"),
    ("CSIDriverSpec", "volumeLifecycleModes"): _SET,
    # Devices
    ("ResourceClaimStatus", "reservedFor"): _by("uid"),
    ("ResourceClaimStatus", "devices"): MergeRow("map", ("driver", "device", "pool", "shareID")),
    ("AllocatedDeviceStatus", "conditions"): _applied_by("type"),
    ("DeviceTaintRuleStatus", "conditions"): _by("type"),
    # Controllers
    ("DeploymentSpec", "strategy"): MergeRow(patch_strategy="retainKeys"),
    ("DeploymentStatus", "conditions"): _by("type"),
    ("ReplicaSetStatus", "conditions"): _by("type"),
    ("ReplicationControllerStatus", "conditions"): _by("type"),
    ("StatefulSetStatus", "conditions"): _by("type"),
    ("DaemonSetStatus", "conditions"): _by("type"),
    ("JobStatus", "conditions"): _patched_by("type"),
    ("UncountedTerminatedPods", "succeeded"): _SET,
    ("UncountedTerminatedPods", "failed"): _SET,
    ("PodFailurePolicyOnExitCodesRequirement", "values"): _SET,
    # Custom resources
    ("CustomResourceDefinitionStatus", "conditions"): _applied_by("type"),
    ("JSONSchemaProps", "x-kubernetes-validations"): _by("rule"),
    # Kinds that are stored only
    ("ServiceCIDRStatus", "conditions"): _by("type"),
    ("HorizontalPodAutoscalerStatus", "conditions"): _by("type"),
    ("APIServiceStatus", "conditions"): _by("type"),
    ("FlowSchemaStatus", "conditions"): _by("type"),
    ("PriorityLevelConfigurationStatus", "conditions"): _by("type"),
    **{("ResourcePolicyRule", name): _SET for name in ("verbs", "apiGroups", "resources", "namespaces")},
    **{("NonResourcePolicyRule", name): _SET for name in ("verbs", "nonResourceURLs")},
    ("MutatingWebhookConfiguration", "webhooks"): _by("name"),
    ("ValidatingWebhookConfiguration", "webhooks"): _by("name"),
    ("MutatingWebhook", "matchConditions"): _by("name"),
    ("ValidatingWebhook", "matchConditions"): _by("name"),
    ("ValidatingAdmissionPolicySpec", "matchConditions"): _by("name"),
    ("ValidatingAdmissionPolicySpec", "variables"): _by("name"),
    ("ValidatingAdmissionPolicyStatus", "conditions"): _applied_by("type"),
    ("ValidatingAdmissionPolicyBindingSpec", "validationActions"): _SET,
    ("MutatingAdmissionPolicySpec", "matchConditions"): _by("name"),
    ("ComponentStatus", "conditions"): _by("type"),
    # Policy
    ("PodDisruptionBudgetSpec", "selector"): MergeRow(patch_strategy="replace"),
    ("PodDisruptionBudgetStatus", "conditions"): _by("type"),
}

#: Objects that server-side apply owns and replaces as a whole, wherever they occur: names of types or of definitions.
ATOMIC_STRUCTS: Final = frozenset(
    {
        "ConfigMapKeySelector",
        "EndpointAddress",
        "EndpointPort",
        "FileKeySelector",
        "LabelSelector",
        "LocalObjectReference",
        "MatchResources",
        "NamedRuleWithOperations",
        "NodeSelector",
        "NodeSelectorTerm",
        "ObjectFieldSelector",
        "ObjectReference",
        "OwnerReference",
        "ParamKind",
        "ParamRef",
        "ResourceFieldSelector",
        "ScopeSelector",
        "RoleRef",
        "SecretKeySelector",
        "SecretReference",
        "ServiceBackendPort",
        "TopologySelectorTerm",
        "TypedLocalObjectReference",
        "Variable",
        "io.k8s.api.autoscaling.v1.CrossVersionObjectReference",
        "io.k8s.api.rbac.v1.Subject",
    }
)

#: Single fields that are replaced as a whole, or are not although their type is.
ATOMIC_FIELDS: Final[dict[tuple[str, str], bool]] = {
    ("PodSpec", "nodeSelector"): True,
    ("Scheduling", "nodeSelector"): True,
    ("ReplicationControllerSpec", "selector"): True,
    ("ServiceSpec", "selector"): True,
    ("PersistentVolumeSpec", "claimRef"): False,
}

NO_DEFAULT: Final = object()
#: What a key is taken for where an element lacks it. Every other key is taken for its type's zero value.
KEY_DEFAULTS: Final[dict[tuple[str, str], Any]] = {
    ("ContainerPort", "protocol"): "TCP",
    ("ServicePort", "protocol"): "TCP",
    ("ObjectReference", "name"): NO_DEFAULT,
    ("AllocatedDeviceStatus", "shareID"): NO_DEFAULT,
}


class Scalar(NamedTuple):
    """A value without parts. `definition` names the API's own type for it, such as Quantity."""

    json_type: str
    format: str = ""
    definition: str = ""


class Untyped:
    """Nothing is known: the value tells what it is. Lists are atomic, maps are granular.

    `definition` names the API's own type for it, if there is one.
    """

    def __init__(self, definition: str = "") -> None:
        self.definition = definition


class StructType:
    """An object with known fields. `atomic` ones belong to one writer as a whole."""

    def __init__(self, view: type[View], atomic: bool) -> None:
        self.view = view
        self.name = view.__name__
        self.atomic = atomic

    @cached_property
    def fields(self) -> dict[str, "Field"]:
        shape = shapes.struct_shape(self.view)
        owners = [owner.__name__ for owner in self.view.__mro__]
        names = (name for name in self.view.__struct_encode_fields__ if name in shape.known)
        return {name: _field(owners, name, shape.field(name)) for name in names}

    def field(self, name: str) -> "Field":
        """Return the field of that name; what the view does not know is untyped."""
        return self.fields.get(name, UNTYPED_FIELD)

    def __repr__(self) -> str:
        return f"StructType({self.name}{', atomic' if self.atomic else ''})"


class MapType(NamedTuple):
    """An object whose members are not known beforehand, but are all of one type."""

    element: "SchemaType"
    atomic: bool = False


class ListType(NamedTuple):
    """A list. `key_defaults` are the values of keys that elements may leave out; other keys must be there."""

    element: "SchemaType"
    topology: Topology = "atomic"
    keys: tuple[str, ...] = ()
    key_defaults: Mapping[str, Any] = {}
    patch_strategy: str = ""
    patch_merge_key: str = ""
    retain_keys: bool = False


SchemaType = Scalar | Untyped | StructType | MapType | ListType


class Field(NamedTuple):
    """A field: its type and what strategic merge patches do with it."""

    type: SchemaType
    patch_strategy: str = ""
    patch_merge_key: str = ""
    retain_keys: bool = False


UNTYPED = Untyped()
UNTYPED_FIELD = Field(UNTYPED)
_NO_ROW = MergeRow()
_INTEGERS = {"int32": "int32", "int64": "int64"}
_SCALARS = {
    shapes.QuantityShape: Scalar("string", "", "Quantity"),
    shapes.IntOrStringShape: Scalar("string", "int-or-string", "IntOrString"),
    shapes.BytesShape: Scalar("string", "byte"),
}
_JSON_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number"}


def schema_of(kind: Kind) -> StructType:
    return struct_type(kind.view)


@cache
def struct_type(view: type[View]) -> StructType:
    """Return the merge schema of a view, the same object every time."""
    return StructType(view, not ATOMIC_STRUCTS.isdisjoint((view.__name__, f"{view.package}.{view.__name__}")))


@cache
def _with_atomicity(view: type[View], atomic: bool) -> StructType:
    return StructType(view, atomic)


def _field(owners: list[str], name: str, shape: shapes.Shape) -> Field:
    """Return the field `name` of a struct; `owners` are its type and those it embeds, whose rows hold as well."""
    row = next((MERGED_FIELDS[owner, name] for owner in owners if (owner, name) in MERGED_FIELDS), _NO_ROW)
    atomic = next((ATOMIC_FIELDS[owner, name] for owner in owners if (owner, name) in ATOMIC_FIELDS), None)
    strategy, _, retain = row.patch_strategy.partition(",")
    if strategy == "retainKeys":
        strategy, retain = "", strategy
    type_ = _type_of(shape)
    if isinstance(type_, ListType):
        type_ = type_._replace(
            topology=row.topology,
            keys=row.keys,
            key_defaults=_key_defaults(row.keys, type_.element),
            patch_strategy=strategy,
            patch_merge_key=row.patch_merge_key,
            retain_keys=bool(retain),
        )
    elif atomic is not None and isinstance(type_, MapType):
        type_ = MapType(type_.element, atomic)
    elif atomic is not None and isinstance(type_, StructType):
        type_ = _with_atomicity(type_.view, atomic)
    return Field(type_, strategy, row.patch_merge_key, bool(retain))


def _key_defaults(keys: tuple[str, ...], element: SchemaType) -> dict[str, Any]:
    if not isinstance(element, StructType):
        return {}
    shape = shapes.struct_shape(element.view)
    values = {key: KEY_DEFAULTS.get((element.name, key), shape.field(key).zero) for key in keys}
    return {key: value for key, value in values.items() if value is not NO_DEFAULT}


def _type_of(shape: shapes.Shape) -> SchemaType:
    if isinstance(shape, shapes.StructShape):
        return struct_type(shape.view)
    if isinstance(shape, shapes.ListShape):
        return ListType(_type_of(shape.item))
    if isinstance(shape, shapes.MapShape):
        return MapType(_type_of(shape.value))
    if isinstance(shape, shapes.TimeShape):
        return Scalar("string", "date-time", "MicroTime" if shape.micro else "Time")
    if isinstance(shape, shapes.ScalarShape):
        return Scalar(_JSON_TYPES[shape.python_type], _INTEGERS.get(shape.go_type, ""))
    if isinstance(shape, shapes.EitherShape | shapes.AnyShape) and shape.definition:
        return Untyped(shape.definition)
    return _SCALARS.get(type(shape), UNTYPED)
