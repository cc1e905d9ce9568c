"""Authorization modes decide in their order, and what cannot be had is refused at the start."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.serve.verbs.bench import new_api

from moorage.serve.access.authorization import Attributes, Decision, resource_attributes
from moorage.serve.access.modes import WrongModes, read_modes, read_policy, use_modes
from moorage.serve.pki.authentication import ADMIN, User

JANE = User("jane", groups=("devs",))
PODS = resource_attributes("get", "", "pods", namespace="a", name="p")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "at least one authorization-mode must be passed"),
        ("RBAC,Magic", 'authorization-mode "Magic" is not a valid mode'),
        ("RBAC,RBAC", 'authorization-mode "RBAC" has mode specified more than once'),
        ("RBAC,Webhook", "authorization-mode Webhook is not supported"),
        ("ABAC", "authorization policy file not passed"),
    ],
)
def test_modes_that_cannot_be_had_are_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(WrongModes, match=why):
        read_modes(text, None)


async def test_always_allow_and_always_deny() -> None:
    async with new_api() as api:
        use_modes(api, read_modes("AlwaysDeny", None))
        assert api.authorization.authorize(JANE, PODS) == Decision(False, "Everything is forbidden.")
        assert api.authorization.authorize(ADMIN, PODS).allowed
        use_modes(api, read_modes("AlwaysDeny,AlwaysAllow", None))
        assert api.authorization.authorize(JANE, PODS).allowed
        assert api.authorization.rules_for(JANE, "a").rules[0].verbs == ("*",)


def test_a_policy_file_allows_by_user_group_resource_and_path(tmp_path: Path) -> None:
    def line(**spec: Any) -> str:
        return json.dumps({"apiVersion": "abac.authorization.kubernetes.io/v1beta1", "kind": "Policy", "spec": spec})

    file = tmp_path / "policy.jsonl"
    lines = [
        "# who may do what",
        line(user="jane", namespace="a", resource="pods", apiGroup="", readonly=True),
        line(group="ops", namespace="*", resource="*", apiGroup="*"),
        line(user="*", nonResourcePath="/version*", readonly=True),
        line(namespace="*", resource="*", apiGroup="*"),
    ]
    file.write_text("\n".join(lines))
    policy = read_policy(file)
    assert policy.authorize(JANE, PODS).allowed
    assert policy.authorize(JANE, PODS._replace(verb="delete")) == Decision(False, "No policy matched.")
    assert not policy.authorize(JANE, PODS._replace(namespace="b")).allowed
    assert policy.authorize(User("x", groups=("ops",)), PODS._replace(verb="delete", namespace="b")).allowed
    assert policy.authorize(JANE, Attributes("get", path="/version/")).allowed
    assert not policy.authorize(JANE, Attributes("get", path="/metrics")).allowed
    assert [rule.resources for rule in policy.rules_for(JANE, "a").rules] == [("pods",), ()]
    file.write_text("{}\n")
    with pytest.raises(ValueError, match=r"policy.jsonl:1: not a Policy of"):
        read_policy(file)
