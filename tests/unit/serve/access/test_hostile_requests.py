"""Requests that are made to look like less than they are."""

from typing import Any

import pytest
from tests.objects import pod
from tests.unit.admit.objects import certificate_request
from tests.unit.serve.access.policies import role_index
from tests.unit.serve.access.test_rbac_requests import (
    APPLY,
    GROUP,
    JANE,
    JSON,
    NODE,
    PODS,
    RBAC,
    ask,
    grant,
    new_handler,
)

from moorage.model.types.policy import PolicyRule
from moorage.serve.access.authorization import attributes_of
from moorage.serve.access.guard import describe_rules, uncovered
from moorage.serve.http.messages import Request
from moorage.serve.pki.authentication import AUTHENTICATED, User

SECRETS = "/api/v1/namespaces/default/secrets"
WATCHED = PODS.replace("/v1/", "/v1/watch/")


async def test_a_path_of_watches_does_nothing_but_watch() -> None:
    async with new_handler() as handler:
        await ask(handler, "POST", PODS, pod("web"))
        await grant(handler, ["watch"], ["pods", "pods/status", "pods/binding", "pods/eviction"])
        for method, path, code in (
            ("DELETE", f"{WATCHED}/web", 405),
            ("DELETE", WATCHED, 405),
            ("POST", WATCHED, 405),
            ("PUT", f"{WATCHED}/web", 405),
            ("PATCH", f"{WATCHED}/web", 405),
            ("PUT", f"{WATCHED}/web/status", 404),
            ("POST", f"{WATCHED}/web/eviction", 404),
            ("GET", f"{WATCHED}/web/status", 404),
        ):
            assert (await ask(handler, method, path, pod("web"), JANE))["code"] == code, (method, path)
        assert (await ask(handler, "GET", f"{PODS}/web"))["code"] == 200


@pytest.mark.parametrize(
    ("query", "verb", "name"),
    [
        ("fieldSelector=metadata.name%3Da", "list", "a"),
        ("fieldSelector=metadata.name%3D%3Da,type%3DOpaque&watch", "watch", "a"),
        ("fieldSelector=metadata.namespace!%3Dx%5C,metadata.name%3Da", "list", ""),
        ("fieldSelector=metadata.name!%3Da", "list", ""),
        ("fieldSelector=metadata.name%3D..", "list", ""),
        ("fieldSelector=metadata.name%3Da,b", "list", ""),
        ("watch=", "watch", ""),
        ("watch=f", "watch", ""),
        ("watch=False", "list", ""),
        ("watch=0&watch=1", "list", ""),
    ],
)
def test_a_query_is_authorized_as_it_is_served(query: str, verb: str, name: str) -> None:
    asked = attributes_of(Request("GET", f"{SECRETS}?{query}"))
    assert (asked.verb, asked.name) == (verb, name)


async def test_an_escaped_comma_does_not_hide_a_field() -> None:
    everything = "spec.nodeName!%3Dx%5C,spec.nodeName%3Dn1"
    async with new_handler() as handler:
        assert (await ask(handler, "GET", f"/api/v1/pods?fieldSelector={everything}", user=NODE))["code"] == 403
        own = "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1"
        assert (await ask(handler, "GET", own, user=NODE))["code"] == 200


async def test_an_applied_certificate_request_says_who_applied_it() -> None:
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests/r"
    forged = {"username": "system:node:n1", "groups": ["system:masters"], "uid": "0", "extra": {"a": ["b"]}}
    spec = {"request": certificate_request(), "signerName": "a.b/c", "usages": ["client auth"], **forged}
    document = {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": "r"},
        "spec": spec,
    }
    admin = User("ops", groups=("system:masters", AUTHENTICATED))
    async with new_handler() as handler:
        made = await ask(handler, "PATCH", f"{path}?fieldManager=t", document, admin, APPLY)
        assert made["code"] == 201
        told = {name: made["spec"].get(name) for name in forged}
        assert told == {"username": "ops", "groups": list(admin.groups), "uid": None, "extra": None}


async def test_a_node_gets_tokens_of_its_own_pods_only() -> None:
    path = "/api/v1/namespaces/default/serviceaccounts/app/token"
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "app"}}

    def wanted(**bound: str) -> dict[str, Any]:
        reference = {"boundObjectRef": {"apiVersion": "v1", **bound}} if bound else {}
        return {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"audiences": [], **reference},
        }

    async with new_handler() as handler:
        await ask(handler, "POST", path.removesuffix("/app/token"), account)
        uids = {}
        for name, node in (("own", "n1"), ("other", "n2")):
            token = {"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}, "name": "t"}
            spec: Any = {"nodeName": node, "serviceAccountName": "app", "volumes": [token]}
            made = await ask(handler, "POST", PODS, pod(name, **spec))
            uids[name] = made["metadata"]["uid"]
        for bound, code, why in (
            ({}, 403, "not bound to a pod"),
            ({"kind": "Secret", "name": "s"}, 403, "not bound to a pod"),
            ({"kind": "Pod", "name": "own"}, 403, "without a uid"),
            ({"kind": "Pod", "name": "other", "uid": uids["other"]}, 403, "scheduled on a different node"),
            ({"kind": "Pod", "name": "own", "uid": uids["own"]}, 201, ""),
        ):
            answer = await ask(handler, "POST", path, wanted(**bound), NODE)
            assert answer["code"] == code, answer
            assert answer.get("message", "").endswith(why)


async def test_a_node_does_not_invite_pods_to_itself() -> None:
    labels = {"node-restriction.kubernetes.io/a": "b"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": labels}}
    taints = [{"key": "a", "effect": "NoSchedule"}]
    path, merge = "/api/v1/nodes/n1", "application/merge-patch+json"
    async with new_handler() as handler:
        assert (await ask(handler, "POST", "/api/v1/nodes", {**node, "spec": {"taints": taints}}))["code"] == 201
        for change, code in (
            ({"spec": {"taints": None}}, 403),
            ({"metadata": {"labels": None}}, 403),
            ({"metadata": {"labels": {"sub.node-restriction.kubernetes.io/x": "y"}}}, 403),
            ({"metadata": {"labels": {"x": "y"}}, "spec": {"unschedulable": True}}, 200),
        ):
            answer = await ask(handler, "PATCH", path, change, NODE, merge)
            assert answer["code"] == code, answer


def _rule(verbs: int, groups: int, resources: int) -> PolicyRule:
    return PolicyRule(*(tuple(f"x{n}" for n in range(count)) for count in (verbs, groups, resources)))


async def test_a_role_of_a_hundred_million_rights_is_refused_at_once() -> None:
    rule = _rule(500, 500, 500)
    document = {"verbs": rule.verbs, "apiGroups": rule.apiGroups, "resources": rule.resources}
    role = {"apiVersion": f"{GROUP}/v1", "kind": "Role", "metadata": {"name": "large"}, "rules": [document]}
    async with new_handler() as handler:
        await grant(handler, ["create"], ["roles"], GROUP)
        refused = await ask(handler, "POST", f"{RBAC}/namespaces/default/roles", role, JANE, JSON)
    assert refused["code"] == 403
    assert len(refused["message"]) < 200_000


def test_many_rights_are_covered_by_many_rules() -> None:
    owned = [_rule(1000, 1000, 1), PolicyRule(("*",), ("*",), tuple(f"x{n}" for n in range(1, 999)))]
    assert not uncovered(owned, [_rule(1000, 1000, 999)])
    missing = uncovered(owned, [_rule(2, 1, 1000)])
    assert describe_rules(missing) == '{APIGroups:["x0"], Resources:["x999"], Verbs:["x0" "x1"]}'


def test_reviews_of_megabytes_are_not_remembered() -> None:
    index = role_index([])
    for number in range(3):
        user = User("u", groups=tuple(f"{number}-{n}" for n in range(200)))
        index.authorize(user, attributes_of(Request("GET", "/" + "x" * 100_000)))
        index.authorize(JANE, attributes_of(Request("GET", "/" + "x" * (100_000 + number))))
    assert list(index._grants) == [("jane", JANE.groups, "")]
    assert not index._grants["jane", JANE.groups, ""]._answers
