"""Walk through the nodes of a schema. Kubernetes: SchemaHas in apiextensions-apiserver, validation/validation.go."""

from collections.abc import Callable, Iterable, Iterator

from moorage.custom.definition.internal_spec import internal_spec
from moorage.custom.schema.formats import is_known_format
from moorage.model.types.extension.custom_resource_definition import CustomResourceDefinition, JSONSchemaProps


def nodes_of(schema: JSONSchemaProps) -> Iterator[JSONSchemaProps]:
    """Yield a schema and all schemas below it."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(_children(node))


def _children(node: JSONSchemaProps) -> list[JSONSchemaProps]:
    found = list[JSONSchemaProps]()
    for one in (node.items, node.Not, node.additionalProperties, node.additionalItems):
        if isinstance(one, JSONSchemaProps):
            found.append(one)
    if isinstance(node.items, tuple):
        found += node.items
    for several in (node.allOf, node.anyOf, node.oneOf):
        found += several
    for named in (node.properties, node.patternProperties, node.definitions):
        found += named.values()
    found += [one for one in node.dependencies.values() if isinstance(one, JSONSchemaProps)]
    return found


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
