"""Policies: the index finds what matches, bindings decide what failures lead to, answers depend on what was read."""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices
from tests.unit.admit.extension.plain_world import WIDGETS, PlainWorld, config_map, creation

from moorage.admit.extension.attributes import Attributes, ObjectResource
from moorage.admit.extension.candidates import Candidates, ItemRules
from moorage.admit.extension.matching.matcher import match_resources
from moorage.admit.extension.matching.reasons import why_unmatched
from moorage.admit.extension.matching.rules import RequestRule, compile_rules
from moorage.admit.extension.policies.asked_policies import policy_rules
from moorage.admit.extension.policies.compiled import ANYTHING, compile_for
from moorage.admit.extension.policies.documents import shown_document
from moorage.admit.extension.policies.environment import Offered, policy_environment
from moorage.admit.extension.policies.reads import Path, paths_read
from moorage.admit.extension.policies.validating import validate_by_policies
from moorage.admit.extension.remarks import Remarks
from moorage.admit.extension.steps import without_calls
from moorage.admit.raw import Raw
from moorage.match.cel.values import CelError
from moorage.model.api_error import ApiError
from moorage.model.schema.conversion import convert_view
from moorage.model.types.extension.admission_policies import NamedRuleWithOperations, ValidatingAdmissionPolicy

# -- the index

_RULES = st.fixed_dictionaries(
    {
        "operations": st.sampled_from([["*"], ["CREATE"], ["DELETE", "UPDATE"]]),
        "apiGroups": st.sampled_from([["*"], [""], [WIDGETS]]),
        "apiVersions": st.sampled_from([["*"], ["v1"], ["v1beta1"]]),
        "resources": st.lists(
            st.sampled_from(["*", "*/*", "*/scale", "configmaps", "widgets", "widgets/scale", "widgets/*"]),
            min_size=1,
            max_size=2,
        ),
    }
)
_CONSTRAINTS = st.fixed_dictionaries(
    {"resourceRules": st.lists(_RULES, max_size=2), "matchPolicy": st.sampled_from(["Exact", "Equivalent"])}
)
_REQUESTS = st.builds(
    lambda operation, resource, subresource: creation(
        config_map(), operation=operation, resource=resource, subresource=subresource
    ),
    st.sampled_from(["CREATE", "UPDATE", "CONNECT"]),
    st.sampled_from([ObjectResource("", "v1", "configmaps"), ObjectResource(WIDGETS, "v1", "widgets")]),
    st.sampled_from(["", "scale"]),
)
Rules = Callable[[ValidatingAdmissionPolicy], ItemRules]


def index_law(rules: Rules) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(st.lists(_CONSTRAINTS, max_size=5), st.lists(_REQUESTS, max_size=4))
    def law(constraints: list[Raw], requests: list[Attributes]) -> None:
        world = PlainWorld()
        for number, each in enumerate(constraints):
            world.put_policy(f"p{number}", {"matchConstraints": each})
        candidates = Candidates(lambda given: given.validating_policies(), rules)
        for request in [*requests, *requests]:
            expected = [
                policy
                for policy in world.policies
                if match_resources(policy.spec.matchConstraints, request, world) is not None
            ]
            assert list(candidates.of(request, world)) == expected

    return law


def _exactly(policy: ValidatingAdmissionPolicy) -> ItemRules:
    return policy_rules(policy)._replace(is_equivalent=False)


test_the_index_finds_the_policies_that_match = index_law(policy_rules)


def test_an_index_without_equivalent_versions_is_noticed() -> None:
    assert_notices(index_law(_exactly))


# -- the reasons of those that do not match

_SELECTORS = st.sampled_from([{}, {"matchLabels": {"env": "prod"}}, {"matchLabels": {"env": "dev"}}])
_NAMED_RULES = st.builds(
    lambda rule, scope, names: {**rule, "scope": scope, "resourceNames": names},
    _RULES,
    st.sampled_from(["*", "Cluster", "Namespaced"]),
    st.sampled_from([[], ["c"], ["other"]]),
)
_SELECTING = st.fixed_dictionaries(
    {
        "resourceRules": st.lists(_NAMED_RULES, max_size=2),
        "excludeResourceRules": st.lists(_NAMED_RULES, max_size=2),
        "matchPolicy": st.sampled_from(["Exact", "Equivalent"]),
        "namespaceSelector": _SELECTORS,
        "objectSelector": _SELECTORS,
    }
)
Reason = Callable[[RequestRule, Attributes, ObjectResource], "str | None"]


def rule_reason_law(reason: Reason) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(_NAMED_RULES, _REQUESTS)
    def law(rule: Raw, request: Attributes) -> None:
        (compiled,) = compile_rules([convert_view(rule, NamedRuleWithOperations)])
        matches = compiled.matches(request, request.resource) and compiled.matches_name(request.name)
        assert (reason(compiled, request, request.resource) is None) is matches

    return law


test_a_rule_has_an_objection_exactly_if_it_does_not_match = rule_reason_law(RequestRule.objection)


def test_an_objection_that_forgets_scopes_is_noticed() -> None:
    def forgetful(rule: RequestRule, attributes: Attributes, resource: ObjectResource) -> str | None:
        return rule._replace(scope="").objection(attributes, resource)

    assert_notices(rule_reason_law(forgetful))


@LAW_SETTINGS
@given(_SELECTING, _REQUESTS)
def test_a_policy_has_a_reason_exactly_if_it_does_not_match(constraints: Raw, request: Attributes) -> None:
    world = PlainWorld()
    world.put_namespace("team-a", env="dev")
    policy = world.put_policy("p", {"matchConstraints": constraints})
    matched = match_resources(policy.spec.matchConstraints, request, world)
    assert policy.spec.matchConstraints is not None
    reason = why_unmatched(policy.spec.matchConstraints, request, world, "spec.matchConstraints")
    assert (reason is None) is (matched is not None)
    assert reason is None or ": None" not in reason
    assert reason is None or " has None" not in reason


# -- decisions

_OUTCOMES = {"holds": "true", "fails": "1 == 2", "breaks": "1 / 0 == 1"}
_ACTIONS = st.sampled_from([["Deny"], ["Warn"], ["Audit"], ["Warn", "Audit"], ["Deny", "Audit"]])


class PolicyCase(NamedTuple):
    """A policy by what its expressions come to, and the actions of its bindings."""

    ignores: bool
    condition: str
    validations: list[str]
    bindings: list[list[str]]


_POLICIES = st.builds(
    PolicyCase,
    st.booleans(),
    st.sampled_from(sorted(_OUTCOMES)),
    st.lists(st.sampled_from(sorted(_OUTCOMES)), max_size=3),
    st.lists(_ACTIONS, min_size=1, max_size=2),
)


class Answer(NamedTuple):
    refusal: str
    warnings: list[str]
    audited: str


def _said(number: int, binding: int, message: str, *, denies: bool) -> str:
    about = f"ValidatingAdmissionPolicy 'p{number}' with binding 'b{binding}'"
    return f"{about} denied request: {message}" if denies else f"Validation failed for {about}: {message}"


def _failures(policy: PolicyCase) -> Iterator[str]:
    """Yield the messages of what does not pass, as the semantics of policies say."""
    error = "expression '1 / 0 == 1' resulted in error: division by zero"
    if policy.condition != "holds":
        if policy.condition == "breaks" and not policy.ignores:
            yield error
        return
    for number, outcome in enumerate(policy.validations):
        if outcome == "fails":
            yield f"v{number}"
        elif outcome == "breaks" and not policy.ignores:
            yield error


def expected_answer(policies: Sequence[PolicyCase]) -> Answer:
    denials, warnings, audited = [], [], []
    for number, policy in enumerate(policies):
        for binding, actions in enumerate(policy.bindings, 1):
            for message in _failures(policy):
                denials += [_said(number, binding, message, denies=True)] * ("Deny" in actions)
                warnings += [_said(number, binding, message, denies=False)] * ("Warn" in actions)
                audited += [message] * ("Audit" in actions)
    return Answer(denials[0] if denials else "", warnings, audited[0] if audited else "")


def asked(policies: Sequence[PolicyCase]) -> Answer:
    world = PlainWorld()
    world.put_namespace("team-a")
    for number, policy in enumerate(policies):
        spec = {
            "failurePolicy": "Ignore" if policy.ignores else "Fail",
            "matchConditions": [{"name": "c", "expression": _OUTCOMES[policy.condition]}],
            "validations": [
                {"expression": _OUTCOMES[outcome], "message": f"v{index}"}
                for index, outcome in enumerate(policy.validations)
            ],
        }
        world.put_policy(f"p{number}", spec, *({"validationActions": actions} for actions in policy.bindings))
    remarks, refusal = Remarks(), ""
    try:
        without_calls(validate_by_policies(creation(config_map()), world, remarks))
    except ApiError as error:
        refusal = error.message.partition("is forbidden: ")[2]
    audited = remarks.audit.get("validation.policy.admission.k8s.io/validation_failure", '"message":""')
    return Answer(refusal, remarks.warnings, audited.partition('"message":"')[2].partition('"')[0])


def decision_law(ask: Callable[[Sequence[PolicyCase]], Answer]) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(st.lists(_POLICIES, max_size=3))
    def law(policies: list[PolicyCase]) -> None:
        assert ask(policies) == expected_answer(policies)

    return law


def _failures_are_ignored_too(policies: Sequence[PolicyCase]) -> Answer:
    return asked([policy for policy in policies if not policy.ignores])


test_failures_lead_to_what_bindings_say = decision_law(asked)


def test_policies_that_ignore_failures_are_noticed() -> None:
    assert_notices(decision_law(_failures_are_ignored_too))


# -- what is read

_VALUES = st.sampled_from(["a", "b", "x"])
_DOCUMENTS = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries({"name": _VALUES, "labels": st.dictionaries(_VALUES, _VALUES, max_size=2)}),
        "spec": st.fixed_dictionaries({"a": _VALUES, "b": _VALUES}),
        "data": st.dictionaries(_VALUES, _VALUES, max_size=3),
    }
)
_TERMS = (
    "object.spec.a",
    "object.spec['b']",
    "object.?data.?x.orValue('z')",
    "object.data[object.spec.a]",
    "object['spec'][object.metadata.name]",
    "string(size(object.data))",
    "string(object.metadata.labels.exists(k, k == 'x'))",
    "string([object].exists(o, o.spec.a == 'x'))",
    "object.spec.map(k, object.spec[k])[0]",
    "string(has(object.data.x))",
    "string('a' in object.data)",
    "string(dyn(object).spec == object.spec)",
    "(object.spec.a == 'a' ? object.data : object.metadata.labels).x",
    "[1].map(object, 'shadowed')[0]",
    "'constant'",
)
_EXPRESSIONS = st.lists(st.sampled_from(_TERMS), min_size=1, max_size=3).map(" + ".join)
_ENVIRONMENT = policy_environment(Offered())


def _value(expression: str, document: Raw) -> Any:
    program = compile_for(expression, _ENVIRONMENT, ANYTHING).program
    assert program is not None
    try:
        return program.run({"object": shown_document(document)})
    except CelError as error:
        return str(error)


def _changed(document: Raw, other: Raw, read: set[Path]) -> Raw:
    """Return a document that differs from the first in what is not read, and has there what the second has."""
    changed = deepcopy(document)
    for part, fields in other.items():
        covered = [path[2:] for path in read if path[1:2] in ((), (part,))]
        if () in covered:
            continue
        for name in {*fields, *document[part]}:
            if (name,) in {path[:1] for path in covered}:
                continue
            if name in fields:
                changed[part][name] = fields[name]
            else:
                del changed[part][name]
    return changed


def reading_law(read_by: Callable[[str], frozenset[Path]]) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(_EXPRESSIONS, _DOCUMENTS, _DOCUMENTS)
    def law(expression: str, document: Raw, other: Raw) -> None:
        read = {path for path in read_by(expression) if path[0] == "object"}
        assert _value(expression, _changed(document, other, read)) == _value(expression, document)

    return law


def _longest_paths_only(expression: str) -> frozenset[Path]:
    return frozenset(path for path in paths_read(expression) if len(path) > 2)


test_answers_depend_on_what_was_read = reading_law(paths_read)


def test_reading_less_than_whole_parts_is_noticed() -> None:
    assert_notices(reading_law(_longest_paths_only))
