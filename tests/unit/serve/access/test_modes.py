"""Authorization modes decide in their order, and what cannot be had is refused at the start."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.serve.verbs.bench import new_api

from moorage.model.kinds import KINDS, view_of
from moorage.serve.access.authorization import Attributes, Decision, resource_attributes
from moorage.serve.access.modes import WrongModes, read_modes, read_policy, use_modes
from moorage.serve.access.node import NodeAuthorizer
from moorage.serve.pki.authentication import ADMIN, User

JANE = User("jane", groups=("devs",))
NODE = User("system:node:n1", groups=("system:nodes",))
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


def node_authorizer() -> NodeAuthorizer:
    authorizer = NodeAuthorizer()
    spec = {
        "nodeName": "n1",
        "serviceAccountName": "robot",
        "imagePullSecrets": [{"name": "pull"}],
        "containers": [
            {
                "name": "c",
                "env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "from-env", "key": "k"}}}],
                "envFrom": [{"configMapRef": {"name": "all-of-it"}}],
            }
        ],
        "volumes": [
            {"name": "v", "secret": {"secretName": "mounted"}},
            {"name": "p", "projected": {"sources": [{"configMap": {"name": "projected"}}]}},
            {"name": "d", "persistentVolumeClaim": {"claimName": "data"}},
        ],
    }
    documents: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "a"}, "spec": spec},
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data", "namespace": "a"},
            "spec": {"volumeName": "disk"},
        },
    ]
    for document in documents:
        authorizer.learn(KINDS[document["apiVersion"], document["kind"]], view_of(document))
    return authorizer


UNRELATED = "no relationship found between node 'n1' and this object"


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (("get", "", "secrets", "a", "mounted"), None),
        (("get", "", "secrets", "a", "from-env"), None),
        (("get", "", "secrets", "a", "pull"), None),
        (("watch", "", "secrets", "a", "pull"), None),
        (("get", "", "secrets", "b", "mounted"), UNRELATED),
        (("get", "", "secrets", "a", "other"), UNRELATED),
        (("list", "", "secrets", "a", ""), "No Object name found"),
        (("list", "", "secrets", "", ""), "can only read namespaced object of this type"),
        (("update", "", "secrets", "a", "mounted"), "can only read resources of this type"),
        (("get", "", "configmaps", "a", "all-of-it"), None),
        (("get", "", "configmaps", "a", "projected"), None),
        (("get", "", "persistentvolumeclaims", "a", "data"), None),
        (("get", "", "persistentvolumes", "", "disk"), None),
        (("get", "", "persistentvolumes", "", "other"), UNRELATED),
        (("get", "", "pods", "a", "p"), None),
        (("get", "", "pods", "a", "q"), UNRELATED),
        (("list", "", "pods", "", ""), "can only list/watch pods with spec.nodeName field selector"),
        (("get", "", "nodes", "", "n1"), None),
        (("get", "", "nodes", "", "n2"), "node 'n1' cannot read 'n2', only its own Node object"),
        (("list", "", "nodes", "", ""), "node 'n1' cannot read all nodes, only its own Node object"),
        (("patch", "", "nodes", "", "n1"), None),
        (("patch", "", "nodes", "", "n2"), 'node "n1" is not allowed to modify node "n2"'),
        (("update", "coordination.k8s.io", "leases", "kube-node-lease", "n1"), None),
        (
            ("update", "coordination.k8s.io", "leases", "kube-node-lease", "n2"),
            "can only access node lease with the same name as the requesting node",
        ),
        (("get", "", "services", "a", "s"), None),
        (("delete", "", "namespaces", "", "a"), ""),
    ],
)
def test_a_node_may_read_what_its_pods_refer_to(asked: tuple[str, ...], reason: str | None) -> None:
    verb, group, resource, namespace, name = asked
    decision = node_authorizer().authorize(
        NODE, resource_attributes(verb, group, resource, namespace=namespace, name=name)
    )
    assert decision == (Decision(True) if reason is None else Decision(False, reason))


def test_a_node_lists_its_own_pods_and_makes_tokens_for_their_accounts() -> None:
    authorizer = node_authorizer()
    own = resource_attributes("list", "", "pods", fields="spec.nodeName=n1")
    assert authorizer.authorize(NODE, own).allowed
    assert not authorizer.authorize(NODE, own._replace(fields="spec.nodeName=n2")).allowed
    token = resource_attributes("create", "", "serviceaccounts", subresource="token", namespace="a", name="robot")
    assert authorizer.authorize(NODE, token).allowed
    assert authorizer.authorize(NODE, token._replace(name="default")).reason == UNRELATED
    status = resource_attributes("patch", "", "pods", subresource="status", namespace="a", name="p")
    assert authorizer.authorize(NODE, status).allowed
    assert not authorizer.authorize(User("system:node:n2", groups=("system:nodes",)), status).allowed
    assert authorizer.authorize(JANE, status) == Decision(False)
    assert authorizer.rules_for(NODE, "a").incomplete
