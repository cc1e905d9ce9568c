"""Laws of traces: the value, error and cost of the program itself, and of each part that of the part alone."""

from collections.abc import Callable, Iterator

from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st
from tests.laws.cel_expressions import predicates
from tests.laws.cel_loops import loops
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples

from moorage.match.cel import CelError, Program, compile_expression
from moorage.match.cel.environment import TAINT_ENVIRONMENT, Environment
from moorage.match.cel.evaluate.steps import EvaluationStep
from moorage.match.cel.parse import syntax
from moorage.match.cel.trace import tracing
from moorage.match.cel.trace.recording import RecordingCompiler
from moorage.match.cel.trace.shown_value import shown_value
from moorage.match.cel.trace.spans import SpanParser
from moorage.match.cel.trace.tracing import Trace, TracedPart, trace_expression
from moorage.model.types.node import Taint

SETTINGS = settings(LAW_SETTINGS, max_examples=examples(150), phases=(Phase.explicit, Phase.generate))
#: Any result: parts of a predicate are no predicates.
ANY = Environment(TAINT_ENVIRONMENT.function_rows, TAINT_ENVIRONMENT.variables, TAINT_ENVIRONMENT.objects)
TAINTS = (
    Taint(key="sla", value="1", effect="NoSchedule"),
    Taint(key="env.example.com/dev", value="", effect="NoExecute"),
)

Answer = tuple[str | None, str | None, int]
Explain = Callable[[str, Taint], Trace]


def answer_of(source: str, taint: Taint) -> Answer | None:
    """The value, the error and the cost of a program; None if it does not compile by itself."""
    program = compile_expression(source, ANY)
    if not isinstance(program, Program):
        return None
    try:
        value, cost = program.run_with_cost({"taint": taint})
    except CelError as error:
        return None, str(error), error.cost
    return shown_value(value), None, cost


def traced(source: str, taint: Taint) -> Trace:
    trace = trace_expression(source, ANY, {"taint": taint})
    assert isinstance(trace, Trace)
    return trace


def outside_of_loops(part: TracedPart) -> Iterator[TracedPart]:
    """All parts that were evaluated, except what is within loops: it needs the loop's variables."""
    for child in part.parts:
        if not child.skipped:
            yield child
            yield from outside_of_loops(child)


def agrees_with_the_program(explain: Explain) -> Callable[[], None]:
    @SETTINGS
    @given(st.one_of(predicates(), loops()), st.sampled_from(TAINTS))
    def law(source: str, taint: Taint) -> None:
        expected = answer_of(source, taint)
        assume(expected is not None)
        trace = explain(source, taint)
        assert (trace.root.value, trace.root.error, trace.cost) == expected
        for part in outside_of_loops(trace.root):
            alone = answer_of(part.expression, taint)
            if alone is None:  # cut, or with a name that is unknown outside of cel.bind
                assert part.expression.endswith("…") or "cel.bind" in source, part
            else:
                assert (part.value, part.error) == alone[:2], part

    return law


def test_a_trace_has_the_values_of_the_program_and_of_its_parts() -> None:
    agrees_with_the_program(traced)()


def test_a_wrong_trace_is_noticed() -> None:
    class ForgetsParentheses(SpanParser):
        def note_span(self, node: syntax.Node, start: int, end: int) -> None:
            super().note_span(node, start + (self.source.text[start] == "("), end)

    class RecordsNeighbours(RecordingCompiler):
        def compile(self, node: syntax.Node) -> EvaluationStep:
            if isinstance(node, syntax.Call) and node.function == "_-_":
                node.args.reverse()
            return super().compile(node)

    def with_broken(name: str, broken: object) -> Explain:
        def explain(source: str, taint: Taint) -> Trace:
            usual = getattr(tracing, name)
            setattr(tracing, name, broken)
            try:
                return traced(source, taint)
            finally:
                setattr(tracing, name, usual)

        return explain

    assert_notices(agrees_with_the_program(with_broken("SpanParser", ForgetsParentheses)))
    assert_notices(agrees_with_the_program(with_broken("RecordingCompiler", RecordsNeighbours)))
