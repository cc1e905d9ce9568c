"""Keep the status of ResourceQuotas: what is limited, and what the objects of the namespace use.

Counts when a quota is new or changed, when an object that it counts goes away or uses less, when a custom resource that
it limits is defined, some seconds after requests were charged (which returns what was charged for writes that failed),
and every five minutes. Kubernetes: pkg/controller/resourcequota. Differs: it counts after charges, too.
"""

from collections.abc import Iterable

from moorage.client.protocol import Object
from moorage.control.framework.actions import NOTHING, Plan
from moorage.control.framework.controller import Controller, ControllerContext
from moorage.control.framework.steps import Steps, finish
from moorage.control.framework.workloads import status_update
from moorage.control.framework.world import World
from moorage.match.quota.usage import COUNTED_KINDS, count_in_steps, count_name, usage_of
from moorage.model.kinds import KINDS, CustomKind, Kind
from moorage.model.types.policy import ResourceQuota

AFTER_CHARGES_SECONDS = 5.0
RESYNC_SECONDS = 300.0
#: The key of periodic work.
_PULSE = ""


class ResourceQuotaController(Controller):
    """Counts usage for quotas."""

    name = "resourcequota-controller"
    watches_custom = True
    watches = (
        KINDS.RESOURCE_QUOTA,
        *(kind for kind in COUNTED_KINDS if kind is not KINDS.RESOURCE_QUOTA and not kind.is_chatty),
    )

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        #: Quotas to count now, and since when others were charged.
        self._to_count: set[str] = set()
        self._charged: dict[str, float] = {}
        self._next_resync = 0.0
        #: Custom kinds whose objects are all known, and those that became known since the last look.
        self._listed: dict[tuple[str, str], CustomKind] = {}
        self._new_kinds: list[CustomKind] = []

    def kind_added(self, kind: CustomKind) -> Iterable[str]:
        self._listed[kind.group, kind.name] = kind
        self._new_kinds.append(kind)
        return (_PULSE,)

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        changed = old or new
        if (
            changed is None
            or (old is None and kind is not KINDS.RESOURCE_QUOTA)
            or not world.has_any(KINDS.RESOURCE_QUOTA, changed.namespace)
        ):
            return ()
        counting = usage_of(kind)
        keys = [changed.key] if kind is KINDS.RESOURCE_QUOTA else []
        if old is not None and counting is not None and (new is None or counting.is_released(old.view, new.view, 0.0)):
            for quota in world.in_namespace(KINDS.RESOURCE_QUOTA, changed.namespace):
                if counting.names(quota.view.spec.hard):
                    self._to_count.add(quota.key)
                    keys.append(quota.key)
        return keys

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        return finish(self.steps(key, world, now))

    def steps(self, key: str, world: World, now: float) -> Steps[Plan]:
        if key == _PULSE:
            return self._pulse(world, now)
        found = world.get(KINDS.RESOURCE_QUOTA, key)
        if found is None or found.view.metadata.deletionTimestamp is not None:
            self._to_count.discard(key)
            self._charged.pop(key, None)
            return NOTHING
        quota: ResourceQuota = found.view
        custom = self._custom_kinds(quota, world)
        if key not in self._to_count and not _is_incomplete(quota, custom):
            self._charged.setdefault(key, now)
            return Plan(wakes=(_PULSE,))
        self._to_count.discard(key)
        self._charged.pop(key, None)
        namespace = found.namespace
        views = lambda kind: (found.view for found in world.in_namespace(kind, namespace))  # noqa: E731
        used = yield from count_in_steps(quota, views, now, custom)
        if used == quota.status.used and quota.spec.hard == quota.status.hard:
            return NOTHING
        status = {
            side: {name: str(amounts[name]) for name in sorted(amounts)}
            for side, amounts in (("hard", quota.spec.hard), ("used", used))
        }
        return Plan(status_update(found, status))

    def _custom_kinds(self, quota: ResourceQuota, world: World) -> list[CustomKind]:
        """Return the custom kinds that can be counted: a kind that is gone has no objects any more."""
        return [
            kind
            for key, kind in self._listed.items()
            if world.custom_kinds.get(key) is kind
            or (key not in world.custom_kinds and count_name(kind) in quota.status.used)
        ]

    def _pulse(self, world: World, now: float) -> Plan:
        """Wake the quotas that limit a new kind, those that were charged some time ago, and now and then all."""
        countings = [counting for kind in self._new_kinds if (counting := usage_of(kind)) is not None]
        self._new_kinds.clear()
        if countings:
            limited = (
                one for one in world.all(KINDS.RESOURCE_QUOTA) if any(it.names(one.view.spec.hard) for it in countings)
            )
            self._charged.update((quota.key, 0.0) for quota in limited)
        if now >= self._next_resync:
            self._next_resync = now + RESYNC_SECONDS
            self._listed = {key: kind for key, kind in self._listed.items() if key in world.custom_kinds}
            self._charged.update(
                (quota.key, 0.0) for quota in world.all(KINDS.RESOURCE_QUOTA) if quota.key not in self._charged
            )
        due = [key for key, since in self._charged.items() if since + AFTER_CHARGES_SECONDS <= now]
        for key in due:
            del self._charged[key]
        self._to_count.update(due)
        waiting = (since + AFTER_CHARGES_SECONDS for since in self._charged.values())
        return Plan(again_after=min((self._next_resync, *waiting)) - now, wakes=tuple(due))


def _is_incomplete(quota: ResourceQuota, custom: Iterable[Kind]) -> bool:
    """Return whether the status lacks something that can be counted."""
    hard, used = quota.spec.hard, quota.status.used
    if hard != quota.status.hard:
        return True
    uncounted = [name for name in hard if name not in used]
    return bool(uncounted) and any(
        counting.names(uncounted) for kind in (*COUNTED_KINDS, *custom) if (counting := usage_of(kind)) is not None
    )
