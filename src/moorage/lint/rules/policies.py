"""Find admission policies and bindings of the input that do nothing, or not what was meant.

A policy and its binding may not find each other. What is not in the input may be in the cluster: where the input has no
bindings, or no policies, at all, it is a note. An expression may not fit the kinds that a policy is for. Kubernetes:
accepts all of it, applies a policy through each binding that names it, and checks types when it is stored.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from moorage.lint.catalogue import WARNING, Facts, Rule, Theme, collector, declare
from moorage.lint.facts.served_kinds import version_of_kind
from moorage.lint.finding import Severity, SourcePlace
from moorage.lint.meant_words import did_you_mean
from moorage.lint.subject import Complaint, PlacedComplaint, Subject
from moorage.model.gates import GateSet
from moorage.model.kinds import KINDS
from moorage.model.types.extension.admission_policies import ValidatingAdmissionPolicy

_MAX_KEPT = 10_000
_UNBOUND, _MISSING = "policy-unbound", "policy-missing"
#: The kind of a policy → that of its bindings.
_BINDINGS = {
    KINDS.VALIDATING_ADMISSION_POLICY.name: KINDS.VALIDATING_ADMISSION_POLICY_BINDING.name,
    KINDS.MUTATING_ADMISSION_POLICY.name: KINDS.MUTATING_ADMISSION_POLICY_BINDING.name,
}
_POLICIES = {binding: policy for policy, binding in _BINDINGS.items()}


declare(
    Theme.POLICIES,
    Rule("policy-older-version", WARNING, "A policy or binding is of an older version, which is not looked at."),
)


def older_policy(raw: dict[str, Any]) -> Complaint | None:
    """Report a policy or binding of another version than the one that is applied: it is passed over."""
    kind, version = str(raw["kind"]), str(raw["apiVersion"])
    known = version_of_kind(kind)
    if (kind not in _BINDINGS and kind not in _POLICIES) or version == known:
        return None
    text = f"{kind} in {version} is passed over: what it would change or refuse is not known here"
    hint = f"write apiVersion: {known}, which has the same fields; clusters serve {version} only if it is switched on"
    return Complaint("policy-older-version", "apiVersion", text, hint)


class _Named(NamedTuple):
    """A policy by its name, or a binding by the name of its policy, and where that stands."""

    kind: str
    name: str
    place: SourcePlace


@collector(
    Theme.POLICIES,
    Rule(_UNBOUND, WARNING, "No binding of the input names the policy, so that it does nothing."),
    Rule(_MISSING, WARNING, "The policy that a binding names is not in the input."),
)
class PolicyNames:
    """The policies of the input and what its bindings name."""

    def __init__(self, gates: GateSet) -> None:
        self._policies: list[_Named] = []
        self._bindings: list[_Named] = []

    def add(self, subject: Subject) -> None:
        kept, path = self._policies, "metadata.name"
        if subject.kind in _POLICIES:
            kept, path = self._bindings, "spec.policyName"
        elif subject.kind not in _BINDINGS:
            return
        view = subject.view
        name = view.spec.policyName if kept is self._bindings else view.metadata.name
        if len(kept) < _MAX_KEPT:
            kept.append(_Named(subject.kind, name, subject.place(path)))

    def complaints(self, facts: Facts) -> Iterator[PlacedComplaint]:
        if max(len(self._policies), len(self._bindings)) >= _MAX_KEPT:
            return
        bound, known = _names(self._bindings), _names(self._policies)
        for policy in self._policies:
            kind = _BINDINGS[policy.kind]
            names = bound.get(kind, set())
            if policy.name not in names:
                text = f"no {kind} of the input names the policy, so that it does nothing"
                hint = did_you_mean(policy.name, names) or f"add one with `policyName: {policy.name}`"
                yield _complaint(_UNBOUND, policy, text, hint, is_sure=bool(names))
        for binding in self._bindings:
            kind = _POLICIES[binding.kind]
            names = known.get(kind, set())
            if binding.name not in names:
                text = f"{kind} {binding.name} is not in the input; without it, the binding does nothing"
                yield _complaint(_MISSING, binding, text, did_you_mean(binding.name, names), is_sure=bool(names))


def _names(named: list[_Named]) -> dict[str, set[str]]:
    """Return the names by kind."""
    names: dict[str, set[str]] = {}
    for one in named:
        names.setdefault(one.kind, set()).add(one.name)
    return names


def _complaint(rule: str, named: _Named, text: str, hint: str, *, is_sure: bool) -> PlacedComplaint:
    severity = None if is_sure else Severity.INFO
    return Complaint(rule, named.place.path, text, hint, severity=severity), named.place


_MISTYPED = "policy-mistyped"
_MAX_CHECKED, _MAX_DEFINITIONS = 1_000, 500
#: Characters of an expression; it takes a tenth of a second to check as many.
_LONGEST = 10 * 1024


class _Checked(NamedTuple):
    """A policy to be checked, and where its expressions stand."""

    policy: ValidatingAdmissionPolicy
    places: dict[str, SourcePlace]


@collector(
    Theme.POLICIES,
    Rule(_MISTYPED, WARNING, "An expression of a policy does not fit a kind that the policy is for."),
)
class PolicyTypes:
    """The policies of the input, and the definitions of custom kinds that they may be for."""

    def __init__(self, gates: GateSet) -> None:
        self._policies: list[_Checked] = []
        self._definitions: list[dict[str, Any]] = []

    def add(self, subject: Subject) -> None:
        view = subject.view
        if subject.kind == KINDS.CUSTOM_RESOURCE_DEFINITION.name:
            if len(self._definitions) < _MAX_DEFINITIONS:
                self._definitions.append(subject.document.raw)
        elif isinstance(view, ValidatingAdmissionPolicy) and len(self._policies) < _MAX_CHECKED:
            fields = [
                f"spec.validations[{index}].{field}"
                for index in range(len(view.spec.validations))
                for field in ("expression", "messageExpression")
            ]
            self._policies.append(_Checked(view, {field: subject.place(field) for field in fields}))

    def complaints(self, facts: Facts) -> Iterator[PlacedComplaint]:
        for policy, places in self._policies:
            for field, text in _mistyped(policy, self._definitions):
                hint = "Kubernetes accepts the policy, and tells this in its `status.typeChecking` alone"
                yield Complaint(_MISTYPED, field, text, hint), places[field]


def _mistyped(policy: ValidatingAdmissionPolicy, definitions: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield the fields of expressions that compile and do not fit, with what is wrong."""
    from moorage.admit.extension.policies.compiled import ANYTHING, PolicyCompiler
    from moorage.admit.extension.type_checking.checker import mistyped_expressions

    found = mistyped_expressions(policy, definitions, _LONGEST, as_it_runs=True)
    if not found:
        return
    compiler = PolicyCompiler(policy.spec.variables, has_params=policy.spec.paramKind is not None)
    for one in found:
        if compiler.compile(one.expression, ANYTHING).program is None:
            continue  # which the API server refuses
        kinds = [f"{kind.kind} of {kind.group or 'core'}/{kind.version}" for kind, _ in one.problems]
        issues = [issue.message for issue in one.problems[0][1]]
        yield one.field, f"the expression does not fit {', '.join(kinds)}: {'; '.join(issues)}"
