"""Several servers on one etcd, and answers that are lost: what each server sees, and what becomes of its writes."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from tests.etcd_process import EtcdCluster, etcd_cluster

from moorage.serve.resources.kube_apiserver_values import etcd_roots
from moorage.store.etcd.client import EtcdClient
from moorage.store.etcd.errors import EtcdCompacted, EtcdUncertain
from moorage.store.etcd.layout import KeyLayout
from moorage.store.etcd.messages import Compare, Operation, TxnResult
from moorage.store.etcd.store import Compaction, EtcdStore
from moorage.store.etcd.wire.answers import decode_txn
from moorage.store.protocol import (
    Change,
    ClaimTaken,
    Compacted,
    KeyExists,
    KeyMissing,
    RevisionMismatch,
    StoreUncertain,
)

pytestmark = pytest.mark.real_time
POD = "/pods/default/web"


@pytest.fixture(scope="module")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdCluster]:
    with etcd_cluster(tmp_path_factory.mktemp("etcd")) as cluster:
        yield cluster


@asynccontextmanager
async def servers(etcd: EtcdCluster, path: Path, count: int = 2) -> AsyncIterator[list[EtcdStore]]:
    """Stores of several servers with one prefix."""
    opened: list[EtcdStore] = []
    try:
        for _ in range(count):
            opened.append(await EtcdStore.open(etcd.settings(prefix=path.name), etcd_roots()))
        yield opened
    finally:
        for store in opened:
            await store.close()


async def test_what_one_server_wrote_is_read_by_another_after_it_has_caught_up(
    etcd: EtcdCluster, tmp_path: Path
) -> None:
    async with servers(etcd, tmp_path) as (here, there):
        for number in range(50):
            written = await here.create(f"/pods/default/{number}", b"%d" % number)
            await there.catch_up()
            found = there.peek(written.key)
            assert found is not None
            assert (found.value, found.revision, found.created) == (written.value, written.revision, written.created)


async def test_what_kube_apiserver_notes_for_itself_is_not_complained_of(
    etcd: EtcdCluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    etcd.ctl("put", f"/{tmp_path.name}/ranges/servicenodeports", "not an object")
    etcd.ctl("put", f"/{tmp_path.name}/pods/default/strange", "not an object")
    settings = etcd.settings(prefix=tmp_path.name)
    store = await EtcdStore.open(settings, etcd_roots(), read_value=lambda value: None)
    await store.close()
    assert [record.getMessage() for record in caplog.records if "strange" in str(record.__dict__)]
    assert not [record for record in caplog.records if "ranges" in str(record.__dict__)]


async def test_watches_of_every_server_see_the_writes_of_all_in_one_order(etcd: EtcdCluster, tmp_path: Path) -> None:
    async with servers(etcd, tmp_path, 3) as stores:
        start = max(store.revision for store in stores)
        watches = [store.watch("/pods/", start) for store in stores]
        await asyncio.gather(
            *(stores[number % 3].create(f"/pods/default/{number}", b"%d" % number) for number in range(300))
        )
        seen: list[list[int]] = []
        for watch in watches:
            changes: list[Change] = []
            while len(changes) < 300:
                changes += await watch.next()
            seen.append([change.revision for change in changes])
        assert seen[0] == seen[1] == seen[2] == sorted(set(seen[0]))


async def test_writes_are_decided_by_etcd_and_not_by_memory_that_is_behind(etcd: EtcdCluster, tmp_path: Path) -> None:
    async with servers(etcd, tmp_path) as (here, there):
        first = await here.create(POD, b"1")
        second = await here.update(POD, b"2", first.revision)
        with pytest.raises(RevisionMismatch) as refused:
            await there.update(POD, b"x", first.revision)
        assert (refused.value.found.value, refused.value.found.revision) == (b"2", second.revision)
        with pytest.raises(KeyExists):
            await there.create(POD, b"x")
        await there.delete(POD, second.revision)
        with pytest.raises(KeyMissing):
            await here.update(POD, b"3", second.revision)


async def test_of_two_servers_one_gets_the_claim(etcd: EtcdCluster, tmp_path: Path) -> None:
    async with servers(etcd, tmp_path) as (here, there):
        outcomes = await asyncio.gather(
            *(
                store.create(f"/services/default/{number}", b"", claims=("ip/10.96.0.7", f"port/{number}"))
                for number, store in enumerate((here, there) * 5)
            ),
            return_exceptions=True,
        )
        assert [type(one) for one in outcomes].count(ClaimTaken) == 9
        (winner,) = (one for one in outcomes if not isinstance(one, BaseException))
        with pytest.raises(ClaimTaken):
            await here.create("/services/default/late", b"", claims=("ip/10.96.0.7",))
        await there.delete(winner.key, winner.revision, released=("ip/10.96.0.7",))
        await here.create("/services/default/late", b"", claims=("ip/10.96.0.7",))


async def test_a_list_that_one_server_began_is_continued_by_a_server_that_started_later(
    etcd: EtcdCluster, tmp_path: Path
) -> None:
    async with servers(etcd, tmp_path, 1) as (here,):
        for name in "abcd":
            await here.create(f"/apps/deployments/default/{name}", name.encode())
        page = await here.list("/apps/deployments/", limit=2)
        gone = here.peek("/apps/deployments/default/c")
        assert gone is not None
        await here.delete(gone.key, gone.revision)
        async with servers(etcd, tmp_path, 1) as (late,):
            rest = await late.list("/apps/deployments/", revision=page.revision, limit=1, after=page.items[-1].key)
            assert [item.key for item in rest.items] == [gone.key]
            assert (rest.items[0].value, rest.revision, rest.remaining) == (b"c", page.revision, 1)
            await here.compact(here.revision)
            with pytest.raises(Compacted):
                await late.list("/apps/deployments/", revision=page.revision)


async def test_objects_lie_where_kubernetes_has_them(etcd: EtcdCluster, tmp_path: Path) -> None:
    definition = "/apiextensions.k8s.io/customresourcedefinitions/a.b.c"
    keys = {
        "/pods/default/web": "/pods/default/web",
        "/apps/deployments/default/web": "/deployments/default/web",
        "/nodes/a": "/minions/a",
        "/services/default/web": "/services/specs/default/web",
        "/endpoints/default/web": "/services/endpoints/default/web",
        "/coordination.k8s.io/leases/kube-system/x": "/leases/kube-system/x",
        "/networking.k8s.io/ingresses/default/x": "/ingress/default/x",
        definition: definition,
        "/b.c/crontabs/default/x": "/b.c/crontabs/default/x",
    }
    async with servers(etcd, tmp_path, 1) as (store,):
        for key in keys:
            await store.create(key, b"{}")
    found = etcd.ctl("get", "--prefix", "--keys-only", f"/{tmp_path.name}/").split()
    assert sorted(found) == sorted(f"/{tmp_path.name}{key}" for key in keys.values())
    async with servers(etcd, tmp_path, 1) as (store,):
        assert [item.key for item in (await store.list("")).items] == sorted(keys)


async def test_catching_up_needs_no_progress_notifications_if_others_use_the_same_etcd(
    etcd: EtcdCluster, tmp_path: Path
) -> None:
    async with servers(etcd, tmp_path, 1) as (store,):
        etcd.ctl("put", "/something/else", "1")
        await store.catch_up()
        written = await store.create(POD, b"1")
        etcd.ctl("put", "/something/else", "2")
        await asyncio.gather(*(store.catch_up() for _ in range(50)))
        assert store.revision > written.revision


async def test_a_value_that_another_program_wrote_is_followed_and_one_that_is_no_object_is_not_shown(
    etcd: EtcdCluster, tmp_path: Path
) -> None:
    settings = etcd.settings(prefix=tmp_path.name)
    store = await EtcdStore.open(settings, etcd_roots(), read_value=lambda value: None if value == b"?" else value)
    try:
        etcd.ctl("put", f"/{tmp_path.name}/pods/default/good", "1")
        etcd.ctl("put", f"/{tmp_path.name}/pods/default/bad", "?")
        await store.catch_up()
        assert [item.key for item in (await store.list("/pods/")).items] == ["/pods/default/good"]
        etcd.ctl("del", f"/{tmp_path.name}/pods/default/bad")
        etcd.ctl("del", f"/{tmp_path.name}/pods/default/good")
        await store.catch_up()
        assert (await store.list("/pods/")).items == []
    finally:
        await store.close()


async def test_events_expire_by_leases(etcd: EtcdCluster, tmp_path: Path) -> None:
    async with servers(etcd, tmp_path, 1) as (store,):
        assert store.expires("/events/", 1)
        watch = store.watch("/events/", store.revision)
        await store.create("/events/default/a", b"1")
        await store.create(POD, b"1")
        changes: list[Change] = []
        while len(changes) < 2:
            changes += await watch.next()
        assert [(change.key, change.new is None) for change in changes] == [
            ("/events/default/a", False),
            ("/events/default/a", True),
        ]
        assert store.peek(POD) is not None


async def test_one_server_in_each_round_compacts_what_the_round_before_has_seen(
    etcd: EtcdCluster, tmp_path: Path
) -> None:
    async with servers(etcd, tmp_path) as (here, there):
        settings = etcd.settings(prefix=tmp_path.name)
        client = await EtcdClient.connect(settings)
        layout = KeyLayout(settings.prefix, {})
        rounds = [Compaction(client, layout), Compaction(client, layout)]
        first = await here.create(POD, b"1")
        assert [await one.take_part() for one in rounds] == [False, False]
        second = await there.update(POD, b"2", first.revision)
        assert [await one.take_part() for one in rounds].count(True) == 1
        with pytest.raises(Exception, match="compacted"):
            await client.range(layout.to_etcd(POD), revision=first.revision)
        assert (await client.range(layout.to_etcd(POD), revision=second.revision)).items[0].value == b"2"
        await client.close()


async def test_the_interval_of_compactions_is_a_setting(etcd: EtcdCluster, tmp_path: Path) -> None:
    settings = etcd.settings(prefix=tmp_path.name, compaction_seconds=0.01)
    store = await EtcdStore.open(settings, etcd_roots())
    client = await EtcdClient.connect(settings)
    try:
        first = await store.create(POD, b"1")
        with suppress(EtcdCompacted):
            while True:
                await client.range(b"/", revision=first.revision)
                await asyncio.sleep(0.01)
    finally:
        await client.close()
        await store.close()


async def test_a_server_that_missed_history_loads_all_again_and_its_watches_are_told(
    etcd: EtcdCluster, tmp_path: Path
) -> None:
    async with servers(etcd, tmp_path) as (here, there):
        first = await here.create(POD, b"1")
        await there.catch_up()
        heard: list[Change] = []
        there.subscribe("/pods/", heard.append)
        watch = there.watch("/pods/", there.revision)
        feed = there._tasks.pop(0)
        feed.cancel()
        await asyncio.gather(feed, return_exceptions=True)
        second = await here.update(POD, b"2", first.revision)
        other = await here.create("/pods/default/other", b"1")
        await here.delete("/pods/default/other", other.revision)
        await here.compact(here.revision)
        there._tasks.append(asyncio.get_running_loop().create_task(there._feed.run()))
        await there.catch_up()
        with pytest.raises(Compacted):
            await watch.next()
        assert [(change.key, change.new and change.new.value) for change in heard] == [(POD, b"2")]
        found = there.peek(POD)
        assert found is not None
        assert found.revision == second.revision


async def test_a_write_is_acknowledged_though_memory_is_far_behind(
    etcd: EtcdCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Etcd has it: an error would be a lie. With an event, or all loaded again, memory has it, too."""
    monkeypatch.setattr("moorage.store.etcd.feed.PUBLISH_SECONDS", 0.0)
    async with servers(etcd, tmp_path, 1) as (store,):
        feed = store._tasks.pop(0)
        feed.cancel()
        await asyncio.gather(feed, return_exceptions=True)
        created = await store.create(POD, b"1")
        assert (created.value, store.peek(POD)) == (b"1", None)
        monkeypatch.undo()
        writing = asyncio.create_task(store.update(POD, b"2", created.revision))
        while not store._feed._awaiting:
            await asyncio.sleep(0.01)
        await store._feed.load()
        assert (await writing).value == b"2"
        found = store.peek(POD)
        assert found is not None
        assert (found.value, found.created) == (b"2", created.revision)


class LossyClient(EtcdClient):
    """A client that loses answers to writes: before they are sent, after they are made, or until they are let go."""

    mode = ""
    held: list[bytes]

    def send_txn(self, message: bytes, tell: Callable[[bytes | Exception], None]) -> None:
        mode, self.mode = self.mode, ""
        lost = EtcdUncertain("the connection broke")
        if mode == "before":
            tell(lost)
        elif mode == "late":
            self.held.append(message)
            tell(lost)
        elif mode == "after":
            super().send_txn(message, lambda _: tell(lost))
        else:
            super().send_txn(message, tell)

    async def let_go(self) -> list[bool]:
        """Send what was held; return for each whether its conditions held."""
        results = []
        for message in self.held:
            answer: asyncio.Future[bytes | Exception] = asyncio.get_running_loop().create_future()
            super().send_txn(message, answer.set_result)
            outcome = await answer
            assert isinstance(outcome, bytes)
            results.append(decode_txn(outcome).succeeded)
        return results

    async def txn(
        self, compares: Iterable[Compare], then: Iterable[Operation], otherwise: Iterable[Operation] = ()
    ) -> TxnResult:
        result = await super().txn(compares, then, otherwise)
        if self.mode == "deletes":
            self.mode = ""
            raise EtcdUncertain("the connection broke")
        return result


@asynccontextmanager
async def lossy_store(etcd: EtcdCluster, path: Path) -> AsyncIterator[tuple[EtcdStore, LossyClient]]:
    settings = etcd.settings(prefix=path.name)
    client = LossyClient(settings)
    client.held = []
    store = EtcdStore(client, KeyLayout(settings.prefix, etcd_roots()), lambda value: value, None, lambda: 0.0)
    await store._start()
    try:
        yield store, client
    finally:
        await store.close()


@pytest.mark.parametrize("mode", ["before", "after"])
async def test_a_write_whose_answer_is_lost_is_made_exactly_once(mode: str, etcd: EtcdCluster, tmp_path: Path) -> None:
    async with lossy_store(etcd, tmp_path) as (store, client):
        watch = store.watch("/pods/", store.revision)
        client.mode = mode
        created = await store.create(POD, b"1")
        client.mode = mode
        updated = await store.update(POD, b"2", created.revision)
        changes: list[Change] = []
        while len(changes) < 2:
            changes += await watch.next()
        assert [change.new and change.new.value for change in changes] == [b"1", b"2"]
        assert [change.revision for change in changes] == [created.revision, updated.revision]


async def test_a_write_that_arrives_late_is_fenced_off(etcd: EtcdCluster, tmp_path: Path) -> None:
    async with lossy_store(etcd, tmp_path) as (store, client):
        client.mode = "late"
        created = await store.create(POD, b"1")
        await store.delete(POD, created.revision)
        # A member that was paused goes on, and makes what it was sent.
        assert await client.let_go() == [False]
        await store.catch_up()
        assert store.peek(POD) is None


async def test_writes_under_way_survive_that_the_fence_is_raised(etcd: EtcdCluster, tmp_path: Path) -> None:
    async with servers(etcd, tmp_path, 1) as (store,):
        writing = [asyncio.ensure_future(store.create(f"/pods/default/{number}", b"1")) for number in range(200)]
        for _ in range(5):
            await store._fence.renew()
        assert len({stored.revision for stored in await asyncio.gather(*writing)}) == 200


async def test_a_deletion_whose_answer_is_lost_may_be_another_servers(etcd: EtcdCluster, tmp_path: Path) -> None:
    async with lossy_store(etcd, tmp_path) as (store, client):
        created = await store.create(POD, b"1")
        client.mode = "deletes"
        with pytest.raises(StoreUncertain, match="not known whether /pods/default/web"):
            await store.delete(POD, created.revision)
        assert store.peek(POD) is None
