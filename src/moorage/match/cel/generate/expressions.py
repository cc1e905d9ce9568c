"""Write expressions as Python that computes and charges what the steps of `evaluate` do.

Every node has its step already; a node that no rule here knows is left to that step. In generated code an error is a
value, so that whatever goes on in spite of it (the other operand of `&&`, the rest of a loop) goes on without a raise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from moorage.match.cel.evaluate.attributes import AttributeStep, ConditionalStep, FieldStep, Qualifier, VariableStep
from moorage.match.cel.evaluate.loops import BindingStep, LoopStep
from moorage.match.cel.evaluate.steps import EvaluationStep
from moorage.match.cel.generate.calls import emit_call
from moorage.match.cel.generate.loops import emit_loop
from moorage.match.cel.generate.source_writer import (
    PYTHON_TYPES,
    SCALARS,
    Bounds,
    Operand,
    SourceWriter,
    certain,
    element_of,
    shallow,
)
from moorage.match.cel.parse import syntax
from moorage.match.cel.types import BOOL, DYN, Type, TypeKind, list_of
from moorage.match.cel.values import type_of_value

# Loops within loops that become one function; CPython's compiler takes 20 nested blocks.
_MAX_LOOPS = 8
_MAX_TEXT_LENGTH = 160
_SMALL = 2**31


class BoundValue:
    """A value named by cel.bind: what it is computed from, and where it was computed already."""

    __slots__ = ("computed", "computed_in", "init", "loops")

    def __init__(self, init: syntax.Node, loops: int) -> None:
        self.init = init
        self.loops = loops
        self.computed: Operand | None = None
        self.computed_in: tuple[int, ...] = ()


class Emitter:
    """Writes one function. `steps` are those of the whole expression."""

    def __init__(self, steps: Mapping[syntax.Node, EvaluationStep]) -> None:
        self.steps = steps
        self.writer = SourceWriter()
        self.variables: dict[int, Operand] = {}
        self.bindings: dict[int, BoundValue] = {}
        #: How many loops are open, how many steps take time that is not bounded by what they charge, and how many
        #: closures were called, which find the loops' variables in the state.
        self.loops = 0
        self.slow_steps = 0
        self.closures = 0
        self._guarded: set[str] = set()

    def emit(self, node: syntax.Node) -> Operand:
        """Write what computes a node and charges for it."""
        step = self.steps[node]
        if step.is_constant:
            return self.literal(step.value)
        if self.writer.is_full:
            return self.closure(step)
        if isinstance(step, ConditionalStep):
            is_ternary = isinstance(node, syntax.Call) and node.function == "_?_:_"
            return self.conditional(node) if is_ternary else self.closure(step)
        if isinstance(step, AttributeStep):
            return self.charged(self.attribute(node, step), 1) if _is_plain(step) else self.closure(step)
        if isinstance(node, syntax.Call):
            return self.call(node, step)
        if isinstance(node, syntax.ListLiteral) and not node.optional:
            return self.list_literal(node)
        if isinstance(node, syntax.Comprehension):
            if isinstance(step, BindingStep):
                return self.binding(node, step)
            if isinstance(step, LoopStep) and self.loops < _MAX_LOOPS:
                return emit_loop(self, node, step, None)
        return self.closure(step)

    def resolve(self, node: syntax.Node) -> Operand:
        """Write what computes a node, without the charge for a chain of selections as a whole."""
        step = self.steps[node]
        if step.is_constant or not isinstance(step, AttributeStep) or isinstance(step, ConditionalStep):
            return self.emit(node)
        return self.attribute(node, step) if _is_plain(step) else self.closure(step, resolve=True)

    def attribute(self, node: syntax.Node, step: AttributeStep) -> Operand:
        if isinstance(step, FieldStep):
            return self.field(node, step)
        if isinstance(step, VariableStep):
            return self.variable(node.type, step)
        return self.selection(node, step) if step.qualifiers else self.closure(step, resolve=True)

    # -- what everything is made of

    def literal(self, value: Any) -> Operand:
        known = type_of_value(value)
        if (type(value) is int and abs(value) < _SMALL) or type(value) is bool:
            text = f"({value!r})" if type(value) is int and value < 0 else repr(value)
        else:
            text = self.writer.constant(value)
        bounds: Bounds = (value, value) if type(value) is int else (0, 0)
        if type(value) is list:
            kinds = {type(item) for item in value}
            scalar = type_of_value(value[0]) if len(kinds) == 1 else DYN
            known = list_of(scalar if scalar.kind in SCALARS else DYN)
            bounds = (min(value), max(value)) if kinds == {int} else bounds
        return Operand(text, known, bounds, stable=True, hoisted=True, literal=value)

    def charged(self, operand: Operand, cost: int) -> Operand:
        self.writer.charge(cost)
        return operand

    def simple(self, operand: Operand) -> Operand:
        """Return the operand as a name or a number, so that it can be used more than once."""
        if operand.simple:
            return operand
        return Operand(self.writer.assign(operand.text), operand.known, operand.bounds, operand.fails, operand.stable)

    def pure(self, text: str, known: Type, *operands: Operand, bounds: Bounds = (0, 0)) -> Operand:
        """Return an expression of operands that cannot fail; computed only once if they are known from the start."""
        stable = all(operand.stable for operand in operands)
        if stable and all(operand.hoisted for operand in operands):
            return Operand(self.writer.hoist(text), known, bounds, stable=True, hoisted=True)
        operand = Operand(f"({text})", known, bounds, stable=stable, simple=False)
        return self.simple(operand) if len(text) > _MAX_TEXT_LENGTH else operand

    def closure(self, step: EvaluationStep, resolve: bool = False) -> Operand:
        """Leave a node to its step."""
        run = step.resolve if resolve and isinstance(step, AttributeStep) else step.run
        return self.left_to_closures(f"ask({self.writer.constant(run)}, s)")

    def left_to_closures(self, call: str) -> Operand:
        """Write a call that charges by the state, and finds the loops' variables there."""
        self.closures += 1
        self.slow_steps += 1
        writer = self.writer
        writer.flush()
        name = writer.name()
        self.call_with_state(name, call)
        return Operand(name, fails=True)

    def call_with_state(self, name: str, call: str) -> None:
        self.writer.line("s[0] = c")
        self.writer.line(f"{name} = {call}")
        self.writer.line("c = s[0]")

    # -- names

    def field(self, node: syntax.Node, step: FieldStep) -> Operand:
        """Write a field of an object variable, read once if it is a scalar."""
        self.writer.charge(1)
        python_type = PYTHON_TYPES.get(node.type.kind)
        known = certain(node.type)
        if python_type is None or known is None:
            self.writer.flush()
            return Operand(self.writer.assign(f"{self.writer.constant(step.get)}(s[{step.slot}])"))
        assert isinstance(node, syntax.Select)
        name = self.guarded(f"attribute(s[{step.slot}], {self.writer.constant(node.field)})", python_type)
        return Operand(name, known, stable=True, hoisted=True)

    def guarded(self, text: str, python_type: type) -> str:
        """Return the name of a value of this type; if it is not, the function leaves the loop to the closures."""
        name = self.writer.hoist(text)
        if name not in self._guarded:
            self._guarded.add(name)
            self.writer.prologue(f"if {self.writer.is_not(name, python_type)}: return fold(s, items)")
        return name

    def variable(self, type_: Type, step: VariableStep) -> Operand:
        if step.slot in self.variables:
            return self.variables[step.slot]
        if step.lazy:
            return self.bound(step)
        python_type = PYTHON_TYPES.get(type_.kind)
        if python_type is None:
            return Operand(self.writer.hoist(f"s[{step.slot}]"), fails=True, stable=True, hoisted=True)
        return Operand(self.guarded(f"s[{step.slot}]", python_type), shallow(type_), stable=True, hoisted=True)

    def binding(self, node: syntax.Comprehension, step: BindingStep) -> Operand:
        self.writer.line(f"s[{step.slot}] = UNSET")
        self.bindings[step.slot] = BoundValue(node.init, self.loops)
        return self.emit(node.result)

    def bound(self, step: VariableStep) -> Operand:
        """Write the value of a binding: computed here if this is surely the first use, else when found to be unset."""
        writer = self.writer
        binding = self.bindings.get(step.slot)
        if binding is not None and binding.computed is None and binding.loops == self.loops:
            path = writer.path
            computed = self.simple(self.emit(binding.init))
            writer.line(f"s[{step.slot}] = {computed.text}")
            binding.computed, binding.computed_in = computed, path
            return computed
        if binding is not None and binding.computed is not None:
            known_in = binding.computed_in
            if writer.path[: len(known_in)] == known_in:
                return binding.computed
        name = writer.name()
        self.closures += 1
        self.slow_steps += 1
        writer.flush()
        writer.line(f"{name} = s[{step.slot}]")
        with writer.block(f"if {name} is UNSET:"):
            self.call_with_state(name, f"ask({writer.constant(step.resolve)}, s)")
        return Operand(name, fails=True)

    # -- operators that choose what to evaluate

    def call(self, node: syntax.Call, step: EvaluationStep) -> Operand:
        if node.function in ("_&&_", "_||_"):
            return self.logical(node, decisive=node.function == "_||_")
        return emit_call(self, node, step)

    def logical(self, node: syntax.Call, decisive: bool) -> Operand:
        writer = self.writer
        left = self.simple(self.emit(node.args[0]))
        name = writer.name()
        pending = writer.pending
        sure = left.is_a(TypeKind.BOOL)
        going_on = f"{left.text} is not {decisive}" if not sure else left.text if not decisive else f"not {left.text}"
        with writer.branch(f"if {going_on}:", pending):
            right = self.emit(node.args[1])
            right_sure = right.is_a(TypeKind.BOOL)
            checked = right.text if right_sure else f"as_bool({right.text})"
            if sure:
                writer.line(f"{name} = {checked}")
            else:
                right = self.simple(right)
                checked = right.text if right_sure else f"as_bool({right.text})"
                writer.line(f"if {left.text} is {not decisive}: {name} = {checked}")
                writer.line(f"else: {name} = {decisive} if {right.text} is {decisive} else as_bool({left.text})")
        with writer.branch("else:", pending):
            writer.line(f"{name} = {decisive}")
        return Operand(name, BOOL, fails=not (sure and right_sure))

    def conditional(self, node: syntax.Node) -> Operand:
        assert isinstance(node, syntax.Call)
        writer = self.writer
        condition = self.simple(self.emit(node.args[0]))
        sure = condition.is_a(TypeKind.BOOL)
        name = writer.name()
        pending = writer.pending
        with writer.branch(f"if {condition.text}:" if sure else f"if {condition.text} is True:", pending):
            then = self.resolve(node.args[1])
            writer.line(f"{name} = {then.text}")
        with writer.branch("else:" if sure else f"elif {condition.text} is False:", pending):
            otherwise = self.resolve(node.args[2])
            writer.line(f"{name} = {otherwise.text}")
        if not sure:
            with writer.branch("else:", pending):
                writer.line(f"{name} = as_bool({condition.text})")
        bounds = (min(then.bounds[0], otherwise.bounds[0]), max(then.bounds[1], otherwise.bounds[1]))
        known = then.known if then.known == otherwise.known else None
        return Operand(name, known, bounds, fails=not sure or then.fails or otherwise.fails)

    # -- selections and lists

    def selection(self, node: syntax.Node, step: AttributeStep) -> Operand:
        """Write a chain of selections, as far as it goes through lists and maps that are known to be such."""
        nodes = [node]
        for _ in step.qualifiers[1:]:
            nodes.append(_selected_from(nodes[-1]))
        value = self.simple(self.resolve(_selected_from(nodes[-1])))
        if value.known is None or value.known.kind not in (TypeKind.LIST, TypeKind.MAP):
            return self.unknown_selection(value, step.qualifiers)  # it may be an optional
        writer = self.writer
        name = writer.name()
        with ExitStack() as blocks:
            for each, qualifier in zip(reversed(nodes), step.qualifiers, strict=True):
                if value.fails:
                    writer.flush()
                    writer.line(f"if type({value.text}) is E: {name} = {value.text}")
                    blocks.enter_context(writer.block("else:"))
                    value = replace(value, fails=False, stable=False, hoisted=False)
                key = self.literal(qualifier.key)
                if qualifier.compute_key is not None:
                    assert isinstance(each, syntax.Call)
                    key = self.simple(self.resolve(each.args[1]))
                value = self.element(value, key)
                writer.charge(1)
            writer.line(f"{name} = {value.text}")
        return replace(value, text=name, fails=value.fails or len(nodes) > 1, stable=False, hoisted=False)

    def element(self, items: Operand, key: Operand) -> Operand:
        """Write what a key selects from a list or a map."""
        known = element_of(items.known)
        if items.is_a(TypeKind.LIST) and key.is_a(TypeKind.INT):
            if items.is_literal and key.bounds[0] >= 0 and key.bounds[1] < len(items.literal) and known is not None:
                return self.simple(self.pure(f"{items.text}[{key.text}]", known, items, key, bounds=items.bounds))
            inside = f"0 <= {key.text} < len({items.text})"
            lookup = f"{items.text}[{key.text}] if {inside} else pick({items.text}, {key.text})"
            return Operand(self.writer.assign(lookup), known, items.bounds, fails=True)
        return Operand(self.writer.assign(f"pick({items.text}, {key.text})"), fails=True)

    def unknown_selection(self, value: Operand, qualifiers: tuple[Qualifier, ...]) -> Operand:
        return self.left_to_closures(f"select(s, {value.text}, {self.writer.constant(qualifiers)})")

    def list_literal(self, node: syntax.ListLiteral) -> Operand:
        def build(name: str, elements: list[Operand]) -> Operand:
            text = f"[{', '.join(element.text for element in elements)}]"
            last = elements[-1]
            self.writer.line(
                f"{name} = {last.text} if type({last.text}) is E else {text}" if last.fails else f"{name} = {text}"
            )
            types = {element.known for element in elements}
            known = elements[0].known if len(types) == 1 else None
            bounds = (min(element.bounds[0] for element in elements), max(element.bounds[1] for element in elements))
            fails = any(element.fails for element in elements)
            return Operand(name, list_of(known if known is not None else DYN), bounds, fails)

        operand = self.in_turn(node.elements, build)
        return self.charged(operand, 10)

    def in_turn(
        self,
        nodes: Sequence[syntax.Node],
        finish: Callable[[str, list[Operand]], Operand],
        weighed: Sequence[bool] = (),
    ) -> Operand:
        """Write operands of which the first that fails is the result; only the last one is left to `finish`."""
        writer = self.writer
        name = writer.name()
        operands: list[Operand] = []
        with ExitStack() as blocks:
            for index, node in enumerate(nodes):
                operand = self.simple(self.emit(node))
                if weighed and weighed[index]:
                    operand = self.weighed(operand)
                operands.append(operand)
                if operand.fails and index < len(nodes) - 1:
                    writer.flush()
                    writer.line(f"if type({operand.text}) is E: {name} = {operand.text}")
                    blocks.enter_context(writer.block("else:"))
            return finish(name, operands)

    def weighed(self, operand: Operand) -> Operand:
        """Write the look at an argument that may be a container of containers."""
        known = operand.known
        if known is not None and (known.kind in SCALARS or certain(known) is not None):
            return operand
        self.slow_steps += 1
        self.writer.flush()
        return Operand(self.writer.assign(f"weigh({operand.text})"), known, operand.bounds, fails=True)


def _is_plain(step: AttributeStep) -> bool:
    """Return whether a chain of selections has neither has() nor optionals."""
    return not any(qualifier.optional or qualifier.test_only for qualifier in step.qualifiers)


def _selected_from(node: syntax.Node) -> syntax.Node:
    if isinstance(node, syntax.Select):
        return node.operand
    assert isinstance(node, syntax.Call)
    return node.args[0]
