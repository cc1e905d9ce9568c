"""CEL: compiling the documents' expressions, and evaluating the cached programs; cel-cpp in the same run to compare."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cel_expr_python import cel as cel_cpp

from bench.measure import race, time_call
from bench.result import Result, timed
from moorage.match.cel import compile_expression, taint_environment
from moorage.match.tolerations import ProgramCache
from moorage.model.types.node import Taint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.measure import Call

#: What to call it, the expression, a taint it is true for, and whether cel-cpp knows its functions.
EXPRESSIONS = (
    ("prefix", "taint.key.startsWith('env.example.com/')", Taint(key="env.example.com/dev", effect="NoSchedule"), True),
    (
        "semver",
        "taint.key == 'node.example.com/kernel-version' && semver(taint.value).isGreaterThan(semver('5.15.0'))",
        Taint(key="node.example.com/kernel-version", value="6.8.0", effect="NoSchedule"),
        False,
    ),
    (
        "regex",
        "taint.key.matches('^zone-a[12]-rack-[0-9]+$')",
        Taint(key="zone-a1-rack-03", effect="NoSchedule"),
        True,
    ),
)
EVALUATE_GOAL, COMPILE_GOAL = "≤ 5 µs", "≤ 500 µs"
CEL_CPP = "cel-cpp"


def measure() -> Iterator[Result]:
    environment = taint_environment()
    cpp = cel_cpp.NewEnv(variables={"taint": cel_cpp.Type.Map(cel_cpp.Type.STRING, cel_cpp.Type.STRING)})
    cache = ProgramCache()
    for name, source, taint, known_to_cpp in EXPRESSIONS:
        program = compile_expression(source, environment)
        if isinstance(program, list):
            raise SystemExit(f"{source} does not compile: {program}")

        ours: tuple[Call, ...] = (
            partial(program.evaluate, taint),
            partial(compile_expression, source, environment),
        )
        if known_to_cpp:
            theirs = _theirs(cpp, source, taint)
            evaluated, cpp_evaluated = race(ours[0], theirs[0])
            compiled, cpp_compiled = race(ours[1], theirs[1])
            yield timed(
                "cel", f"evaluate, {name}", evaluated, against=cpp_evaluated, compared_with=CEL_CPP, goal=EVALUATE_GOAL
            )
            yield timed(
                "cel", f"compile, {name}", compiled, against=cpp_compiled, compared_with=CEL_CPP, goal=COMPILE_GOAL
            )
        else:
            yield timed("cel", f"evaluate, {name}", time_call(ours[0]), goal=EVALUATE_GOAL)
            yield timed("cel", f"compile, {name}", time_call(ours[1]), goal=COMPILE_GOAL)
    source = EXPRESSIONS[0][1]
    yield timed("cel", "look a program up in the cache", time_call(partial(cache.get, source)))


def _theirs(environment: cel_cpp.Env, source: str, taint: Taint) -> tuple[Call, Call]:
    compiled = environment.compile(source)

    def evaluate() -> object:
        data = {"taint": {"key": taint.key, "value": taint.value, "effect": taint.effect}}
        return compiled.eval(data=data).value()

    return evaluate, lambda: environment.compile(source)
