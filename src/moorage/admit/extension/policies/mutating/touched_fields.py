"""Find the fields of an object that a mutation looks at or sets, by what it constructs.

A patch reads without any variable: `test` compares, `copy` takes a value, and `remove` fails where nothing is. And what
sets the name of a pod makes another one of its template. What is not understood counts as the whole object.
"""

from collections.abc import Iterator

from moorage.admit.extension.policies.environment import OBJECT
from moorage.admit.extension.policies.mutating import object_types
from moorage.match.cel.parse import syntax
from moorage.match.cel.parse.parser import Parser, parse_by
from moorage.match.cel.parse.syntax import Source

Path = tuple[str, ...]

_OBJECT, _JSON_PATCH = object_types.OBJECT.name, object_types.JSON_PATCH.name
_WHOLE: Path = (OBJECT,)


def fields_touched(source: str) -> frozenset[Path]:
    """Return the paths of fields, behind the name of the variable that stands for the object."""
    root = parse_by(Parser, Source(source), has_bindings=False)
    if isinstance(root, list):
        return frozenset((_WHOLE,))
    touched: set[Path] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        waiting += syntax.children(node)
        if isinstance(node, syntax.StructLiteral):
            touched.update(_patched(node) if node.name.removeprefix(".") == _JSON_PATCH else _set(node))
    return frozenset(touched)


def _set(node: syntax.StructLiteral) -> Iterator[Path]:
    """Yield the fields that an Object sets; of those that are structs themselves, their literals tell."""
    root, *parts = node.name.removeprefix(".").split(".")
    if root != _OBJECT:
        return
    for field in node.fields:
        path, value = (*parts, field.name), field.value
        is_part = isinstance(value, syntax.StructLiteral) and value.name == ".".join((_OBJECT, *path))
        if not is_part:
            yield (OBJECT, *path)


def _patched(node: syntax.StructLiteral) -> Iterator[Path]:
    """Yield where a patch goes, and where it takes its value from."""
    given = {field.name: field for field in node.fields}
    if "path" not in given:
        yield _WHOLE
    for name in ("path", "from"):
        field = given.get(name)
        if field is not None:
            yield _WHOLE if field.optional else _pointed_at(field.value)


def _pointed_at(node: syntax.Node) -> Path:
    """Return the field that a JSON pointer leads to, as far as it is known."""
    if isinstance(node, syntax.Literal) and isinstance(node.value, str):
        return (OBJECT, *_steps(node.value))
    if isinstance(node, syntax.Call) and node.function == "_+_" and node.target is None:
        known = _pointed_at(node.args[0])
        return known[:-1] if len(known) > 1 and isinstance(node.args[0], syntax.Literal) else known
    return _WHOLE


def _steps(pointer: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
