"""Create the objects of every cluster that are missing: namespaces, system PriorityClasses, the API's own Service.

Kubernetes: kube-apiserver's post-start hooks.
"""

from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS
from moorage.serve.api import Api, Raw
from moorage.serve.options import WriteOptions
from moorage.serve.verbs.changing import create

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_PRIORITY_CLASSES = (
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
)
_OPTIONS = WriteOptions("kube-apiserver")


async def bootstrap(api: Api, port: int) -> None:
    for name in NAMESPACES:
        await _ensure(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for name, value, description in _PRIORITY_CLASSES:
        document = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
        await _ensure(api, {**document, "value": value, "description": description})
    await _ensure(api, _api_service(port), "default")


async def _ensure(api: Api, document: Raw, namespace: str = "") -> None:
    try:
        kind = KINDS[document["apiVersion"], document["kind"]]
        await create(api, kind, namespace, document, _OPTIONS)
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise


def _api_service(port: int) -> Raw:
    labels = {"component": "apiserver", "provider": "kubernetes"}
    ports = [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "kubernetes", "labels": labels},
        "spec": {"type": "ClusterIP", "ports": ports, "sessionAffinity": "None"},
    }
