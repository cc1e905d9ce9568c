"""Check a tree: give every node its type, every call the overloads that fit, or report issues with cel-go's texts.

Kubernetes: cel-go checker/checker.go, checker/env.go.
Differs: only what an environment lets expressions construct can be; another message literal ends in an issue.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moorage.match.cel.environment import Environment
from moorage.match.cel.functions import Function, Overload
from moorage.match.cel.parse import syntax
from moorage.match.cel.parse.tokens import RESERVED
from moorage.match.cel.types import (
    BOOL,
    DYN,
    ERROR,
    INT,
    Bindings,
    Type,
    TypeKind,
    assign,
    assign_all,
    list_of,
    map_of,
    most_general,
    optional_of,
    substitute,
    type_of,
    type_param,
)
from moorage.match.cel.values import type_of_value


def check(root: syntax.Node, environment: Environment) -> list[tuple[int, str]]:
    """Fill in types and overloads; returns (offset, message) for everything that is wrong."""
    checker = _Checker(environment)
    checker.check(root)
    for node in checker.visited:
        if node.type.has_type_param:
            node.type = substitute(checker.bindings, node.type, free_to_dyn=True)
    return checker.issues


class _Checker:
    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.bindings = Bindings()
        self.scopes: list[dict[str, Type]] = []
        self.issues: list[tuple[int, str]] = []
        self.visited: list[syntax.Node] = []
        self.free_variables = 0

    def report(self, position: int, message: str) -> None:
        self.issues.append((position, message))

    def check(self, node: syntax.Node) -> Type:
        """Return the type of a node, after checking all below it."""
        node.type = _RULES[type(node)](self, node)
        self.visited.append(node)
        return node.type

    # -- names

    def lookup(self, name: str) -> syntax.Ident | None:
        """Return what a (possibly qualified) name stands for: a variable of a macro, a declared one, or a type."""
        if not name.startswith("."):
            for scope in reversed(self.scopes):
                if name in scope:
                    return _resolved(name, scope[name], None)
        for candidate in self.environment.candidates(name):
            variable = self.environment.variables.get(candidate)
            if variable is not None:
                return _resolved(candidate, variable, None)
            denoted = self.environment.named_type(candidate)
            if denoted is not None:
                return _resolved(candidate, type_of(denoted), denoted)
        return None

    def undeclared(self, position: int, name: str) -> Type:
        container = self.environment.container
        self.report(position, f"undeclared reference to '{name}' (in container '{container}')")
        return ERROR

    def ident(self, node: syntax.Ident) -> Type:
        declared = self.lookup(node.name)
        if declared is None:
            return self.undeclared(node.position, node.name)
        node.name = declared.name
        node.denotes = declared.denotes
        return declared.type

    def select(self, node: syntax.Select) -> Type:
        if not node.test_only:
            name = syntax.qualified_name(node)
            declared = None if name is None else self.lookup(name)
            if declared is not None:
                declared.position = node.position
                node.variable = declared
                return declared.type
        type_ = self.field(node, node.operand, node.field, optional=False)
        return BOOL if node.test_only else substitute(self.bindings, type_)

    def field(self, node: syntax.Node, operand: syntax.Node, field: str, optional: bool) -> Type:
        operand_type = substitute(self.bindings, self.check(operand))
        target = operand_type.parameters[0] if operand_type.is_optional else operand_type
        result = ERROR
        if target.kind is TypeKind.MAP:
            result = target.parameters[1]
        elif target.kind is TypeKind.STRUCT:
            result = self.declared_field(node, target.name, field) or ERROR
        elif target.kind is TypeKind.TYPE_PARAM:
            self.assignable(DYN, target)
            result = DYN
        else:
            if not target.is_dyn and target.kind is not TypeKind.ERROR:
                self.report(node.position, f"type '{target}' does not support field selection")
            result = DYN
        return optional_of(result) if optional or target is not operand_type else result

    def declared_field(self, node: syntax.Node, type_name: str, field: str) -> Type | None:
        """Return the type of a field of an object type, by its name or by the one that reserved words have."""
        if not self.environment.has_fields(type_name):
            self.report(node.position, f"unexpected failed resolution of '{type_name}'")
            return None
        field_type = self.environment.field_type(type_name, field)
        if field_type is None and field in RESERVED:
            field_type = self.environment.field_type(type_name, f"__{field}__")
        if field_type is None:
            self.report(node.position, f"undefined field '{field}'")
        return field_type

    # -- calls

    def call(self, node: syntax.Call) -> Type:
        if node.function == "_?._":
            field = node.args[1]
            assert isinstance(field, syntax.Literal)
            field.type = type_of_value(field.value)
            result = self.field(node, node.args[0], field.value, optional=True)
            node.overloads = self.environment.functions["_?._"].overloads
            return substitute(self.bindings, result)
        for arg in node.args:
            self.check(arg)
        if node.target is not None:
            prefix = syntax.qualified_name(node.target)
            namespaced = None if prefix is None else self.environment.function(f"{prefix}.{node.function}")
            if namespaced is not None:
                node.function, node.target = namespaced.name, None
                return self.resolve(node, namespaced)
            self.check(node.target)
        function = self.environment.function(node.function)
        if function is None:
            return self.undeclared(node.position, node.function)
        if node.target is None:
            node.function = function.name
        return self.resolve(node, function)

    def resolve(self, node: syntax.Call, function: Function) -> Type:
        """Find the overloads that accept the arguments; their common result type, or dyn."""
        args = node.args if node.target is None else [node.target, *node.args]
        types = [arg.type for arg in args]
        if function.name in ("_&&_", "_||_"):
            return self.logical(node, function, types)
        member = node.target is not None
        result: Type | None = None
        fitting: list[Overload] = []
        for overload in function.overloads:
            if overload.member is not member or len(overload.params) != len(types):
                continue
            params, overload_result = self.instantiate(overload)
            if not assign_all(self.bindings, types, params):
                continue
            fitting.append(overload)
            this = substitute(self.bindings, overload_result)
            if result is None:
                result = this
            elif not result.is_dyn and this != result:
                result = DYN
        if result is None:
            shown = [str(substitute(self.bindings, type_, free_to_dyn=True)) for type_ in types]
            signature = f"{shown[0]}.({', '.join(shown[1:])})" if member else f"({', '.join(shown)})"
            self.report(node.position, f"found no matching overload for '{function.name}' applied to '{signature}'")
            return ERROR
        node.overloads = tuple(fitting)
        return result

    def logical(self, node: syntax.Call, function: Function, types: list[Type]) -> Type:
        before = len(self.issues)
        for arg, type_ in zip(node.args, types, strict=True):
            if not self.assignable(type_, BOOL):
                self.report(arg.position, f"expected type 'bool' but found '{type_}'")
        node.overloads = function.overloads
        return BOOL if len(self.issues) == before else ERROR

    def instantiate(self, overload: Overload) -> tuple[tuple[Type, ...], Type]:
        """Return the overload's types with fresh type variables."""
        fresh: dict[str, Type] = {}
        for type_ in overload.params:
            if type_.has_type_param:
                self.collect(type_, fresh)
        if overload.result.has_type_param:
            self.collect(overload.result, fresh)
        if not fresh:
            return overload.params, overload.result
        return tuple(substitute(fresh, type_) for type_ in overload.params), substitute(fresh, overload.result)

    def collect(self, type_: Type, fresh: dict[str, Type]) -> None:
        if type_.kind is TypeKind.TYPE_PARAM:
            if type_.name not in fresh:
                fresh[type_.name] = self.new_variable()
            return
        for parameter in type_.parameters:
            self.collect(parameter, fresh)

    def new_variable(self) -> Type:
        name = f"_var{self.free_variables}"
        self.free_variables += 1
        return type_param(name)

    def assignable(self, given: Type, expected: Type) -> bool:
        return assign(self.bindings, given, expected)

    # -- literals

    def join(self, previous: Type | None, current: Type) -> Type:
        """Return the type of elements seen so far, including one more; validators.py may yet object to a mixture."""
        if previous is None:
            return current
        return most_general(previous, current) if self.assignable(previous, current) else DYN

    def element(self, node: syntax.Node, optional: bool) -> Type:
        """Return the type of an element; of one written with `?`, which must be optional, that of its value."""
        type_ = self.check(node)
        if not optional:
            return type_
        if type_.is_optional:
            return type_.parameters[0]
        if not type_.is_dyn:
            self.report(node.position, f"expected type '{optional_of(type_)}' but found '{type_}'")
        return type_

    def list_literal(self, node: syntax.ListLiteral) -> Type:
        elements: Type | None = None
        for index, element in enumerate(node.elements):
            elements = self.join(elements, self.element(element, index in node.optional))
        return list_of(self.new_variable() if elements is None else elements)

    def map_literal(self, node: syntax.MapLiteral) -> Type:
        keys: Type | None = None
        values: Type | None = None
        for entry in node.entries:
            keys = self.join(keys, self.check(entry.key))
            values = self.join(values, self.element(entry.value, entry.optional))
        if keys is None or values is None:
            keys, values = self.new_variable(), self.new_variable()
        return map_of(keys, values)

    def struct_literal(self, node: syntax.StructLiteral) -> Type:
        found = self.lookup(node.name)
        if found is None:
            return self.undeclared(node.position, node.name)
        result = ERROR
        if found.denotes is None:
            self.report(node.position, f"'{found.type}' is not a type")
        elif found.denotes.kind is TypeKind.STRUCT:
            result = found.denotes
        else:
            self.report(node.position, f"'{found.denotes.name}' is not a message type")
        node.name = found.name
        for field in node.fields:
            type_ = self.element(field.value, field.optional)
            field_type = self.environment.field_type(result.name, field.name)
            if field_type is None:
                self.report(field.position, f"undefined field '{field.name}'")
            elif not self.assignable(field_type, type_):
                message = f"expected type of field '{field.name}' is '{field_type}' but provided type is '{type_}'"
                self.report(field.position, message)
        return result

    # -- macros

    def comprehension(self, node: syntax.Comprehension) -> Type:
        self.check(node.range)
        accumulator = self.check(node.init)
        range_ = substitute(self.bindings, node.range.type)
        variable, variable2 = DYN, DYN
        if range_.kind is TypeKind.LIST:
            variable = variable2 = range_.parameters[0]
            if node.variable2:
                variable = INT
        elif range_.kind is TypeKind.MAP:
            variable, variable2 = range_.parameters
        elif range_.kind in (TypeKind.DYN, TypeKind.ERROR, TypeKind.TYPE_PARAM):
            self.assignable(DYN, range_)
        else:
            message = (
                f"expression of type '{range_}' cannot be range of a comprehension (must be list, map, or dynamic)"
            )
            self.report(node.range.position, message)
            variable = variable2 = ERROR
        self.scopes.append({node.accumulator: accumulator})
        loop = {node.variable: variable}
        if node.variable2:
            loop[node.variable2] = variable2
        self.scopes.append(loop)
        self.check(node.condition)
        self.require(node.condition, BOOL)
        self.check(node.step)
        self.require(node.step, accumulator)
        self.scopes.pop()
        self.check(node.result)
        self.scopes.pop()
        return substitute(self.bindings, node.result.type)

    def require(self, node: syntax.Node, expected: Type) -> None:
        if not self.assignable(expected, node.type):
            self.report(node.position, f"expected type '{expected}' but found '{node.type}'")


_RULES: dict[type[syntax.Node], Callable[[Any, Any], Type]] = {
    syntax.Literal: lambda _, literal: type_of_value(literal.value),
    syntax.Ident: _Checker.ident,
    syntax.Select: _Checker.select,
    syntax.Call: _Checker.call,
    syntax.ListLiteral: _Checker.list_literal,
    syntax.MapLiteral: _Checker.map_literal,
    syntax.StructLiteral: _Checker.struct_literal,
    syntax.Comprehension: _Checker.comprehension,
}


def _resolved(name: str, type_: Type, denotes: Type | None) -> syntax.Ident:
    ident = syntax.Ident(0, name)
    ident.type = type_
    ident.denotes = denotes
    return ident
