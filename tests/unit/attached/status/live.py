"""A cluster with an installation, as it is read: the objects that `install` prints, running, and what is broken."""

from collections.abc import Iterable
from typing import Any

from moorage.attach.mirror import mirrored
from moorage.attached import names
from moorage.attached.certificates.pairs import Pair, make_pair
from moorage.attached.certificates.rotation import Held
from moorage.attached.certificates.secret import bundle_of, new_secret
from moorage.attached.install.parts import manifests
from moorage.attached.install.settings import Installation
from moorage.attached.status.snapshot import Snapshot, kept
from moorage.client.protocol import Object
from moorage.model.go.times import micro_time_text
from moorage.model.kinds import KINDS, kind_of
from moorage.plan.input.live_gates import LiveGates
from moorage.serve.pki.certificates import Issued

Raw = dict[str, Any]
NOW = 1_800_000_000.0
DAY = 86_400.0
NONE_NATIVE = LiveGates({"TaintTolerationComparisonOperators": {"kube-apiserver": False}})
GT_IS_NATIVE = LiveGates({"TaintTolerationComparisonOperators": {"kube-apiserver": True}})


def stored(document: Raw) -> Object:
    """Return a document as an API server has it."""
    kind = kind_of(document)
    assert kind is not None
    metadata = {"uid": f"uid-{document['metadata']['name']}", "resourceVersion": "1", **document["metadata"]}
    if kind.namespaced:
        metadata.setdefault("namespace", "default")
    key = f"{metadata['namespace']}/{metadata['name']}" if kind.namespaced else metadata["name"]
    return Object(kind, key, 1, raw={**document, "metadata": metadata})


def certificate(installation: Installation, *, age_days: float = 1.0) -> tuple[Raw, Pair]:
    pair = make_pair(installation.namespace, NOW - age_days * DAY)
    held = Held(Issued(pair.certificate, pair.key), None, (pair.authority,))
    return new_secret(installation.namespace, held, {}), pair


def lease(installation: Installation, *, age: float = 1.0, holder: str = "replica-1") -> Raw:
    renewed = micro_time_text(int((NOW - age) * 1_000_000))
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed, "acquireTime": renewed}
    metadata = {"name": names.CONTROLLER, "namespace": installation.namespace}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


def running(installation: Installation, *, age_days: float = 1.0) -> list[Raw]:
    """Return the objects of an installation that works."""
    documents = [dict(each) for each in manifests(installation)]
    secret, pair = certificate(installation, age_days=age_days)
    bundle = bundle_of(Held(authorities=(pair.authority,)))
    for document in documents:
        if document["kind"] == "Deployment":
            document["status"] = {"readyReplicas": document["spec"]["replicas"]}
        if document["kind"] == "MutatingWebhookConfiguration":
            document["webhooks"] = [
                {**each, "clientConfig": {**each["clientConfig"], "caBundle": bundle}} for each in document["webhooks"]
            ]
    known = [document for document in documents if kind_of(document) is not None]
    return [*known, lease(installation), *([secret] if installation.has_webhook else [])]


def node(name: str, *taints: Raw, labels: dict[str, str] | None = None, mirror: bool = True) -> Raw:
    document: Raw = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": {"taints": list(taints)},
    }
    if mirror:
        document["metadata"]["labels"] = {**mirrored(document, None), **(labels or {})}
    return document


def taint(value: str, key: str = "spot", effect: str = "NoSchedule") -> Raw:
    return {"key": key, "value": value, "effect": effect}


def snapshot_of(
    documents: Iterable[Raw],
    installation: Installation,
    gates: LiveGates = NONE_NATIVE,
    unread: dict[str, str] | None = None,
) -> Snapshot:
    found: dict[Any, list[Object]] = {}
    for document in documents:
        each = stored(document)
        found.setdefault(each.kind, []).append(each)
    objects = {kind: list(kept(kind, each)) for kind, each in found.items()}
    snapshot = Snapshot(installation.namespace, NOW, f"v1.{installation.minor}.4", installation.minor, gates, objects)
    snapshot.unread = unread or {}
    for plural in snapshot.unread:
        for kind in [kind for kind in objects if kind.plural == plural]:
            del objects[kind]
    return snapshot


def workload(kind: str, name: str, *tolerations: Raw, **spec: Any) -> Raw:
    """Return a workload, or a pod, with these tolerations."""
    pod = {"containers": [{"name": "main", "image": "main:1"}], "tolerations": list(tolerations), **spec}
    if kind == "Pod":
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": pod}
    row = next(each for each in KINDS.values() if each.name == kind)
    template: Raw = {"metadata": {"labels": {"app": name}}, "spec": pod}
    for field in reversed(row.template or ()):
        template = {field: template}
    template["spec"]["selector"] = {"matchLabels": {"app": name}}
    return {"apiVersion": row.api_version, "kind": kind, "metadata": {"name": name}, **template}


def gt(value: str = "950", effect: str = "NoSchedule", operator: str = "Gt", key: str = "spot") -> Raw:
    return {"key": key, "operator": operator, "value": value, "effect": effect}
