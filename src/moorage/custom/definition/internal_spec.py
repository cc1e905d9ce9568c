"""Bring a definition into the form that is validated: its spec, the options of validation, the nodes of its schemas.

What all versions have in common is at the top of the spec. That is why errors of a definition with a single version say
`spec.validation…` instead of `spec.versions[0].schema…`. Options tell what an update need not repair, because the
stored definition has it already. Kubernetes: apiextensions-apiserver, pkg/apis/apiextensions/v1/conversion.go,
validationOptions and SchemaHas in validation/validation.go.
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from moorage.custom.formats import is_known_format
from moorage.model.types.extension.custom_resource_definition import (
    CustomResourceColumnDefinition,
    CustomResourceDefinition,
    CustomResourceDefinitionSpec,
    CustomResourceDefinitionVersion,
    CustomResourceSubresources,
    JSONSchemaProps,
    SelectableField,
)
from moorage.model.types.view import ABSENT_LIST


class InternalSpec(msgspec.Struct, frozen=True):
    """The parts of a spec that move. `schema` is that of all versions, if they have the same."""

    spec: CustomResourceDefinitionSpec
    versions: tuple[CustomResourceDefinitionVersion, ...]
    has_schema: bool = False
    schema: JSONSchemaProps | None = None
    subresources: CustomResourceSubresources | None = None
    columns: tuple[CustomResourceColumnDefinition, ...] = ABSENT_LIST
    selectable: tuple[SelectableField, ...] = ABSENT_LIST

    def schemas(self) -> Iterator[JSONSchemaProps]:
        """Yield every schema once."""
        if self.schema is not None:
            yield self.schema
        for version in self.versions:
            if version.schema is not None and version.schema.openAPIV3Schema is not None:
                yield version.schema.openAPIV3Schema

    def subresources_of(self, version: CustomResourceDefinitionVersion) -> CustomResourceSubresources | None:
        has_own = any(version.subresources is not None for version in self.versions)
        return version.subresources if has_own else self.subresources


def internal_spec(spec: CustomResourceDefinitionSpec) -> InternalSpec:
    versions = spec.versions
    if not versions:
        return InternalSpec(spec, versions)
    first = versions[0]
    moved = {
        name: len(versions) == 1 or all(getattr(version, name) == getattr(first, name) for version in versions[1:])
        for name in ("schema", "subresources", "additionalPrinterColumns", "selectableFields")
    }
    absent = {name: None if name in ("schema", "subresources") else ABSENT_LIST for name in moved if moved[name]}
    shared = first.schema if moved["schema"] else None
    return InternalSpec(
        spec,
        tuple(msgspec.structs.replace(version, **absent) for version in versions),
        has_schema=shared is not None,
        schema=None if shared is None else shared.openAPIV3Schema,
        subresources=first.subresources if moved["subresources"] else None,
        columns=first.additionalPrinterColumns if moved["additionalPrinterColumns"] else ABSENT_LIST,
        selectable=first.selectableFields if moved["selectableFields"] else ABSENT_LIST,
    )


class DefinitionOptions(msgspec.Struct, frozen=True):
    """Everything on is the strictest reading: a new definition."""

    requires_known_review_version: bool = True
    requires_same_names: bool = False
    requires_valid_authorities: bool = False
    requires_schema: bool = True
    requires_valid_types: bool = True
    requires_structural: bool = True
    requires_pruned_defaults: bool = True
    requires_atomic_sets: bool = True
    requires_valid_keys: bool = True
    #: Versions whose schema an update leaves alone: their rules may cost more than a new one.
    unchanged_versions: frozenset[str] = frozenset()
    #: Versions that keep more selectable fields than are allowed; the empty name is that of all versions.
    many_selectable_fields: frozenset[str] = frozenset()
    limits_rule_costs: bool = True

    def for_version(self, version: str) -> "DefinitionOptions":
        if version not in self.unchanged_versions:
            return self
        return msgspec.structs.replace(self, limits_rule_costs=False)


def nodes_of(schema: JSONSchemaProps) -> Iterator[JSONSchemaProps]:
    """Yield a schema and all schemas below it."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(_children(node))


def _children(node: JSONSchemaProps) -> list[JSONSchemaProps]:
    children = list[JSONSchemaProps]()
    for child in (node.items, node.Not, node.additionalProperties, node.additionalItems):
        if isinstance(child, JSONSchemaProps):
            children.append(child)
    if isinstance(node.items, tuple):
        children += node.items
    for several in (node.allOf, node.anyOf, node.oneOf):
        children += several
    for named in (node.properties, node.patternProperties, node.definitions):
        children += named.values()
    children += [dependency for dependency in node.dependencies.values() if isinstance(dependency, JSONSchemaProps)]
    return children


def any_node(schemas: Iterable[JSONSchemaProps], holds: Callable[[JSONSchemaProps], bool]) -> bool:
    return any(holds(node) for schema in schemas for node in nodes_of(schema))


def depth_of(schema: JSONSchemaProps, limit: int) -> int:
    """Return how many levels a schema has; no more than one beyond the limit are looked at."""
    level, depth = [schema], 0
    while level and depth <= limit:
        depth += 1
        level = [child for node in level for child in _children(node)]
    return depth


def unknown_formats(definition: CustomResourceDefinition) -> list[str]:
    """Return the formats in a definition's schemas that mean nothing for the type of their values."""
    schemas = internal_spec(definition.spec).schemas()
    nodes = (node for schema in schemas for node in nodes_of(schema))
    return [node.format for node in nodes if node.format and not is_known_format(node.format, (node.type,))]
