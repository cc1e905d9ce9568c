"""Cases are judged by the answer of an API server that has the policies of the suite."""

from typing import Any

import pytest
from tests.unit.policy.policy_objects import config_map, mutating, placed, validating

from moorage.model.gates import default_gates
from moorage.policy.cases import (
    ALLOW,
    CONNECT,
    CREATE,
    DELETE,
    DENY,
    INVALID,
    UPDATE,
    Case,
    CaseUser,
    Expectation,
    PlacedCase,
    PlacedObject,
    PolicySuite,
    UnreadableCases,
)
from moorage.policy.judging import differences, run_suite, user_of
from moorage.policy.server import PolicyAnswer, PolicyCluster, PolicyRequest

pytestmark = pytest.mark.real_time  # expressions are evaluated in threads
ON_ONE = {"expression": "object == null || object.data.a == '1'", "message": "a must be 1"}


async def asked(objects: list[PlacedObject], request: PolicyRequest) -> PolicyAnswer:
    return await (await PolicyCluster.made(default_gates(), objects)).ask(request)


async def test_a_policy_denies_and_allows() -> None:
    policy = validating("one", ON_ONE)
    refused = await asked(policy, PolicyRequest(CREATE, config_map(a="2"), None))
    assert (refused.decision, refused.code) == (DENY, 422)
    assert "a must be 1" in refused.message
    assert (await asked(policy, PolicyRequest(CREATE, config_map(a="1"), None))).decision == ALLOW


async def test_an_update_finds_its_old_object_which_no_policy_has_refused() -> None:
    policy = validating(
        "grows", {"expression": "oldObject == null ? false : int(object.data.a) > int(oldObject.data.a)"}
    )
    for new, decision in (("3", ALLOW), ("1", DENY)):
        answer = await asked(policy, PolicyRequest(UPDATE, config_map(a=new), config_map(a="2")))
        assert answer.decision == decision


async def test_a_deletion_is_refused() -> None:
    policy = validating("kept", {"expression": "request.operation != 'DELETE'", "message": "stays"})
    answer = await asked(policy, PolicyRequest(DELETE, None, config_map(a="1")))
    assert (answer.decision, "stays" in answer.message) == (DENY, True)


async def test_a_command_in_a_pod_is_allowed_or_denied_though_none_can_run() -> None:
    pods = {
        "resourceRules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CONNECT"], "resources": ["pods/exec"]}
        ]
    }
    policy = validating("shells", {"expression": "!('sh' in object.command)"}, matchConstraints=pods)
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    for command, decision in (["sh"], DENY), (["ls"], ALLOW):
        options = {"apiVersion": "v1", "kind": "PodExecOptions", "command": command}
        answer = await asked(policy, PolicyRequest(CONNECT, options, pod, subresource="exec"))
        assert answer.decision == decision


async def test_what_the_api_server_refuses_is_invalid() -> None:
    broken = config_map(a="1")
    broken["metadata"]["name"] = "UPPER"
    assert (await asked(validating("one", ON_ONE), PolicyRequest(CREATE, broken, None))).decision == INVALID


async def test_users_have_the_rights_of_the_input_and_every_request_is_let_through() -> None:
    may = "authorizer.group('').resource('secrets').namespace('team').check('get').allowed()"
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "r", "namespace": "team"},
        "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}],
    }
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "b", "namespace": "team"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "name": "alice", "apiGroup": "rbac.authorization.k8s.io"}],
    }
    objects = [*validating("rights", {"expression": may}), *placed(role, binding)]
    for name, decision in (("alice", ALLOW), ("bob", DENY)):
        request = PolicyRequest(CREATE, config_map(a="1"), None, user_of(name))
        assert (await asked(objects, request)).decision == decision


async def test_mutations_warnings_and_annotations_are_compared() -> None:
    labels = "Object{metadata: Object.metadata{labels: {'by': request.userInfo.username}}}"
    note = {"key": "a", "valueExpression": "string(object.data.a)"}
    objects = [
        *mutating("label", labels),
        *validating("one", ON_ONE, actions=("Warn", "Audit"), auditAnnotations=[note]),
    ]
    answer = await asked(objects, PolicyRequest(CREATE, config_map(a="2"), None, user_of("alice")))
    good = Expectation(
        ALLOW, warnings=("a must be 1",), object={"metadata": {"labels": {"by": "alice"}}}, audit={"one/a": "2"}
    )
    assert differences(good, answer) == []
    wrong = Expectation(ALLOW, warnings=(), object={"metadata": {"labels": {"by": "bob"}}}, audit={"one/b": ""})
    unexpected, label, annotation = differences(wrong, answer)
    assert unexpected.startswith("unexpected warning")
    assert label == 'the object as admitted: metadata.labels.by is "alice", want "bob"'
    assert annotation == "expected the audit annotation one/b, which is absent"


async def test_a_wrong_decision_says_why() -> None:
    answer = await asked(validating("one", ON_ONE), PolicyRequest(CREATE, config_map(a="2"), None))
    (problem,) = differences(Expectation(ALLOW), answer)
    assert problem.startswith("expected allow, got deny: configmaps")
    (message,) = differences(Expectation(DENY, "other"), answer)
    assert message.startswith("expected a message with 'other'")


async def test_policies_that_have_no_say_are_named_where_a_refusal_was_expected() -> None:
    pods = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}]
    never = {"name": "never", "expression": "object.data.a == '3'"}
    policies = [
        *validating("admits", ON_ONE),
        *validating("conditional", {"expression": "false"}, matchConditions=[never]),
        *validating("pods", {"expression": "false"}, matchConstraints={"resourceRules": pods}),
        *validating("unbound", {"expression": "false"})[:1],
    ]
    case = PlacedCase(Case(name="c", expect=DENY), CREATE, config_map(a="1"), None, "cases.yaml", 1)
    (result,) = [each async for each in run_suite(PolicySuite("s", policies, (), (case,)), default_gates())]
    assert result.problems == (
        "expected deny, got allow: no policy has refused it",
        "ValidatingAdmissionPolicy conditional does not match: spec.matchConditions[0].expression is false",
        "ValidatingAdmissionPolicy pods does not match the request: "
        "spec.matchConstraints.resourceRules[0] has resources pods, not configmaps",
        "ValidatingAdmissionPolicy unbound does nothing: no binding of the input names it",
    )


async def test_a_subresource_that_the_kind_has_not_is_an_error() -> None:
    with pytest.raises(UnreadableCases, match="configmaps have no subresource 'exec'; known: none"):
        await asked([], PolicyRequest(CREATE, config_map(), None, subresource="exec"))


async def test_objects_that_the_api_server_refuses_are_named() -> None:
    broken = validating("one", {"expression": "object.data.a =="})
    with pytest.raises(UnreadableCases, match=r"input:1: .*compilation failed"):
        await PolicyCluster.made(default_gates(), broken)
    with pytest.raises(UnreadableCases, match=r"input:1: Widget in x\.example\.com/v1 is not served"):
        await PolicyCluster.made(default_gates(), placed({"apiVersion": "x.example.com/v1", "kind": "Widget"}))


def test_users_have_the_groups_that_the_api_server_gives_them() -> None:
    assert user_of("alice").groups == ("system:authenticated",)
    account = user_of("system:serviceaccount:team:robot").groups
    assert account == ("system:serviceaccounts", "system:serviceaccounts:team", "system:authenticated")
    assert user_of(CaseUser("bob", groups=("dev",))).groups == ("dev", "system:authenticated")
    assert "system:masters" in user_of("").groups


@pytest.mark.parametrize(
    ("old", "complaint"),
    [
        ({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}, "ConfigMap default/a is no update of Node a"),
        (
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}},
            "ConfigMap default/a is no update of ConfigMap default/b",
        ),
    ],
)
async def test_object_of_another_kind_or_name_is_no_update(old: dict[str, Any], complaint: str) -> None:
    cluster = await PolicyCluster.made(default_gates(), [])
    new = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    with pytest.raises(UnreadableCases, match=f"^the case: {complaint}$"):
        await cluster.ask(PolicyRequest(UPDATE, new, old))
