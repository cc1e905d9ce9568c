"""Compile an expression so that each part records its value when it is evaluated.

The closures are those of any program (`evaluate/compiler`); each is wrapped in one that notes what it returned or
raised. So short-circuits, errors, laziness and costs are the program's own. A chain of selections is one part, because
it is evaluated as one: `object.spec.replicas`, not `object.spec`. Loops are never generated as Python.
"""

from __future__ import annotations

from copy import copy
from typing import Any

from moorage.match.cel.environment import Environment
from moorage.match.cel.evaluate.attributes import AttributeStep, FieldStep, VariableStep
from moorage.match.cel.evaluate.compiler import Compiler
from moorage.match.cel.evaluate.loops import LoopStep
from moorage.match.cel.evaluate.steps import EvaluationStep, Run, State
from moorage.match.cel.parse import syntax
from moorage.match.cel.values import CelError

#: Iterations of a loop that are kept: the first ones, and the last, which decided if one did.
KEPT_ITERATIONS = 3
#: Parts whose values one evaluation records.
MAX_EVENTS = 20_000
#: What Program.finish takes for a value of a wrong type.
_WRONG_TYPE = (TypeError, AttributeError, ValueError, ArithmeticError, LookupError)


class Evaluated:
    """One evaluation of one part: its value or its error, and what was evaluated for it."""

    __slots__ = ("children", "error", "iterations", "node", "passes", "value", "variables")

    def __init__(self, node: syntax.Node, variables: tuple[tuple[str, Any], ...] = ()) -> None:
        self.node = node
        self.value: Any = None
        self.error: str | None = None
        self.children: list[Evaluated] = []
        self.variables = variables  # of an iteration
        self.iterations: list[Evaluated] = []  # of a loop
        self.passes = 0

    def add_iteration(self, iteration: Evaluated) -> None:
        self.passes += 1
        self.iterations.append(iteration)
        if len(self.iterations) > KEPT_ITERATIONS + 1:
            del self.iterations[KEPT_ITERATIONS]


class TraceRecorder:
    """The events of one evaluation, as a tree."""

    def __init__(self) -> None:
        self.count = 0
        self.root: Evaluated | None = None
        self._open: list[Evaluated] = []

    @property
    def is_full(self) -> bool:
        return self.count >= MAX_EVENTS

    def begin(self, node: syntax.Node, variables: tuple[tuple[str, Any], ...] = ()) -> Evaluated | None:
        if self.is_full:
            return None
        self.count += 1
        event = Evaluated(node, variables)
        if self._open:
            self._open[-1].children.append(event)
        else:
            self.root = event
        self._open.append(event)
        return event

    def begin_iteration(self, loop: syntax.Node, variables: tuple[tuple[str, Any], ...]) -> Evaluated | None:
        """Begin a pass through a loop. Its event hangs on the loop's, which is the last open one for that node."""
        parent = next((event for event in reversed(self._open) if event.node is loop), None)
        if self.is_full or parent is None:
            return None
        self.count += 1
        event = Evaluated(loop, variables)
        parent.add_iteration(event)
        self._open.append(event)
        return event

    def end(self) -> None:
        self._open.pop()


class RecordingCompiler(Compiler):
    """Compiles to closures that record. `spans` has the nodes that were written, see `spans.SpanParser`."""

    def __init__(self, environment: Environment, checked: bool, recorder: TraceRecorder) -> None:
        super().__init__(environment, checked)
        self._recorder = recorder
        #: The loop whose body a node is.
        self._bodies: dict[syntax.Node, syntax.Comprehension] = {}

    def compile(self, node: syntax.Node) -> EvaluationStep:
        if isinstance(node, syntax.Comprehension) and not node.is_binding:
            self._bodies[node.step] = node
        compiled = super().compile(node)
        if isinstance(compiled, LoopStep):
            compiled.generate = None
        step = copy(compiled)  # a variable's step is shared by all that read it
        if isinstance(step, FieldStep):  # comparisons would read the attribute, past the step
            step = AttributeStep(step.base, step.qualifiers, step.resolve)
        if step.is_constant:
            return step
        if isinstance(step, AttributeStep):
            step.resolve = self._recorded(node, step.resolve)
        step.run = self._recorded(node, step.run)
        if node in self._bodies:
            step.run = self._as_iteration(self._bodies[node], step.run)
        return step

    def _recorded(self, node: syntax.Node, run: Run) -> Run:
        recorder = self._recorder

        def evaluate(state: State) -> Any:
            event = recorder.begin(node)
            if event is None:
                return run(state)
            try:
                event.value = value = run(state)
            except CelError as error:
                event.error = str(error)
                raise
            except _WRONG_TYPE:
                event.error = "no such overload"
                raise
            finally:
                recorder.end()
            return value

        return evaluate

    def _as_iteration(self, loop: syntax.Comprehension, run: Run) -> Run:
        recorder = self._recorder
        slots: list[tuple[str, int]] = []
        for name in (loop.variable, loop.variable2):
            variable = self.local(name) if name else None
            if isinstance(variable, VariableStep):
                slots.append((name, variable.slot))

        def evaluate(state: State) -> Any:
            event = recorder.begin_iteration(loop, tuple((name, state[slot]) for name, slot in slots))
            if event is None:
                return run(state)
            try:
                return run(state)
            finally:
                recorder.end()

        return evaluate
