"""The Common Expression Language: text → tokens → tree → checked tree → cost estimate → closures.

Long loops become generated code. In short:

    program = compile_expression("taint.key == 'gpu'", taint_environment())   # a Program, or a list of Issues
    program.evaluate(taint)                                                   # True or False, or raises CelError

Kubernetes: cel-go v0.26.0 with the libraries of apiserver/pkg/cel.
Differs: no protobuf messages; results are limited in size and evaluation in time.
The names here are imported when they are first used: types, values and addresses alone need none of them.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moorage.match.cel.environment import Environment, taint_environment
    from moorage.match.cel.parse.syntax import Issue
    from moorage.match.cel.program import Program, compile_expression, render_issues
    from moorage.match.cel.values import CelError

__all__ = [
    "CelError",
    "Environment",
    "Issue",
    "Program",
    "compile_expression",
    "render_issues",
    "taint_environment",
]

_HOMES = {
    "CelError": "values",
    "Environment": "environment",
    "Issue": "parse.syntax",
    "Program": "program",
    "compile_expression": "program",
    "render_issues": "program",
    "taint_environment": "environment",
}

if not TYPE_CHECKING:  # for type checkers every name would exist

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        return value
