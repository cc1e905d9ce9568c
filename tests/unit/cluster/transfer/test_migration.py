"""Objects move between a data directory and a real etcd: revisions stay or grow, nothing is lost or half-done."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.etcd_process import EtcdCluster
from tests.unit.cluster.transfer.stored_clusters import (
    config_map,
    content_in,
    content_of,
    event,
    items_at,
    make_directory,
    many,
    namespace,
    revisions_of,
    service,
    under,
    value,
)

from moorage.cluster.transfer import into_etcd
from moorage.cluster.transfer.into_etcd import IntoEtcd, Moved
from moorage.cluster.transfer.migration import MigrationOptions, directory_to_etcd, etcd_to_directory, write_directory
from moorage.cluster.transfer.store_content import StoreContent, StoredItem, TransferError, layout_of
from moorage.serve.resources.kube_apiserver_values import etcd_roots
from moorage.store.data_directory import DataDirectory, StoreUnusable
from moorage.store.etcd.client import EtcdClient
from moorage.store.etcd.errors import EtcdUncertain
from moorage.store.etcd.layout import MIGRATION
from moorage.store.etcd.messages import Get, Put, TxnResult
from moorage.store.etcd.settings import EtcdSettings
from moorage.store.etcd.store import EtcdStore
from moorage.store.protocol import Compacted
from moorage.store.sqlite import SqliteStore

pytestmark = pytest.mark.real_time

DEFINITION = "/apiextensions.k8s.io/customresourcedefinitions/ships.example.com"


async def moved(source: Path, target: EtcdSettings, **options: Any) -> Moved:
    chosen = MigrationOptions(**{"look_seconds": 0.2, **options})
    return await directory_to_etcd(source, target, chosen, lambda total: lambda count: None, lambda line: None)


async def moved_back(source: EtcdSettings, target: Path, **options: Any) -> Any:
    chosen = MigrationOptions(**{"look_seconds": 0.2, **options})
    return await etcd_to_directory(source, target, chosen, lambda total: lambda count: None, lambda line: None)


async def put(settings: EtcdSettings, key: bytes, content: bytes = b"{}") -> None:
    client = await EtcdClient.connect(settings)
    await client.txn((), (Put(key, content),))
    await client.close()


async def test_a_migration_names_the_object_that_is_too_large_for_etcd(new_etcd: EtcdCluster, tmp_path: Path) -> None:
    large = config_map("large", data={"text": "x" * 2 * 1024 * 1024})
    source = make_directory(tmp_path / "data", {5: namespace("default"), 9: large}, reached=10)
    with pytest.raises(TransferError, match=r"^/configmaps/default/large has 2,097,\d+ bytes, .*more than etcd takes"):
        await moved(source, new_etcd.settings())


async def test_a_new_etcd_keeps_every_revision(new_etcd: EtcdCluster, tmp_path: Path) -> None:
    items = {2: namespace("default"), 3: config_map("a"), 700: config_map("b"), 701: config_map("c"), 1500: event("e")}
    source = make_directory(tmp_path / "data", items, reached=2000)
    outcome = await moved(source, new_etcd.settings())
    assert (outcome.objects, outcome.kept) == (5, 5)
    found = await content_in(new_etcd.settings())
    assert revisions_of(found) == {key: revision for revision, (key, _) in items.items()}
    assert found.revision > 2000
    assert found.notes == {}
    assert [bool(item.lease) for item in found.items] == [False, False, False, False, True]


async def test_there_and_back_is_the_same(new_etcd: EtcdCluster, tmp_path: Path) -> None:
    source = make_directory(tmp_path / "data", items_at(*many(40), step=3), reached=500)
    await moved(source, new_etcd.settings())
    await moved_back(new_etcd.settings(), tmp_path / "back")
    before, after = content_of(source), content_of(tmp_path / "back")
    assert [item[:4] for item in after.items] == [item[:4] for item in before.items]
    assert after.revision > before.revision


async def test_no_revision_is_lower_where_etcd_has_passed_some(etcd: EtcdCluster, tmp_path: Path) -> None:
    settings = under(etcd, tmp_path)
    for number in range(30):
        await put(settings, b"/elsewhere", b"%d" % number)
    now = (await content_in(settings)).revision
    items = {**items_at(*many(20), step=2), now + 500: config_map("later")}
    source = make_directory(tmp_path / "data", items, reached=now + 600)
    outcome = await moved(source, settings)
    after = revisions_of(await content_in(settings))
    order = [key for _, (key, _) in sorted(items.items())]
    assert all(after[key] >= revision for revision, (key, _) in items.items())
    assert after["/configmaps/default/later"] == now + 500
    assert outcome.revision > now + 600
    assert set(after) == set(order)


async def test_clients_with_an_old_revision_list_again(etcd: EtcdCluster, tmp_path: Path) -> None:
    settings = under(etcd, tmp_path)
    source = make_directory(tmp_path / "data", items_at(*many(5)), reached=400)
    await moved(source, settings)
    store = await EtcdStore.open(settings, etcd_roots())
    try:
        for revision in (3, 399, 400):
            with pytest.raises(Compacted):
                await store.list("/configmaps/", revision=revision)
            with pytest.raises(Compacted):
                await store.watch("/configmaps/", revision).next()
        assert (await store.create("/configmaps/default/new", value("ConfigMap", "new", "default"))).revision > 400
    finally:
        await store.close()


async def test_definitions_keep_their_place_among_objects(etcd: EtcdCluster, tmp_path: Path) -> None:
    definition = (
        DEFINITION,
        value("CustomResourceDefinition", "ships.example.com", api_version="apiextensions.k8s.io/v1"),
    )
    items = items_at(*many(50), definition, *[config_map(f"after-{number}") for number in range(50)])
    settings = under(etcd, tmp_path)
    await put(settings, b"/elsewhere")
    await moved(make_directory(tmp_path / "data", items), settings, renumber=True)
    after = revisions_of(await content_in(settings))
    at = after.pop(DEFINITION)
    assert all((revision > at) == ("after-" in key) for key, revision in after.items())


async def test_objects_are_never_overwritten(etcd: EtcdCluster, tmp_path: Path) -> None:
    settings = under(etcd, tmp_path)
    source = make_directory(tmp_path / "data", items_at(*many(3)))
    await put(settings, layout_of(settings).to_etcd("/pods/default/web"))
    before = await content_in(settings)
    with pytest.raises(TransferError, match=r"has 1 objects under .* already; nothing is written"):
        await moved(source, settings)
    assert await content_in(settings) == before
    await moved(source, settings, force=True)
    assert set(revisions_of(await content_in(settings))) == {f"/configmaps/default/map-{number}" for number in range(3)}


async def test_too_many_revisions_are_refused_before_anything_is_written(etcd: EtcdCluster, tmp_path: Path) -> None:
    settings = under(etcd, tmp_path)
    source = make_directory(tmp_path / "data", items_at(*many(3), first=80_000_000), reached=90_000_000)
    now = (await content_in(settings)).revision
    with pytest.raises(TransferError, match=r"takes about 1\d\d minutes.*--renumber gives"):
        await moved(source, settings)
    assert (await content_in(settings)).revision == now
    outcome = await moved(source, settings, renumber=True)
    assert (outcome.objects, outcome.kept) == (3, 0)
    assert outcome.revision < 90_000_000


async def test_an_interrupted_migration_resumes(
    new_etcd: EtcdCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = new_etcd.settings()
    items = items_at(*many(60), step=4)
    source = make_directory(tmp_path / "data", items, reached=300)
    with monkeypatch.context() as patch:
        patch.setattr(IntoEtcd, "_write", stopping_after(25, IntoEtcd._write))
        with pytest.raises(RuntimeError, match="power cut"):
            await moved(source, settings)
    assert MIGRATION in (await content_in(settings)).notes
    with pytest.raises(StoreUnusable, match="`moorage store migrate` goes on"):
        await EtcdStore.open(settings, etcd_roots())
    with pytest.raises(TransferError, match="unfinished migration"):
        await moved_back(settings, tmp_path / "back")
    other = make_directory(tmp_path / "other", items_at(*many(2)))
    with pytest.raises(TransferError, match=r"unfinished migration from .*, which is another one"):
        await moved(other, settings)
    outcome = await moved(source, settings)
    assert outcome.resumed > 20
    assert outcome.objects + outcome.resumed == outcome.kept == 60
    assert revisions_of(await content_in(settings)) == {key: revision for revision, (key, _) in items.items()}


async def test_an_interrupted_deletion_resumes(
    etcd: EtcdCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = under(etcd, tmp_path)
    await put(settings, layout_of(settings).to_etcd("/configmaps/default/map-0"), b"older")
    source = make_directory(tmp_path / "data", items_at(*many(3)))
    with monkeypatch.context() as patch:
        patch.setattr(IntoEtcd, "_txn", stopping_after(0, IntoEtcd._txn))
        with pytest.raises(RuntimeError, match="power cut"):
            await moved(source, settings, force=True)
    await moved(source, settings)
    assert {item.value for item in (await content_in(settings)).items} == {content for _, content in many(3)}


def stopping_after(calls: int, real: Callable[..., Any]) -> Callable[..., Any]:
    left = [calls]

    async def limited(self: IntoEtcd, *arguments: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise RuntimeError("power cut")
        return await real(self, *arguments)

    return limited


async def test_lost_answers_do_no_harm(new_etcd: EtcdCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every seventh transaction is made and its answer lost: the marker's, objects', revisions' and the last one's."""
    monkeypatch.setattr(into_etcd, "_PAUSE_SECONDS", 0.001)
    real, count = EtcdClient.txn, [6]

    async def txn(self: EtcdClient, *arguments: Any) -> TxnResult:
        result = await real(self, *arguments)
        count[0] += 1
        if count[0] % 7 == 0 and not any(isinstance(one, Get) for one in arguments[1]):
            raise EtcdUncertain("no answer")
        return result

    monkeypatch.setattr(EtcdClient, "txn", txn)
    items = items_at(*many(50), step=3)
    outcome = await moved(make_directory(tmp_path / "data", items, reached=200), new_etcd.settings())
    after = revisions_of(await content_in(new_etcd.settings()))
    assert outcome.objects == 50
    assert all(after[key] >= revision for revision, (key, _) in items.items())


async def test_a_second_migration_stops_the_first(
    etcd: EtcdCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = under(etcd, tmp_path)
    source = make_directory(tmp_path / "data", items_at(*many(30)))
    real, begun = IntoEtcd._begin, asyncio.Event()

    async def begin(self: IntoEtcd, items: Any) -> None:
        await real(self, items)
        if not begun.is_set():
            begun.set()
            await put(settings, layout_of(settings).note(MIGRATION), b"{}")

    monkeypatch.setattr(IntoEtcd, "_begin", begin)
    with pytest.raises(TransferError, match="another migration into the same etcd"):
        await moved(source, settings)


async def test_an_etcd_in_use_is_refused(etcd: EtcdCluster, tmp_path: Path) -> None:
    settings = under(etcd, tmp_path)
    source = make_directory(tmp_path / "data", items_at(*many(3)))
    store = await EtcdStore.open(settings, etcd_roots())

    async def write() -> None:
        while True:
            await store.create(f"/leases/kube-system/{store.revision}", b"{}")
            await asyncio.sleep(0.02)

    writing = asyncio.create_task(write())
    try:
        for migration in (moved(source, settings, look_seconds=60.0), moved_back(settings, tmp_path / "b")):
            with pytest.raises(TransferError, match="an API server is connected to etcd and something writes"):
                await migration
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
    # It is killed: its fence stays, but nothing writes.
    store._tasks[2].cancel()
    await moved(source, settings, force=True)
    await store.close()


async def test_a_store_of_kube_apiserver_moves_without_its_notes_once_the_server_has_stopped(
    etcd: EtcdCluster, tmp_path: Path
) -> None:
    settings = under(etcd, tmp_path)
    prefix, server = settings.prefix.encode(), settings.prefix.encode() + b"/masterleases/192.0.2.2"
    await put(settings, prefix + b"/configmaps/default/a", config_map("a")[1])
    ports = b'{"kind":"RangeAllocation","apiVersion":"v1","metadata":{},"range":"30000-32767","data":"IAAA"}'
    await put(settings, prefix + b"/ranges/servicenodeports", ports)
    await put(settings, server, b'{"kind":"Endpoints","apiVersion":"v1","metadata":{"generation":6},"subsets":[]}')
    with pytest.raises(TransferError, match="a kube-apiserver is connected to etcd"):
        await moved_back(settings, tmp_path / "back")
    etcd.ctl("del", server.decode())
    await moved_back(settings, tmp_path / "back")
    assert list(revisions_of(content_of(tmp_path / "back"))) == ["/configmaps/default/a"]


async def test_a_directory_in_use_is_refused(etcd: EtcdCluster, tmp_path: Path) -> None:
    source = make_directory(tmp_path / "data", items_at(*many(3)))
    lock = DataDirectory(source)
    try:
        with pytest.raises(TransferError, match=r"is in use by another process \(pid \d+\)"):
            await moved(source, under(etcd, tmp_path))
    finally:
        lock.close()


async def test_a_directory_without_a_cluster_is_not_made(etcd: EtcdCluster, tmp_path: Path) -> None:
    with pytest.raises(TransferError, match="there is no cluster in"):
        await moved(tmp_path / "none", under(etcd, tmp_path))
    assert not (tmp_path / "none").exists()


async def test_unreachable_etcd_is_reported_in_one_line(tmp_path: Path) -> None:
    source = make_directory(tmp_path / "data", items_at(*many(3)))
    with pytest.raises(TransferError, match=r"^http://127.0.0.1:1: .*refused"):
        await moved(source, EtcdSettings(servers=("http://127.0.0.1:1",)))


async def test_a_directory_with_objects_is_replaced_only_by_force(etcd: EtcdCluster, tmp_path: Path) -> None:
    settings = under(etcd, tmp_path)
    await moved(make_directory(tmp_path / "data", items_at(*many(3))), settings)
    target = make_directory(tmp_path / "target", items_at(service("s")), reached=9_000_000)
    with pytest.raises(TransferError, match="has objects already; nothing is written"):
        await moved_back(settings, target)
    await moved_back(settings, target, force=True)
    assert len(content_of(target).items) == 3
    store = await SqliteStore.open(target)
    try:
        stored = await store.create("/configmaps/default/new", value("ConfigMap", "new", "default"))
        assert stored.revision > 9_000_000
    finally:
        await store.close()
    assert sorted(path.name for path in target.iterdir()) == ["lock", "moorage.db", "moorage.mark"]


async def test_an_empty_etcd_is_reported_as_no_cluster(etcd: EtcdCluster, tmp_path: Path) -> None:
    with pytest.raises(TransferError, match="has no objects under"):
        await moved_back(under(etcd, tmp_path), tmp_path / "target")


def test_two_objects_at_one_revision_move_up(tmp_path: Path) -> None:
    items = [StoredItem(key, key, content, 7, 7) for key, content in many(3)]
    last = StoredItem(*config_map("last")[:1], "last", config_map("last")[1], 20, 20)
    outcome = write_directory(StoreContent("etcd", [*items, last], 21, {}, True), tmp_path / "data")
    assert list(revisions_of(content_of(tmp_path / "data")).values()) == [7, 8, 9, 20]
    assert (outcome.kept, outcome.revision) == (2, 22)


def test_what_cannot_be_read_is_not_moved(tmp_path: Path) -> None:
    items = [StoredItem("/pods/default/a", "/registry/pods/default/a", b"k8s\0\n\x09", 7, 7)]
    with pytest.raises(TransferError, match=r"^/registry/pods/default/a cannot be read; nothing is written"):
        write_directory(StoreContent("etcd", items, 21, {}, True), tmp_path / "data")
    assert not (tmp_path / "data").exists()
