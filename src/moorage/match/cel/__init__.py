"""The Common Expression Language: text → tokens → tree → checked tree → cost estimate → closures.

Long loops become generated code. In short:

    program = compile_expression("taint.key == 'gpu'", taint_environment())   # a Program, or a list of Issues
    program.evaluate(taint)                                                   # True or False, or raises CelError

Kubernetes: cel-go v0.26.0 with the libraries of apiserver/pkg/cel.
Differs: no protobuf messages; results are limited in size and evaluation in time.
"""

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
