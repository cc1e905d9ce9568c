"""Write loops as `for` statements: all and exists, existsOne, map and filter, and the loops that make maps.

An element that turns out not to be of the type the checker believes hands the rest of the loop over to the closures.
Kubernetes: cel-go parser/macro.go and ext/comprehensions.go, for the shapes that macros expand to.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from moorage.match.cel.evaluate.loops import LoopStep
from moorage.match.cel.generate.source_writer import (
    ANY_INT,
    ANY_SIZE,
    PYTHON_TYPES,
    CannotGenerate,
    Operand,
    element_of,
    shallow,
)
from moorage.match.cel.parse import syntax
from moorage.match.cel.types import BOOL, DYN, INT, MAP, Type, TypeKind, list_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from moorage.match.cel.generate.expressions import Emitter


def emit_loop(emitter: Emitter, node: syntax.Comprehension, step: LoopStep, items: Operand | None) -> Operand:
    """Write a loop over `items`, or over what its range is found to be."""
    writer = emitter.writer
    range_ = emitter.simple(emitter.emit(node.range)) if items is None else items
    result = writer.name("r")
    writer.flush()
    loop = _Loop(emitter, node, step, range_, result)
    known_container = range_.known is not None and range_.known.kind in (TypeKind.LIST, TypeKind.MAP)
    if known_container and not range_.fails:
        loop.open(range_.text)
        return loop.write()
    iterator = writer.name("i")
    make = (
        loop.iterator(range_.text) if known_container else f"{'each_pair' if node.variable2 else 'each'}({range_.text})"
    )
    if range_.fails:
        writer.line(f"{iterator} = {range_.text} if type({range_.text}) is E else {make}")
    else:
        writer.line(f"{iterator} = {make}")
    writer.line(f"if type({iterator}) is E: {result} = {iterator}")
    with writer.block("else:"):
        loop.iterator_name = iterator
        done = loop.write()
    return Operand(result, done.known, done.bounds, fails=True)


class _Loop:
    """One loop while it is written: its names, and the shape of its step."""

    def __init__(
        self, emitter: Emitter, node: syntax.Comprehension, step: LoopStep, range_: Operand, result: str
    ) -> None:
        self.emitter = emitter
        self.writer = emitter.writer
        self.node = node
        self.step = step
        self.range = range_
        self.result = result
        self.accumulated = self.writer.name("a")
        self.iterator_name = ""
        self.handed_over = False

    def iterator(self, items: str) -> str:
        """Return the expression that makes the iterator over a list or a map."""
        if not self.node.variable2:
            return f"iter({items})"
        is_list = self.range.known is not None and self.range.known.kind is TypeKind.LIST
        return f"enumerate({items})" if is_list else f"iter({items}.items())"

    def open(self, items: str) -> None:
        self.iterator_name = self.writer.assign(self.iterator(items))

    def write(self) -> Operand:
        step = self.node.step
        condition = None
        if isinstance(step, syntax.Call) and step.function == "_?_:_":
            condition, step = step.args[0], step.args[1]
        if not isinstance(step, syntax.Call):
            raise CannotGenerate
        if step.function in ("_&&_", "_||_"):
            return self.quantifier(step.args[1], decisive=step.function == "_||_")
        if step.function == "cel.@mapInsert":
            return self.insertion(condition, step.args[1:])
        if step.function == "_+_" and isinstance(step.args[1], syntax.ListLiteral):
            return self.collection(condition, step.args[1])
        if step.function == "_+_" and condition is not None:
            return self.count(condition)
        raise CannotGenerate

    # -- shapes

    def quantifier(self, body: syntax.Node, decisive: bool) -> Operand:
        """Write all (`decisive` is false) and exists (true)."""
        writer, accumulated = self.writer, self.accumulated
        condition = [1, 1, 1] if decisive else [1, 1]
        writer.line(f"{accumulated} = {not decisive}")
        with self.iteration():
            writer.pending = [*condition, 1]
            test = self.emitter.emit(body)
            writer.flush()
            sure = test.is_a(TypeKind.BOOL)
            test = test if sure else self.emitter.simple(test)
            is_decisive = (test.text if decisive else f"not {test.text}") if sure else f"{test.text} is {decisive}"
            with writer.block(f"if {is_decisive}:"):
                writer.line(f"{accumulated} = {decisive}")
                with writer.block(f"if next({self.iterator_name}, UNSET) is not UNSET:"):
                    writer.pending = list(condition)
                writer.line("break")
            if not sure:
                with writer.block(f"if {test.text} is not {not decisive} and {accumulated} is {not decisive}:"):
                    writer.line(f"{accumulated} = as_bool({test.text})")
        writer.charge(1)
        return self.finish(BOOL, fails=not sure)

    def count(self, condition: syntax.Node) -> Operand:
        """Write existsOne, which counts the elements that fulfil the condition."""
        writer, accumulated = self.writer, self.accumulated
        writer.line(f"{accumulated} = 0")
        with self.iteration(), self.only_if(condition) as fails:
            writer.charge(1)
            writer.charge(1)
            guard = f"if type({accumulated}) is int: " if fails else ""
            writer.line(f"{guard}{accumulated} += 1")
        fails = fails or self.handed_over
        writer.charge(1)
        writer.charge(1)
        same = f"{accumulated} == 1"
        writer.line(
            f"{self.result} = {accumulated} if type({accumulated}) is E else {same}"
            if fails
            else f"{self.result} = {same}"
        )
        return Operand(self.result, BOOL, fails=fails)

    def collection(self, condition: syntax.Node | None, added: syntax.ListLiteral) -> Operand:
        """Write map, filter and transformList."""
        writer, accumulated = self.writer, self.accumulated
        append = writer.name("p")
        writer.line(f"{accumulated} = []")
        writer.line(f"{append} = {accumulated}.append")
        with self.iteration(), self.only_if(condition) as fails:
            writer.charge(1)
            element = self.emitter.emit(added.elements[0])
            if not self.emitter.steps[added].is_constant:
                writer.charge(10)
            writer.charge(1)
            if element.fails:
                element = self.emitter.simple(element)
            writer.flush()
            if fails or element.fails:
                with writer.block(f"if type({accumulated}) is list:"):
                    if element.fails:
                        writer.line(f"if type({element.text}) is E: {accumulated} = {element.text}")
                        writer.line(f"else: {append}({element.text})")
                    else:
                        writer.line(f"{append}({element.text})")
            else:
                writer.line(f"{append}({element.text})")
        writer.charge(1)
        known = element.known if element.known is not None else DYN
        if self.handed_over:
            known = DYN
        return self.finish(list_of(known), fails=fails or element.fails, bounds=element.bounds)

    def insertion(self, condition: syntax.Node | None, args: list[syntax.Node]) -> Operand:
        """Write transformMap and transformMapEntry."""
        writer, accumulated = self.writer, self.accumulated
        writer.line(f"{accumulated} = {writer.constant(self.step.init)}()")
        entries = writer.assign(f"{accumulated}.growing()")

        def insert(name: str, operands: list[Operand]) -> Operand:
            writer.charge(1)
            writer.flush()
            texts = ", ".join(operand.text for operand in operands)
            tests = [("", f"{name} = insert({accumulated}, {texts})")]
            if len(operands) == 2 and not self.handed_over and operands[0].is_a(TypeKind.INT, TypeKind.STRING):
                # Keys of one type, so that no key of another type can be equal.
                key = operands[0].text
                tests.insert(0, (f"{key} not in {entries}", f"{entries}[{key}] = ({texts})"))
            if operands[-1].fails:
                tests.insert(0, (f"type({operands[-1].text}) is E", f"{name} = {operands[-1].text}"))
            writer.line(f"{name} = None")
            for index, (test, statement) in enumerate(tests):
                word = "if" if index == 0 else "elif" if test else "else"
                writer.line(f"{word} {test}: {statement}" if test else f"else: {statement}" if index else statement)
            return Operand(name)

        with self.iteration(), self.only_if(condition):
            writer.charge(1)
            writer.flush()
            with writer.block(f"if type({accumulated}) is not E:"):
                failure = self.emitter.in_turn(args, insert)
                writer.line(f"if {failure.text} is not None: {accumulated} = {failure.text}")
        writer.charge(1)
        return self.finish(MAP, fails=True)

    def finish(self, known: Type, fails: bool, bounds: tuple[int, int] = ANY_INT) -> Operand:
        self.writer.line(f"{self.result} = {self.accumulated}")
        return Operand(self.result, known, bounds, fails=fails or self.handed_over)

    # -- iterations

    @contextmanager
    def only_if(self, condition: syntax.Node | None) -> Iterator[bool]:
        """Open the block that runs if a condition holds; tells whether the condition may fail."""
        writer, emitter = self.writer, self.emitter
        if condition is None:
            yield False
            return
        if emitter.steps[condition].is_constant:
            emitter.slow_steps += 1  # an iteration that costs nothing
        test = emitter.simple(emitter.emit(condition))
        pending = writer.pending
        sure = test.is_a(TypeKind.BOOL)
        with writer.branch(f"if {test.text}:" if sure else f"if {test.text} is True:", pending):
            yield not sure
        if not sure:
            with writer.branch(f"elif {test.text} is not False:", pending):
                writer.line(f"{self.accumulated} = as_bool({test.text})")
        with writer.branch("else:", pending):
            pass

    @contextmanager
    def iteration(self) -> Iterator[None]:
        """Open the `for` statement, with its variables in scope."""
        writer, emitter, step = self.writer, self.emitter, self.step
        first = writer.name("v")
        second = writer.name("v") if step.second is not None else None
        before, path = writer.reserve(), writer.path
        slow_steps = emitter.slow_steps
        emitter.loops += 1
        with writer.block(f"for {first if second is None else f'{first}, {second}'} in {self.iterator_name}:"):
            at_start, inside = writer.reserve(), writer.path
            current = first if second is None else f"({first}, {second})"
            self.declare(step.first, first, current, self.types()[0])
            if second is not None and step.second is not None:
                self.declare(step.second, second, current, self.types()[1])
            closures = emitter.closures
            yield
        emitter.loops -= 1
        if emitter.closures > closures:
            writer.add_reserved(at_start, inside, f"s[{step.first}] = {first}")
            if second is not None:
                writer.add_reserved(at_start, inside, f"s[{step.second}] = {second}")
        if emitter.slow_steps > slow_steps:
            counter = writer.name("n")
            writer.add_reserved(before, path, f"{counter} = 0", "s[0] = c", "clock(s)")
            look = (f"{counter} += 1", f"if not {counter} & 3:", " s[0] = c", " clock(s)")
            writer.add_reserved(at_start, inside, *look)

    def types(self) -> tuple[tuple[Type, Type | None], tuple[Type, Type | None]]:
        """Return the types of the variables: as checked, and as known for sure."""
        range_type = self.node.range.type
        known = element_of(self.range.known)
        parameters = range_type.parameters
        if range_type.kind is TypeKind.LIST and parameters:
            element = (parameters[0], known)
            if not self.node.variable2:
                return element, element
            is_list = self.range.known is not None and self.range.known.kind is TypeKind.LIST
            return (INT, INT if is_list else None), element
        if range_type.kind is TypeKind.MAP and len(parameters) == 2:
            return (parameters[0], None), (parameters[1], None)
        return (DYN, known), (DYN, known)

    def declare(self, slot: int, name: str, current: str, types: tuple[Type, Type | None]) -> None:
        """Declare a variable of the loop; its type is looked at unless known."""
        writer = self.writer
        checked, known = types
        if known is None and checked.kind in PYTHON_TYPES:
            with writer.block(f"if {writer.is_not(name, PYTHON_TYPES[checked.kind])}:"):
                resume = f"{writer.constant(self.step.resume)}(s, {self.accumulated}, {current}, {self.iterator_name})"
                self.emitter.call_with_state(self.accumulated, resume)
                writer.line("break")
            self.handed_over = True
            self.emitter.closures += 1
            self.emitter.variables[slot] = Operand(name, shallow(checked))
            return
        bounds = self.range.bounds
        if self.node.variable2 and slot == self.step.first:
            bounds = ANY_SIZE
        self.emitter.variables[slot] = Operand(name, known, bounds if known == INT else ANY_INT)
