"""Prepare a kind's merge schema for field ownership, and check that an applied document fits it.

It says which values are owned in parts, by which keys, and what Go would leave out of a document or always write: the
API server's own objects are structs, so a field that was never set may be there (`resources: {}`) and one that was set
may not (`hostNetwork: false`). Unlike other writes, an applied document must have no unknown fields. The schema of a
custom kind comes from its definition: lists are atomic and objects granular unless it says otherwise. Kubernetes: the
schema of structured-merge-diff and its typed/validate, the `omitempty` marks of k8s.io/api, kube-openapi's schemaconv.
"""

import json
import sys
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any, Final

import msgspec

from moorage.admit.apply.field_set import key_element, render_element, value_element
from moorage.custom.structural import Structural
from moorage.model.go.foreign_value import ForeignValue
from moorage.model.kind_rows.kind import CustomObject
from moorage.model.kinds import Kind
from moorage.model.patch.patch_error import go_type, go_value
from moorage.model.schema.merge_schema import (
    UNTYPED,
    Field,
    ListType,
    MapType,
    Scalar,
    SchemaType,
    StructType,
    Topology,
    Untyped,
    schema_of,
    struct_type,
)
from moorage.model.schema.type_rows import type_rows
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.view import View

#: Fields that Go writes though they may be unset, beyond those that are structs themselves, then the types that have
#: exactly these. Fields that no valid object lacks are left out.
_ROWS = """
containers: PodSpec
selector: DeploymentSpec ReplicaSetSpec DaemonSetSpec
selector serviceName: StatefulSetSpec
service: GRPCAction
value: HTTPHeader PriorityClass
sources: ProjectedVolumeSource
lun: ISCSIVolumeSource ISCSIPersistentVolumeSource
secretNamespace: AzureFilePersistentVolumeSource
drivers: CSINodeSpec
topologyKeys: CSINodeDriver
lastProbeTime lastTransitionTime: PodCondition PersistentVolumeClaimCondition JobCondition
lastHeartbeatTime lastTransitionTime: NodeCondition
lastTransitionTime: NamespaceCondition ReplicaSetCondition StatefulSetCondition DaemonSetCondition
lastUpdateTime lastTransitionTime: DeploymentCondition
lastTransitionTime reason message: Condition
ready restartCount image imageID: ContainerStatus
startedAt: ContainerStateRunning
exitCode startedAt finishedAt: ContainerStateTerminated
Port: DaemonEndpoint
machineID systemUUID bootID kernelVersion osImage containerRuntimeVersion kubeletVersion kubeProxyVersion
  operatingSystem architecture: NodeSystemInfo
replicas: ReplicaSetStatus
replicas availableReplicas: StatefulSetStatus
currentNumberScheduled numberMisscheduled desiredNumberScheduled numberReady: DaemonSetStatus
disruptionsAllowed currentHealthy desiredHealthy expectedPods: PodDisruptionBudgetStatus
revision: ControllerRevision
desiredReplicas currentMetrics: HorizontalPodAutoscalerStatus
targetPort: ServicePort
limits: LimitRangeSpec
attached: VolumeAttachmentStatus
eventTime firstTimestamp lastTimestamp deprecatedFirstTimestamp deprecatedLastTimestamp: Event
lastObservedTime: EventSeries
"""
_ALWAYS_WRITTEN = type_rows(_ROWS)


_TOPOLOGIES: dict[str | None, Topology] = {"map": "map", "set": "set"}
_SCALARS = ("string", "integer", "number", "boolean")
_TEXT = Scalar("string")
_OF_RESOURCES: dict[str, SchemaType] = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": struct_type(ObjectMeta)}


class DeclaredStruct(StructType):
    """An object whose fields a schema declares. Other fields are of the type `rest`, if allowed."""

    def __init__(
        self, name: str, make: Callable[[], dict[str, SchemaType]], atomic: bool, rest: SchemaType | None
    ) -> None:
        super().__init__(View, atomic)
        self.name, self.rest = name, rest
        self._make = make

    @cached_property
    def fields(self) -> dict[str, Field]:
        return {name: Field(found) for name, found in self._make().items()}


class DeclaredObject(DeclaredStruct):
    """A whole object, whose metadata the API server always writes."""

    def __init__(self, name: str, make: Callable[[], dict[str, SchemaType]], rest: SchemaType | None) -> None:
        super().__init__(name, make, False, rest)
        self.view = CustomObject


def object_type(name: str, schema: Structural | None) -> DeclaredObject:
    """Return the type of a kind's objects."""
    if schema is None:
        return DeclaredObject(name, lambda: dict(_OF_RESOURCES), UNTYPED)
    return DeclaredObject(name, lambda: {**_declared(schema), **_OF_RESOURCES}, _rest(schema))


def _declared(schema: Structural) -> dict[str, SchemaType]:
    return {name: type_of(below) for name, below in schema.properties.items()}


def type_of(schema: Structural) -> SchemaType:
    if schema.intOrString:
        return UNTYPED
    if schema.type == "object":
        return _object_type(schema)
    if schema.type == "array":
        return _list_type(schema)
    if schema.type not in _SCALARS:
        return UNTYPED
    if schema.format in ("date-time", "int-or-string"):
        return Scalar("string", schema.format, "Time" if schema.format == "date-time" else "IntOrString")
    return Scalar(schema.type)


def _object_type(schema: Structural) -> SchemaType:
    atomic = schema.mapType == "atomic"
    rest = _rest(schema)
    if schema.embeddedResource:
        return DeclaredStruct("", lambda: {**_declared(schema), **_OF_RESOURCES}, atomic, rest)
    if schema.properties:
        return DeclaredStruct("", lambda: _declared(schema), atomic, rest)
    if rest is None or (rest is UNTYPED and not atomic):
        return UNTYPED
    return MapType(rest, atomic)


def _rest(schema: Structural) -> SchemaType | None:
    """Return the type of fields that the schema does not name; None if there can be none."""
    if isinstance(schema.additionalProperties, Structural):
        return type_of(schema.additionalProperties)
    if schema.preserveUnknownFields or schema.additionalProperties is True:
        return UNTYPED
    return UNTYPED if not schema.properties and schema.additionalProperties is None else None


def _list_type(schema: Structural) -> ListType:
    items = schema.items
    element = type_of(items) if items is not None else UNTYPED
    keys = schema.listMapKeys
    defaults: dict[str, Any] = {}
    for key in keys:
        below = items.properties.get(key) if items is not None else None
        if below is not None and below.default is not None:
            defaults[key] = below.default
    return ListType(element, _TOPOLOGIES.get(schema.listType, "atomic"), keys, defaults)


class FieldOwnershipSchema:
    """A type as this package sees it.

    `is_struct`: fields are known by name. `divides_maps` and `divides_lists`: such a value is owned in parts, otherwise
    as a whole. `keys` tell the elements of a list apart; without any, the list is a set.
    """

    def __init__(self, type_: SchemaType) -> None:
        self.type = type_
        self.is_struct = isinstance(type_, StructType)
        self.is_list = isinstance(type_, ListType)
        self.is_scalar = isinstance(type_, Scalar)
        self.is_untyped = isinstance(type_, Untyped)
        self.divides_maps = self.is_untyped or (isinstance(type_, StructType | MapType) and not type_.atomic)
        self.divides_lists = isinstance(type_, ListType) and type_.topology != "atomic"
        self.keys: tuple[str, ...] = tuple(sorted(type_.keys)) if isinstance(type_, ListType) else ()
        self.declared_keys: tuple[str, ...] = type_.keys if isinstance(type_, ListType) else ()
        self.key_defaults = dict(type_.key_defaults) if isinstance(type_, ListType) else {}
        self.is_custom = isinstance(type_, DeclaredStruct)
        #: A part of a custom object: null is a value in it, and empty is not absent.
        self.is_document = isinstance(type_, DeclaredStruct) and not isinstance(type_, DeclaredObject)
        self.json_type = type_.json_type if isinstance(type_, Scalar) and not type_.definition else ""

    @cached_property
    def fields(self) -> dict[str, "FieldOwnershipSchema"]:
        if not isinstance(self.type, StructType):
            return {}
        return {name: schema_of_type(field.type) for name, field in self.type.fields.items()}

    @cached_property
    def element(self) -> "FieldOwnershipSchema":
        """What is below, where it is the same for all that is below."""
        if isinstance(self.type, MapType | ListType):
            return schema_of_type(self.type.element)
        return self if self.is_untyped else UNKNOWN

    def child(self, name: str) -> "FieldOwnershipSchema":
        if not self.is_struct:
            return self.element
        field = self.fields.get(name)
        return field if field is not None else self.rest or UNKNOWN

    @cached_property
    def rest(self) -> "FieldOwnershipSchema | None":
        """What a custom kind's schema says of fields that it does not declare; None where it allows none."""
        if not isinstance(self.type, DeclaredStruct) or self.type.rest is None:
            return None
        return schema_of_type(self.type.rest)

    @cached_property
    def always_written(self) -> frozenset[str]:
        if not isinstance(self.type, StructType):
            return frozenset()
        structs = (name for name, default in _defaults(self.type.view).items() if isinstance(default, View))
        known = self.type.view.__struct_encode_fields__
        return frozenset([*structs, *(name for name in _ALWAYS_WRITTEN.get(self.type.name, ()) if name in known)])

    @cached_property
    def empty_by_default(self) -> frozenset[str]:
        """Fields that mean nothing if they are empty, in a struct that was there before: all but pointers."""
        if not isinstance(self.type, StructType):
            return frozenset()
        return frozenset(name for name, default in _defaults(self.type.view).items() if default is not None)

    @cached_property
    def never_empty(self) -> frozenset[str]:
        """Fields that Go leaves out if they are empty: neither pointers nor always written."""
        return self.empty_by_default - self.always_written

    def item_element(self, item: Any) -> str:
        """Return the path element of an element of a list. Raises ValueError where it cannot be told from others."""
        if not self.keys:
            return _set_element(item)
        if not isinstance(item, dict):
            what = "a null element" if item is None else "non-map elements"
            raise ValueError(f"associative list with keys may not have {what}")
        present = [
            (key, item[key] if key in item else self.key_defaults[key])
            for key in self.keys
            if key in item or key in self.key_defaults
        ]
        if not present:
            names = " ".join(f'"{key}"' for key in self.declared_keys)
            raise ValueError(
                f"associative list with keys has an element that omits all key fields [{names}] "
                "(and doesn't have default values for any key fields)"
            )
        return key_element(present)


def _set_element(item: Any) -> str:
    if isinstance(item, dict):
        raise ValueError("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise ValueError("not supported: associative list with lists as elements")
    if item is None:
        raise ValueError("associative list without keys has an element that's an explicit null")
    return value_element(item)


def _defaults(view: type[View]) -> dict[str, Any]:
    """Return the value that each field has when it is absent; None is a pointer's."""
    return {
        field.encode_name: field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
        for field in msgspec.structs.fields(view)
    }


_schema_of_struct = cache(FieldOwnershipSchema)


def schema_of_type(type_: SchemaType) -> FieldOwnershipSchema:
    if isinstance(type_, StructType) and not isinstance(type_, DeclaredStruct):
        return _schema_of_struct(type_)
    return UNKNOWN if isinstance(type_, Untyped) else FieldOwnershipSchema(type_)


UNKNOWN: Final = FieldOwnershipSchema(UNTYPED)


@cache
def built_in_schema(kind: Kind) -> FieldOwnershipSchema:
    return schema_of_type(schema_of(kind))


def custom_schema(name: str, schema: Structural | None) -> FieldOwnershipSchema:
    """Return the schema of a custom kind."""
    return FieldOwnershipSchema(object_type(name, schema))


_UNTYPED_SCALARS = frozenset({"Quantity", "IntOrString", "Time", "MicroTime"})


def check(value: Any, schema: FieldOwnershipSchema) -> list[str]:
    """What is wrong, as `path: reason`; empty if nothing is. The first thousand: others would only fill the answer."""
    return [f"{path}: {reason}" if path else reason for path, reason in _check(value, schema, "", _MAX_PROBLEMS)]


def fits(value: Any, schema: FieldOwnershipSchema) -> bool:
    """Return whether the value is of the schema's types; elements of a list may be there twice."""
    return all(reason.startswith(_DUPLICATE) for _, reason in _check(value, schema, "", sys.maxsize))


_MAX_PROBLEMS: Final = 1000
_DUPLICATE: Final = "duplicate entries for key "


def render_problems(problems: list[str]) -> str:
    if len(problems) == 1:
        return problems[0]
    return "\n".join(["errors:", *(f"  {problem}" for problem in problems)])


def _check(value: Any, schema: FieldOwnershipSchema, path: str, limit: int) -> list[tuple[str, str]]:
    if value is None or schema.is_untyped:
        return []
    if schema.is_scalar:
        reason = _scalar_problem(value, schema.type)
        return [(path, reason)] if reason else []
    if schema.is_list:
        if not isinstance(value, list):
            return [(path, f"expected list, got &{{{go_value(value)}}}")]
        return _check_elements(value, schema, path, limit)
    if not isinstance(value, dict):
        return [(path, f"expected map, got &{{{go_value(value)}}}")]
    problems: list[tuple[str, str]] = []
    for name in sorted(value):
        if schema.is_struct and name not in schema.fields and schema.rest is None:
            problems.append((f"{path}.{name}", "field not declared in schema"))
        else:
            problems += _check(value[name], schema.child(name), f"{path}.{name}", limit)
        if len(problems) >= limit:
            break
    return problems[:limit]


def _check_elements(items: list[Any], schema: FieldOwnershipSchema, path: str, limit: int) -> list[tuple[str, str]]:
    problems: list[tuple[str, str]] = []
    seen: set[str] = set()
    for index, item in enumerate(items):
        where = f"{path}[{index}]"
        if schema.divides_lists:
            try:
                element = schema.item_element(item)
            except ValueError as error:
                problems.append((path, f"element {index}: {error}"))
                return problems
            where = path + render_element(element)
            if element in seen:
                problems.append((path, f"{_DUPLICATE}{render_element(element)}"))
            seen.add(element)
        problems += _check(item, schema.element, where, limit)
        if len(problems) >= limit:
            break
    return problems[:limit]


def _scalar_problem(value: Any, type_: Any) -> str:
    json_type = type_.json_type if isinstance(type_, Scalar) else ""
    if isinstance(type_, Scalar) and type_.definition in _UNTYPED_SCALARS:
        is_scalar = not isinstance(value, dict | list | ForeignValue)
        return "" if is_scalar else f"expected any scalar, got &{{{go_value(value)}}}"
    if json_type in ("integer", "number"):
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"expected numeric (int or float), got {go_type(value)}"
    elif json_type == "boolean":
        if not isinstance(value, bool):
            return f"expected boolean, got &{{{go_value(value)}}}"
    elif not isinstance(value, str):
        return f"expected string, got &value.valueUnstructured{{Value:{_go_syntax(value)}}}"
    return ""


def _go_syntax(value: Any) -> str:
    if isinstance(value, ForeignValue):
        return value.syntax
    if isinstance(value, dict):
        members = ", ".join(f"{json.dumps(name)}:{_go_syntax(value[name])}" for name in sorted(value))
        return f"map[string]interface {{}}{{{members}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_go_syntax, value))}}}"
    return json.dumps(value) if isinstance(value, str) else "interface {}(nil)" if value is None else go_value(value)
