"""Say under which names Kubernetes keeps its kinds in etcd: Deployments under `deployments`, Nodes under `minions`.

Custom resources have their group in the name, as in our own keys. Kubernetes: the resource prefixes of
pkg/kubeapiserver/default_storage_factory_builder.go.
"""

from moorage.model.kinds import KINDS, VIRTUAL_KINDS
from moorage.serve.resources.objects import prefix_of

#: The kinds whose names in etcd are older than those of the API.
_OLDER_NAMES = {
    "replicationcontrollers": "controllers",
    "endpoints": "services/endpoints",
    "services": "services/specs",
    "nodes": "minions",
    "ingresses": "ingress",
}
#: The groups that are served by API servers of their own, which put the group in front.
_WITH_GROUP = frozenset(["apiextensions.k8s.io", "apiregistration.k8s.io"])


def etcd_roots() -> dict[str, str]:
    """Return the root of each kind in the store, and its root in etcd."""
    return {
        prefix_of(kind): f"/{kind.group}/{kind.plural}/"
        if kind.group in _WITH_GROUP
        else f"/{_OLDER_NAMES.get(kind.plural, kind.plural)}/"
        for kind in KINDS.values()
        if kind not in VIRTUAL_KINDS
    }
