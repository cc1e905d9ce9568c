"""A definition's spec as Go writes it: without fields that are empty, and with those that are always there.

Kubernetes: the `omitempty` marks of apiextensions-apiserver, pkg/apis/apiextensions/v1.
"""

from typing import Any, Final

from moorage.model.schema.shapes import EitherShape, ListShape, MapShape, Shape, StructShape, struct_shape
from moorage.model.types.extension.custom_resource_definition import CustomResourceDefinitionSpec

_ALWAYS: Final = {
    "CustomResourceColumnDefinition": ("name", "type", "jsonPath"),
    "CustomResourceConversion": ("strategy",),
    "CustomResourceDefinitionNames": ("plural", "kind"),
    "CustomResourceDefinitionSpec": ("group", "names", "scope", "versions"),
    "CustomResourceDefinitionVersion": ("name", "served", "storage"),
    "CustomResourceSubresourceScale": ("specReplicasPath", "statusReplicasPath"),
    "SelectableField": ("jsonPath",),
    "ServiceReference": ("namespace", "name"),
    "ValidationRule": ("rule",),
    "WebhookConversion": ("conversionReviewVersions",),
}
_ZEROS: Final = {"name": "", "served": False, "storage": False, "plural": "", "kind": "", "group": "", "scope": ""}


def write_spec(spec: dict[str, Any]) -> None:
    """Remove empty fields from a raw spec, in place."""
    _write(spec, struct_shape(CustomResourceDefinitionSpec))


def _write(value: Any, shape: Shape) -> None:
    if isinstance(shape, EitherShape):
        shape = shape.chosen(value)
    if isinstance(shape, ListShape) and isinstance(value, list):
        for item in value:
            _write(item, shape.item)
    elif isinstance(shape, MapShape) and isinstance(value, dict):
        for item in value.values():
            _write(item, shape.value)
    elif isinstance(shape, StructShape) and isinstance(value, dict):
        always = _ALWAYS.get(shape.go_name, ())
        pointers = shape.pointers
        for name in [name for name, item in value.items() if _is_empty(item)]:
            if name not in always and (name not in pointers or value[name] is None):
                del value[name]
        for name in always:
            if name in _ZEROS and value.get(name) is None:
                value[name] = _ZEROS[name]
        for name, below in shape.nested.items():
            if name in value:
                _write(value[name], below)


def _is_empty(value: Any) -> bool:
    return value is None or value is False or value in ("", 0, [], {})
