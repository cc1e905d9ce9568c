"""Create the ServiceAccount `default` in every active namespace. Kubernetes: ServiceAccountsController."""

from collections.abc import Iterable

from moorage.client.protocol import Object
from moorage.control.framework.actions import NOTHING, Create, Plan
from moorage.control.framework.controller import Controller
from moorage.control.framework.world import World
from moorage.model.kinds import KINDS, Kind

NAMESPACE, SERVICE_ACCOUNT = KINDS["v1", "Namespace"], KINDS["v1", "ServiceAccount"]
_NAME = "default"


class ServiceAccountController(Controller):
    """Reconciles namespaces."""

    name = "serviceaccount-controller"
    watches = (NAMESPACE, SERVICE_ACCOUNT)

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        if kind is NAMESPACE:
            return (new.name,) if new is not None else ()
        return (old.namespace,) if new is None and old is not None else ()

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        namespace = world.view(NAMESPACE, key)
        if namespace is None or namespace.status.phase != "Active":
            return NOTHING
        if world.get(SERVICE_ACCOUNT, f"{key}/{_NAME}") is not None:
            return NOTHING
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": _NAME, "namespace": key}}
        return Plan((Create(SERVICE_ACCOUNT, account, key),))
