"""CEL of several complexities: compiling, evaluating a cached program, with a cold cache, and where evaluation fails.

cel-cpp runs in turns where it knows the functions; a cold cache beside a warm one, a failing evaluation beside one of
the same expression that succeeds.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING

from cel_expr_python import cel as cel_cpp

from bench.measure import race, time_call
from bench.result import Result, timed
from moorage.match.cel import CelError, Program, compile_expression, taint_environment
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
    (
        "ten terms",
        " || ".join(f"(taint.key == 'team-{number}' && taint.value != 'x')" for number in range(10)),
        Taint(key="team-9", value="y", effect="NoSchedule"),
        True,
    ),
    (
        "loop",
        "taint.key == 'teams' && taint.value.split('.').exists(team, team.startsWith('blue-'))",
        Taint(key="teams", value="red-1.green-2.blue-3", effect="NoSchedule"),
        False,
    ),
)
#: What to call it, the expression, a taint for which it has an answer, and one for which it fails.
FAILING = (
    (
        "no version",
        "semver(taint.value).isGreaterThan(semver('5.15.0'))",
        Taint(key="kernel", value="6.8.0", effect="NoSchedule"),
        Taint(key="kernel", value="latest", effect="NoSchedule"),
    ),
    (
        "no number",
        "int(taint.value) > 900",
        Taint(key="sla", value="950", effect="NoSchedule"),
        Taint(key="sla", value="high", effect="NoSchedule"),
    ),
    (
        "in a loop",
        "taint.value.split('.').all(part, int(part) > 0)",
        Taint(key="v", value="1.2.3.4.5.6", effect="NoSchedule"),
        Taint(key="v", value="a.b.c.d.e.f", effect="NoSchedule"),
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
    yield from _cold()
    yield from _failing()


def _cold() -> Iterator[Result]:
    """A cache of one program that is asked for two in turns knows neither."""
    for name, source, taint, _ in EXPRESSIONS:

        def evaluate(cache: ProgramCache, sources: Iterator[str], taint: Taint = taint) -> None:
            program = cache.get(next(sources))
            assert isinstance(program, Program)
            program.evaluate(taint)

        unknown, known = race(
            partial(evaluate, ProgramCache(capacity=1), cycle((source, f"{source} "))),
            partial(evaluate, ProgramCache(), cycle((source,))),
        )
        yield timed("cel", f"cold cache, {name}", unknown, against=known, compared_with="warm cache")


def _failing() -> Iterator[Result]:
    for name, source, good, bad in FAILING:
        program = compile_expression(source, taint_environment())
        assert isinstance(program, Program)

        def fail(program: Program = program, taint: Taint = bad) -> None:
            with suppress(CelError):
                program.evaluate(taint)

        failed, succeeded = race(fail, partial(program.evaluate, good))
        yield timed("cel", f"fail, {name}", failed, against=succeeded, compared_with="no failure", goal=EVALUATE_GOAL)


def _theirs(environment: cel_cpp.Env, source: str, taint: Taint) -> tuple[Call, Call]:
    compiled = environment.compile(source)

    def evaluate() -> object:
        data = {"taint": {"key": taint.key, "value": taint.value, "effect": taint.effect}}
        return compiled.eval(data=data).value()

    return evaluate, lambda: environment.compile(source)
