"""Spread endpoints over slices, with as few changes to those that exist as possible.

In: the endpoints that there should be, by their ports, and the slices that there are. Out: slices to create, update and
delete. Kubernetes: reconcileByPortMapping and finalize (k8s.io/endpointslice). Differs: in a fixed order, not Go's.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from moorage.client.protocol import Object
from moorage.control.framework.actions import Raw
from moorage.control.framework.steps import Steps

#: What tells ports apart: name, number, protocol and application protocol of each, sorted.
Ports = tuple[tuple[str, int, str, str], ...]
EndpointKey = tuple[tuple[str, ...], str, str, str]


class Group(NamedTuple):
    """Endpoints with the same ports, by what tells them apart."""

    ports: list[Raw]
    endpoints: dict[EndpointKey, Raw]


class Contents(NamedTuple):
    """What a slice should hold. `found` is the slice as it is, None for a new one."""

    found: Object | None
    ports: list[Raw]
    endpoints: list[Raw]


class Packed(NamedTuple):
    """Slices to write and to delete."""

    writes: list[Contents]
    deletes: list[Object]


def ports_key(ports: Iterable[Raw]) -> Ports:
    return tuple(
        sorted(
            (port.get("name") or "", port.get("port") or 0, port.get("protocol") or "", port.get("appProtocol") or "")
            for port in ports
        )
    )


def endpoint_key(endpoint: Raw) -> EndpointKey:
    target = endpoint.get("targetRef") or {}
    return (
        tuple(endpoint.get("addresses") or ()),
        endpoint.get("hostname") or "",
        target.get("namespace") or "",
        target.get("name") or "",
    )


def pack(
    existing: Sequence[Object], wanted: Mapping[Ports, Group], most: int, is_outdated: Callable[[Object], bool]
) -> Steps[Packed]:
    """Spread the wanted endpoints, at most this many in one slice.

    `is_outdated` tells of a slice whether its metadata are to be written even if its endpoints stay.
    """
    by_ports: dict[Ports, list[Object]] = {}
    for found in existing:
        by_ports.setdefault(ports_key(found.raw.get("ports") or ()), []).append(found)
        yield
    writes, deletes = list[Contents](), list[Object]()
    for key, group in wanted.items():
        packed = yield from _pack_group(by_ports.pop(key, []), group, most, is_outdated)
        writes += packed.writes
        deletes += packed.deletes
    deletes += [found for slices in by_ports.values() for found in slices]
    if len(deletes) == len(existing) and not writes:
        _keep_one(deletes, writes, is_outdated)
    return _reuse(writes, deletes)


def _keep_one(deletes: list[Object], writes: list[Contents], is_outdated: Callable[[Object], bool]) -> None:
    """Leave an empty slice where there would be none, which tells that the Service has been looked at."""
    only = deletes[0].raw if len(deletes) == 1 and not is_outdated(deletes[0]) else None
    if only is not None and not only.get("endpoints") and not only.get("ports"):
        deletes.clear()
    else:
        writes.append(Contents(None, [], []))


def _pack_group(
    existing: list[Object], group: Group, most: int, is_outdated: Callable[[Object], bool]
) -> Steps[Packed]:
    left = dict(group.endpoints)
    unchanged, deletes = list[Object](), list[Object]()
    changed: list[Contents] = []
    for found in existing:
        before = found.raw.get("endpoints") or []
        kept = [new for old in before if (new := left.pop(endpoint_key(old), None)) is not None]
        if kept == before and not is_outdated(found):
            unchanged.append(found)
        elif kept or not before:
            changed.append(Contents(found, group.ports, kept))
        else:
            deletes.append(found)
        yield
    waiting = list(left.values())
    for contents in sorted(changed, key=lambda one: -len(one.endpoints)):
        room = max(0, most - len(contents.endpoints))
        contents.endpoints.extend(waiting[:room])
        del waiting[:room]
    while waiting:
        room = most
        place = _fullest_with_room(unchanged, len(waiting), most) if len(waiting) < most else None
        before = []
        if place is not None:
            unchanged.remove(place)
            before = place.raw.get("endpoints") or []
            room -= len(before)
        changed.append(Contents(place, group.ports, [*before, *waiting[:room]]))
        del waiting[:room]
    return Packed(changed, deletes)


def _fullest_with_room(slices: Sequence[Object], count: int, most: int) -> Object | None:
    """Return the slice that is fullest once this many endpoints are added."""
    fitting = [one for one in slices if len(one.raw.get("endpoints") or ()) + count <= most]
    return max(fitting, key=lambda one: len(one.raw.get("endpoints") or ()), default=None)


def _reuse(writes: list[Contents], deletes: list[Object]) -> Packed:
    """Update slices that would be deleted instead of creating others."""
    spare = list(deletes)
    reused = [
        contents._replace(found=spare.pop(0)) if contents.found is None and spare else contents for contents in writes
    ]
    return Packed(reused, spare)
