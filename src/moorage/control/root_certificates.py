"""Publish the authority of the API server's certificate in every namespace, as ConfigMap `kube-root-ca.crt`.

Kubernetes: pkg/controller/certificates/rootcacertpublisher.
"""

from collections.abc import Iterable

from moorage.client.protocol import Object
from moorage.control.framework.actions import NOTHING, Create, Plan, Update
from moorage.control.framework.controller import Controller
from moorage.control.framework.world import World
from moorage.model.kinds import KINDS, Kind

NAME = "kube-root-ca.crt"
DESCRIPTION = "kubernetes.io/description"
#: The words are upstream's, so that controller managers that take turns do not change them.
_TEXT = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)


class RootCertificatePublisher(Controller):
    """Keeps the ConfigMap of every namespace; does nothing if the authority is not known."""

    name = "root-ca-certificate-publisher-controller"
    component = "root-ca-cert-publisher"
    watches = (KINDS.NAMESPACE, KINDS.CONFIG_MAP)

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        if not self.context.root_authority:
            return ()
        if kind is KINDS.NAMESPACE:
            return (new.name,) if new is not None else ()
        changed = new or old
        return (changed.namespace,) if changed is not None and changed.name == NAME else ()

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        namespace = world.view(KINDS.NAMESPACE, key)
        if namespace is None or namespace.status.phase != "Active":
            return NOTHING
        data = {"ca.crt": self.context.root_authority}
        config_map = world.get(KINDS.CONFIG_MAP, f"{key}/{NAME}")
        if config_map is None:
            metadata = {"name": NAME, "namespace": key, "annotations": {DESCRIPTION: _TEXT}}
            document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
            return Plan((Create(KINDS.CONFIG_MAP, document, key),))
        annotations = dict(config_map.view.metadata.annotations)
        if dict(config_map.view.data) == data and annotations.get(DESCRIPTION):
            return NOTHING
        metadata = {**config_map.raw["metadata"], "annotations": {DESCRIPTION: _TEXT, **annotations}}
        kept = {name: value for name, value in config_map.raw.items() if name != "binaryData"}
        return Plan((Update(KINDS.CONFIG_MAP, {**kept, "metadata": metadata, "data": data}),))
