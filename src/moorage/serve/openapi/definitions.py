"""Define and describe every type of the API's documents as OpenAPI does.

Beyond plain OpenAPI, clients get group, version and kind, how lists are merged, and which objects are atomic. Versions
2 and 3 differ in where references point and how they are described. The descriptions are in descriptions.txt: a line
`Type: text` for a type, or `Type Type:` for several, lines `  field: text` for fields, all else indented by four. The
fields below `*` mean the same in every type. What has no text gets one made of its name.
Kubernetes: the definitions that openapi-gen makes of the comments of k8s.io/api, of which nothing is repeated here.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from moorage.match.operators import NODE_SELECTOR, TOLERATION, OperatorPlace, comparison_of, gate_of, names_in, siblings
from moorage.model.api_error import Raw
from moorage.model.kinds import EVICTION, KINDS, SCALE, TOKEN_REQUEST, VIRTUAL_KINDS, Kind
from moorage.model.schema.merge_schema import Field, ListType, MapType, Scalar, SchemaType, StructType, Untyped
from moorage.model.schema.merge_schema import struct_type as schema_of_view
from moorage.model.types.extension.custom_resource_definition import ExtensionView
from moorage.model.types.view import View
from moorage.model.well_known.taints import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE
from moorage.serve.openapi.required_fields import REQUIRED_FIELDS

_DESCRIPTIONS = Path(__file__).with_name("descriptions.txt")
_SAME_AS = {"EphemeralContainer": "Container", "PodAntiAffinity": "PodAffinity"}
_WORDS = re.compile("[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z0-9]+")
_EFFECTS = (NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE)
_DEVICE_EFFECTS = (NO_EXECUTE, NO_SCHEDULE, "None")

VALUES: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("Toleration", "operator"): tuple(sorted(names_in(TOLERATION))),
    ("Toleration", "effect"): _EFFECTS,
    ("Taint", "effect"): _EFFECTS,
    ("DeviceToleration", "operator"): tuple(sorted(names_in(TOLERATION))),
    ("DeviceToleration", "effect"): _DEVICE_EFFECTS,
    ("DeviceTaint", "effect"): _DEVICE_EFFECTS,
    ("NodeSelectorRequirement", "operator"): tuple(sorted(names_in(NODE_SELECTOR))),
    ("TopologySpreadConstraint", "whenUnsatisfiable"): ("DoNotSchedule", "ScheduleAnyway"),
    ("TopologySpreadConstraint", "nodeAffinityPolicy"): ("Honor", "Ignore"),
    ("TopologySpreadConstraint", "nodeTaintsPolicy"): ("Honor", "Ignore"),
    ("PriorityClass", "preemptionPolicy"): ("Never", "PreemptLowerPriority"),
    ("PodSpec", "preemptionPolicy"): ("Never", "PreemptLowerPriority"),
    ("PodSpec", "restartPolicy"): ("Always", "Never", "OnFailure"),
    ("DeploymentStrategy", "type"): ("Recreate", "RollingUpdate"),
    ("StorageClass", "volumeBindingMode"): ("Immediate", "WaitForFirstConsumer"),
}


def _comparisons(place: OperatorPlace) -> str:
    """Describe the comparing operators of a place, grouped by what they compare and the gate they need."""
    groups: dict[tuple[str, ...], str] = {}
    for name in names_in(place):
        if (comparison := comparison_of(name, place)) is not None:
            *most, last = names = siblings(name, place)
            gate = gate_of(name, place)
            needs = f", with feature gate {gate.name}" if gate is not None else ""
            groups[names] = f"{', '.join(most)} and {last} ({comparison.kind.plural}{needs})"
    return ", ".join(groups.values())


def _read_texts() -> dict[tuple[str, str], str]:
    """Texts by type and field; the field of a type's own text is empty."""
    text = _DESCRIPTIONS.read_text(encoding="utf-8").replace("\n    ", " ")
    text = text.replace("{comparisons of tolerations}", _comparisons(TOLERATION))
    text = text.replace("{comparisons of node selectors}", _comparisons(NODE_SELECTOR))
    texts, types = dict[tuple[str, str], str](), list[str]()
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, _, words = line.strip().partition(":")
            is_field = line.startswith("  ")
            types = types if is_field else name.split()
            texts.update({(type_name, name if is_field else ""): words.strip() for type_name in types if words})
    return texts


TEXTS: Final = _read_texts()


def describe_type(name: str) -> str:
    return TEXTS.get((name, "")) or f"The type {name} of the Kubernetes API."


def describe_field(type_name: str, field: str) -> str:
    for name in (type_name, _SAME_AS.get(type_name, ""), "*"):
        if (name, field) in TEXTS:
            return TEXTS[name, field]
    return f"The {_in_words(field)} of the {_in_words(type_name)}."


def _in_words(name: str) -> str:
    words = _WORDS.findall(name)
    return " ".join(word if word.isupper() and len(word) > 1 else word.lower() for word in words)


META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"

_PACKAGES_OF_KINDS = {
    kind.view: kind.openapi_package for kind in (*KINDS.values(), *VIRTUAL_KINDS, EVICTION, SCALE, TOKEN_REQUEST)
}
_PACKAGES_OF_KINDS |= {
    view: kind.in_version(version).openapi_package
    for kind in KINDS.values()
    for version, view in kind.older_views.items()
}

#: Types with a JSON form of their own.
SCALAR_DEFINITIONS: Final = {
    "IntOrString": "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    "MicroTime": f"{META}.MicroTime",
    "Quantity": "io.k8s.apimachinery.pkg.api.resource.Quantity",
    "Time": f"{META}.Time",
}
LIST_META: Final = f"{META}.ListMeta"


def definition_name(view: type[View]) -> str:
    return f"{_PACKAGES_OF_KINDS.get(view, view.package)}.{view.__name__}"


def custom_definition_name(kind: Kind) -> str:
    """Return the name of a custom kind's definition: the group backwards, the version and the kind."""
    return ".".join([*reversed(kind.group.split(".")), kind.version, kind.name])


_LIST_META_FIELDS: Raw = {
    "continue": {"description": "Where the next page of the list starts; opaque to clients.", "type": "string"},
    "remainingItemCount": {
        "description": "How many items come after this page, where the server knows.",
        "format": "int64",
        "type": "integer",
    },
    "resourceVersion": {
        "description": "The revision that the list is a snapshot of. A watch may start there.",
        "type": "string",
    },
    "selfLink": {"description": "No longer set.", "type": "string"},
}
_SCALAR_TEXTS = {
    "IntOrString": "A whole number, or a text such as a percentage or the name of a port.",
    "MicroTime": "A time with microseconds, in the form 2006-01-02T15:04:05.000000Z.",
    "Quantity": "An amount of a resource, such as 500m, 2, 1.5Gi or 10e6.",
    "Time": "A time in the form 2006-01-02T15:04:05Z.",
}


class Definitions:
    """The definitions added so far, and all that they refer to."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.found: dict[str, Raw] = {}
        self._prefix = "#/definitions/" if version == 2 else "#/components/schemas/"

    def add_kinds(self, kinds: Iterable[Kind]) -> None:
        for kind in kinds:
            self.add_type(kind.view)
            definition = self.found[definition_name(kind.view)]
            definition["x-kubernetes-group-version-kind"] = [group_version_kind(kind)]
            if "list" in kind.verbs:
                self.add_list(kind, definition_name(kind.view))
        self._add_list_meta()

    def add_list(self, kind: Kind, name: str) -> None:
        """Add the list of a kind whose definition has this name."""
        self.found[f"{name}List"] = self._list_of(kind, name)
        self._add_list_meta()

    def _add_list_meta(self) -> None:
        self.found.setdefault(
            LIST_META, {"description": describe_type("ListMeta"), "properties": _LIST_META_FIELDS, "type": "object"}
        )

    def add_type(self, view: type[View]) -> str:
        name = definition_name(view)
        if name not in self.found:
            definition: Raw = {"description": describe_type(view.__name__)}
            self.found[name] = definition  # before its fields, which may lead back here
            schema = schema_of_view(view)
            if schema.fields:
                definition["properties"] = {
                    field: self._property(schema, field, kind) for field, kind in sorted(schema.fields.items())
                }
            required = REQUIRED_FIELDS.get(name) or REQUIRED_FIELDS.get(view.__name__)
            if required:
                definition["required"] = list(required)
            definition["type"] = "object"
            if schema.atomic:
                definition["x-kubernetes-map-type"] = "atomic"
        return self.reference(name)

    def reference(self, name: str) -> str:
        return f"{self._prefix}{name}"

    def _list_of(self, kind: Kind, name: str) -> Raw:
        fields: Raw = {
            "apiVersion": {"description": describe_field("TypeMeta", "apiVersion"), "type": "string"},
            "items": {
                "description": f"The objects of kind {kind.name}.",
                "items": {"$ref": self.reference(name)},
                "type": "array",
            },
            "kind": {"description": describe_field("TypeMeta", "kind"), "type": "string"},
            "metadata": self.described(self.reference(LIST_META), "What is true of the list as a whole."),
        }
        return {
            "description": f"A list of objects of kind {kind.name}.",
            "properties": fields,
            "required": ["items"],
            "type": "object",
            "x-kubernetes-group-version-kind": [{**group_version_kind(kind), "kind": kind.list_name}],
        }

    def _property(self, schema: StructType, name: str, field: Field) -> Raw:
        text = describe_field(schema.name, name)
        definition = self._type(field.type)
        if "$ref" in definition:
            definition = self.described(definition["$ref"], text)
        else:
            definition["description"] = text
        values = VALUES.get((schema.name, name))
        if values and self.version == 3:
            definition["enum"] = list(values)
        definition.update(_merging(field))
        return definition

    def _type(self, schema: SchemaType) -> Raw:
        if isinstance(schema, Scalar):
            if schema.definition:
                return {"$ref": self._scalar(schema)}
            return {"format": schema.format, "type": schema.json_type} if schema.format else {"type": schema.json_type}
        if isinstance(schema, ListType):
            return {"items": self._type(schema.element), "type": "array"}
        if isinstance(schema, MapType):
            return {"additionalProperties": self._type(schema.element), "type": "object"}
        if isinstance(schema, StructType):
            return {"$ref": self.add_type(schema.view)}
        if isinstance(schema, Untyped) and schema.definition:
            name = f"{ExtensionView.package}.{schema.definition}"
            self.found.setdefault(name, {"description": describe_type(schema.definition)})
            return {"$ref": self.reference(name)}
        return {"type": "object"}

    def _scalar(self, scalar: Scalar) -> str:
        name = SCALAR_DEFINITIONS[scalar.definition]
        if name not in self.found:
            definition: Raw = {"description": _SCALAR_TEXTS[scalar.definition]}
            if scalar.format:
                definition["format"] = scalar.format
            if self.version == 3 and scalar.definition in ("IntOrString", "Quantity"):
                other = "integer" if scalar.definition == "IntOrString" else "number"
                definition["oneOf"] = [{"type": "string"}, {"type": other}]
            else:
                definition["type"] = scalar.json_type
            self.found[name] = definition
        return self.reference(name)

    def described(self, reference: str, text: str) -> Raw:
        """Return a reference with a description, which version 3 only allows around it."""
        if self.version == 2:
            return {"$ref": reference, "description": text}
        return {"allOf": [{"$ref": reference}], "description": text}


def group_version_kind(kind: Kind) -> Raw:
    return {"group": kind.group, "kind": kind.name, "version": kind.api_version.rpartition("/")[2]}


def _merging(field: Field) -> Raw:
    """Extensions for clients that make patches themselves."""
    extensions: Raw = {}
    if isinstance(field.type, ListType):
        extensions["x-kubernetes-list-type"] = field.type.topology
        if field.type.keys:
            extensions["x-kubernetes-list-map-keys"] = list(field.type.keys)
    elif isinstance(field.type, MapType) and field.type.atomic:
        extensions["x-kubernetes-map-type"] = "atomic"
    elif isinstance(field.type, StructType) and field.type.atomic != schema_of_view(field.type.view).atomic:
        extensions["x-kubernetes-map-type"] = "atomic" if field.type.atomic else "granular"
    strategies = [field.patch_strategy, "retainKeys" if field.retain_keys else ""]
    strategy = ",".join(strategy for strategy in strategies if strategy)
    if strategy:
        extensions["x-kubernetes-patch-strategy"] = strategy
    if field.patch_merge_key:
        extensions["x-kubernetes-patch-merge-key"] = field.patch_merge_key
    return extensions
