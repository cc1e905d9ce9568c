"""Find out what a policy reads of requests, so that an answer can be kept for requests that do not differ in it.

Pods of a template differ in their names and little else (`OWN_FIELDS`). A cache of templates may keep what a
policy answered for one of them if the policy reads nothing else (`Dependence`). What is not understood counts as read.
Differs: Kubernetes asks every policy about every request.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum

from moorage.admit.extension.kept import Kept
from moorage.admit.extension.policies.environment import (
    AUTHORIZER,
    NAMESPACE,
    OBJECT,
    OLD_OBJECT,
    PARAMS,
    REQUEST,
    VARIABLES,
)
from moorage.admit.extension.policies.mutating.touched_fields import fields_touched
from moorage.match.cel.parse import syntax
from moorage.match.cel.parse.parser import Parser, parse_by
from moorage.match.cel.parse.syntax import Source
from moorage.model.types.extension.admission_policies import (
    MatchResources,
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
)

Policy = ValidatingAdmissionPolicy | MutatingAdmissionPolicy
Binding = ValidatingAdmissionPolicyBinding | MutatingAdmissionPolicyBinding
#: A variable, and the names of the fields that lead to what is read, with all that is below.
Path = tuple[str, ...]

#: Fields in which objects of one template differ.
OWN_FIELDS: tuple[Path, ...] = tuple(
    ("metadata", name)
    for name in ("name", "generateName", "uid", "creationTimestamp", "resourceVersion", "generation", "managedFields")
)
#: Fields of `request` that are the same for all creations of a template.
_SAME_IN_REQUESTS = frozenset(
    (
        "kind",
        "resource",
        "subResource",
        "requestKind",
        "requestResource",
        "requestSubResource",
        "namespace",
        "operation",
    )
)
_ROOTS = frozenset((OBJECT, OLD_OBJECT, PARAMS, REQUEST, NAMESPACE, AUTHORIZER, VARIABLES))
#: What an expression reads that is not understood: everything.
_EVERYTHING = frozenset((name,) for name in _ROOTS)


class Dependence(IntEnum):
    """What the answer to a creation depends on: the template alone; the namespace object as well; the whole request."""

    TEMPLATE = 0
    NAMESPACE = 1
    REQUEST = 2


def paths_read(source: str) -> frozenset[Path]:
    """Return what an expression reads of its variables."""
    root = parse_by(Parser, Source(source), has_bindings=False)
    if isinstance(root, list):
        return _EVERYTHING
    return frozenset(_paths(root, frozenset()))


def policy_reads(policy: Policy) -> frozenset[Path]:
    """Return what a policy reads; a variable of the policy that is read stands for what it reads.

    What a mutation sets of the object counts as read.
    """
    return _READS.of(policy)


def dependence(policy: Policy, bindings: Iterable[Binding]) -> Dependence:
    """Return what the answer of a policy to the creation of an object depends on."""
    if policy.spec.paramKind is not None:
        return Dependence.REQUEST  # parameters come and go
    constraints = [policy.spec.matchConstraints, *(binding.spec.matchResources for binding in bindings)]
    depends = [_of_constraints(each) for each in constraints if each is not None]
    return max([*depends, *map(_of_path, policy_reads(policy))], default=Dependence.TEMPLATE)


def reads_only_template(policy: Policy, bindings: Sequence[Binding]) -> bool:
    """Return whether the answer for an object is that for any other of its template in the same namespace."""
    return dependence(policy, bindings) is Dependence.TEMPLATE


def _of_constraints(resources: MatchResources) -> Dependence:
    if any(rule.resourceNames for rule in (*resources.resourceRules, *resources.excludeResourceRules)):
        return Dependence.REQUEST
    selector = resources.namespaceSelector
    selects = selector is not None and (selector.matchLabels or selector.matchExpressions)
    return Dependence.NAMESPACE if selects else Dependence.TEMPLATE


def _of_path(path: Path) -> Dependence:
    root, *rest = path
    if root == OBJECT:
        is_own = any(_overlap(tuple(rest), own) for own in OWN_FIELDS)
        return Dependence.REQUEST if is_own else Dependence.TEMPLATE
    if root == OLD_OBJECT:
        return Dependence.TEMPLATE  # absent where an object is created
    if root == REQUEST:
        return Dependence.TEMPLATE if rest and rest[0] in _SAME_IN_REQUESTS else Dependence.REQUEST
    return Dependence.NAMESPACE if root == NAMESPACE else Dependence.REQUEST


def _overlap(path: Path, other: Path) -> bool:
    """Return whether one of two paths leads to what the other reads, or to a part of it."""
    shorter = min(len(path), len(other))
    return path[:shorter] == other[:shorter]


def _policy_reads(policy: Policy) -> frozenset[Path]:
    variables = {variable.name: variable.expression for variable in policy.spec.variables}
    waiting, known = list(_expressions(policy)), set[str]()
    read: set[Path] = set()
    if isinstance(policy, MutatingAdmissionPolicy):
        read.update(*map(fields_touched, _mutations(policy)))
    while waiting:
        for path in paths_read(waiting.pop()):
            if path[0] != VARIABLES:
                read.add(path)
                continue
            names = set(path[1:2] or variables) - known
            known |= names
            waiting += [variables[name] for name in names if name in variables]
    return frozenset(read)


def _expressions(policy: Policy) -> Iterator[str]:
    for condition in policy.spec.matchConditions:
        yield condition.expression
    if isinstance(policy, MutatingAdmissionPolicy):
        yield from _mutations(policy)
        return
    for validation in policy.spec.validations:
        yield validation.expression
        if validation.messageExpression:
            yield validation.messageExpression
    for annotation in policy.spec.auditAnnotations:
        yield annotation.valueExpression


def _mutations(policy: MutatingAdmissionPolicy) -> Iterator[str]:
    for mutation in policy.spec.mutations:
        for patch in (mutation.applyConfiguration, mutation.jsonPatch):
            if patch is not None:
                yield patch.expression


def _paths(node: syntax.Node, bound: frozenset[str]) -> Iterator[Path]:
    """Yield what a tree reads; `bound` are the variables of macros around it."""
    names: list[str] = []
    top = node
    while (step := _step(top)) is not None:
        top, key = step
        if isinstance(key, str):
            names.append(key)
        else:  # which field is read depends on what is read for it
            names.clear()
            yield from _paths(key, bound)
    if isinstance(top, syntax.Ident):
        if top.name not in bound and top.name.removeprefix(".") in _ROOTS:
            yield (top.name.removeprefix("."), *reversed(names))
        return
    if isinstance(top, syntax.Comprehension):
        inner = bound | {top.variable, top.variable2, top.accumulator}
        yield from _paths(top.range, bound)
        yield from _paths(top.init, bound)
        for part in (top.condition, top.step, top.result):
            yield from _paths(part, inner)
        return
    for child in syntax.children(top):
        yield from _paths(child, bound)


def _step(node: syntax.Node) -> tuple[syntax.Node, str | syntax.Node] | None:
    """Return what a selection selects from, and the name of the field, or how it is computed."""
    if isinstance(node, syntax.Select):
        return node.operand, node.field
    if not isinstance(node, syntax.Call) or node.function not in ("_[_]", "_[?_]", "_?._"):
        return None
    operand, key = node.args
    if isinstance(key, syntax.Literal) and isinstance(key.value, str):
        return operand, key.value
    return operand, key


_READS: Kept[Policy, frozenset[Path]] = Kept(_policy_reads)
