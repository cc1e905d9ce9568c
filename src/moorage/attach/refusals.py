"""Refuse what cannot be lowered, in the words of the API server that knows the operators.

Kubernetes: refuses the operators themselves. Differs: a version that no label can be compared with (a pre-release, or
one with a part of a million or more) is refused in node affinity; in a toleration it becomes a match label.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from moorage.admit.options import options_for_create
from moorage.admit.pod.selectors import validate_node_affinity
from moorage.admit.pod.tolerations import validate_keyed_expression, validate_tolerations
from moorage.attach.alternatives import version_requirement
from moorage.attach.formats import CEL, Raw, version_label
from moorage.attach.tolerations import is_comparing, is_left
from moorage.model.field_error import AsJSON, FieldError, FieldErrors, forbidden, invalid, too_many
from moorage.model.gates import gates_from
from moorage.model.schema.conversion import ConversionError, TypeProblem, convert_view
from moorage.model.types.pod import NodeAffinity, Toleration

_OPTIONS = options_for_create(gates_from({"AllAlpha": True}))
_SEMVER: Final = "Semver"
USE_CEL: Final = (
    "may not be set: the cluster does not know the field; write operator CEL with a key, and the expression as value"
)
NOT_A_RELEASE: Final = "must be a release with parts below 1000000, because labels of nodes are compared as numbers"
#: More tolerations than this are not lowered: what they cost would grow with the square of their number.
MAX_TOLERATIONS: Final = 256
NOT_MIRRORED: Final = "is no label whose version nodes mirror"


class Refused(Exception):
    """A pod that cannot be lowered, with all reasons."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        super().__init__("; ".join(map(str, errors)))
        self.errors = tuple(errors)


class Unreadable(Exception):
    """A pod whose tolerations or node affinity are not of their types: the path of each field, and why."""

    def __init__(self, problems: Sequence[TypeProblem]) -> None:
        super().__init__("; ".join(problem.reason for problem in problems))
        self.problems = tuple(problems)


def read_tolerations(tolerations: Sequence[Raw], path: str) -> list[Toleration]:
    """Return the tolerations as views. Raises Unreadable."""
    read = []
    for index, toleration in enumerate(tolerations):
        try:
            read.append(convert_view(toleration, Toleration))
        except ConversionError as error:
            raise Unreadable(_below(error, f"{path}[{index}]")) from None
    return read


def _below(error: ConversionError, path: str) -> list[TypeProblem]:
    return [
        TypeProblem(f"{path}.{problem.path}" if problem.path else path, problem.reason) for problem in error.problems
    ]


def check_count(tolerations: Sequence[Raw], path: str) -> list[FieldError]:
    """Return an error if there are more tolerations than can be lowered."""
    count = len(tolerations)
    return [too_many(path, count, MAX_TOLERATIONS)] if count > MAX_TOLERATIONS else []


def check_tolerations(
    tolerations: Sequence[Raw], path: str, native: Collection[str] = (), *, compiles: bool = True
) -> list[FieldError]:
    """Return what is wrong with the comparisons to be lowered; all else the API server checks. Raises Unreadable.

    Expressions may be long: they are compiled here only if it `compiles`.
    """
    if errors := check_count(tolerations, path):
        return errors
    views = read_tolerations(tolerations, path)
    errors = []
    for index, (toleration, view) in enumerate(zip(tolerations, views, strict=True)):
        at = f"{path}[{index}]"
        if view.expression:
            errors.append(forbidden(f"{at}.expression", USE_CEL))
        elif is_left(toleration, native):
            continue
        elif view.operator == CEL:
            errors += validate_keyed_expression(view, at, "value", compiles=compiles)
        elif is_comparing(toleration):
            errors += (_placed(error, path, index) for error in validate_tolerations([view], path, _OPTIONS))
    return errors


def _placed(error: FieldError, path: str, index: int) -> FieldError:
    """Return an error about the only toleration of a list as one about that of this index."""
    at = f"{path}[{index}]" + error.path.removeprefix(f"{path}[0]")
    return FieldError(error.kind, at, error.rendered_value, error.detail)


def is_version_comparison(expression: Raw) -> bool:
    operator = expression.get("operator")
    return isinstance(operator, str) and operator.startswith(_SEMVER)


def check_node_affinity(affinity: Raw, path: str) -> list[FieldError]:
    """Return what is wrong with the version comparisons of node affinity. Raises Unreadable."""
    try:
        view = convert_view(affinity, NodeAffinity)
    except ConversionError as error:
        raise Unreadable(_below(error, path)) from None
    ours = {place for place, _ in _version_comparisons(affinity, path)}
    errors = [error for error in validate_node_affinity(view, path, _OPTIONS) if _place_of(error.path) in ours]
    return errors or [error for place, each in _version_comparisons(affinity, path) for error in _limits(each, place)]


def _place_of(path: str) -> str:
    """Return the path of the requirement that a path is below."""
    before, name, index = path.partition(".matchExpressions[")
    return f"{before}{name}{index.partition(']')[0]}]"


def _version_comparisons(affinity: Raw, path: str) -> Iterable[tuple[str, Raw]]:
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    preferred = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or []
    at = f"{path}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    terms = [(f"{at}[{index}]", term) for index, term in enumerate(required.get("nodeSelectorTerms") or [])]
    at = f"{path}.preferredDuringSchedulingIgnoredDuringExecution"
    terms += [(f"{at}[{index}].preference", each.get("preference") or {}) for index, each in enumerate(preferred)]
    for place, term in terms:
        for index, expression in enumerate(term.get("matchExpressions") or []):
            if is_version_comparison(expression):
                yield f"{place}.matchExpressions[{index}]", expression


def _limits(expression: Raw, path: str) -> FieldErrors:
    label = version_label(expression["key"])
    if label is None:
        yield invalid(f"{path}.key", expression["key"], NOT_MIRRORED)
    elif version_requirement(expression["operator"], expression["values"][0], label) is None:
        yield invalid(f"{path}.values", AsJSON(expression["values"]), NOT_A_RELEASE)
