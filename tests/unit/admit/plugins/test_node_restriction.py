"""A node cannot make a pod that gives it rights, by any reference, and writes nothing that is another node's."""

from typing import Any

import pytest
from tests.objects import pod
from tests.unit.serve.access.test_rbac_requests import PODS, ask, new_handler

from moorage.admit.attributes import CREATE, Write
from moorage.admit.chain import Admission
from moorage.admit.objects_world import ObjectsWorld
from moorage.admit.plugins.node_restriction.plugin import NodeRestriction
from moorage.admit.requester import Permission, Requester
from moorage.model.api_error import ApiError
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS
from moorage.serve.pki.authentication import AUTHENTICATED, User
from moorage.serve.requests.loopback import LoopbackClient

NODE = User("system:node:n1", groups=("system:nodes", AUTHENTICATED))
NAMELESS = User("system:node:", groups=("system:nodes", "system:masters", AUTHENTICATED))
SECRETS = "/api/v1/namespaces/default/secrets"


def _container(**more: Any) -> dict[str, Any]:
    return {"name": "c", "image": "i", **more}


REFERENCES: dict[str, tuple[dict[str, Any], str]] = {
    "volume": ({"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}, "secrets"),
    "projected": (
        {"volumes": [{"name": "v", "projected": {"sources": [{"secret": {"name": "s"}}]}}]},
        "secrets",
    ),
    "environment": (
        {"containers": [_container(env=[{"name": "E", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}])]},
        "secrets",
    ),
    "all of it": ({"containers": [_container(envFrom=[{"secretRef": {"name": "s"}}])]}, "secrets"),
    "pull secret": ({"imagePullSecrets": [{"name": "s"}]}, "secrets"),
    "init container": ({"initContainers": [_container(name="i", envFrom=[{"secretRef": {"name": "s"}}])]}, "secrets"),
    "CSI secret": (
        {"volumes": [{"name": "v", "csi": {"driver": "d", "nodePublishSecretRef": {"name": "s"}}}]},
        "secrets",
    ),
    "CSI": ({"volumes": [{"name": "v", "csi": {"driver": "d"}}]}, "csidrivers (via CSI volumes)"),
    "ConfigMap": ({"containers": [_container(envFrom=[{"configMapRef": {"name": "s"}}])]}, "configmaps"),
    "claim": (
        {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "s"}}]},
        "persistentvolumeclaims",
    ),
    "token": (
        {"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]},
        "serviceaccounts (via projected volumes)",
    ),
    "devices": ({"resourceClaims": [{"name": "c", "resourceClaimName": "s"}]}, "resourceclaims"),
}


#: What the ServiceAccount plugin says, which comes first.
_REFUSED_BEFORE = {
    "secrets": "a mirror pod may not reference secrets",
    "serviceaccounts (via projected volumes)": "a mirror pod may not use ServiceAccountToken volume projections",
}


@pytest.mark.parametrize("name", REFERENCES)
async def test_a_mirror_pod_has_no_references(name: str) -> None:
    spec, resource = REFERENCES[name]
    async with new_handler() as handler:
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
        uid = (await ask(handler, "POST", "/api/v1/nodes", node))["metadata"]["uid"]
        await ask(handler, "POST", SECRETS, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}})
        mirror = pod("m", nodeName="n1", **spec)
        owner = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": uid, "controller": True}
        mirror["metadata"] |= {"annotations": {"kubernetes.io/config.mirror": ""}, "ownerReferences": [owner]}
        refused = await ask(handler, "POST", PODS, mirror, NODE)
        why = _REFUSED_BEFORE.get(resource, f'node "n1" can not create pods that reference {resource}')
        assert refused["message"] == f'pods "m" is forbidden: {why}'
        assert (await ask(handler, "GET", f"{SECRETS}/s", user=NODE))["code"] == 403
        plain = pod("m", nodeName="n1")
        plain["metadata"] |= mirror["metadata"]
        assert (await ask(handler, "POST", PODS, plain, NODE))["code"] == 201
        foreign = {**plain, "metadata": {**plain["metadata"], "ownerReferences": [{**owner, "uid": "other"}]}}
        refused = await ask(handler, "POST", PODS, foreign, NODE)
        assert refused["message"].endswith(f"node n1 UID mismatch: expected other got {uid}")


async def test_a_node_without_a_name_writes_nothing() -> None:
    """Not even a review, and not even if it is an administrator."""
    why = 'could not determine node from user "system:node:"'
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {}}
    review["spec"] = {"resourceAttributes": {"verb": "get", "resource": "pods"}}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    maps = "/api/v1/namespaces/default/configmaps"
    async with new_handler() as handler:
        await ask(handler, "POST", maps, config)
        for method, path, body in (
            ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review),
            ("POST", maps, {**config, "metadata": {"name": "d"}}),
            ("PUT", f"{maps}/c", config),
            ("DELETE", f"{maps}/c", None),
        ):
            refused = await ask(handler, method, path, body, NAMELESS)
            assert (refused["code"], refused["message"].endswith(why)) == (403, True), refused
        assert (await ask(handler, "GET", f"{maps}/c", user=NAMELESS))["code"] == 200


async def test_components_in_the_process_are_restricted_like_clients() -> None:
    async with new_handler() as handler:
        for name in ("n1", "n2"):
            await ask(
                handler, "POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
            )
        await ask(handler, "POST", PODS, pod("theirs", nodeName="n2"))
        client = LoopbackClient(handler._api, "test", NODE)
        for write in (
            client.patch(KINDS.NODE, "n2", "", {"metadata": {"labels": {"a": "b"}}}),
            client.create(KINDS.NODE, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n3"}}),
            client.delete(KINDS.POD, "theirs", "default"),
            client.evict("default", "theirs"),
        ):
            with pytest.raises(ApiError) as refusal:
                await write
            assert refusal.value.code == 403
        labelled = await client.patch(KINDS.NODE, "n1", "", {"metadata": {"labels": {"a": "b"}}})
        assert labelled.raw["metadata"]["labels"] == {"a": "b"}


def test_the_plugin_can_be_left_out() -> None:
    write = Write(CREATE, KINDS.NODE, "", "n2", new={"metadata": {"name": "n2"}})
    requester = Requester(NODE.name, NODE.groups, lambda *asked: Permission(False))
    world = ObjectsWorld(is_complete=True)
    with pytest.raises(ApiError, match="is not allowed to modify node"):
        Admission(world, default_gates()).restrict(requester, write)
    without = Admission(world, default_gates(), without=(NodeRestriction,))
    assert not without.restricts(NODE)
    without.restrict(requester, write)


@pytest.mark.parametrize(
    ("disk", "audience", "why"),
    [
        ("vol-1", "aws", ""),
        ("aws://zone/vol-1", "aws", ""),
        ("vol-1", "other", 'audience "other" not found in pod spec volume'),
        ("aws://zone/bad", "aws", "Invalid format for AWS volume (aws://zone/bad)"),
    ],
)
async def test_tokens_for_the_driver_of_an_in_tree_volume(disk: str, audience: str, why: str) -> None:
    """Answers of kube-apiserver v1.36.4."""
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    volume = {"name": "v", "awsElasticBlockStore": {"volumeID": disk}}
    async with new_handler() as handler:
        driver = {"tokenRequests": [{"audience": "aws"}]}
        document = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "ebs.csi.aws.com"}}
        await ask(handler, "POST", "/apis/storage.k8s.io/v1/csidrivers", {**document, "spec": driver})
        await ask(handler, "POST", accounts, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "s"}})
        mounting = await ask(handler, "POST", PODS, pod("p", nodeName="n1", serviceAccountName="s", volumes=[volume]))
        bound = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": mounting["metadata"]["uid"]}
        spec = {"audiences": [audience], "boundObjectRef": bound}
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        answer = await ask(handler, "POST", f"{accounts}/s/token", request, NODE)
        assert (answer["code"] == 201) is (why == "")
        assert why in answer.get("message", "")


async def test_a_pod_that_a_node_may_not_create_is_refused_before_its_revision_is_looked_at() -> None:
    """As kube-apiserver v1.36.4 does."""
    async with new_handler() as handler:
        plain = pod("p")
        plain["metadata"]["resourceVersion"] = "5"
        assert (await ask(handler, "POST", PODS, plain, NODE))["code"] == 403
        assert (await ask(handler, "POST", PODS, plain))["code"] == 400
