"""Create the objects of every cluster: namespaces, system PriorityClasses, the API's own Service, roles and bindings.

Kubernetes: kube-apiserver's post-start hooks.
"""

from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS
from moorage.serve.access.bootstrap.reconcile import reconcile_bootstrap_policy
from moorage.serve.requests.options import WriteOptions
from moorage.serve.verbs.api import Api, Raw
from moorage.serve.verbs.changing import create

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
TOKEN_TRACKING = "kube-apiserver-legacy-service-account-token-tracking"
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


async def bootstrap(api: Api, port: int) -> bool:
    """Create what is missing. Return whether the cluster is new: it had none of the namespaces."""
    created = [
        await _ensure(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}) for name in NAMESPACES
    ]
    for name, value, description in _PRIORITY_CLASSES:
        document = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
        await _ensure(api, {**document, "value": value, "description": description})
    await _ensure(api, _api_service(port), "default")
    await _ensure(api, _token_tracking(api), "kube-system")
    await reconcile_bootstrap_policy(api)
    return all(created)


async def _ensure(api: Api, document: Raw, namespace: str = "") -> bool:
    """Return whether the object had to be created."""
    try:
        kind = KINDS[document["apiVersion"], document["kind"]]
        await create(api, kind, namespace, document, _OPTIONS)
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise
        await api.catch_up()  # another server was faster, and what comes next may need it
        return False
    return True


def _token_tracking(api: Api) -> Raw:
    """The ConfigMap that says since when the use of tokens in Secrets is noted."""
    metadata = {"name": TOKEN_TRACKING}
    data = {"since": api.now_text()[:10]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def _api_service(port: int) -> Raw:
    labels = {"component": "apiserver", "provider": "kubernetes"}
    ports = [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "kubernetes", "labels": labels},
        "spec": {"type": "ClusterIP", "ports": ports, "sessionAffinity": "None"},
    }
