"""Describe what controllers and users did to workloads, from what changed: created, scaled, another template.

Lines about pods and nodes come from `moorage.watch.happenings`; these are the lines in between. What one controller
creates for one owner at a time is one line.
"""

from collections.abc import Iterable

from moorage.client.informer import Delta
from moorage.client.protocol import Object
from moorage.control.framework.world import controller_of
from moorage.model.go.times import seconds_of
from moorage.model.kinds import KINDS, Kind
from moorage.watch.happenings import Happening, HappeningKind, workload_of

#: So long after its creation an object that is seen for the first time is news, and not one of a first list.
_NEWS_SECONDS = 30.0
CREATED_BY_CONTROLLERS = frozenset(
    {KINDS.POD, KINDS.REPLICA_SET, KINDS.JOB, KINDS.PERSISTENT_VOLUME_CLAIM, KINDS.RESOURCE_CLAIM}
)
_WORKLOADS = frozenset(
    {KINDS.DEPLOYMENT, KINDS.STATEFUL_SET, KINDS.DAEMON_SET, KINDS.REPLICA_SET, KINDS.JOB, KINDS.CRON_JOB}
)


def is_news(item: Object, now: float) -> bool:
    """Return whether an object was created just now, by the clocks of the cluster and of this machine."""
    created = seconds_of(item.view.metadata.creationTimestamp)
    return created is not None and abs(now - created) <= _NEWS_SECONDS


def workload_changes(kind: Kind, deltas: Iterable[Delta], now: float) -> list[Happening]:
    """Return what was done, a line for each owner and kind of change."""
    created: dict[tuple[str, str], list[str]] = {}
    happenings: list[Happening] = []
    for old, new in deltas:
        if new is None:
            if old is not None and kind in _WORKLOADS and controller_of(old.view.metadata) is None:
                happenings.append(_happening(now, f"{kind.name} {old.key}", "was deleted"))
        elif old is None:
            if is_news(new, now) and (whose := _owner_of(new)) is not None and kind in CREATED_BY_CONTROLLERS:
                created.setdefault(whose, []).append(new.name)
            elif is_news(new, now) and kind in _WORKLOADS:
                happenings.append(_happening(now, f"{kind.name} {new.key}", "was created"))
        elif kind in _WORKLOADS:
            happenings += _changed(kind, old, new, now)
    return [*(_of_created(kind, whose, names, now) for whose, names in created.items()), *happenings]


def created_line(kind: Kind, names: list[str]) -> str:
    """`created Pod web-1 and 2 more`."""
    return f"created {kind.name} {names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}"


def _of_created(kind: Kind, whose: tuple[str, str], names: list[str], now: float) -> Happening:
    subject, workload = whose
    return Happening(now, HappeningKind.CONTROL, subject, workload, created_line(kind, names))


def _owner_of(item: Object) -> tuple[str, str] | None:
    """Return the object that controls another, and the workload that both belong to."""
    owner = controller_of(item.view.metadata)
    if owner is None:
        return None
    subject = f"{owner.kind} {item.namespace}/{owner.name}"
    return subject, workload_of(item.view) if item.kind is KINDS.POD else subject


def _changed(kind: Kind, old: Object, new: Object, now: float) -> list[Happening]:
    before, after = old.view.spec, new.view.spec
    if before is after:
        return []
    owner = _owner_of(new)
    details = []
    was, will = getattr(before, "replicas", None), getattr(after, "replicas", None)
    if was != will:
        way = "up" if (was or 0) < (will or 0) else "down"
        what = f"{new.name} was scaled {way}" if owner is not None else f"was scaled {way}"
        details.append(f"{what} from {was or 0} to {will or 0}")
    if owner is None and getattr(before, "template", None) != getattr(after, "template", None):
        details.append("has another template")
    for name in ("paused", "suspend"):
        if bool(getattr(before, name, False)) != bool(getattr(after, name, False)):
            details.append(
                {"paused": "was paused", "suspend": "was suspended"}[name] if getattr(after, name) else "goes on"
            )
    subject = owner[0] if owner is not None else f"{kind.name} {new.key}"
    return [_happening(now, subject, text) for text in details]


def _happening(now: float, subject: str, detail: str) -> Happening:
    return Happening(now, HappeningKind.CONTROL, subject, subject, detail)
