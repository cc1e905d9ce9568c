"""The client with three real members, of which some are killed, paused, stopped, or without a leader."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.etcd_process import EtcdCluster, EtcdMember, etcd_cluster
from tests.faults.rig.link import Link

from moorage.store.etcd.client import EtcdClient
from moorage.store.etcd.errors import EtcdError, EtcdUncertain, EtcdUnreachable
from moorage.store.etcd.messages import Compare, Put
from moorage.store.etcd.watch import EtcdWatch

pytestmark = pytest.mark.real_time(loop="uvloop")
#: Seconds within which everything here happens on any machine; the tests measure nothing.
PATIENCE = 60.0


def member_of(etcd: EtcdCluster, url: str) -> EtcdMember:
    return next(member for member in etcd.members if member.url == url)


async def write(client: EtcdClient, key: bytes) -> int:
    """Write until it works, as long as etcd surely did not do it; return the revision."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                return (await client.txn((), (Put(key, b"v"),))).revision
            except EtcdUnreachable:
                await asyncio.sleep(0.1)


async def end_of(watch: EtcdWatch) -> EtcdError:
    """Wait until a watch ends, and return why."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await watch.next()
            except EtcdError as error:
                return error


@pytest.mark.parametrize("fault", ["kill", "stop", "pause"])
async def test_a_member_fails_while_it_is_used(tmp_path: Path, fault: str) -> None:
    with etcd_cluster(tmp_path, 3) as etcd:
        client = await EtcdClient.connect(etcd.settings())
        assert client.server == etcd.urls[0]
        before = await write(client, b"/before")
        watch = client.watch(b"/", b"0", before + 1)
        await watch.next()

        async def keep_writing() -> list[int | EtcdError]:
            outcomes: list[int | EtcdError] = []
            for number in range(300):
                key = b"/key/%d" % number
                try:
                    outcomes.append((await client.txn((Compare(key, 0),), (Put(key, b"v"),))).revision)
                except EtcdError as error:
                    outcomes.append(error)
            return outcomes

        writing = asyncio.create_task(keep_writing())
        await asyncio.sleep(0.05)
        await asyncio.to_thread(getattr(etcd.members[0], fault))
        error = await end_of(watch)
        assert isinstance(error, EtcdUnreachable)
        outcomes = await writing
        assert client.server != etcd.urls[0]
        failures = [outcome for outcome in outcomes if isinstance(outcome, EtcdError)]
        assert all(isinstance(failure, EtcdUncertain) for failure in failures)
        assert len(failures) < 30
        # What was acknowledged is there, once and at its revision; the watch goes on where it ended.
        watch = client.watch(b"/", b"0", before + 1)
        seen: dict[bytes, int] = {}
        wanted = {b"/key/%d" % n: outcome for n, outcome in enumerate(outcomes) if isinstance(outcome, int)}
        async with asyncio.timeout(PATIENCE):
            while not wanted.keys() <= seen.keys():
                for event in (await watch.next()).events:
                    assert event.item.key not in seen
                    seen[event.item.key] = event.item.modified
        assert {key: seen[key] for key in wanted} == wanted
        await client.close()


async def test_reads_go_on_at_another_member(tmp_path: Path) -> None:
    with etcd_cluster(tmp_path, 3) as etcd:
        client = await EtcdClient.connect(etcd.settings(call_seconds=PATIENCE))
        await write(client, b"/a")
        for fault in ("pause", "kill"):
            member = member_of(etcd, client.server)
            getattr(member, fault)()
            results = await asyncio.gather(*(client.range(b"/a") for _ in range(50)))
            assert {result.count for result in results} == {1}
            assert client.server != member.url
            if fault == "pause":
                member.resume()
        await client.close()


async def test_a_member_that_lost_its_leader_is_left(tmp_path: Path) -> None:
    """Two of three members are killed, and one of them is started again while the client is at the third."""
    with etcd_cluster(tmp_path, 3) as etcd:
        client = await EtcdClient.connect(etcd.settings(call_seconds=2.0))
        await write(client, b"/a")
        watch = client.watch(b"/", b"0", 0)
        await watch.next()
        for member in etcd.members[1:]:
            member.kill()
        with pytest.raises(EtcdError):
            await client.txn((), (Put(b"/lost/first", b"v"),))
        assert isinstance(await end_of(watch), EtcdUnreachable)
        with pytest.raises(EtcdUnreachable, match=r"has no leader|refused"):
            await client.txn((), (Put(b"/lost", b"v"),))
        # Reads that need no leader are not for us: they could be old.
        with pytest.raises(EtcdUnreachable):
            await client.range(b"/a")
        with pytest.raises(EtcdUnreachable, match="has no leader"):
            await EtcdClient.connect(etcd.settings(call_seconds=1.0, dial_seconds=1.0))
        etcd.members[1].start()
        revision = await write(client, b"/again")
        assert (await client.range(b"/again")).items[0].modified == revision
        await client.close()


@asynccontextmanager
async def links(etcd: EtcdCluster) -> AsyncIterator[list[Link]]:
    """Ways to all members that can be cut."""
    made = []
    for member in etcd.members:
        address = urlsplit(member.url)
        made.append(Link(member.name, (str(address.hostname), address.port or 0)))
        await made[-1].start()
    try:
        yield made
    finally:
        for link in made:
            await link.stop()


@pytest.mark.parametrize("there", [True, False], ids=["towards etcd", "back"])
async def test_one_direction_to_a_member_is_cut(tmp_path: Path, there: bool) -> None:
    """A write ends though its own time is not over; towards etcd, events of the watch go on coming all the while."""
    with etcd_cluster(tmp_path, 3) as etcd:
        async with links(etcd) as ways:
            client = await EtcdClient.connect(etcd.settings(servers=tuple(way.url for way in ways), call_seconds=1e6))
            other = await EtcdClient.connect(etcd.settings(servers=etcd.urls[1:]))
            watch = client.watch(b"/", b"0", 0)
            await watch.next()
            following = asyncio.create_task(end_of(watch))

            async def change() -> None:
                while not following.done():
                    await write(other, b"/elsewhere")
                    await asyncio.sleep(0.1)

            changing = asyncio.create_task(change())
            ways[0].cut(there=there, back=not there)
            async with asyncio.timeout(PATIENCE):
                with pytest.raises(EtcdUncertain):
                    await client.txn((), (Put(b"/lost", b"v"),))
                await write(client, b"/found")
            assert client.server == ways[1].url
            await following
            await changing
            await client.close()
            await other.close()


@pytest.mark.parametrize("at_leader", [True, False], ids=["of the leader", "of a follower"])
async def test_the_leader_is_paused(tmp_path: Path, at_leader: bool) -> None:
    """A client of the leader and one of a follower, whose writes go to the leader: both go on while it is paused."""
    with etcd_cluster(tmp_path, 3) as etcd:
        leader = await leader_of(etcd)
        followers = [member.url for member in etcd.members if member is not leader]
        servers = (leader.url, *followers) if at_leader else (*followers, leader.url)
        client = await EtcdClient.connect(etcd.settings(servers=servers, call_seconds=1e6))
        assert client.server == servers[0]
        leader.pause()
        async with asyncio.timeout(PATIENCE):
            with pytest.raises(EtcdUncertain):
                await client.txn((), (Put(b"/lost", b"v"),))
            await write(client, b"/found")
        assert client.server in followers
        await client.close()


async def leader_of(etcd: EtcdCluster) -> EtcdMember:
    for member in etcd.members:
        client = await EtcdClient.connect(etcd.settings(servers=(member.url,)))
        status = await client.status()
        await client.close()
        if status.leader == status.member:
            return member
    raise AssertionError("no member leads")


async def test_a_single_member_that_comes_back(tmp_path: Path) -> None:
    with etcd_cluster(tmp_path) as etcd:
        client = await EtcdClient.connect(etcd.settings(call_seconds=2.0))
        first = await write(client, b"/a")
        etcd.members[0].kill()
        with pytest.raises(EtcdUnreachable, match="connection refused"):
            await client.range(b"/a")
        etcd.members[0].start()
        assert (await client.range(b"/a")).items[0].modified == first
        await client.close()


async def test_a_pause_of_our_own_is_not_taken_for_silence(tmp_path: Path) -> None:
    """The event loop stands still for longer than a server may be silent."""
    with etcd_cluster(tmp_path) as etcd:
        client = await EtcdClient.connect(etcd.settings(call_seconds=1.0, keepalive_timeout=0.5))
        watch = client.watch(b"/", b"0", 0)
        await watch.next()
        connection = client._members.current
        calls = [asyncio.create_task(client.txn((), (Put(b"/%d" % number, b"v"),))) for number in range(50)]
        await asyncio.sleep(0)
        time.sleep(2)
        assert len({result.revision for result in await asyncio.gather(*calls)}) == 50
        assert client._members.current is connection
        await client.close()
