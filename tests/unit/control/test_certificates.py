"""CertificateSigningRequests are approved for nodes, signed by the rules of their signer, and deleted when old."""

import base64
import datetime
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from tests.controller_context import controller_context
from tests.unit.admit.objects import certificate_request
from tests.virtual_cluster import VirtualCluster
from tests.virtual_time import time_of_day

from moorage.control.certificates import (
    SIGNERS,
    CertificateApprover,
    CertificateRequestCleaner,
    CertificateSigner,
    RequestedName,
    complaint_about,
)
from moorage.control.framework.controller import Controller
from moorage.model.kinds import KINDS
from moorage.model.signing_terms import SigningTerms
from moorage.model.types.request import CertificateSigningRequest, CertificateSigningRequestSpec
from moorage.serve.pki.certificates import Authority, RequestSigner

Raw = dict[str, Any]
CLIENT, KUBELET = "kubernetes.io/kube-apiserver-client", "kubernetes.io/kube-apiserver-client-kubelet"
SERVING = "kubernetes.io/kubelet-serving"
NODE_USAGES = ["digital signature", "client auth"]
NODE = "system:node:n"


def csr(signer: str, usages: list[str], request: str, **spec: Any) -> Raw:
    spec = {"request": request, "signerName": signer, "usages": usages, **spec}
    return {
        "apiVersion": KINDS.CERTIFICATE_SIGNING_REQUEST.api_version,
        "kind": KINDS.CERTIFICATE_SIGNING_REQUEST.name,
        "metadata": {"name": "r"},
        "spec": spec,
    }


@asynccontextmanager
async def running(*kinds: type[Controller]) -> AsyncIterator[VirtualCluster]:
    now = datetime.datetime.fromtimestamp(time_of_day(), datetime.UTC)
    signer = RequestSigner(Authority.create(now).issued)
    context = controller_context()._replace(sign_certificate=signer.sign)
    made = kinds or (CertificateApprover, CertificateSigner, CertificateRequestCleaner)
    async with VirtualCluster.running(lambda: [kind(context) for kind in made]) as cluster:
        yield cluster


async def approve(cluster: VirtualCluster) -> None:
    found = await cluster.client.get(KINDS.CERTIFICATE_SIGNING_REQUEST, "r")
    approval = {"type": "Approved", "status": "True", "reason": "Test"}
    await cluster.client.update(
        KINDS.CERTIFICATE_SIGNING_REQUEST, {**found.raw, "status": {"conditions": [approval]}}, subresource="approval"
    )
    await cluster.settle(1)


async def issued(cluster: VirtualCluster) -> x509.Certificate:
    status = (await cluster.client.get(KINDS.CERTIFICATE_SIGNING_REQUEST, "r")).raw["status"]
    return x509.load_pem_x509_certificate(base64.b64decode(status["certificate"]))


async def test_an_approved_request_is_signed_for_the_time_it_asks_for_and_deleted_after_an_hour() -> None:
    async with running() as cluster:
        key = ec.generate_private_key(ec.SECP256R1())
        request = certificate_request("jane", "dev", "ops", key=key)
        await cluster.client.create(
            KINDS.CERTIFICATE_SIGNING_REQUEST, csr(CLIENT, ["client auth"], request, expirationSeconds=3600)
        )
        await cluster.settle(1)
        assert "certificate" not in (await cluster.client.get(KINDS.CERTIFICATE_SIGNING_REQUEST, "r")).raw["status"]
        await approve(cluster)
        certificate = await issued(cluster)
        assert certificate.public_key() == key.public_key()
        assert [one.value for one in certificate.subject] == ["dev", "ops", "jane"]
        usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]
        assert not certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
        lasts = certificate.not_valid_after_utc - certificate.not_valid_before_utc
        assert lasts == datetime.timedelta(minutes=65)
        await cluster.settle(3500)
        assert len(await cluster.all(KINDS.CERTIFICATE_SIGNING_REQUEST)) == 1
        await cluster.settle(200)
        assert not await cluster.all(KINDS.CERTIFICATE_SIGNING_REQUEST)


@pytest.mark.parametrize(
    ("signer", "usages", "subject", "names", "message"),
    [
        (CLIENT, ["client auth", "server auth"], ("jane",), (), "invalid usage for client certificate: server auth"),
        (CLIENT, ["digital signature"], ("jane",), (), "missing required usage for client certificate: client auth"),
        (KUBELET, NODE_USAGES, (NODE,), (), "subject organization is not system:nodes"),
        (KUBELET, NODE_USAGES, ("n", "system:nodes"), (), "subject common name does not begin with system:node:"),
        (KUBELET, NODE_USAGES, (NODE, "system:nodes"), ("n",), "DNS subjectAltNames are not allowed"),
        (
            KUBELET,
            ["client auth"],
            (NODE, "system:nodes"),
            (),
            "usages did not match [client auth digital signature key encipherment]",
        ),
        (
            SERVING,
            ["digital signature", "server auth"],
            (NODE, "system:nodes"),
            (),
            "DNS or IP subjectAltName is required",
        ),
    ],
)
async def test_a_signer_says_why_it_refuses(
    signer: str, usages: list[str], subject: tuple[str, ...], names: tuple[str, ...], message: str
) -> None:
    async with running(CertificateSigner) as cluster:
        await cluster.client.create(
            KINDS.CERTIFICATE_SIGNING_REQUEST, csr(signer, usages, certificate_request(*subject, names=names))
        )
        await approve(cluster)
        status = (await cluster.client.get(KINDS.CERTIFICATE_SIGNING_REQUEST, "r")).raw["status"]
        assert "certificate" not in status
        failure = status["conditions"][-1]
        assert (failure["type"], failure["reason"]) == ("Failed", "SignerValidationFailure")
        assert failure["message"] == message


async def test_nodes_that_may_renew_their_own_certificate_are_approved() -> None:
    async with running(CertificateApprover, CertificateSigner) as cluster:
        group = "rbac.authorization.k8s.io"
        role = "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient"
        binding = {
            "apiVersion": KINDS.CLUSTER_ROLE_BINDING.api_version,
            "kind": KINDS.CLUSTER_ROLE_BINDING.name,
            "metadata": {"name": "renew"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "Group", "name": "system:nodes", "apiGroup": group}],
        }
        await cluster.client.create(KINDS.CLUSTER_ROLE_BINDING, binding)
        for name, node in (("r", NODE), ("other", "system:node:other")):
            request = certificate_request(node, "system:nodes")
            asked = csr(KUBELET, NODE_USAGES, request, username=NODE, groups=["system:nodes"])
            await cluster.client.create(KINDS.CERTIFICATE_SIGNING_REQUEST, {**asked, "metadata": {"name": name}})
        await cluster.settle(5)
        status = (await cluster.client.get(KINDS.CERTIFICATE_SIGNING_REQUEST, "r")).raw["status"]
        (condition,) = status["conditions"]
        assert condition["message"] == "Auto approving self kubelet client certificate after SubjectAccessReview."
        assert status["certificate"]
        assert not (await cluster.client.get(KINDS.CERTIFICATE_SIGNING_REQUEST, "other")).raw["status"]


def test_no_signer_signs_for_system_masters() -> None:
    for signer in SIGNERS:
        spec = CertificateSigningRequestSpec(
            request=certificate_request("x", "system:masters"), signerName=signer, usages=("client auth",)
        )
        asked = CertificateSigningRequest(spec=spec)
        assert "system:masters group is not allowed" in complaint_about(asked, RequestedName(asked))


def test_only_attributes_that_kubernetes_reads_get_into_a_certificate() -> None:
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.NameAttribute(NameOID.USER_ID, "root"), x509.NameAttribute(NameOID.COMMON_NAME, "first")]
    subject = x509.Name([*names, x509.NameAttribute(NameOID.COMMON_NAME, "last")])
    request = x509.CertificateSigningRequestBuilder().subject_name(subject)
    request = request.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    signed = request.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    terms = SigningTerms(signed.public_bytes(serialization.Encoding.PEM), ("client auth",), 1e9, now.timestamp())
    authority = Authority.create(now)
    made = x509.load_pem_x509_certificate(RequestSigner(authority.issued).sign(terms))
    assert [(one.oid, one.value) for one in made.subject] == [(NameOID.COMMON_NAME, "last")]
    assert not made.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert made.not_valid_after_utc == x509.load_pem_x509_certificate(authority.issued.certificate).not_valid_after_utc
