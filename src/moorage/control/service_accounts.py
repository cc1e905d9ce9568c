"""Every namespace that is in use has a ServiceAccount called `default`.

In: namespaces and ServiceAccounts. Out: the ones that are missing. Kubernetes: the ServiceAccountsController of
pkg/controller/serviceaccount.
"""

from collections.abc import Iterable, Sequence

from moorage.client.protocol import Object
from moorage.control.framework.actions import NOTHING, Action, Create, Plan
from moorage.control.framework.world import World
from moorage.control.registry import ControllerContext
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Kind

NAMESPACE, SERVICE_ACCOUNT = KINDS["v1", "Namespace"], KINDS["v1", "ServiceAccount"]
_NAME = "default"


class ServiceAccountController:
    """See the module. Keys are namespaces."""

    name = "serviceaccount-controller"
    watches: tuple[Kind, ...] = (NAMESPACE, SERVICE_ACCOUNT)

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

    def refused(self, key: str, action: Action, error: ApiError, world: World) -> Sequence[Action]:
        return ()


def make_service_account(surroundings: ControllerContext) -> ServiceAccountController:
    return ServiceAccountController()
