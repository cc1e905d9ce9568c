"""Compile a tree (checked, or only parsed) to closures.

Constants are folded exactly where cel-go folds them, because what is folded is not charged for.
Kubernetes: cel-go interpreter/planner.go and decorators.go.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from moorage.match.cel.environment import Environment
from moorage.match.cel.evaluate import steps as logic
from moorage.match.cel.evaluate.attributes import (
    AttributeStep,
    ConditionalStep,
    ObjectStep,
    Qualifier,
    as_attribute,
    lazy_variable,
    variable,
)
from moorage.match.cel.evaluate.calls import binary, build_call, variadic
from moorage.match.cel.evaluate.loops import BindingStep, LoopStep, append_in_place, insert_in_place
from moorage.match.cel.evaluate.steps import FIRST_SLOT, ConstantStep, EvaluationStep, Run, State, charged
from moorage.match.cel.generate.loop_function import generate_loop
from moorage.match.cel.parse import syntax
from moorage.match.cel.parse.tokens import RESERVED
from moorage.match.cel.patterns import compile_pattern
from moorage.match.cel.types import TypeKind
from moorage.match.cel.values import CelError, CelMap, OptionalValue, UInt

_CONVERSIONS = frozenset(["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"])
_PRIMITIVES = (bool, int, UInt, float, str)


class Compiler:
    """Compiles one tree. `slots` maps the names of the environment's variables to their places in the state."""

    def __init__(self, environment: Environment, checked: bool) -> None:
        self.environment = environment
        self.checked = checked
        self.slots: dict[str, int] = {}
        self.next_slot = FIRST_SLOT
        # Every node's step, from which loops are generated when they turn out to be long.
        self.steps: dict[syntax.Node, EvaluationStep] = {}
        # Variables of macros, innermost last.
        self.scopes: list[dict[str, AttributeStep]] = []

    def new_slot(self) -> int:
        self.next_slot += 1
        return self.next_slot - 1

    def compile(self, node: syntax.Node) -> EvaluationStep:
        step = self.steps[node] = _RULES[type(node)](self, node)
        return step

    # -- names

    def local(self, name: str) -> AttributeStep | None:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def slot_of(self, name: str) -> int:
        if name not in self.slots:
            self.slots[name] = self.new_slot()
        return self.slots[name]

    def ident(self, node: syntax.Ident) -> EvaluationStep:
        local = self.local(node.name)
        if local is not None:
            return local
        if node.denotes is not None:
            if self.environment.is_valueless(node.name):
                raise CelError(f"reference to undefined type: {node.name}")
            return ConstantStep(node.denotes)
        if not self.checked:
            return self.unchecked_name(node.name)
        type_ = self.environment.variables[node.name]
        slot = self.slot_of(node.name)
        fields = self.environment.objects.get(type_.name) if type_.kind is TypeKind.STRUCT else None
        if fields is None or self.environment.objects_are_maps:
            return variable(slot)
        return ObjectStep(slot, tuple(fields))

    def unchecked_name(self, name: str) -> EvaluationStep:
        """Return a name that was not checked: a variable of any of the names it may stand for, else a type."""
        candidates = self.environment.candidates(name)
        meanings = [(self.slot_of(candidate), self.environment.named_type(candidate)) for candidate in candidates]

        def load(state: State) -> Any:
            for slot, type_ in meanings:
                value = state[slot]
                if not isinstance(value, CelError):
                    return value
                if type_ is not None:
                    return type_
            raise CelError(f"no such attribute(s): {', '.join(candidates)}")

        return AttributeStep(load, (), load)

    def select(self, node: syntax.Select) -> EvaluationStep:
        if node.variable is not None:
            return self.ident(node.variable)
        if not self.checked and not node.test_only:
            name = syntax.qualified_name(node)
            if name is not None and self.local(name.partition(".")[0]) is None:
                return self.unchecked_path(node, name)
        operand = as_attribute(self.compile(node.operand))
        return operand.select(self.qualifier(self.field_name(node.operand, node.field), test_only=node.test_only))

    def field_name(self, operand: syntax.Node, field: str) -> str:
        """Return the name by which an object has a field: reserved words are escaped there if it is declared so."""
        if field not in RESERVED or not self.checked or operand.type.kind is not TypeKind.STRUCT:
            return field
        return field if field in self.environment.objects.get(operand.type.name, ()) else f"__{field}__"

    def qualifier(
        self, key: Any, compute: Run | None = None, optional: bool = False, test_only: bool = False
    ) -> Qualifier:
        return Qualifier(key, compute, optional, test_only, self.environment.strict_presence)

    def unchecked_path(self, node: syntax.Select, name: str) -> EvaluationStep:
        """Compile `a.b` that was not checked: the variable or type `a.b` if there is one, else a field of `a`."""
        whole = self.unchecked_name(name)
        field = as_attribute(self.compile(node.operand)).select(self.qualifier(node.field))
        assert isinstance(whole, AttributeStep)

        def load(state: State) -> Any:
            try:
                return whole.resolve(state)
            except CelError:
                return field.resolve(state)

        return AttributeStep(load, (), load)

    # -- calls

    def call(self, node: syntax.Call) -> EvaluationStep:
        function = node.function
        if function in ("_[_]", "_[?_]", "_?._"):
            return self.index(node)
        target, function = self.resolve_name(node)
        args = [self.compile(arg) for arg in ([] if target is None else [target]) + node.args]
        if function in ("_&&_", "_||_"):
            return EvaluationStep(logic.build_logical(args[0].run, args[1].run, decisive=function == "_||_"))
        if function == "_?_:_":
            return ConditionalStep(args[0].run, as_attribute(args[1]), as_attribute(args[2]))
        if function == "@not_strictly_false":
            return EvaluationStep(logic.build_not_strictly_false(args[0].run))
        if function in ("or", "orValue") and len(args) == 2:
            return EvaluationStep(logic.build_or_else(args[0].run, args[1].run, unwrap=function == "orValue"))
        in_place = self.accumulation(node, args)
        if in_place is not None:
            return EvaluationStep(in_place)
        return self.ordinary_call(node, function, args)

    def resolve_name(self, node: syntax.Call) -> tuple[syntax.Node | None, str]:
        """Return the receiver, if it is one, and the function's full name."""
        if self.checked:
            return node.target, node.function
        if node.target is not None:
            prefix = syntax.qualified_name(node.target)
            if prefix is not None:
                function = self.environment.function(f"{prefix}.{node.function}")
                if function is not None:
                    return None, function.name
        elif (function := self.environment.function(node.function)) is not None:
            return None, function.name
        return node.target, node.function

    def ordinary_call(self, node: syntax.Call, function: str, args: list[EvaluationStep]) -> EvaluationStep:
        declared = self.environment.functions.get(function)
        overloads = node.overloads if node.overloads is not None else () if declared is None else declared.overloads
        types = None
        if self.checked:
            types = [arg.type for arg in ([] if node.target is None else [node.target]) + node.args]
            if len(overloads) == 1 and overloads[0].id == "in_list" and args[1].is_constant:
                constants = args[1].value
                if not constants:
                    return ConstantStep(False)
                if all(type(constant) in _PRIMITIVES for constant in constants):
                    return logic.MembershipStep(args[0].run, constants)
        if len(args) >= 2 and function in ("matches", "find", "findAll") and type(args[1].value) is str:
            compile_pattern(args[1].value)
        step = build_call(function, overloads, args, types)
        if function in _CONVERSIONS and len(args) == 1 and args[0].is_constant:
            return ConstantStep(step.run([0, 0]))
        return step

    def accumulation(self, node: syntax.Call, args: list[EvaluationStep]) -> Run | None:
        """Return the steps of loops that grow a list or a map, which is done in place."""
        first = node.args[0] if node.args else None
        if not isinstance(first, syntax.Ident) or first.name != syntax.ACCUMULATOR:
            return None
        if node.function == "_+_" and isinstance(node.args[1], syntax.ListLiteral):
            # A constant list would otherwise be the very object that grows.
            return binary(append_in_place, None, args[0].run, args[1].run)
        if node.function == "cel.@mapInsert":
            return variadic(insert_in_place, None, [arg.run for arg in args])
        return None

    def index(self, node: syntax.Call) -> EvaluationStep:
        operand = as_attribute(self.compile(node.args[0]))
        optional = node.function != "_[_]"
        key = self.compile(node.args[1])
        if key.is_constant:
            return operand.select(self.qualifier(key.value, optional=optional))
        compute = key.resolve if isinstance(key, AttributeStep) else key.run
        return operand.select(self.qualifier(None, compute, optional))

    # -- literals

    def list_literal(self, node: syntax.ListLiteral) -> EvaluationStep:
        steps = [self.compile(element) for element in node.elements]
        if all(step.is_constant for step in steps) and not node.optional:
            return ConstantStep([step.value for step in steps])
        runs = [(step.run, index in node.optional) for index, step in enumerate(steps)]

        def run(state: State) -> Any:
            values: list[Any] = []
            for evaluate, optional in runs:
                value = evaluate(state)
                if optional:
                    value = _optional(value, "list element")
                    if not value.present:
                        continue
                    value = value.value
                values.append(value)
            return values

        return EvaluationStep(charged(run, 10))

    def map_literal(self, node: syntax.MapLiteral) -> EvaluationStep:
        steps = [(self.compile(entry.key), self.compile(entry.value), entry.optional) for entry in node.entries]
        if all(key.is_constant and value.is_constant and not optional for key, value, optional in steps):
            return ConstantStep(CelMap([(key.value, value.value) for key, value, _ in steps]))
        runs = [(key.run, value.run, optional) for key, value, optional in steps]

        def run(state: State) -> Any:
            entries: list[tuple[Any, Any]] = []
            for evaluate_key, evaluate, optional in runs:
                key = evaluate_key(state)
                value = evaluate(state)
                if optional:
                    value = _optional(value, f"entry '{key}'")
                    if not value.present:
                        entries = [entry for entry in entries if entry[0] != key]
                        continue
                    value = value.value
                entries.append((key, value))
            return entries

        build = charged(run, 30)
        return EvaluationStep(lambda state: CelMap(build(state)))

    def struct_literal(self, node: syntax.StructLiteral) -> EvaluationStep:
        type_ = self.environment.constructed_type(node.name)
        if type_ is None:
            raise CelError("messages cannot be built")
        fields = [(field.name, self.compile(field.value).run, field.optional) for field in node.fields]
        construct = type_.construct

        def run(state: State) -> Any:
            values: dict[str, Any] = {}
            for name, evaluate, optional in fields:
                value = evaluate(state)
                if optional:
                    value = _optional(value, f"entry '{name}'")
                    if not value.present:
                        values.pop(name, None)
                        continue
                    value = value.value
                values[name] = value
            return construct(values)

        return EvaluationStep(charged(run, 40))

    # -- macros

    def comprehension(self, node: syntax.Comprehension) -> EvaluationStep:
        accumulator = self.new_slot()
        if node.is_binding:
            init = self.compile(node.init)
            self.scopes.append({node.accumulator: lazy_variable(accumulator, init.run)})
            result = self.compile(node.result)
            self.scopes.pop()
            return BindingStep(accumulator, result.run)
        range_ = self.compile(node.range)
        init = self.compile(node.init)
        self.scopes.append({node.accumulator: variable(accumulator)})
        first = self.new_slot()
        variables: dict[str, AttributeStep] = {node.variable: variable(first)}
        second = None
        if node.variable2:
            second = self.new_slot()
            variables[node.variable2] = variable(second)
        self.scopes.append(variables)
        condition = self.compile(node.condition)
        step = self.compile(node.step)
        self.scopes.pop()
        result = self.compile(node.result)
        self.scopes.pop()
        value = init.value
        make_init = list if value == [] else CelMap if isinstance(value, CelMap) else lambda: value
        loop = LoopStep(range_.run, (first, second, accumulator), make_init, condition.run, step.run, result.run)
        if self.checked:
            loop.generate = partial(generate_loop, node, self.steps)
        return loop


_RULES: dict[type[syntax.Node], Callable[[Any, Any], EvaluationStep]] = {
    syntax.Literal: lambda _, literal: ConstantStep(literal.value),
    syntax.Ident: Compiler.ident,
    syntax.Select: Compiler.select,
    syntax.Call: Compiler.call,
    syntax.ListLiteral: Compiler.list_literal,
    syntax.MapLiteral: Compiler.map_literal,
    syntax.StructLiteral: Compiler.struct_literal,
    syntax.Comprehension: Compiler.comprehension,
}


def _optional(value: Any, what: str) -> OptionalValue:
    if isinstance(value, OptionalValue):
        return value
    raise CelError(f"cannot initialize optional {what} from non-optional value {value}")
