"""The CEL expression of a toleration: length, then compilation, then the cost it may reach.

In: the expression and its path. Out: field errors in the words Kubernetes uses for CEL in device selectors
(pkg/apis/resource/validation), which the document takes as its model. CEL is imported only where an expression occurs,
and each distinct text is judged once for as long as it is in use.
"""

from functools import lru_cache

from moorage.model.field_error import ErrorKind, FieldError, forbidden, internal_error, invalid, too_long
from moorage.model.names import byte_length

MAX_EXPRESSION_BYTES = 10 * 1024
_KEPT = 512


def validate_expression(expression: str, path: str) -> list[FieldError]:
    if byte_length(expression) > MAX_EXPRESSION_BYTES:
        return [too_long(path, MAX_EXPRESSION_BYTES)]
    found = _judge(expression)
    if found is None:
        return []
    kind, message = found
    if kind is ErrorKind.FORBIDDEN:
        return [forbidden(path, message)]
    return [internal_error(path, message) if kind is ErrorKind.INTERNAL else invalid(path, expression, message)]


@lru_cache(maxsize=_KEPT)
def _judge(expression: str) -> tuple[ErrorKind, str] | None:
    from moorage.match.cel import Program, compile_expression, render_issues, taint_environment
    from moorage.match.cel.program import NOT_INSTANTIATED, TOO_COMPLEX

    program = compile_expression(expression, taint_environment())
    if isinstance(program, Program):
        return (ErrorKind.FORBIDDEN, TOO_COMPLEX) if program.exceeds_cost_limit else None
    message = render_issues(expression, program)
    return (ErrorKind.INTERNAL if message.startswith(NOT_INSTANTIATED) else ErrorKind.INVALID, message)
