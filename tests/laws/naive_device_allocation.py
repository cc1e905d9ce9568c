"""A naive reading of how devices are allocated: every combination in order, judged as a whole, the first good one.

Small random worlds of devices, claims and use, and the answer for each. Nothing here is shared with the allocator.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any

from hypothesis import strategies as st

DRIVER, NODE = "gpu.example.com", "n0"
Raw = dict[str, Any]


@dataclass(frozen=True)
class NaiveDevice:
    """A device with all that the worlds vary."""

    pool: str
    name: str
    model: str | None
    tainted: bool
    consumes: int
    memory: int  # shareable if not zero

    def raw(self) -> Raw:
        made: Raw = {"name": self.name}
        if self.model is not None:
            made["attributes"] = {"model": {"string": self.model}}
        if self.tainted:
            made["taints"] = [{"key": "bad", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}]
        if self.consumes:
            made["consumesCounters"] = [{"counterSet": "c", "counters": {"units": {"value": str(self.consumes)}}}]
        if self.memory:
            made["allowMultipleAllocations"] = True
            made["capacity"] = {"memory": {"value": str(self.memory)}}
        return made


@dataclass(frozen=True)
class NaiveRequest:
    """One request or alternative; a count of 0 asks for all devices, memory of 0 for no capacity in particular."""

    name: str
    count: int
    model: str | None
    tolerates: bool
    admin: bool
    memory: int

    def raw(self) -> Raw:
        made: Raw = {"deviceClassName": "any", "allocationMode": "ExactCount" if self.count else "All"}
        if self.count:
            made["count"] = self.count
        if self.model is not None:
            attributes = f'device.attributes["{DRIVER}"]'
            made["selectors"] = [
                {"cel": {"expression": f'has({attributes}.model) && {attributes}.model == "{self.model}"'}}
            ]
        if self.tolerates:
            made["tolerations"] = [{"key": "bad", "operator": "Exists"}]
        if self.admin:
            made["adminAccess"] = True
        if self.memory:
            made["capacity"] = {"requests": {"memory": str(self.memory)}}
        return made

    def selects(self, device: NaiveDevice) -> bool:
        if self.model is not None and device.model != self.model:
            return False
        return not self.memory or self.memory <= device.memory

    def may_have(self, device: NaiveDevice) -> bool:
        return self.selects(device) and (self.tolerates or not device.tainted)


@dataclass(frozen=True)
class NaiveClaim:
    """Requests, each with its alternatives, and whether all devices must be of one model."""

    requests: tuple[tuple[NaiveRequest, ...], ...]
    same_model: bool


@dataclass(frozen=True)
class DeviceWorld:
    """Devices in the order in which they are tried, what is in use of them, and claims to allocate."""

    devices: tuple[NaiveDevice, ...]
    units: int
    taken: frozenset[int]
    shares: dict[int, int] = field(default_factory=dict)
    claims: tuple[NaiveClaim, ...] = ()


#: For each claim and request: the index of the alternative and the positions of its devices.
Assignment = tuple[tuple[int, tuple[int, ...]], ...]


def allocate_naively(world: DeviceWorld) -> Assignment | None:
    """Return the first assignment that holds, requests of all claims in one row."""
    rows = [
        (claim, alternatives) for claim in range(len(world.claims)) for alternatives in world.claims[claim].requests
    ]
    for assignment in product(*(_choices(world, alternatives) for _, alternatives in rows)):
        if holds(world, assignment):
            return assignment
    return None


def _choices(world: DeviceWorld, alternatives: tuple[NaiveRequest, ...]) -> list[tuple[int, tuple[int, ...]]]:
    found: list[tuple[int, tuple[int, ...]]] = []
    for index, request in enumerate(alternatives):
        positions = [at for at, device in enumerate(world.devices) if request.selects(device)]
        if not request.count:  # "all" are those with room left
            positions = [at for at in positions if _has_room(world, request, at)]
        if request.count:
            found += ((index, chosen) for chosen in combinations(positions, request.count))
        elif positions:
            found.append((index, tuple(positions)))
    return found


def _has_room(world: DeviceWorld, request: NaiveRequest, at: int) -> bool:
    memory = world.devices[at].memory
    return (request.memory or memory) + world.shares.get(at, 0) <= memory


def holds(world: DeviceWorld, assignment: Assignment) -> bool:
    """Return whether everything is as it must be, judged after the fact."""
    rows = [
        (claim, alternatives) for claim in range(len(world.claims)) for alternatives in world.claims[claim].requests
    ]
    had: dict[int, list[tuple[int, bool]]] = {}
    consumed: dict[int, int] = dict(world.shares)
    units: dict[str, int] = {}
    for at in (*world.taken, *world.shares):
        units[world.devices[at].pool] = units.get(world.devices[at].pool, 0) + world.devices[at].consumes
    for (claim, alternatives), (choice, positions) in zip(rows, assignment, strict=True):
        request = alternatives[choice]
        for at in positions:
            device = world.devices[at]
            if not request.may_have(device):
                return False
            if not request.admin and at in world.taken:
                return False
            if device.consumes and not (device.memory and at in consumed):
                units[device.pool] = units.get(device.pool, 0) + device.consumes
                if units[device.pool] > world.units:
                    return False
            if device.memory:
                consumed[at] = consumed.get(at, 0) + (request.memory or device.memory)
                if consumed[at] > device.memory:
                    return False
                continue
            before = had.setdefault(at, [])
            if before and (not request.admin or any(claim == other for other, _ in before)):
                return False
            before.append((claim, request.admin))
    return all(_is_uniform(world, claim, assignment) for claim in range(len(world.claims)))


def _is_uniform(world: DeviceWorld, claim: int, assignment: Assignment) -> bool:
    if not world.claims[claim].same_model:
        return True
    first = sum(len(one.requests) for one in world.claims[:claim])
    mine = assignment[first : first + len(world.claims[claim].requests)]
    models = {world.devices[at].model for _, positions in mine for at in positions}
    return len(models) <= 1 and None not in models


# -- random worlds ----------------------------------------------------------------------------------------------------

_models = st.sampled_from((None, "a", "a", "b"))


@st.composite
def device_worlds(draw: st.DrawFn) -> DeviceWorld:
    """Worlds small enough to try everything."""
    sharing = draw(st.booleans())
    devices: list[NaiveDevice] = []
    for pool in ("p0", "p1")[: draw(st.integers(1, 2))]:
        for index in range(draw(st.integers(1, 4))):
            memory = draw(st.sampled_from((0, 0, 4))) if sharing else 0
            consumes = draw(st.sampled_from((0, 0, 1, 2)))
            tainted = draw(st.sampled_from((False, False, True)))
            devices.append(NaiveDevice(pool, f"d{index}", draw(_models), tainted, consumes, memory))
    whole = [at for at, device in enumerate(devices) if not device.memory]
    shared = [at for at, device in enumerate(devices) if device.memory]
    taken = frozenset(at for at in whole if draw(st.sampled_from((False, False, True))))
    shares = {at: draw(st.integers(1, 3)) for at in shared if draw(st.booleans())}
    left = draw(st.integers(1, 3))
    claims: list[NaiveClaim] = []
    for _ in range(draw(st.integers(1, 2))):
        if not left:
            break
        same_model = draw(st.booleans())
        requests = []
        for index in range(draw(st.integers(1, left))):
            several = draw(st.sampled_from((1, 1, 2)))
            requests.append(
                tuple(
                    draw(_requests(f"r{index}" if several == 1 else f"s{one}", same_model, several))
                    for one in range(several)
                )
            )
        left -= len(requests)
        claims.append(NaiveClaim(tuple(requests), same_model))
    return DeviceWorld(tuple(devices), draw(st.integers(0, 6)), taken, shares, tuple(claims))


@st.composite
def _requests(draw: st.DrawFn, name: str, same_model: bool, several: int) -> NaiveRequest:
    count = draw(st.sampled_from((1, 1, 2) if same_model else (1, 1, 2, 0)))
    admin = several == 1 and draw(st.sampled_from((False, False, False, True)))
    memory = draw(st.sampled_from((0, 0, 1, 3)))
    return NaiveRequest(name, count, draw(_models), draw(st.booleans()), admin, memory)
