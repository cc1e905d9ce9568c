"""Compile an expression to a `Program`, which is immutable and may be shared between threads.

Kubernetes: cel.Env.Compile, EstimateCost and Program, as dynamic-resource-allocation/cel/compile.go calls them.
Differs: evaluation is also limited in time and in the size of results, and Python's stack is never exhausted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from moorage.match.cel.check.checker import check
from moorage.match.cel.check.cost_estimate import estimate_cost
from moorage.match.cel.check.validators import validate_literals
from moorage.match.cel.environment import Environment
from moorage.match.cel.evaluate.compiler import Compiler
from moorage.match.cel.evaluate.steps import COST, COST_LIMIT, FIRST_SLOT, Run, State
from moorage.match.cel.functions import Interval
from moorage.match.cel.parse.parser import MakeParser, Parser, parse_by
from moorage.match.cel.parse.syntax import NO_POSITION, Issue, Node, Source, make_room, tree_depth
from moorage.match.cel.types import DYN, Type
from moorage.match.cel.values import CelError

# Starts the message about an expression that is well-typed but whose constants cannot be computed: `int('x') == 1`.
NOT_INSTANTIATED = "program instantiation failed: "
TOO_COMPLEX = "too complex, exceeds cost limit"


class Program:
    """A compiled expression with the type of its result and the least and greatest cost it may have."""

    __slots__ = ("_names", "_run", "_template", "estimate", "result_type", "source")

    def __init__(
        self, source: str, run: Run, slots: dict[str, int], size: int, type_: Type, estimate: Interval
    ) -> None:
        self.source = source
        self.result_type = type_
        self.estimate = estimate
        self._run = run
        # Names without a value read as the error that says so.
        self._template: State = [0] * FIRST_SLOT + [None] * (size - FIRST_SLOT)
        for name, slot in slots.items():
            self._template[slot] = CelError(f"no such attribute(s): {name}")
        self._names = tuple(slots.items())

    @property
    def variables(self) -> frozenset[str]:
        """The variables that the expression refers to."""
        return frozenset(name for name, _ in self._names)

    @property
    def exceeds_cost_limit(self) -> bool:
        """Return whether evaluation might cost more than is allowed, so that admission refuses the expression."""
        return self.estimate.max > COST_LIMIT

    def evaluate(self, taint: Any) -> bool:
        """Return whether the expression holds for a taint (anything with key, value and effect); raises CelError."""
        return bool(self.evaluate_with_cost(taint)[0])

    def evaluate_with_cost(self, taint: Any) -> tuple[Any, int]:
        """Return the answer for a taint and its cost. A CelError raised carries the cost as its attribute `cost`."""
        state = self.initial_state(taint)
        return self.finish(state), state[COST]

    def initial_state(self, taint: Any) -> State:
        """Return the state that an evaluation for a taint starts from."""
        state = self._template.copy()
        for _, slot in self._names:
            state[slot] = taint
        return state

    def run(self, bindings: Mapping[str, Any]) -> Any:
        """Return the value for given values of the variables; raises CelError."""
        return self.run_with_cost(bindings)[0]

    def run_with_cost(self, bindings: Mapping[str, Any], limit: int = COST_LIMIT) -> tuple[Any, int]:
        """Return the value for given values of the variables, and what it cost.

        A limit below the usual one makes evaluation fail as that does, where more is spent.
        """
        state = self._template.copy()
        for name, slot in self._names:
            if name in bindings:
                state[slot] = bindings[name]
        before = state[COST] = COST_LIMIT - limit  # what is charged is compared with one limit, a constant
        try:
            value = self.finish(state)
        except CelError as error:
            error.cost -= before
            raise
        return value, state[COST] - before

    def finish(self, state: State) -> Any:
        """Run an evaluation from its initial state."""
        try:
            return self._run(state)
        except CelError as error:
            raise _with_cost(error, state[COST]) from None
        except (TypeError, AttributeError, ValueError, ArithmeticError, LookupError):
            # A value whose type the checker was deceived about by way of dyn.
            raise _with_cost(CelError("no such overload"), state[COST]) from None
        except (RecursionError, MemoryError):
            raise _with_cost(CelError("expression needs too much memory"), state[COST]) from None


def _with_cost(error: CelError, cost: int) -> CelError:
    fresh = type(error)(*error.args)
    fresh.cost = cost
    return fresh


def compile_expression(source: str, environment: Environment, *, checked: bool = True) -> Program | list[Issue]:
    """Compile an expression, or say why not.

    `checked=False` skips the type checker: everything is looked up while running, and nothing can be estimated.
    """
    longest = environment.max_length
    if longest is not None and len(source.encode("utf-8", "surrogatepass")) > longest:
        return [Issue(0, 0, f"may not be more than {longest} bytes")]
    text = Source(source)
    try:
        program = compile_source(text, environment, checked)
    except RecursionError:
        return [text.issue(NO_POSITION, "max recursion depth exceeded")]
    if environment.results and isinstance(program, Program) and program.result_type not in environment.results:
        return [Issue(0, 0, f"must evaluate to bool or the unknown type, not {program.result_type.declared_name}")]
    return program


def check_expression(source: str, environment: Environment) -> Type | list[Issue]:
    """Return the type of an expression's result, or say why it has none. Nothing is computed, not even constants."""
    text = Source(source)
    try:
        root = parse_by(Parser, text, has_bindings=environment.has_bindings)
        if isinstance(root, list):
            return root
        make_room(tree_depth(root))
        problems = _type_problems(root, environment)
    except RecursionError:
        return [text.issue(NO_POSITION, "max recursion depth exceeded")]
    return [text.issue(position, message) for position, message in problems] if problems else root.type


def _type_problems(root: Node, environment: Environment) -> list[tuple[int, str]]:
    problems = check(root, environment)
    return validate_literals(root) if not problems and environment.homogeneous else problems


def compile_source(
    source: Source,
    environment: Environment,
    checked: bool,
    make_parser: MakeParser = Parser,
    make_compiler: Callable[[Environment, bool], Compiler] = Compiler,
) -> Program | list[Issue]:
    """Compile an expression with a parser and a compiler that may note more than these do. Raises RecursionError."""
    root = parse_by(make_parser, source, has_bindings=environment.has_bindings)
    if isinstance(root, list):
        return root
    make_room(tree_depth(root))
    estimate = Interval(0, 0)
    if checked:
        problems = _type_problems(root, environment)
        if problems:
            return [source.issue(position, message) for position, message in problems]
        estimate = estimate_cost(root, environment)
    compiler = make_compiler(environment, checked)
    try:
        step = compiler.compile(root)
    except CelError as error:
        return [Issue(0, 0, f"{NOT_INSTANTIATED}{error}")]
    type_ = root.type if checked else DYN
    return Program(source.text, step.run, compiler.slots, compiler.next_slot, type_, estimate)


def render_issues(source: str, issues: list[Issue]) -> str:
    if len(issues) == 1 and issues[0].line == 0:
        return issues[0].message
    return f"compilation failed: {Source(source).render(issues)}"
