"""Expand macros: calls that become loops, presence tests and bindings while the expression is being parsed.

All nodes an expansion adds carry the position of the call. Kubernetes: cel-go parser/macro.go, cel/library.go (optMap),
ext/bindings.go, ext/comprehensions.go, ext/lists.go (sortBy).
"""

from __future__ import annotations

from collections.abc import Callable

from moorage.match.cel.parse.syntax import (
    ACCUMULATOR,
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
    copy_tree,
)

_SORT_INPUT = "@__sortBy_input__"
#: Macros that evaluate their receiver twice.
COPYING_MACROS = ("optMap", "optFlatMap")


class MacroError(Exception):
    """A macro's arguments are not well-formed; carries the offset to report it at."""

    def __init__(self, position: int, message: str) -> None:
        super().__init__(message)
        self.position = position


def expand_macro(position: int, function: str, target: Node | None, args: list[Node]) -> Node | None:
    """Return the expansion of a call, or None if no macro has this name, style and number of arguments."""
    expander = _MACROS.get((function, len(args), target is not None))
    if expander is None:
        return None
    return expander(position, target if target is not None else Literal(position, None), args)


def _variable(node: Node, message: str) -> str:
    if not isinstance(node, Ident):
        raise MacroError(node.position, message)
    if node.name in (ACCUMULATOR, "__result__"):
        raise MacroError(node.position, "iteration variable overwrites accumulator variable")
    return node.name


def _variables(first: Node, second: Node) -> tuple[str, str]:
    message = "argument must be a simple name"
    if not isinstance(first, Ident) or not isinstance(second, Ident):
        raise MacroError((second if isinstance(first, Ident) else first).position, message)
    if first.name == second.name:
        raise MacroError(second.position, f"duplicate variable name: {first.name}")
    return _variable(first, message), _variable(second, message)


def _accumulator(position: int) -> Node:
    return Ident(position, ACCUMULATOR)


def _call(position: int, function: str, *args: Node) -> Node:
    return Call(position, function, None, list(args))


def _accumulate(at: int, function: str, *args: Node) -> Node:
    return _call(at, function, _accumulator(at), *args)


def _append(at: int, element: Node) -> Node:
    return _accumulate(at, "_+_", ListLiteral(at, [element]))


def _only_if(at: int, condition: Node | None, step: Node) -> Node:
    return step if condition is None else _call(at, "_?_:_", condition, step, _accumulator(at))


def _has(position: int, _: Node, args: list[Node]) -> Node:
    argument = args[0]
    if not isinstance(argument, Select):
        raise MacroError(argument.position, "invalid argument to has() macro")
    return Select(position, argument.operand, argument.field, test_only=True)


def _loop(
    at: int,
    target: Node,
    variables: tuple[str, str],
    init: Node,
    step: Node,
    condition: Node | None = None,
    result: Node | None = None,
) -> Node:
    """Return a loop over all elements, unless there is a condition; its result is what it accumulated, if not given."""
    condition, result = condition or Literal(at, True), result or _accumulator(at)
    return Comprehension(at, target, *variables, ACCUMULATOR, init, condition, step, result)


def _quantifier(kind: str, two: bool) -> Callable[[int, Node, list[Node]], Node]:
    """Expand all, exists and existsOne, over one variable or over index/key and value."""

    def expand(at: int, target: Node, args: list[Node]) -> Node:
        variables = _variables(*args[:2]) if two else (_variable(args[0], "argument must be a simple name"), "")
        if kind == "all":
            going = _call(at, "@not_strictly_false", _accumulator(at))
            return _loop(at, target, variables, Literal(at, True), _accumulate(at, "_&&_", args[-1]), going)
        if kind == "exists":
            going = _call(at, "@not_strictly_false", _call(at, "!_", _accumulator(at)))
            return _loop(at, target, variables, Literal(at, False), _accumulate(at, "_||_", args[-1]), going)
        step = _only_if(at, args[-1], _accumulate(at, "_+_", Literal(at, 1)))
        return _loop(at, target, variables, Literal(at, 0), step, result=_accumulate(at, "_==_", Literal(at, 1)))

    return expand


def _map(at: int, target: Node, args: list[Node]) -> Node:
    variable = _variable(args[0], "argument is not an identifier")
    step = _only_if(at, args[1] if len(args) == 3 else None, _append(at, args[-1]))
    return _loop(at, target, (variable, ""), ListLiteral(at, []), step)


def _filter(at: int, target: Node, args: list[Node]) -> Node:
    return _map(at, target, [args[0], args[1], args[0]])


def _transform(kind: str) -> Callable[[int, Node, list[Node]], Node]:
    """Expand transformList, transformMap and transformMapEntry, with or without a filter."""

    def expand(at: int, target: Node, args: list[Node]) -> Node:
        variables = _variables(args[0], args[1])
        if kind == "transformList":
            init: Node = ListLiteral(at, [])
            step = _append(at, args[-1])
        else:
            init = MapLiteral(at, [])
            key = [Ident(at, variables[0])] if kind == "transformMap" else []
            step = _accumulate(at, "cel.@mapInsert", *key, args[-1])
        return _loop(at, target, variables, init, _only_if(at, args[2] if len(args) == 4 else None, step))

    return expand


def _bind_value(at: int, name: str, value: Node, result: Node) -> Node:
    unused, never = ListLiteral(at, []), Literal(at, False)
    return Comprehension(at, unused, "#unused", "", name, value, never, Ident(at, name), result)


def _bind(at: int, target: Node, args: list[Node]) -> Node | None:
    if not isinstance(target, Ident) or target.name != "cel":
        return None
    if not isinstance(args[0], Ident):
        raise MacroError(args[0].position, "cel.bind() variable names must be simple identifiers")
    return _bind_value(at, args[0].name, args[1], args[2])


def _optional_map(flat: bool) -> Callable[[int, Node, list[Node]], Node]:
    def expand(at: int, target: Node, args: list[Node]) -> Node:
        name = args[0]
        if not isinstance(name, Ident):
            macro = "optFlatMap" if flat else "optMap"
            raise MacroError(name.position, f"{macro}() variable name must be a simple identifier")
        value = Call(at, "value", copy_tree(target), [])
        mapped = _bind_value(at, name.name, value, args[1])
        if not flat:
            mapped = _call(at, "optional.of", mapped)
        return _call(at, "_?_:_", Call(at, "hasValue", target, []), mapped, _call(at, "optional.none"))

    return expand


def _sort_by(at: int, target: Node, args: list[Node]) -> Node:
    if isinstance(target, Literal | MapLiteral):
        message = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        raise MacroError(target.position, message)
    keys = _map(at, Ident(at, _SORT_INPUT), args)
    return _bind_value(at, _SORT_INPUT, target, Call(at, "@sortByAssociatedKeys", Ident(at, _SORT_INPUT), [keys]))


# (name, number of arguments, whether called on a receiver) → expansion.
_MACROS: dict[tuple[str, int, bool], Callable[[int, Node, list[Node]], Node | None]] = {
    ("has", 1, False): _has,
    ("map", 2, True): _map,
    ("map", 3, True): _map,
    ("filter", 2, True): _filter,
    ("bind", 3, True): _bind,
    ("optMap", 2, True): _optional_map(flat=False),
    ("optFlatMap", 2, True): _optional_map(flat=True),
    ("sortBy", 2, True): _sort_by,
}
for _name in ("all", "exists", "exists_one"):
    _MACROS[_name, 2, True] = _quantifier(_name, two=False)
for _name in ("all", "exists", "exists_one", "existsOne"):  # of two variables, existsOne as well
    _MACROS[_name, 3, True] = _quantifier(_name, two=True)
for _name in ("transformList", "transformMap", "transformMapEntry"):
    _MACROS[_name, 3, True] = _MACROS[_name, 4, True] = _transform(_name)
