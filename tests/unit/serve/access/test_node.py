"""The node authorizer lets a node read what its pods refer to, as long as they refer to it."""

from typing import Any

import pytest

from moorage.model.kinds import KINDS, view_of
from moorage.serve.access.authorization import Decision, attributes_of, resource_attributes
from moorage.serve.access.node import NodeAuthorizer
from moorage.serve.access.node_graph import NodeGraph
from moorage.serve.http.messages import Request
from moorage.serve.pki.authentication import User

JANE = User("jane", groups=("devs",))
NODE = User("system:node:n1", groups=("system:nodes",))


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
            "kind": "PersistentVolume",
            "metadata": {"name": "disk"},
            "spec": {"claimRef": {"namespace": "a", "name": "data"}},
        },
    ]
    for document in documents:
        authorizer.graph.learn(KINDS[document["apiVersion"], document["kind"]], view_of(document))
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
        (("patch", "", "nodes", "", "n2"), None),  # which the NodeRestriction plugin refuses
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
    resize = status._replace(subresource="resize")
    assert authorizer.authorize(NODE, resize) == Decision(False)
    assert authorizer.authorize(JANE, status) == Decision(False)
    assert authorizer.rules_for(NODE, "a").incomplete


@pytest.mark.parametrize(
    ("target", "is_allowed"),
    [
        ("/api/v1/pods?fieldSelector=spec.nodeName%3Dn1", True),
        ("/api/v1/pods?fieldSelector=spec.nodeName%3Dn1,spec.nodeName%3Da", True),  # any term counts
        ("/api/v1/pods?fieldSelector=spec.nodeName%3Dn2", False),
        ("/api/v1/pods?fieldSelector=spec.nodeName!%3Dn2", False),
        ("/api/v1/pods?fieldSelector=x.spec.nodeName%3Dn1", False),
        ("/api/v1/watch/pods?fieldSelector=spec.nodeName%3Dn1", False),  # old paths have no selectors
        ("/api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Dp", True),
        ("/api/v1/pods?fieldSelector=metadata.name%3Dp", False),
        ("/api/v1/namespaces/a/secrets?fieldSelector=metadata.name%3Dpull", True),
        ("/api/v1/namespaces/a/secrets?fieldSelector=metadata.name%3Dpull&limit=x", False),  # nothing is read then
        ("/api/v1/namespaces/a/secrets?fieldSelector=metadata.name%3Dpull&labelSelector=)", False),
    ],
)
def test_a_list_is_authorized_by_its_field_selector(target: str, is_allowed: bool) -> None:
    assert node_authorizer().authorize(NODE, attributes_of(Request("GET", target))).allowed is is_allowed


def _pod(name: str, secret: str, **more: Any) -> Any:
    spec = {"nodeName": "n1", "imagePullSecrets": [{"name": secret}], **more.pop("spec", {})}
    metadata = {"name": name, "namespace": "a", "uid": more.pop("uid", name), **more.pop("metadata", {})}
    return view_of({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, **more})


def test_references_end_with_the_last_pod_that_has_them() -> None:
    """Also after the node has asked, from when on they are counted."""
    graph = NodeGraph()
    graph.learn(KINDS.POD, _pod("p", "s"))
    assert graph.is_related("n1", "secrets", "a", "s")
    graph.learn(KINDS.POD, _pod("q", "s"))
    graph.forget(KINDS.POD, _pod("p", "s"))
    assert graph.is_related("n1", "secrets", "a", "s")
    graph.learn(KINDS.POD, _pod("q", "t", uid="another"))  # deleted and created again
    assert not graph.is_related("n1", "secrets", "a", "s")
    assert graph.is_related("n1", "secrets", "a", "t")
    graph.forget(KINDS.POD, _pod("q", "t"))
    assert not graph.is_related("n1", "secrets", "a", "t")


def test_new_ephemeral_containers_and_claims_named_in_the_status_add_references() -> None:
    graph = NodeGraph()
    graph.learn(KINDS.POD, _pod("p", "s", spec={"resourceClaims": [{"name": "c", "resourceClaimTemplateName": "t"}]}))
    assert not graph.is_related("n1", "resourceclaims", "a", "p-c")
    debugger = {"name": "d", "envFrom": [{"secretRef": {"name": "debug"}}]}
    spec = {"resourceClaims": [{"name": "c", "resourceClaimTemplateName": "t"}], "ephemeralContainers": [debugger]}
    status = {"resourceClaimStatuses": [{"name": "c", "resourceClaimName": "p-c"}]}
    graph.learn(KINDS.POD, _pod("p", "s", spec=spec, status=status))
    assert graph.is_related("n1", "resourceclaims", "a", "p-c")
    assert graph.is_related("n1", "secrets", "a", "debug")
    assert not graph.is_related("n2", "secrets", "a", "debug")


def test_the_claim_of_extended_resources_counts_if_the_pod_had_it_when_it_was_bound() -> None:
    status = {"extendedResourceClaimStatus": {"resourceClaimName": "x", "requestMappings": []}}
    graph = NodeGraph()
    graph.learn(KINDS.POD, _pod("early", "s", status=status))
    graph.learn(KINDS.POD, _pod("late", "s"))
    late = {"extendedResourceClaimStatus": {"resourceClaimName": "y", "requestMappings": []}}
    graph.learn(KINDS.POD, _pod("late", "s", status=late))
    assert graph.is_related("n1", "resourceclaims", "a", "x")
    assert not graph.is_related("n1", "resourceclaims", "a", "y")


@pytest.mark.parametrize("claims", [1, 5])
def test_a_secret_of_a_volume_is_found_from_either_side(claims: int) -> None:
    """By the volumes that need it, or by the claims of the node, whichever are fewer."""
    graph = NodeGraph()
    for number in range(3):
        csi = {"driver": "d", "volumeHandle": "h", "nodeStageSecretRef": {"namespace": "sys", "name": "s"}}
        spec = {"csi": csi, "claimRef": {"namespace": "a", "name": f"c{number}"}}
        volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"v{number}"}, "spec": spec}
        graph.learn(KINDS.PERSISTENT_VOLUME, view_of(volume))
    volumes = [{"name": f"v{n}", "persistentVolumeClaim": {"claimName": f"c{n + 2}"}} for n in range(claims)]
    graph.learn(KINDS.POD, _pod("p", "x", spec={"volumes": volumes}))
    assert graph.is_related("n1", "secrets", "sys", "s")
    assert graph.is_related("n1", "persistentvolumes", "", "v2")
    assert not graph.is_related("n1", "persistentvolumes", "", "v1")
    other = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v2"}, "spec": {}}
    graph.learn(KINDS.PERSISTENT_VOLUME, view_of(other))  # released
    assert not graph.is_related("n1", "secrets", "sys", "s")
