"""The kinds of faults: one row each. What is done to a cluster, for how long, and how it is undone.

`recovers`: one process or one way was lost, so that writes must work again within seconds, by all API servers that are
left, while the fault lasts. Other faults take away more than the cluster can do without, such as two members of three.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from tests.faults.rig import machine
from tests.faults.rig.child import Child
from tests.faults.rig.cluster import Cluster, Member, Server
from tests.faults.rig.machine import Machine, SlowDisk

Undo = Callable[[], Awaitable[None]]


class Injected(NamedTuple):
    """A fault under way: what it hit, the API servers that it leaves out of the count, and how it is undone."""

    what: str
    spared_servers: frozenset[str]
    undo: Undo


class Kind(NamedTuple):
    """One kind. `hold` is how many seconds it lasts, from and to; `why_not` says why a machine cannot have it."""

    name: str
    inject: Callable[[Cluster, random.Random], Awaitable[Injected]]
    hold: tuple[float, float] = (1.0, 4.0)
    recovers: bool = True
    weight: int = 2
    why_not: Callable[[Machine], str] = lambda machine: ""
    #: Whether it needs etcd members.
    needs_etcd: bool = True
    is_for_sqlite: bool = False


async def _nothing() -> None:
    """Undo nothing: the cluster mends itself."""


def _none_spared() -> frozenset[str]:
    return frozenset()


async def _leader_or(cluster: Cluster, random_: random.Random, *, leads: bool) -> Member:
    """Return the member that leads, or one that does not."""
    leader = await asyncio.to_thread(cluster.leader)
    fitting = [member for member in cluster.members if (member.number == leader) == leads]
    return random_.choice(fitting or cluster.members)


def _started(child: Child) -> Undo:
    async def undo() -> None:
        if not child.is_running:
            child.start()

    return undo


def _resumed(*children: Child) -> Undo:
    async def undo() -> None:
        for child in children:
            child.resume()

    return undo


def _mended(cluster: Cluster) -> Undo:
    async def undo() -> None:
        cluster.mend()

    return undo


def kill_member(*, leads: bool) -> Callable[[Cluster, random.Random], Awaitable[Injected]]:
    async def inject(cluster: Cluster, random_: random.Random) -> Injected:
        member = await _leader_or(cluster, random_, leads=leads)
        member.child.kill()
        return Injected(member.child.name, _none_spared(), _started(member.child))

    return inject


def pause_member(*, leads: bool) -> Callable[[Cluster, random.Random], Awaitable[Injected]]:
    async def inject(cluster: Cluster, random_: random.Random) -> Injected:
        member = await _leader_or(cluster, random_, leads=leads)
        member.child.pause()
        return Injected(member.child.name, _none_spared(), _resumed(member.child))

    return inject


async def lose_quorum(cluster: Cluster, random_: random.Random) -> Injected:
    """Pause all members but one."""
    chosen = random_.sample([member.child for member in cluster.members], len(cluster.members) - 1)
    for child in chosen:
        child.pause()
    return Injected(" ".join(child.name for child in chosen), _none_spared(), _resumed(*chosen))


async def kill_all_members(cluster: Cluster, random_: random.Random) -> Injected:
    for member in cluster.members:
        member.child.kill()

    async def undo() -> None:
        for member in cluster.members:
            member.child.start()

    return Injected("all members", _none_spared(), undo)


def _server(cluster: Cluster, random_: random.Random) -> Server:
    return random_.choice(cluster.servers)


async def kill_server(cluster: Cluster, random_: random.Random) -> Injected:
    server = _server(cluster, random_)
    server.child.kill()
    return Injected(server.name, frozenset((server.name,)), _started(server.child))


async def stop_server(cluster: Cluster, random_: random.Random) -> Injected:
    """Ask an API server to end, and start it again."""
    server = _server(cluster, random_)
    stopping = asyncio.create_task(server.child.stop())

    async def undo() -> None:
        await stopping
        server.child.start()

    return Injected(server.name, frozenset((server.name,)), undo)


async def kill_all_servers(cluster: Cluster, random_: random.Random) -> Injected:
    for server in cluster.servers:
        server.child.kill()

    async def undo() -> None:
        for server in cluster.servers:
            server.child.start()

    return Injected("all API servers", frozenset(server.name for server in cluster.servers), undo)


async def pause_server(cluster: Cluster, random_: random.Random) -> Injected:
    server = _server(cluster, random_)
    server.child.pause()
    return Injected(server.name, frozenset((server.name,)), _resumed(server.child))


def _component(cluster: Cluster, random_: random.Random) -> Child:
    """Return a component, more often than not one that leads."""
    leading = [child for child in cluster.components if child.leads]
    return random_.choice(leading if leading and random_.random() < 0.6 else cluster.components)


async def kill_component(cluster: Cluster, random_: random.Random) -> Injected:
    child = _component(cluster, random_)
    child.kill()
    return Injected(child.name, _none_spared(), _started(child))


async def pause_component(cluster: Cluster, random_: random.Random) -> Injected:
    child = _component(cluster, random_)
    child.pause()
    return Injected(child.name, _none_spared(), _resumed(child))


async def pause_leader(cluster: Cluster, random_: random.Random) -> Injected:
    """Pause a scheduler or controller manager that leads, for longer than its Lease: another one takes over."""
    child = random_.choice([child for child in cluster.components if child.leads] or cluster.components)
    child.pause()
    return Injected(child.name, _none_spared(), _resumed(child))


async def cut_member(cluster: Cluster, random_: random.Random) -> Injected:
    """Cut the way of the other members to one, and that of all API servers to it."""
    member = await _leader_or(cluster, random_, leads=random_.random() < 0.5)
    member.peer_link.cut()
    for server in cluster.servers:
        server.links[member.number].cut()
    return Injected(member.child.name, _none_spared(), _mended(cluster))


async def cut_one_direction(cluster: Cluster, random_: random.Random) -> Injected:
    """Let a member hear the others, or be heard by them, but not both."""
    member = await _leader_or(cluster, random_, leads=random_.random() < 0.5)
    there = random_.random() < 0.5
    member.peer_link.cut(there=there, back=not there)
    return Injected(f"{member.child.name} {'inwards' if there else 'outwards'}", _none_spared(), _mended(cluster))


async def cut_server(cluster: Cluster, random_: random.Random) -> Injected:
    """Cut an API server from all members, in one direction or both."""
    server = _server(cluster, random_)
    how = random_.choice(({}, {"there": False}, {"back": False}))
    for link in server.links:
        link.cut(**how)
    return Injected(f"{server.name} {how}", frozenset((server.name,)), _mended(cluster))


async def cut_server_from_one(cluster: Cluster, random_: random.Random) -> Injected:
    """Cut each API server from one member, perhaps another one each."""
    chosen = []
    for server in cluster.servers:
        link = random_.choice(server.links)
        link.cut(**random_.choice(({}, {"there": False}, {"back": False})))
        chosen.append(link.name)
    return Injected(" ".join(chosen), _none_spared(), _mended(cluster))


async def reset_links(cluster: Cluster, random_: random.Random) -> Injected:
    """Reset every connection to etcd, some times in a row."""
    task = asyncio.create_task(_reset_again(cluster, random_))

    async def undo() -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    return Injected("all ways to etcd", _none_spared(), undo)


async def _reset_again(cluster: Cluster, random_: random.Random) -> None:
    while True:
        for server in cluster.servers:
            random_.choice(server.links).reset()
        await asyncio.sleep(0.5 + random_.random())


async def delay_links(cluster: Cluster, random_: random.Random) -> Injected:
    for link in cluster.links:
        link.slow(random_.uniform(0.0, 0.15))
    return Injected("all ways to etcd", _none_spared(), _mended(cluster))


async def refuse_links(cluster: Cluster, random_: random.Random) -> Injected:
    member = random_.choice(cluster.members)
    for server in cluster.servers:
        server.links[member.number].refuse()
    return Injected(member.child.name, _none_spared(), _mended(cluster))


async def unplug_member(cluster: Cluster, random_: random.Random) -> Injected:
    member = await _leader_or(cluster, random_, leads=random_.random() < 0.5)
    machine.unplug(member.number)

    async def undo() -> None:
        machine.plug_in(member.number)

    return Injected(member.child.name, _none_spared(), undo)


async def throttle_member(cluster: Cluster, random_: random.Random) -> Injected:
    member = random_.choice(cluster.members)
    machine.throttle(member.number, "400kbit")

    async def undo() -> None:
        machine.unthrottle(member.number)

    return Injected(member.child.name, _none_spared(), undo)


async def fill_member(cluster: Cluster, random_: random.Random) -> Injected:
    member = await _leader_or(cluster, random_, leads=random_.random() < 0.5)
    disk = member.disk
    assert disk is not None
    await asyncio.to_thread(machine.fill, disk)

    async def undo() -> None:
        machine.make_room(disk)

    return Injected(member.child.name, _none_spared(), undo)


async def fill_server(cluster: Cluster, random_: random.Random) -> Injected:
    disk = cluster.servers[0].disk
    assert disk is not None
    await asyncio.to_thread(machine.fill, disk)

    async def undo() -> None:
        machine.make_room(disk)

    return Injected(cluster.servers[0].name, _none_spared(), undo)


async def slow_disk(cluster: Cluster, random_: random.Random) -> Injected:
    children = [member.child for member in cluster.members] or [cluster.servers[0].child]
    child = random_.choice(children)
    slow = SlowDisk(child.pid, random_.randrange(50, 800))

    async def undo() -> None:
        await asyncio.to_thread(slow.end)

    return Injected(child.name, _none_spared(), undo)


async def step_clock(cluster: Cluster, random_: random.Random) -> Injected:
    """Step the clock of an API server, a scheduler or a controller manager, forth or back; then back again."""
    name = random_.choice(sorted(cluster.clocks))
    seconds = random_.choice((-1, 1)) * random_.choice((2.0, 20.0, 120.0, 3000.0))
    clock = cluster.clocks[name]
    clock.step(seconds)

    async def undo() -> None:
        clock.step(0.0)

    return Injected(f"{name} {seconds:+.0f} s", _none_spared(), undo)


KINDS = (
    Kind("etcd leader killed", kill_member(leads=True), weight=4),
    Kind("etcd follower killed", kill_member(leads=False)),
    Kind("etcd leader paused", pause_member(leads=True), weight=3),
    Kind("etcd follower paused", pause_member(leads=False)),
    Kind("etcd quorum lost", lose_quorum, recovers=False, weight=1),
    Kind("all etcd members killed", kill_all_members, hold=(0.1, 1.0), recovers=False, weight=1),
    Kind("API server killed", kill_server, weight=4, needs_etcd=False, is_for_sqlite=True),
    Kind("API server stopped", stop_server, needs_etcd=False, is_for_sqlite=True),
    Kind("API server paused", pause_server, needs_etcd=False, is_for_sqlite=True, weight=3),
    Kind("all API servers killed", kill_all_servers, hold=(0.1, 1.0), recovers=False, weight=1),
    Kind("component killed", kill_component, weight=4, needs_etcd=False, is_for_sqlite=True),
    Kind("component paused", pause_component, hold=(1.0, 22.0), needs_etcd=False, is_for_sqlite=True),
    Kind("leader paused past its Lease", pause_leader, hold=(18.0, 26.0), needs_etcd=False, is_for_sqlite=True),
    Kind("member's ways cut", cut_member, hold=(1.0, 8.0), weight=3),
    Kind("one direction cut", cut_one_direction, hold=(1.0, 8.0), weight=3),
    Kind("API server cut from etcd", cut_server, hold=(1.0, 8.0), weight=3),
    Kind("API servers cut from one member", cut_server_from_one, hold=(1.0, 8.0), weight=3),
    Kind("connections reset", reset_links, recovers=False, weight=3),
    Kind("ways delayed", delay_links, recovers=False),
    Kind("connections refused", refuse_links),
    Kind("network unplugged", unplug_member, hold=(1.0, 8.0), weight=3, why_not=lambda machine: machine.why_no_network),
    Kind("network throttled", throttle_member, recovers=False, weight=1, why_not=lambda one: one.why_no_network),
    Kind("disk full", fill_member, why_not=lambda machine: machine.why_no_disk),
    Kind(
        "disk full (SQLite)",
        fill_server,
        recovers=False,
        why_not=lambda machine: machine.why_no_disk,
        needs_etcd=False,
        is_for_sqlite=True,
    ),
    Kind(
        "disk slow",
        slow_disk,
        recovers=False,
        why_not=lambda machine: machine.why_no_slow_disk,
        needs_etcd=False,
        is_for_sqlite=True,
    ),
    Kind(
        "clock stepped",
        step_clock,
        why_not=lambda machine: machine.why_no_clock,
        needs_etcd=False,
        is_for_sqlite=True,
    ),
)


def possible_kinds(machine: Machine, *, has_etcd: bool) -> tuple[list[Kind], dict[str, str]]:
    """Return the kinds that can be had, and why the others cannot."""
    fitting = [kind for kind in KINDS if (kind.name != "disk full (SQLite)" if has_etcd else kind.is_for_sqlite)]
    reasons = {kind.name: why for kind in fitting if (why := kind.why_not(machine))}
    return [kind for kind in fitting if kind.name not in reasons], reasons
