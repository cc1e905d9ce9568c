"""Read the syntax tree of a CEL toleration: which fields of the taint it reads, its constants, whether it can be true.

`taint.effect == 'NoSchedul'` cannot be true, whatever the taint. Kubernetes: compiles and does not look further.
"""

from collections.abc import Callable, Iterator

from moorage.lint.facts.possible_taints import EFFECTS
from moorage.match.cel.parse.syntax import Call, Ident, ListLiteral, Literal, Node, Select, children
from moorage.model.names import label_key_errors, label_value_errors

TAINT = "taint"


def nodes_of(root: Node) -> Iterator[Node]:
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        pending += reversed(children(node))


def fields_read(root: Node) -> set[str]:
    """Return the fields of the taint that are read; `taint` itself if it is used as a whole."""
    fields: set[str] = set()
    covered: set[int] = set()
    for node in nodes_of(root):
        if isinstance(node, Select) and isinstance(node.operand, Ident) and node.operand.name == TAINT:
            covered.add(id(node.operand))
            if not node.test_only:  # every taint has all fields: has(taint.key) reads nothing
                fields.add(node.field)
        elif isinstance(node, Ident) and node.name == TAINT and id(node) not in covered:
            fields.add(TAINT)
    return fields


def texts_in(root: Node) -> list[str]:
    """Return the string constants, in the order of the source."""
    texts = [node.value for node in nodes_of(root) if isinstance(node, Literal) and isinstance(node.value, str)]
    return list(dict.fromkeys(texts))


def impossible_part(root: Node) -> str | None:
    """Return why the expression is false for every taint a node can have; None if that cannot be told."""
    if isinstance(root, Call):
        if root.function == "_&&_":
            return impossible_part(root.args[0]) or impossible_part(root.args[1]) or _contradiction(root)
        if root.function == "_||_":
            left, right = impossible_part(root.args[0]), impossible_part(root.args[1])
            return left if left and right else None
        return _impossible_comparison(root)
    if isinstance(root, Literal) and root.value is False:
        return "it is false"
    return None


def _impossible_comparison(node: Call) -> str | None:
    """Return why a comparison of a field with constants is false for every taint."""
    if node.function == "_==_":
        compared = _compared_text(node)
        return _impossible_text(*compared) if compared is not None else None
    if node.function == "@in":
        field, listed = _field(node.args[0]), node.args[1]
        if field is not None and isinstance(listed, ListLiteral):
            texts = [
                element.value
                for element in listed.elements
                if isinstance(element, Literal) and isinstance(element.value, str)
            ]
            reasons = [_impossible_text(field, text) for text in texts]
            if len(texts) == len(listed.elements) and all(reasons):
                return reasons[0] if reasons else "nothing is in an empty list"
    elif node.function in _EFFECT_TESTS and node.target is not None and _field(node.target) == "effect":
        wanted = node.args[0]
        if isinstance(wanted, Literal) and isinstance(wanted.value, str):
            test = _EFFECT_TESTS[node.function]
            if not any(test(effect, wanted.value) for effect in EFFECTS):
                return f"no effect {node.function} {wanted.value!r}"
    return None


_EFFECT_TESTS: dict[str, Callable[[str, str], bool]] = {
    "startsWith": str.startswith,
    "endsWith": str.endswith,
    "contains": str.__contains__,
}


def _impossible_text(field: str, text: str) -> str | None:
    if field == "effect" and text not in EFFECTS:
        return f"taint.effect is never {text!r}, only NoSchedule, PreferNoSchedule or NoExecute"
    check = {"key": label_key_errors, "value": label_value_errors}.get(field)
    errors = check(text) if check is not None else []
    return f"taint.{field} is never {text!r}, which is no label {field}: {errors[0]}" if errors else None


def _contradiction(root: Call) -> str | None:
    """Return why a conjunction that compares one field with two different texts is false."""
    wanted: dict[str, str] = {}
    pending: list[Node] = [root]
    while pending:
        node = pending.pop()
        if not isinstance(node, Call):
            continue
        if node.function == "_&&_":
            pending += reversed(node.args)
        elif node.function == "_==_" and (compared := _compared_text(node)) is not None:
            field, text = compared
            if wanted.setdefault(field, text) != text:
                return f"taint.{field} cannot be {wanted[field]!r} and {text!r} at once"
    return None


def _compared_text(equality: Call) -> tuple[str, str] | None:
    """Return the field of the taint and the text that `==` compares it with, on either side."""
    for one, other in (equality.args, reversed(equality.args)):
        field = _field(one)
        if field is not None and isinstance(other, Literal) and isinstance(other.value, str):
            return field, other.value
    return None


def _field(node: Node) -> str | None:
    if isinstance(node, Select) and isinstance(node.operand, Ident) and node.operand.name == TAINT:
        return None if node.test_only else node.field
    return None
