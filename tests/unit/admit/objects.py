"""Small valid documents to start from, and what admission says about them."""

import base64
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from moorage.admit.admission import Admitted, Rejected, admit
from moorage.model.gates import GateSet, default_gates
from moorage.model.kinds import KINDS

Raw = dict[str, Any]

LABELS = {"app": "web"}
SELECTOR = {"matchLabels": LABELS}
#: Of the stable kinds; events are those of the core group.
_API_VERSIONS = {name: api_version for api_version, name in KINDS}


def document(kind: str, name: str = "x", /, **fields: Any) -> Raw:
    return {"apiVersion": _API_VERSIONS.get(kind, "v1"), "kind": kind, "metadata": {"name": name}, **fields}


def pod(labels: Raw | None = None, **spec: Any) -> Raw:
    made = document("Pod", "p", spec={"containers": [{"name": "c", "image": "i"}], **spec})
    if labels is not None:
        made["metadata"]["labels"] = labels
    return made


def template(**spec: Any) -> Raw:
    return {"metadata": {"labels": dict(LABELS)}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def workload(kind: str, spec: Raw | None = None, **pod_spec: Any) -> Raw:
    """A Deployment, ReplicaSet, StatefulSet, DaemonSet, Job or CronJob with a pod spec of those fields."""
    if kind in ("Job", "CronJob"):
        job = {"template": template(**{"restartPolicy": "Never", **pod_spec}), **(spec or {})}
        if kind == "Job":
            return document(kind, spec=job)
        return document(kind, spec={"schedule": "@daily", "jobTemplate": {"spec": job}})
    return document(kind, spec={"selector": SELECTOR, "template": template(**pod_spec), **(spec or {})})


def volume(**spec: Any) -> Raw:
    basis = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/data"}}
    return document("PersistentVolume", spec={**basis, **spec})


def node(**spec: Any) -> Raw:
    return document("Node", "n1", spec=spec)


def stored(new: Raw, gates: GateSet | None = None) -> Raw:
    """The object as a store would hold it; the document must be admitted."""
    answer = admit(new, None, gates or default_gates())
    assert isinstance(answer, Admitted), answer.status["message"]
    answer.object["metadata"]["resourceVersion"] = "7"
    return answer.object


def complaints(new: Raw, old: Raw | None = None, gates: GateSet | None = None) -> list[str]:
    """What admission has against it: texts of field errors up to their first newline, or the Status' message."""
    answer = admit(new, old, gates or default_gates())
    if isinstance(answer, Admitted):
        return []
    return [str(error).partition("\n")[0] for error in answer.errors] or [answer.status["message"]]


def rejected(new: Raw, old: Raw | None = None, gates: GateSet | None = None) -> Rejected:
    answer = admit(new, old, gates or default_gates())
    assert isinstance(answer, Rejected)
    return answer


def custom_resource_definition(schema: Raw | None = None, **spec: Any) -> Raw:
    """A definition of widgets.crd.example.com with one version; `schema` is that of its field spec."""
    properties = {"spec": schema or {"type": "object", "properties": {"a": {"type": "string"}}}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.crd.example.com"},
        "spec": {
            "group": "crd.example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [version],
            **spec,
        },
    }


def certificate_request(
    common_name: str = "jane", *groups: str, key: ec.EllipticCurvePrivateKey | None = None, names: tuple[str, ...] = ()
) -> str:
    """Return a PKCS#10 request in PEM, in base64."""
    organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    name = x509.Name([*organizations, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    made = x509.CertificateSigningRequestBuilder().subject_name(name)
    if names:
        made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(one) for one in names]), False)
    signed = made.sign(key or ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    return base64.b64encode(signed.public_bytes(serialization.Encoding.PEM)).decode()
