"""Macros: calls that become loops, presence tests and bindings while the expression is being parsed.

In: the name, receiver and arguments of a call. Out: its expansion, or None if the call is no macro, or a `MacroError`
with the argument it is about. All nodes an expansion adds carry the position of the call. Kubernetes: cel-go
parser/macro.go, cel/library.go (optMap), ext/bindings.go, ext/comprehensions.go, ext/lists.go (sortBy).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.match.cel.parse import syntax

if TYPE_CHECKING:
    from collections.abc import Callable

_SORT_INPUT = "@__sortBy_input__"


class MacroError(Exception):
    """A macro's arguments are not well-formed; carries the offset to report it at."""

    def __init__(self, position: int, message: str) -> None:
        super().__init__(message)
        self.position = position


def expand_macro(
    position: int, function: str, target: syntax.Node | None, args: list[syntax.Node]
) -> syntax.Node | None:
    """Return the expansion of a call, or None if no macro has this name, style and number of arguments."""
    expander = _MACROS.get((function, len(args), target is not None))
    if expander is None:
        return None
    return expander(position, target if target is not None else syntax.Literal(position, None), args)


def _variable(node: syntax.Node, message: str) -> str:
    if not isinstance(node, syntax.Ident):
        raise MacroError(node.position, message)
    if node.name in (syntax.ACCUMULATOR, "__result__"):
        raise MacroError(node.position, "iteration variable overwrites accumulator variable")
    return node.name


def _variables(first: syntax.Node, second: syntax.Node) -> tuple[str, str]:
    message = "argument must be a simple name"
    for node in (first, second):
        if not isinstance(node, syntax.Ident):
            raise MacroError(node.position, message)
    assert isinstance(first, syntax.Ident)
    assert isinstance(second, syntax.Ident)
    if first.name == second.name:
        raise MacroError(second.position, f"duplicate variable name: {first.name}")
    return _variable(first, message), _variable(second, message)


def _accumulator(position: int) -> syntax.Node:
    return syntax.Ident(position, syntax.ACCUMULATOR)


def _call(position: int, function: str, *args: syntax.Node) -> syntax.Node:
    return syntax.Call(position, function, None, list(args))


def _append(position: int, element: syntax.Node) -> syntax.Node:
    return _call(position, "_+_", _accumulator(position), syntax.ListLiteral(position, [element]))


def _only_if(position: int, condition: syntax.Node | None, step: syntax.Node) -> syntax.Node:
    return step if condition is None else _call(position, "_?_:_", condition, step, _accumulator(position))


def _has(position: int, _: syntax.Node, args: list[syntax.Node]) -> syntax.Node:
    argument = args[0]
    if not isinstance(argument, syntax.Select):
        raise MacroError(argument.position, "invalid argument to has() macro")
    return syntax.Select(position, argument.operand, argument.field, test_only=True)


def _quantifier(kind: str, two: bool) -> Callable[[int, syntax.Node, list[syntax.Node]], syntax.Node]:
    """all, exists and existsOne, over one variable or over index/key and value."""

    def expand(at: int, target: syntax.Node, args: list[syntax.Node]) -> syntax.Node:
        if two:
            variable, variable2 = _variables(args[0], args[1])
        else:
            variable, variable2 = _variable(args[0], "argument must be a simple name"), ""
        predicate = args[-1]
        init: syntax.Node
        condition: syntax.Node
        if kind == "all":
            init = syntax.Literal(at, True)
            condition = _call(at, "@not_strictly_false", _accumulator(at))
            step = _call(at, "_&&_", _accumulator(at), predicate)
            result = _accumulator(at)
        elif kind == "exists":
            init = syntax.Literal(at, False)
            condition = _call(at, "@not_strictly_false", _call(at, "!_", _accumulator(at)))
            step = _call(at, "_||_", _accumulator(at), predicate)
            result = _accumulator(at)
        else:
            init = syntax.Literal(at, 0)
            condition = syntax.Literal(at, True)
            step = _only_if(at, predicate, _call(at, "_+_", _accumulator(at), syntax.Literal(at, 1)))
            result = _call(at, "_==_", _accumulator(at), syntax.Literal(at, 1))
        return syntax.Comprehension(at, target, variable, variable2, syntax.ACCUMULATOR, init, condition, step, result)

    return expand


def _map(at: int, target: syntax.Node, args: list[syntax.Node]) -> syntax.Node:
    variable = _variable(args[0], "argument is not an identifier")
    step = _only_if(at, args[1] if len(args) == 3 else None, _append(at, args[-1]))
    return syntax.Comprehension(
        at,
        target,
        variable,
        "",
        syntax.ACCUMULATOR,
        syntax.ListLiteral(at, []),
        syntax.Literal(at, True),
        step,
        _accumulator(at),
    )


def _filter(at: int, target: syntax.Node, args: list[syntax.Node]) -> syntax.Node:
    return _map(at, target, [args[0], args[1], args[0]])


def _transform(kind: str) -> Callable[[int, syntax.Node, list[syntax.Node]], syntax.Node]:
    """transformList, transformMap and transformMapEntry, with or without a filter."""

    def expand(at: int, target: syntax.Node, args: list[syntax.Node]) -> syntax.Node:
        variable, variable2 = _variables(args[0], args[1])
        if kind == "transformList":
            init: syntax.Node = syntax.ListLiteral(at, [])
            step = _append(at, args[-1])
        else:
            init = syntax.MapLiteral(at, [])
            key = [syntax.Ident(at, variable)] if kind == "transformMap" else []
            step = _call(at, "cel.@mapInsert", _accumulator(at), *key, args[-1])
        step = _only_if(at, args[2] if len(args) == 4 else None, step)
        return syntax.Comprehension(
            at, target, variable, variable2, syntax.ACCUMULATOR, init, syntax.Literal(at, True), step, _accumulator(at)
        )

    return expand


def _bind_value(at: int, name: str, value: syntax.Node, result: syntax.Node) -> syntax.Node:
    return syntax.Comprehension(
        at,
        syntax.ListLiteral(at, []),
        "#unused",
        "",
        name,
        value,
        syntax.Literal(at, False),
        syntax.Ident(at, name),
        result,
    )


def _bind(at: int, target: syntax.Node, args: list[syntax.Node]) -> syntax.Node | None:
    if not isinstance(target, syntax.Ident) or target.name != "cel":
        return None
    if not isinstance(args[0], syntax.Ident):
        raise MacroError(args[0].position, "cel.bind() variable names must be simple identifiers")
    return _bind_value(at, args[0].name, args[1], args[2])


def _optional_map(flat: bool) -> Callable[[int, syntax.Node, list[syntax.Node]], syntax.Node]:
    def expand(at: int, target: syntax.Node, args: list[syntax.Node]) -> syntax.Node:
        name = args[0]
        if not isinstance(name, syntax.Ident):
            macro = "optFlatMap" if flat else "optMap"
            raise MacroError(name.position, f"{macro}() variable name must be a simple identifier")
        value = syntax.Call(at, "value", syntax.copy_tree(target), [])
        mapped = _bind_value(at, name.name, value, args[1])
        if not flat:
            mapped = _call(at, "optional.of", mapped)
        return _call(at, "_?_:_", syntax.Call(at, "hasValue", target, []), mapped, _call(at, "optional.none"))

    return expand


def _sort_by(at: int, target: syntax.Node, args: list[syntax.Node]) -> syntax.Node:
    if isinstance(target, syntax.Literal | syntax.MapLiteral):
        message = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        raise MacroError(target.position, message)
    keys = _map(at, syntax.Ident(at, _SORT_INPUT), args)
    return _bind_value(
        at, _SORT_INPUT, target, syntax.Call(at, "@sortByAssociatedKeys", syntax.Ident(at, _SORT_INPUT), [keys])
    )


# (name, number of arguments, whether called on a receiver) → expansion.
_MACROS: dict[tuple[str, int, bool], Callable[[int, syntax.Node, list[syntax.Node]], syntax.Node | None]] = {
    ("has", 1, False): _has,
    ("map", 2, True): _map,
    ("map", 3, True): _map,
    ("filter", 2, True): _filter,
    ("bind", 3, True): _bind,
    ("optMap", 2, True): _optional_map(flat=False),
    ("optFlatMap", 2, True): _optional_map(flat=True),
    ("sortBy", 2, True): _sort_by,
}
for _name in ("all", "exists", "exists_one", "existsOne"):
    _MACROS[_name, 2, True] = _quantifier(_name, two=False)
    _MACROS[_name, 3, True] = _quantifier(_name, two=True)
for _name in ("transformList", "transformMap", "transformMapEntry"):
    _MACROS[_name, 3, True] = _MACROS[_name, 4, True] = _transform(_name)
