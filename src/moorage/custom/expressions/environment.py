"""The CEL environment of a node's rules: `self`, `oldSelf`, and the types of all that is below.

Kubernetes: apiextensions-apiserver, pkg/apiserver/schema/cel/compilation.go; the functions are those of
apiserver/pkg/cel/environment/base.go, without cel.bind.
"""

from typing import Final

from moorage.custom.expressions.declared_types import DeclaredType
from moorage.match.cel import types
from moorage.match.cel.environment import KUBERNETES_FUNCTIONS, Environment, ObjectField

SELF: Final = "self"
OLD_SELF: Final = "oldSelf"
#: The type of self, where that is an object. Upstream makes up another number every time.
SELF_TYPE: Final = "selfType1"

_KEYS: Final = ObjectField(types.STRING, 0)


def rule_environment(declared: DeclaredType, *, optional_old: bool = False) -> Environment:
    """Return the environment of the rules of a node; `optional_old` for rules with optionalOldSelf."""
    objects: dict[str, dict[str, ObjectField]] = {}
    root = _field(declared, SELF_TYPE, objects)
    old = types.optional_of(root.type) if optional_old else root.type
    return Environment(
        KUBERNETES_FUNCTIONS,
        variables={SELF: root.type, OLD_SELF: old},
        objects=objects,
        root=root,
        objects_are_maps=True,
        has_bindings=False,
    )


def _field(declared: DeclaredType, name: str, objects: dict[str, dict[str, ObjectField]]) -> ObjectField:
    if declared.fields is not None:
        fields = objects[name] = {}
        for field, type_ in declared.fields.items():
            fields[field] = _field(type_, f"{name}.{field}", objects)
        return ObjectField(types.struct(name), 0)
    if declared.element is not None:
        element = _field(declared.element, f"{name}.{'@elem' if declared.is_map else '@idx'}", objects)
        of = types.map_of(types.STRING, element.type) if declared.is_map else types.list_of(element.type)
        return ObjectField(of, declared.max_elements, _KEYS if declared.is_map else None, element)
    assert declared.cel_type is not None
    return ObjectField(declared.cel_type, declared.max_elements)
