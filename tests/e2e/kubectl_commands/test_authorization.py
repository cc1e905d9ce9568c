"""Roles and certificates with kubectl: make and grant them, ask what they allow, and use them."""

import base64
import json

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.e2e.kubectl import Kubectl
from tests.unit.admit.objects import certificate_request

UP_OPTIONS = ("--nodes", "2")
GROUP = "rbac.authorization.k8s.io"


def _may(kubectl: Kubectl, question: str) -> bool:
    return kubectl.run(f"auth can-i {question}").out.strip() == "yes"


@pytest.mark.slow
def test_roles_are_made_granted_asked_and_reconciled(kubectl: Kubectl) -> None:
    kubectl("create role reader --verb=get,list --resource=pods,pods/log")
    kubectl("create rolebinding reader --role=reader --user=jane --group=devs")
    kubectl("create clusterrole urls --verb=get --non-resource-url=/logs/*")
    kubectl("create clusterrolebinding urls --clusterrole=urls --group=devs")
    kubectl("create rolebinding viewer --clusterrole=view --user=bob")
    for question, wanted in (
        ("list pods --as jane", True),
        ("get pods --subresource=log --as jane", True),
        ("list pods -n kube-system --as jane", False),
        ("delete pods --as jane", False),
        ("get /logs/x --as x --as-group devs", True),
        ("get /logs/x --as x", False),
        ("list configmaps --as bob", True),
        ("list secrets --as bob", False),
    ):
        assert _may(kubectl, question) is wanted, question
    assert "pods/log" in kubectl("auth can-i --list --as jane").out
    refused = kubectl.run("create role more --verb=get --resource=secrets --as bob")
    assert 'User "bob" cannot create resource "roles"' in refused.err
    subjects = [{"kind": "User", "name": "zoe", "apiGroup": GROUP}]
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]
    metadata = {"name": "reader", "namespace": kubectl.namespace}
    policy = [
        {"apiVersion": f"{GROUP}/v1", "kind": "Role", "metadata": metadata, "rules": rules},
        {
            "apiVersion": f"{GROUP}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "reader"},
            "subjects": subjects,
        },
    ]
    kubectl("auth reconcile -f -", json.dumps({"apiVersion": "v1", "kind": "List", "items": policy}))
    assert _may(kubectl, "list pods --as zoe")
    assert _may(kubectl, "list pods --as jane")  # which reconcile leaves alone
    assert "Role/reader" in kubectl("get rolebindings").out


def test_a_certificate_is_requested_approved_and_used(kubectl: Kubectl) -> None:
    key, name = ec.generate_private_key(ec.SECP256R1()), f"jane-{kubectl.namespace}"
    request = {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": name},
        "spec": {
            "request": certificate_request("jane", "devs", key=key),
            "signerName": "kubernetes.io/kube-apiserver-client",
            "usages": ["client auth"],
        },
    }
    kubectl("create -f -", json.dumps(request))
    kubectl(f"certificate approve {name}")
    issued = kubectl(f"wait csr {name} --for=jsonpath={{.status.certificate}} -o jsonpath={{.status.certificate}}").out
    files = kubectl.home / f"{name}.crt", kubectl.home / f"{name}.key"
    files[0].write_bytes(base64.b64decode(issued))
    form, plain = serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    files[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))
    config = json.loads(kubectl("config view --raw -o json").out)
    config["users"] = [{"name": "jane", "user": {"client-certificate": str(files[0]), "client-key": str(files[1])}}]
    config["contexts"][0]["context"]["user"] = "jane"
    own = kubectl.home / f"{name}.kubeconfig"
    own.write_text(json.dumps(config))
    jane = Kubectl(own, kubectl.home, kubectl.namespace)
    user = json.loads(jane("auth whoami -o json").out)["status"]["userInfo"]
    assert (user["username"], user["groups"]) == ("jane", ["devs", "system:authenticated"])
    assert 'User "jane" cannot list resource "pods"' in jane.run("get pods").err
