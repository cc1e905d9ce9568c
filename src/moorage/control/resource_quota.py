"""Keep the status of ResourceQuotas: what is limited, and what the objects of the namespace use.

Counts when a quota is new or changed, when an object that it counts goes away or uses less, some seconds after requests
were charged (which returns what was charged for writes that failed), and every five minutes. Kubernetes:
pkg/controller/resourcequota. Differs: it counts after charges, too; custom resources are not counted.
"""

from collections.abc import Iterable

from moorage.client.protocol import Object
from moorage.control.framework.actions import NOTHING, Plan
from moorage.control.framework.controller import Controller, ControllerContext
from moorage.control.framework.workloads import status_update
from moorage.control.framework.world import World
from moorage.match.quota.count import count_used
from moorage.match.quota.usage import COUNTED_KINDS, usage_of
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.quota.limits import ResourceQuota

QUOTA = KINDS["v1", "ResourceQuota"]
AFTER_CHARGES_SECONDS = 5.0
RESYNC_SECONDS = 300.0
#: The key of periodic work.
_PULSE = ""


class ResourceQuotaController(Controller):
    """Counts usage for quotas."""

    name = "resourcequota-controller"
    watches = (QUOTA, *(kind for kind in COUNTED_KINDS if kind is not QUOTA and not kind.is_chatty))

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        #: Quotas to count now, and since when others were charged.
        self._to_count: set[str] = set()
        self._charged: dict[str, float] = {}
        self._next_resync = 0.0

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        changed = old or new
        if changed is None or (old is None and kind is not QUOTA) or not world.has_any(QUOTA, changed.namespace):
            return ()
        counting = usage_of(kind)
        keys = [changed.key] if kind is QUOTA else []
        if old is not None and counting is not None and (new is None or counting.is_released(old.view, new.view, 0.0)):
            for quota in world.in_namespace(QUOTA, changed.namespace):
                if counting.names(quota.view.spec.hard):
                    self._to_count.add(quota.key)
                    keys.append(quota.key)
        return keys

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        if key == _PULSE:
            return self._pulse(world, now)
        found = world.get(QUOTA, key)
        if found is None or found.view.metadata.deletionTimestamp is not None:
            self._to_count.discard(key)
            self._charged.pop(key, None)
            return NOTHING
        quota: ResourceQuota = found.view
        if key not in self._to_count and not _is_incomplete(quota):
            self._charged.setdefault(key, now)
            return Plan(wakes=(_PULSE,))
        self._to_count.discard(key)
        self._charged.pop(key, None)
        namespace = found.namespace
        used = count_used(quota, lambda kind: (one.view for one in world.in_namespace(kind, namespace)), now)
        if used == quota.status.used and quota.spec.hard == quota.status.hard:
            return NOTHING
        status = {
            side: {name: str(amounts[name]) for name in sorted(amounts)}
            for side, amounts in (("hard", quota.spec.hard), ("used", used))
        }
        return Plan(status_update(found, status))

    def _pulse(self, world: World, now: float) -> Plan:
        """Wake the quotas that were charged some time ago, and now and then all."""
        if now >= self._next_resync:
            self._next_resync = now + RESYNC_SECONDS
            self._charged.update((quota.key, 0.0) for quota in world.all(QUOTA) if quota.key not in self._charged)
        due = [key for key, since in self._charged.items() if since + AFTER_CHARGES_SECONDS <= now]
        for key in due:
            del self._charged[key]
        self._to_count.update(due)
        waiting = (since + AFTER_CHARGES_SECONDS for since in self._charged.values())
        return Plan(again_after=min((self._next_resync, *waiting)) - now, wakes=tuple(due))


def _is_incomplete(quota: ResourceQuota) -> bool:
    """Return whether the status lacks something that can be counted."""
    hard, used = quota.spec.hard, quota.status.used
    if hard != quota.status.hard:
        return True
    uncounted = [name for name in hard if name not in used]
    return bool(uncounted) and any(
        counting.names(uncounted) for kind in COUNTED_KINDS if (counting := usage_of(kind)) is not None
    )
