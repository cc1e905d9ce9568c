"""Tell which field of an object an expression of a policy is about, so that a finding can name its line.

The fields are those that the expression reads of `object`, also through variables of the policy. Of several, the first
below `spec` counts that the object has, for metadata are often read to choose objects.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from moorage.admit.extension.remarks import Failure
from moorage.admit.raw import Raw
from moorage.match.cel.parse.parser import parse
from moorage.match.cel.parse.syntax import Call, Ident, Literal, Node, Select, Source, children
from moorage.model.kinds import KINDS
from moorage.model.types.extension.admission_policies import MutatingAdmissionPolicy, ValidatingAdmissionPolicy

_OBJECT, _VARIABLES = "object", "variables"
_MAX_DEPTH = 8
_MAX_FIELDS = 100
_INDEX, _OPTIONAL = ("_[_]", "_[?_]"), "_?._"

DENY = "Deny"


class Policies(Protocol):
    """What finds a policy by its name."""

    def validating_policies(self) -> Sequence[ValidatingAdmissionPolicy]: ...

    def mutating_policies(self) -> Sequence[MutatingAdmissionPolicy]: ...


#: Names of fields, and indices of lists.
Steps = tuple[str | int, ...]


def field_of(expression: str, variables: Mapping[str, str], document: Raw) -> str:
    """Return the path of the field that an expression is about; empty if it cannot be told.

    `variables` are the expressions of the policy's variables, by name.
    """
    read = _Reading(variables)
    fields = list(dict.fromkeys(read.fields(expression)))[:_MAX_FIELDS]
    fields.sort(key=lambda steps: (not _has(document, steps), steps[:1] == ("metadata",)))
    return _path(fields[0]) if fields else ""


def refused_field(failures: Iterable[Failure], policies: Policies, document: Raw) -> str:
    """Return the path of the field for which policies refuse a document; empty if it cannot be told."""
    for failure in failures:
        if DENY in failure.actions and failure.expression:
            return field_of(failure.expression, variables_of(failure, policies), document)
    return ""


def variables_of(failure: Failure, policies: Policies) -> Mapping[str, str]:
    """Return the expressions of the variables of a policy that something fails."""
    kind, _, name = failure.source.partition(" ")
    is_mutating = kind == KINDS.MUTATING_ADMISSION_POLICY.name
    known: Sequence[Any] = policies.mutating_policies() if is_mutating else policies.validating_policies()
    policy = next((one for one in known if one.metadata.name == name), None)
    return {} if policy is None else {one.name: one.expression for one in policy.spec.variables}


class _Reading:
    """Reads expressions of one policy. What is not a plain path of fields ends the path."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self._depth = 0

    def fields(self, expression: str) -> Iterator[Steps]:
        """Yield the fields of the object that are read, in the order of the source."""
        tree = parse(Source(expression))
        if isinstance(tree, Node) and self._depth < _MAX_DEPTH:
            self._depth += 1
            yield from self._below(tree)
            self._depth -= 1

    def _below(self, root: Node) -> Iterator[Steps]:
        pending = [root]
        while pending:
            node = pending.pop()
            steps = _steps(node)
            name = steps[0] if steps else None
            if name == _OBJECT and len(steps) > 1:
                yield steps[1:]
            elif name == _VARIABLES and len(steps) > 1:
                for start in self.fields(self._variables.get(str(steps[1]), "")):
                    yield (*start, *steps[2:])
            else:
                pending += reversed(children(node))


def _steps(node: Node) -> Steps:
    """Return a plain path, which begins with the name of a variable; empty if the node is something else."""
    steps: list[str | int] = []
    while True:
        if isinstance(node, Select):
            steps.append(node.field)
            node = node.operand
        elif isinstance(node, Call) and node.function == _OPTIONAL and isinstance(node.args[1], Literal):
            steps.append(str(node.args[1].value))
            node = node.args[0]
        elif isinstance(node, Call) and node.function in _INDEX and isinstance(node.args[1], Literal):
            value: Any = node.args[1].value
            if not isinstance(value, str | int):
                return ()
            steps.append(value)
            node = node.args[0]
        else:
            break
    if not isinstance(node, Ident):
        return ()
    return (node.name, *reversed(steps))


def _has(document: Any, steps: Steps) -> bool:
    for step in steps:
        is_there = step in document if isinstance(document, dict) else _is_index(document, step)
        if not is_there:
            return False
        document = document[step]
    return True


def _is_index(document: Any, step: str | int) -> bool:
    return isinstance(document, list) and isinstance(step, int) and 0 <= step < len(document)


def _path(steps: Steps) -> str:
    """Write steps as findings do; a name that is no word of its own ends them, such as that of a label."""
    path = ""
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        elif not step.isidentifier():
            break
        else:
            path += f".{step}" if path else step
    return path
