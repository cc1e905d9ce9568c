"""Compile the expressions of admission policies and match conditions.

CEL is imported with the first of them. Kubernetes: the compiler of apiserver's admission/plugin/cel. Differs: `request`
and `namespaceObject` are of unknown type, and expressions that make patches are parsed only.
"""

import re
from functools import cache
from typing import TYPE_CHECKING

from moorage.model.field_error import FieldError, invalid

if TYPE_CHECKING:
    from moorage.match.cel.environment import Environment

_is_identifier = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*\Z").match
_RESERVED = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"),
        *("let", "loop", "package", "namespace", "return", "var", "void", "while"),
    )
)
#: Names of the types that an expression may have.
TEXT, TEXT_OR_NULL = ("string",), ("string", "null_type")


def is_identifier(name: str) -> bool:
    return _is_identifier(name) is not None and name not in _RESERVED


@cache
def _environment(has_params: bool, has_authorizer: bool, has_variables: bool) -> "Environment":
    from moorage.match.cel import types
    from moorage.match.cel.environment import KUBERNETES_FUNCTIONS, Environment

    known = dict.fromkeys(("object", "oldObject", "request", "namespaceObject"), types.DYN)
    if has_params:
        known["params"] = types.DYN
    if has_variables:
        known["variables"] = types.DYN
    if has_authorizer:
        known |= {"authorizer": types.AUTHORIZER, "authorizer.requestResource": types.RESOURCE_CHECK}
    return Environment(KUBERNETES_FUNCTIONS, variables=known)


def validate_expression(
    expression: str,
    path: str,
    *,
    has_params: bool,
    has_authorizer: bool = True,
    has_variables: bool = False,
    results: tuple[str, ...] = ("bool",),
) -> list[FieldError]:
    """Check that an expression compiles to one of these types; with none, to any."""
    from moorage.match.cel import types
    from moorage.match.cel.program import compile_expression, render_issues

    found = compile_expression(expression, _environment(has_params, has_authorizer, has_variables))
    if isinstance(found, list):
        return [invalid(path, expression, render_issues(expression, found))]
    kind = found.result_type
    if not results or kind.declared_name in results or kind in (types.DYN, types.ANY):
        return []
    names = " ".join(results)
    wanted = names if len(results) == 1 else f"one of [{names}]"
    return [invalid(path, expression, f"must evaluate to {wanted} but got {kind.declared_name}")]


def validate_syntax(expression: str, path: str) -> list[FieldError]:
    """Check that an expression can be parsed."""
    from moorage.match.cel.parse.parser import parse
    from moorage.match.cel.parse.syntax import Source
    from moorage.match.cel.program import render_issues

    try:
        found = parse(Source(expression))
    except RecursionError:
        return [invalid(path, expression, "max recursion depth exceeded")]
    return [invalid(path, expression, render_issues(expression, found))] if isinstance(found, list) else []
