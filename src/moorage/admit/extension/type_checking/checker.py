"""Check the types of a policy's expressions against the schemas of the kinds that its rules name.

What is found does not keep a policy from working: `object` may be anything where it runs. Validations and their
messages are checked; variables only where those read them. Kubernetes: plugin/policy/validating/typechecking.go.
Differs: types in texts have the name of the kind, without a number; an expression may be too long to be checked.
"""

from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from moorage.admit.extension.attributes import ObjectKind
from moorage.admit.extension.policies.environment import (
    OBJECT,
    OLD_OBJECT,
    PARAMS,
    REQUEST_RESOURCE,
    Offered,
    policy_environment,
    type_of_variable,
)
from moorage.admit.extension.type_checking.known_kinds import KnownKind, KnownKinds
from moorage.admit.extension.type_checking.object_types import UNKNOWN, ObjectTypes
from moorage.admit.raw import Raw
from moorage.custom.expressions.built_in_types import AS_DOCUMENTS, PUBLISHED, Declaring
from moorage.match.cel.environment import Environment, ObjectField
from moorage.match.cel.parse.syntax import Issue, Source
from moorage.match.cel.program import check_expression
from moorage.match.cel.types import Type
from moorage.model.types.extension.admission_policies import ParamKind, ValidatingAdmissionPolicy, Variable

#: The steps of a check: each takes as long as one expression does.
Checking = Generator[None, None, list["Mistyped"]]


class Mistyped(NamedTuple):
    """An expression of a policy that does not fit some of its kinds: what is wrong with it for each of them."""

    field: str  # of the policy: "spec.validations[0].expression"
    expression: str
    problems: tuple[tuple[ObjectKind, tuple[Issue, ...]], ...]

    @property
    def warning(self) -> str:
        """The text of the status."""
        source = Source(self.expression)
        return "\n".join(f"{_shown(kind)}: {source.render(list(issues))}\n" for kind, issues in self.problems)


def check_policy(
    policy: ValidatingAdmissionPolicy,
    definitions: Iterable[Raw],
    longest: int | None = None,
    *,
    as_it_runs: bool = False,
) -> Checking:
    """Check the expressions of a policy, where these CustomResourceDefinitions add kinds, in steps.

    An expression of more characters than `longest` is left out. Kubernetes' checks find fault with much that runs all
    the same: amounts, fields that keep what is unknown, `authorizer.requestResource`. `as_it_runs` leaves that out.
    """
    spec, known = policy.spec, KnownKinds(definitions)
    params = _params_of(spec.paramKind, known)
    typed = []
    for kind in known.of_rules(spec.matchConstraints):
        environment = _Typed(kind, params, has_params=spec.paramKind is not None, as_it_runs=as_it_runs)
        typed.append(environment)
        yield
        for variable in spec.variables:
            environment.add_variable(variable, longest)
            yield
    found = []
    for field, expression in _checked_expressions(policy):
        if longest is not None and len(expression) > longest:
            continue
        problems = []
        for environment in typed:
            answer = check_expression(expression, environment.environment)
            if isinstance(answer, list):
                problems.append((environment.kind, tuple(answer)))
            yield
        if problems:
            found.append(Mistyped(field, expression, tuple(problems)))
    return found


def mistyped_expressions(
    policy: ValidatingAdmissionPolicy,
    definitions: Iterable[Raw],
    longest: int | None = None,
    *,
    as_it_runs: bool = False,
) -> list[Mistyped]:
    """Check all expressions of a policy at once."""
    steps = check_policy(policy, definitions, longest, as_it_runs=as_it_runs)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: list[Mistyped] = end.value
            return found


def _checked_expressions(policy: ValidatingAdmissionPolicy) -> Iterator[tuple[str, str]]:
    for index, validation in enumerate(policy.spec.validations):
        yield f"spec.validations[{index}].expression", validation.expression
        if validation.messageExpression:
            yield f"spec.validations[{index}].messageExpression", validation.messageExpression


def _params_of(kind: ParamKind | None, known: KnownKinds) -> KnownKind | None:
    if kind is None:
        return None
    group, _, version = kind.apiVersion.rpartition("/")
    return known.find(ObjectKind(group, version, kind.kind))


class _Typed:
    """The environment of a policy's expressions where its objects are of one kind."""

    def __init__(self, known: KnownKind, params: KnownKind | None, *, has_params: bool, as_it_runs: bool) -> None:
        self.kind = known.kind
        self._variables: dict[str, ObjectField] = {}
        base = policy_environment(Offered(has_params, authorizer=True), self._variables)
        declaring = AS_DOCUMENTS if as_it_runs else PUBLISHED
        own, of_params = known.types(declaring), _types_of_params(params, known, declaring)
        names = {**base.variables, OBJECT: own.type, OLD_OBJECT: own.type}
        if not as_it_runs:
            del names[REQUEST_RESOURCE]
        if has_params:
            names[PARAMS] = of_params.type
        objects = {**base.objects, **of_params.objects, **own.objects}
        self.environment: Environment = replace(base, variables=names, objects=objects)

    def add_variable(self, variable: Variable, longest: int | None) -> None:
        """Declare a variable; what cannot be checked is of unknown type."""
        result: Type | None = None
        if longest is None or len(variable.expression) <= longest:
            answer = check_expression(variable.expression, self.environment)
            result = None if isinstance(answer, list) else answer
        self._variables[variable.name] = ObjectField(type_of_variable(result))


def _types_of_params(params: KnownKind | None, known: KnownKind, declaring: Declaring) -> ObjectTypes:
    """Declare parameters, under another name than the objects that they are for."""
    if params is None:
        return UNKNOWN
    return params.types(declaring, "2" if params.kind.kind == known.kind.kind else "")


def _shown(kind: ObjectKind) -> str:
    """Return a kind as Go prints a GroupVersionKind."""
    return f"{kind.group}/{kind.version}, Kind={kind.kind}"
